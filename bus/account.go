package bus

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// oldestMinor is the oldest server that will do, 2.11: entries with a
	// lifetime of their own, and the marks that they leave, are new in it.
	oldestMinor = 11
	// believedAfter is for how long a refusal for good is asked again: a server
	// that starts may say that JetStream is off. One of a cluster takes longer.
	believedAfter, believedInCluster = 2 * time.Second, 8 * time.Second
	// greetingWait bounds the look at a server that the client knows of.
	greetingWait = time.Second
)

// Unfit says why a server, an account or what stands there cannot carry the
// bus, also in a minute.
type Unfit struct{ Why, Todo string }

func (u *Unfit) Error() string { return u.Why + ": " + u.Todo }

// Advice says what to do about it.
func (u *Unfit) Advice() string { return u.Todo }

// greeting is what a server says to everybody who connects.
type greeting struct {
	At         string `json:"-"` // its address
	Version    string `json:"version"`
	JetStream  bool   `json:"jetstream"`
	MaxPayload int64  `json:"max_payload"`
}

// fit refuses an external server that cannot carry the bus: too old, without
// JetStream, or alone where copies are wanted.
func (b *Bus) fit(ctx context.Context) error {
	all := b.greetings(ctx)
	for _, g := range all {
		if err := g.tooOld(); err != nil {
			return err
		}
	}
	b.small = payloadNote(all)
	if b.small != "" {
		b.log.Warn(b.small)
	}
	if n := b.opts.Replicas; n > 1 && b.nc.ConnectedClusterName() == "" {
		return &Unfit{
			Why:  fmt.Sprintf("bus.replicas is %d, but the NATS server at %s is alone, not one of a cluster", n, b.where()),
			Todo: fmt.Sprintf("set bus.replicas to 1, or bus.url to a cluster of at least %d servers", n),
		}
	}
	return b.hasJetStream(ctx, all)
}

func (g greeting) tooOld() error {
	if atLeast(g.Version, oldestMinor) {
		return nil
	}
	return &Unfit{
		Why:  fmt.Sprintf("the NATS server at %s is version %s, and Magpie needs 2.%d or later", g.At, cmp.Or(g.Version, "unknown"), oldestMinor),
		Todo: "upgrade nats-server",
	}
}

// hasJetStream waits until JetStream answers, and refuses where it never will.
func (b *Bus) hasJetStream(ctx context.Context, all []greeting) error {
	began, believed := time.Now(), believedAfter
	if b.nc.ConnectedClusterName() != "" {
		believed = believedInCluster
	}
	err := b.patiently(ctx, func(ctx context.Context) error {
		_, err := b.js.AccountInfo(ctx)
		switch {
		case errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount), errors.Is(err, jetstream.ErrJetStreamNotEnabled):
			if time.Since(began) >= believed {
				return b.without(all)
			}
			return fmt.Errorf("%w: %w", errStarting, err)
		}
		return err
	})
	var unfit *Unfit
	if err != nil && !errors.As(err, &unfit) {
		return fmt.Errorf("ask %s for JetStream: %w", b.where(), err)
	}
	return err
}

// errStarting: a server that starts may say this, one that runs means it.
var errStarting = errors.New("JetStream is not on yet")

// without says where JetStream is off.
func (b *Bus) without(all []greeting) error {
	for _, g := range all {
		if g.JetStream {
			return &Unfit{
				Why:  fmt.Sprintf("JetStream is not enabled for the account of this user at %s", b.where()),
				Todo: "enable it for the account (accounts { NAME { jetstream: enabled … } }), or use a user of an account that has it",
			}
		}
	}
	return &Unfit{
		Why:  fmt.Sprintf("JetStream is not enabled on the NATS server at %s", b.where()),
		Todo: "start it with -js, or with a section jetstream { store_dir: … } in its configuration",
	}
}

// payloadNote says what it means when a server takes small messages only.
func payloadNote(all []greeting) string {
	for _, g := range all {
		if g.MaxPayload > 0 && g.MaxPayload < maxPayload {
			return fmt.Sprintf("the NATS server at %s takes messages of at most %.1f MB: the record of a long turn has to fit into one, or it cannot be stored; set max_payload: 8MB in the server's configuration",
				g.At, float64(g.MaxPayload)/(1<<20))
		}
	}
	return ""
}

// Notes are what is not wrong with the bus, but should be different.
func (b *Bus) Notes() []string {
	if b.small == "" {
		return nil
	}
	return []string{b.small}
}

// greetings are those of the server that is connected to and of all others of
// the cluster that answer.
func (b *Bus) greetings(ctx context.Context) []greeting {
	all := []greeting{{At: b.nc.ConnectedAddr(), Version: b.nc.ConnectedServerVersion(), MaxPayload: b.nc.MaxPayload()}}
	ctx, cancel := context.WithTimeout(ctx, greetingWait)
	defer cancel()
	var mu sync.Mutex
	var asked sync.WaitGroup
	for _, at := range b.nc.Servers() {
		asked.Go(func() {
			if g, err := greet(ctx, at); err == nil {
				mu.Lock()
				defer mu.Unlock()
				all = append(all, g)
			}
		})
	}
	asked.Wait()
	return all
}

// greet reads what a server says first, before it wants to know who is there.
func greet(ctx context.Context, at string) (g greeting, err error) {
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "nats" && u.Scheme != "tls" {
		return g, errors.New("no server that speaks first")
	}
	port := u.Port()
	if port == "" {
		port = fmt.Sprint(nats.DefaultPort)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return g, err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	const most = 64 << 10
	line, err := bufio.NewReaderSize(conn, most).ReadSlice('\n')
	text, ok := strings.CutPrefix(string(line), "INFO ")
	if err != nil || !ok {
		return g, errors.Join(err, errors.New("no NATS server"))
	}
	err = json.Unmarshal([]byte(text), &g)
	g.At = u.Host
	return g, err
}

// atLeast reports whether a server of that version is 2.minor or later; what
// cannot be read is no version.
func atLeast(version string, minor int) bool {
	var have [2]int
	_, err := fmt.Sscanf(version, "%d.%d", &have[0], &have[1])
	return err == nil && (have[0] > 2 || have[0] == 2 && have[1] >= minor)
}

// deny keeps what the server's permissions refuse of its interface.
func (b *Bus) deny(err error) {
	if errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), "$JS.") && !strings.Contains(err.Error(), namesSubject) {
		b.denied.CompareAndSwap(nil, &err)
	}
}

// never says why waiting is in vain, nil when it may help.
func (b *Bus) never(ctx context.Context) error {
	denied := b.denied.Load()
	if denied == nil || ctx.Err() != nil {
		return nil
	}
	return &Unfit{
		Why:  fmt.Sprintf("the bus at %s does not let this program do what it must: %v", b.where(), *denied),
		Todo: "grant the user what the text names; the permissions of each role stand in deploy/nats/nats.conf",
	}
}

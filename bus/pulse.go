package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

const (
	// beatEvery is how often an external bus is felt.
	beatEvery = time.Second
	// beatWait is how long one look may take: on links of 200 ms that lose packets
	// an answer may need seconds. Looks overlap.
	beatWait, beatsAtOnce = 3 * time.Second, 3
	// beatMost is for how long a good look counts.
	beatMost = 4 * time.Second
	// peerSilent is after how long a leader that hears nothing of another server
	// counts without it; it asks each once a second.
	peerSilent = 3 * time.Second
	// pulseSubject is what is written to prove that something can be stored: in
	// memory on the servers, one message for all processes, and beside the
	// leases, where roles have a right to write.
	pulseSubject = "$KV.lease.hold.ready.write"
)

// pulse is what is known of an external bus. A leader that was cut off answers
// for a while, so that only what was stored a moment ago proves anything; and
// each stream has a leader of its own.
type pulse struct {
	mu sync.Mutex
	// gone: there is no connection. The client itself cannot be asked, since it
	// answers nothing while it dials.
	gone bool
	// denied: the user may not make the write that proves; permissions made for
	// earlier versions lack it.
	denied bool
	// servers is how many servers keep each stream.
	servers int
	// parts are the streams that this process needs, and the write, by name.
	parts map[string]felt
}

// felt is how one part was found.
type felt struct {
	good time.Time // when the last look began that was good
	why  string    // what the latest found wrong
}

// storing is the part of a pulse that is the write.
const storing = "write"

// purpose says what a stream is for.
func purpose(stream string) string {
	switch stream {
	case "IN":
		return "the mailboxes"
	case "OUT":
		return "the queues of the channels"
	case "HIST":
		return "the histories"
	case "DLQ":
		return "the dead letters"
	case "IDS":
		return "the receipts"
	case "KV_state":
		return "the tables"
	case "KV_lease":
		return "the leases"
	case "KV_turn":
		return "the journals"
	case "KV_sess":
		return "the settings of chats"
	case mediaStream:
		return "the files"
	}
	return stream
}

// needed are the streams that a process with these writes cannot do without.
func needed(writes []Stream) []string {
	all := []string{"KV_lease", "KV_state"}
	for _, s := range writes {
		switch s {
		case In:
			all = append(all, "IN")
		case Out:
			all = append(all, "OUT")
		case Hist:
			all = append(all, "HIST", "KV_turn", "KV_sess")
		case Dead: // whoever gives up on messages handles their files too
			all = append(all, "DLQ", mediaStream)
		case Seen, Receipt:
			all = append(all, "IDS")
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// feel looks at an external bus until the bus is closed.
func (b *Bus) feel() {
	ctx, cancel := context.WithCancel(context.Background())
	var looks errgroup.Group
	looks.SetLimit(beatsAtOnce)
	defer func() { _ = looks.Wait() }() // none fails
	defer cancel()
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	usable := true
	for {
		looks.TryGo(func() error {
			b.beat(ctx)
			return nil
		})
		select {
		case <-b.closing:
			return
		case <-tick.C:
		}
		err := b.pulse.trouble(time.Now())
		switch {
		case usable && err != nil:
			b.log.Warn("the bus cannot be used now", "err", err)
		case !usable && err == nil:
			b.log.Info("the bus can be used again")
		}
		usable = err == nil
	}
}

// beat is one look at everything.
func (b *Bus) beat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, beatWait)
	defer cancel()
	asked := time.Now()
	var all sync.WaitGroup
	all.Go(func() { b.pulse.note(storing, asked, b.proof(ctx)) })
	for _, name := range needed(b.opts.Role.Writes) {
		all.Go(func() { b.pulse.note(name, asked, b.led(ctx, name)) })
	}
	all.Wait()
}

// proof writes; "" means stored by as many servers as it takes.
func (b *Bus) proof(ctx context.Context) (why string) {
	if b.pulse.isDenied() {
		return ""
	}
	_, err := b.js.PublishMsg(ctx, nats.NewMsg(pulseSubject), jetstream.WithRetryAttempts(0))
	if err == nil || b.pulse.isDenied() {
		return ""
	}
	return "nothing can be stored"
}

// led says why a stream has no leader with enough servers behind it.
func (b *Bus) led(ctx context.Context, name string) (why string) {
	s, err := b.js.Stream(ctx, name)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound) && name == mediaStream: // made for the first file
		return ""
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return "there is no stream for "
	case err != nil:
		return "nobody answers for "
	}
	cluster := s.CachedInfo().Cluster
	if cluster == nil {
		return ""
	}
	if cluster.Leader == "" {
		return "nobody leads "
	}
	silent := 0
	for _, peer := range cluster.Replicas {
		if peer.Active == 0 || peer.Active > peerSilent { // 0: never heard of
			silent++
		}
	}
	size := 1 + len(cluster.Replicas)
	b.pulse.size(size)
	if size-silent <= size/2 {
		return fmt.Sprintf("%d of %d NATS servers do not answer %s, which leads ", silent, size, cluster.Leader)
	}
	return ""
}

func (p *pulse) size(servers int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.servers = max(p.servers, servers)
}

// connected notes whether there is a connection.
func (p *pulse) connected(is bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = !is
}

// deny notes that the write that proves is not permitted, if err says so.
func (p *pulse) deny(err error) bool {
	if !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), pulseSubject) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.denied = true
	return true
}

func (p *pulse) isDenied() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.denied
}

// note keeps how a part was found by a look that began then. The first look
// comes when all has just been opened.
func (p *pulse) note(part string, asked time.Time, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, known := p.parts[part]
	if f.why = why; !known || why == "" && asked.After(f.good) {
		f.good = asked
	}
	if p.parts == nil {
		p.parts = map[string]felt{}
	}
	p.parts[part] = f
}

// trouble says what is wrong for longer than a look may be late; nil when
// nothing is.
func (p *pulse) trouble(now time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return errors.New("bus: not connected")
	}
	wrong := map[string][]string{} // parts by what is wrong with them
	for name, f := range p.parts {
		if now.Sub(f.good) > beatMost {
			why := cmp.Or(f.why, "nothing is heard of ")
			wrong[why] = append(wrong[why], name)
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	var said []string
	for why, parts := range wrong {
		said = append(said, why+list(parts))
	}
	slices.Sort(said)
	text := "bus: " + strings.Join(said, "; ")
	if p.servers > 1 {
		text += fmt.Sprintf("; %d of the %d NATS servers have to run and reach each other", p.servers/2+1, p.servers)
	}
	return errors.New(text)
}

// list names the streams among parts, as far as somebody reads on.
func list(parts []string) string {
	slices.Sort(parts)
	var names []string
	for _, part := range parts {
		if part != storing {
			names = append(names, fmt.Sprintf("%s (%s)", purpose(part), part))
		}
	}
	const most = 3
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

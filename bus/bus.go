// Package bus carries every message and keeps all durable state, on NATS
// JetStream: embedded in the process, or an external server or cluster of the
// same engine. It is the only package that knows NATS.
//
// The IN stream is the ordered mailbox of every chat, OUT the queue of every
// channel instance, HIST what turns left behind, DLQ the dead letters. A
// worker (Own) takes a lease on a chat that has something waiting and hands
// its Mailbox to an Owner; a dispatcher (Dispatch) takes a lease on a channel
// instance and delivers its queue. Tables, media and events are kept here too.
//
// The bus does not know what a turn is, which model answers or how a platform
// works. Open starts the connection and, embedded, the server; Close ends
// both. Own and Dispatch own their goroutines and return after the last one.
package bus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/oklog/ulid/v2"

	"magpie/chat"
)

// The errors that callers decide on; test with errors.Is.
var (
	// ErrMailboxFull: the chat already has Options.MailboxLimit messages
	// waiting. Nothing was stored.
	ErrMailboxFull = errors.New("the chat's mailbox is full")
	// ErrStoreFull: the store has no room for new messages. Nothing was stored.
	ErrStoreFull = errors.New("the message store is full")
	// ErrTooLarge: the message is larger than the bus takes. Nothing was stored.
	ErrTooLarge = errors.New("message too large for the bus")
	// ErrLost: another worker holds the chat now; what was being done for it
	// must be dropped.
	ErrLost = errors.New("the chat is held by another worker")
)

// Options configure Open. Zero fields have the defaults named.
type Options struct {
	// URL of an external server or cluster; "" embeds a server in Dir.
	URL string
	// Dir is the store of the embedded server; created 0700.
	Dir string
	// SyncInterval of the embedded store: 0 = fsync before every
	// acknowledgement, so that a power loss costs nothing.
	SyncInterval time.Duration
	// MaxStore bounds the embedded store in bytes; 0 = three quarters of the
	// disk.
	MaxStore int64
	// Replicas of every stream; 0 = 1.
	Replicas int
	// CredsFile is the user's NATS credentials or nkey seed.
	CredsFile string
	// TLS of an external server.
	TLS TLS
	// Role is what the process is to an external server.
	Role Role
	// Lease is how long a chat or channel stays held by a process that no
	// longer renews; 0 = 9 s, at least 2 s.
	Lease time.Duration
	// Upgrade is how an older store is brought up to date.
	Upgrade Upgrade
	answers time.Duration // see pauseAnswers; tests wait longer
	// Log; nil = silent.
	Log *slog.Logger
}

// TLS are the files for an encrypted connection; "" = the system's.
type TLS struct{ CA, Cert, Key string }

// Role narrows a process down to the rights that its user has on an external
// server. The zero value is one that may do everything.
type Role struct {
	// Inbox is the token after _INBOX in the subjects of answers, so that a user
	// can be kept from hearing those of others; "" = any.
	Inbox string
	// Writes are the streams that the process publishes to: Open proves that it
	// may; nil = all.
	Writes []Stream
	// Follows: the process may not make streams and buckets; Open waits until
	// another one has.
	Follows bool
}

// Stream is one of those that a process publishes to.
type Stream string

// What is published to, by the first token of its subjects.
const (
	In      Stream = "in"
	Out     Stream = "out"
	Hist    Stream = "hist"
	Dead    Stream = "dlq"
	Seen    Stream = "seen"
	Receipt Stream = "receipt"
)

// mailboxLimit is how many messages of one origin may wait in one chat.
const mailboxLimit = 100

// Bus is an open connection to the store. Safe for concurrent use.
type Bus struct {
	opts    Options
	log     *slog.Logger
	srv     *server.Server // nil when external
	unlock  func()
	nc      *nats.Conn
	js      jetstream.JetStream
	streams streams
	started time.Time
	room    room
	media   lazyMedia
	chats   chats
	background
}

// chats is what this process knows of the chats that it works on or did.
type chats struct {
	held sync.Map // chat.SessionKey → *Mailbox: held here
	mu   sync.Mutex
	// known is where chats stood when they were given back; embedded only, where
	// nobody else can have held them since.
	known map[chat.SessionKey]standing
	// seen are the inbound messages that are answered, receipts the outbound
	// ones that are delivered, words the same receipts by the platforms' ids.
	seen, receipts, words *ledger

	again atomic.Int64 // messages handed out that an earlier holder may have begun
	tried atomic.Int64 // deliveries of outbound messages that failed and come again
}

// background is what runs beside the bus until it is closed.
type background struct {
	gate    gate
	process string   // names this process to others
	leases  sync.Map // holder → *lease: what is held here or being asked for
	closing chan struct{}
	bg      sync.WaitGroup
	pulse   pulse                 // external only
	denied  atomic.Pointer[error] // what the permissions of the server refused
	small   string                // see Notes
}

// Open connects to the external server of opts.URL, or starts the embedded
// one on opts.Dir, and creates or checks all streams. It blocks until the bus
// is usable or ctx ends.
func Open(ctx context.Context, opts Options) (b *Bus, err error) {
	b, err = dial(ctx, opts)
	defer func() {
		if err != nil {
			b.shutdown()
			b = nil
		}
	}()
	if err != nil {
		return b, err
	}
	if err := b.open(ctx); err != nil {
		return b, err
	}
	if opts.URL != "" {
		if err := b.checkGrants(ctx); err != nil {
			return b, err
		}
	}
	b.bg.Go(b.watchRoom)
	if b.srv == nil {
		b.bg.Go(b.feel)
	}
	return b, nil
}

// dial starts or connects to the server. The Bus is to be shut down also when
// there is an error.
func dial(ctx context.Context, opts Options) (*Bus, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	opts.defaults()
	b := &Bus{opts: opts, log: opts.Log, started: time.Now(), background: background{closing: make(chan struct{}), process: ulid.Make().String()}}
	b.chats.known = map[chat.SessionKey]standing{}
	b.chats.seen, b.chats.receipts = newLedger(b, rootSeen, seenIDs), newLedger(b, rootReceipt, receiptID)
	b.chats.words = newLedger(b, rootReceipt, platformIDs)
	if opts.URL == "" {
		if err := b.embed(); err != nil {
			return b, err
		}
	}
	if err := b.connect(ctx); err != nil {
		return b, err
	}
	if b.srv == nil {
		if err := b.fit(ctx); err != nil {
			return b, err
		}
	}
	return b, b.onPause()
}

func (o *Options) defaults() {
	if o.Replicas == 0 {
		o.Replicas = 1
	}
	if o.Lease == 0 {
		o.Lease = 9 * time.Second
	}
	if o.Upgrade.Steps == nil {
		o.Upgrade.Steps = migrations()
	}
	o.Lease = max(o.Lease, 2*time.Second)
	if o.answers == 0 {
		o.answers = pauseAnswers
	}
	if o.Role.Writes == nil {
		o.Role.Writes = []Stream{In, Out, Hist, Dead, Seen, Receipt}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

// Close flushes what was published and ends the connection and the embedded
// server. Own and Dispatch must have returned.
func (b *Bus) Close() error {
	close(b.closing)
	b.bg.Wait()
	var err error
	if !b.nc.IsClosed() {
		err = b.nc.FlushTimeout(2 * time.Second)
	}
	b.shutdown()
	if err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		return fmt.Errorf("flush bus: %w", err)
	}
	return nil
}

func (b *Bus) shutdown() {
	if b.nc != nil {
		b.nc.Close()
	}
	if b.srv != nil {
		b.srv.Shutdown()
		b.srv.WaitForShutdown()
		if err := b.noteClosed(); err != nil {
			b.log.Warn("the store's files were not listed", "err", err)
		}
	}
	if b.unlock != nil {
		b.unlock()
	}
}

// connect dials the server and keeps dialling for ever after a loss.
func (b *Bus) connect(ctx context.Context) error {
	opts := []nats.Option{
		nats.Name("magpie"),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			switch {
			case linkBroke(err): // the next handler tells of it
			case b.pulse.deny(err):
				b.log.Warn("whether the bus stores anything is not proved: grant its user to publish to "+pulseSubject, "err", err)
			default:
				b.deny(err)
				b.log.Error("bus refused something", "err", err)
			}
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			b.pulse.connected(false)
			if err != nil {
				b.log.Warn("bus connection lost", "err", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			b.pulse.connected(true)
			b.log.Info("bus connection is back")
			if err := (greeting{At: nc.ConnectedAddr(), Version: nc.ConnectedServerVersion()}).tooOld(); b.srv == nil && err != nil {
				b.log.Error("the bus may not work", "err", err)
			}
		}),
	}
	url := b.opts.URL
	if b.srv != nil {
		opts = append(opts, nats.InProcessServer(b.srv))
	} else {
		opts = append(opts, b.security()...)
	}
	nc, err := nats.Connect(url, opts...)
	if err != nil {
		return fmt.Errorf("connect to the bus at %s: %w", b.where(), err)
	}
	b.nc = nc
	acks := requestTimeout
	if b.srv == nil {
		acks = publishAgain
	}
	b.js, err = jetstream.New(nc,
		jetstream.WithDefaultTimeout(requestTimeout),
		jetstream.WithPublishAsyncTimeout(acks),
		jetstream.WithPublishAsyncMaxPending(4096))
	if err != nil {
		return fmt.Errorf("open JetStream: %w", err)
	}
	return nil
}

// linkBroke says that the network failed. What the server refuses is none of
// it, nor what TLS does: its alerts come as errors of the network too.
func linkBroke(err error) bool {
	if broke, ok := errors.AsType[*net.OpError](err); ok {
		return broke.Op != "remote error" && broke.Op != "local error"
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// where names the server without the password that its URL may hold.
func (b *Bus) where() string {
	var safe []string
	for _, s := range strings.Split(b.opts.URL, ",") {
		if i := strings.LastIndex(s, "@"); i >= 0 {
			s = "nats://***" + s[i:]
		}
		safe = append(safe, s)
	}
	return strings.Join(safe, ",")
}

func (b *Bus) security() []nats.Option {
	opts := []nats.Option{nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(pingsMissed)}
	if b.opts.CredsFile != "" {
		opts = append(opts, credentials(b.opts.CredsFile))
	}
	if b.opts.TLS.CA != "" {
		opts = append(opts, nats.RootCAs(b.opts.TLS.CA))
	}
	if b.opts.Role.Inbox != "" {
		opts = append(opts, nats.CustomInboxPrefix("_INBOX."+b.opts.Role.Inbox))
	}
	if b.opts.TLS.Cert != "" {
		opts = append(opts, nats.ClientCert(b.opts.TLS.Cert, b.opts.TLS.Key))
	}
	return opts
}

// Health says why the bus cannot be used for new messages now; nil when it can.
// An external one is felt all the time, so that the answer comes at once also
// when the servers do not.
func (b *Bus) Health(ctx context.Context) error {
	if b.room.isFull() {
		return fmt.Errorf("bus: %w: new messages are refused until there is room", ErrStoreFull)
	}
	if b.srv == nil {
		return b.pulse.trouble(time.Now())
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if _, err := b.streams.in.Info(ctx); err != nil {
		return fmt.Errorf("bus: mailbox stream: %w", err)
	}
	return nil
}

// MaxMessage is the largest message in bytes that the bus takes.
func (b *Bus) MaxMessage() int {
	return int(b.nc.MaxPayload()) - headerRoom
}

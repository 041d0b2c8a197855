package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// State is how the bus stands. What waits is the same for all processes on one
// bus; the counts are of this process.
type State struct {
	Connected  bool
	Reconnects int64 // of the connection to the server
	In         Queue // all mailboxes; a message leaves when it is answered
	Out        map[string]Queue
	Dead       map[string]int // dead letters kept, by "in" and "out"
	Again      int64          // messages handed out that an earlier holder may have begun
	Tried      int64          // deliveries of outbound messages that failed and come again
	Used       int64          // bytes of the store
	Limit      int64          // bytes that it may have; 0 unknown
	Full       bool           // new messages are refused
}

// Queue is what waits in one place.
type Queue struct {
	Messages int
	Oldest   time.Time // when the oldest was stored; zero when nothing waits
}

// State asks the server how much waits. With an error, what could be found out
// is returned all the same.
func (b *Bus) State(ctx context.Context) (State, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	s := State{
		Connected: b.nc.IsConnected(), Reconnects: int64(b.nc.Stats().Reconnects),
		Again: b.chats.again.Load(), Tried: b.chats.tried.Load(),
		Out: map[string]Queue{}, Dead: map[string]int{},
	}
	b.room.mu.Lock()
	s.Used, s.Limit, s.Full = b.room.used, b.room.limit, b.room.full
	b.room.mu.Unlock()
	if !s.Connected {
		return s, errors.New("bus: not connected")
	}
	in, err := b.streams.in.Info(ctx)
	if err != nil {
		return s, fmt.Errorf("mailboxes: %w", err)
	}
	if s.In.Messages = int(in.State.Msgs); s.In.Messages > 0 {
		s.In.Oldest = in.State.FirstTime
	}
	return s, errors.Join(b.outState(ctx, s.Out), b.deadState(ctx, s.Dead))
}

func (b *Bus) outState(ctx context.Context, queues map[string]Queue) error {
	info, err := b.streams.out.Info(ctx, jetstream.WithSubjectFilter("out.>"))
	if err != nil {
		return fmt.Errorf("outbound queue: %w", err)
	}
	for subject, n := range info.State.Subjects {
		token, _, _ := strings.Cut(strings.TrimPrefix(subject, "out."), ".")
		q := queues[decodeKey(token)]
		q.Messages += int(n)
		queues[decodeKey(token)] = q
	}
	for channel, q := range queues {
		msg, err := b.streams.out.GetMsg(ctx, 0, jetstream.WithGetMsgSubject("out."+encodeToken(channel)+".>"))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue // delivered since
		}
		if err != nil {
			return fmt.Errorf("outbound queue of %s: %w", channel, err)
		}
		q.Oldest = msg.Time
		queues[channel] = q
	}
	return nil
}

func (b *Bus) deadState(ctx context.Context, dead map[string]int) error {
	info, err := b.streams.dead.Info(ctx, jetstream.WithSubjectFilter("dlq.>"))
	if err != nil {
		return fmt.Errorf("dead letters: %w", err)
	}
	for subject, n := range info.State.Subjects {
		lane, _, _ := strings.Cut(strings.TrimPrefix(subject, "dlq."), ".")
		dead[lane] += int(n)
	}
	return nil
}

// traceOf reads the trace of a message for the log; "" when it has none.
func traceOf(data []byte) string {
	var m struct {
		Trace string `json:"trace"`
	}
	_ = json.Unmarshal(data, &m) // what is no message has no trace
	return m.Trace
}

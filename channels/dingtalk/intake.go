package dingtalk

import (
	"context"
	"sync"
	"time"

	"github.com/open-dingtalk/dingtalk-stream-sdk-go/payload"

	"magpie/channels"
	"magpie/channels/lanes"
	"magpie/chat"
)

const (
	// mostWaiting is how many messages may wait to be stored; then the stream
	// is not read any further until there is room.
	mostWaiting = 4096
	// storePause is the longest pause while the sink refuses.
	storePause = 5 * time.Second
	// storePatience is how long a message is kept for a sink that refuses it.
	// DingTalk may never push it again.
	storePatience = 15 * time.Minute
	// lastWord bounds the last try for a message when Run ends.
	lastWord = 3 * time.Second
)

// push is a callback and the connection that waits for its acknowledgement.
type push struct {
	frame *payload.DataFrame
	via   *conn
}

// intake gives messages to the sink: those of one chat one after the other in
// the order in which they came, chats side by side.
type intake struct {
	t     *DingTalk
	sink  channels.Sink
	room  chan struct{}
	chats lanes.Lanes

	mu      sync.Mutex
	waiting map[string][]push // by the id of a message on its way: who waits for its acknowledgement
}

// arrival is a message on its way to the sink.
type arrival struct {
	in   chat.Inbound
	note *session // what it says about its chat
	done func()   // gives its place back
	// withheld is a message that came without what it says; then there is no in.
	withheld *message
}

func newIntake(t *DingTalk, sink channels.Sink) *intake {
	return &intake{t: t, sink: sink, room: make(chan struct{}, mostWaiting), waiting: map[string][]push{}}
}

// wait returns when everything that was taken in is through, which is soon
// once the context of put has ended: every message gets a last try.
func (n *intake) wait() { n.chats.Wait() }

// put takes a callback in. It returns at once unless too much waits.
func (n *intake) put(ctx context.Context, p push) {
	a, skip, bad := n.t.read(ctx, p.frame)
	if skip != "" {
		if bad {
			n.t.skipped.Add(1)
			n.t.deps.Log.Warn("dingtalk push skipped", "topic", p.frame.GetTopic(), "why", skip)
		} else {
			n.t.deps.Log.Debug("dingtalk push passed over", "topic", p.frame.GetTopic(), "why", skip)
		}
		p.via.ack(ctx, p.frame, payload.DataFrameResponseStatusCodeKOK, "")
		return
	}
	n.t.deps.Status.Event()
	if a.withheld != nil {
		n.deaf(ctx, *a.withheld)
		p.via.ack(ctx, p.frame, payload.DataFrameResponseStatusCodeKOK, "")
		return
	}
	if n.again(a.in.ID, p) {
		return
	}
	select {
	case n.room <- struct{}{}:
	case <-ctx.Done(): // Run ends: one place more does no harm
		a.done = func() {}
		n.enter(ctx, a)
		return
	}
	a.done = func() { <-n.room }
	n.enter(ctx, a)
}

// again notes who waits for the acknowledgement of a message, and reports
// whether it is on its way already. What is not acknowledged may be pushed again
// after 60 s, in another frame (dingtalk-stream-sdk-nodejs 2.1.5, client.ts,
// socketCallBackResponse); that nothing is, is what others have seen.
func (n *intake) again(id string, p push) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	all, known := n.waiting[id]
	n.waiting[id] = append(all, p)
	return known
}

// over returns who waits for the acknowledgement of a message, which is on its
// way no more.
func (n *intake) over(id string) []push {
	n.mu.Lock()
	defer n.mu.Unlock()
	defer delete(n.waiting, id)
	return n.waiting[id]
}

func (n *intake) enter(ctx context.Context, a arrival) {
	n.chats.Put(a.in.Addr.Chat, func() {
		n.deliver(ctx, a)
		a.done()
	})
}

// deliver brings one message to the sink, however often that refuses it.
func (n *intake) deliver(ctx context.Context, a arrival) {
	if a.note != nil {
		n.t.sessions.hold(a.in.Addr.Chat, *a.note)
	}
	began, wait := time.Now(), channels.NewBackoff(n.t.pace.retry, min(n.t.pace.retryMax, storePause))
	for {
		err := n.sink(ctx, a.in)
		if err != nil && ctx.Err() != nil {
			err = n.last(ctx, a)
		}
		if err == nil {
			n.stored(ctx, a)
			return
		}
		if ctx.Err() != nil || time.Since(began) > storePatience {
			// No answer: one that says no keeps it from ever coming again.
			n.over(a.in.ID)
			n.t.deps.Log.Error("a message could not be stored and is lost, unless dingtalk pushes it again", "chat", a.in.Addr.String(), "id", a.in.ID, "err", err)
			return
		}
		n.t.deps.Log.Warn("a message was not stored and is tried again", "chat", a.in.Addr.String(), "err", err)
		wait.Pause(ctx, nil)
	}
}

func (n *intake) last(ctx context.Context, a arrival) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWord)
	defer cancel()
	return n.sink(ctx, a.in)
}

func (n *intake) stored(ctx context.Context, a arrival) {
	if a.in.Press != nil {
		n.t.presses.done(a.in.Press.ID, n.t.deps.Now())
	}
	for _, p := range n.over(a.in.ID) {
		p.via.ack(ctx, p.frame, payload.DataFrameResponseStatusCodeKOK, "")
	}
	if a.note == nil {
		return
	}
	if err := n.t.sessions.store(context.WithoutCancel(ctx), a.in.Addr.Chat); err != nil {
		n.t.deps.Log.Warn("the session webhook of a chat is known until the restart only", "chat", a.in.Addr.String(), "err", err)
	}
}

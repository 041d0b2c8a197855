package dispatch

import (
	"context"
	"sync"
	"time"

	"magpie/channels"
	"magpie/chat"
)

const (
	eventBuffer = 1024
	idleLimit   = 10 * time.Minute // a turn without events is taken for dead
	finalGrace  = time.Minute      // from the end of a turn to its final message
	orphanGrace = 10 * time.Minute // from a start to the final messages of turns from before it
	claimMemory = 1024             // turns remembered as done
)

// Event takes in what happens in the chats of this channel: typing and
// streamed replies follow from it. It never blocks; events are dropped while
// Run is not running or cannot keep up.
func (d *Dispatcher) Event(ev chat.Event) {
	if ev.Addr.Channel != d.ch.Name() {
		return
	}
	select {
	case d.events <- ev:
	default:
	}
}

// Run shows typing and drafts of replies as the events tell. It blocks until
// ctx is done and its goroutines ended, then returns nil. Without it messages
// are delivered all the same.
func (d *Dispatcher) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { d.sweep(ctx) })
	for {
		select {
		case <-ctx.Done():
			return nil
		case ev := <-d.events:
			d.handle(ctx, ev, &wg)
		case b := <-d.left:
			wg.Go(func() { b.clear(ctx) })
		}
	}
}

func (d *Dispatcher) handle(ctx context.Context, ev chat.Event, wg *sync.WaitGroup) {
	if ev.Kind == chat.MessageSent {
		return
	}
	key := turnKey(ev)
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, done := d.claimed[key]; done {
		return
	}
	t := d.turns[key]
	if t == nil {
		if ev.Kind == chat.TurnEnded || ev.Kind == chat.TurnWaits {
			return
		}
		t = newTurn(d, ev)
		d.turns[key] = t
		wg.Go(func() { t.run(ctx) })
	}
	t.update(ev)
}

func turnKey(ev chat.Event) string {
	if ev.Turn != "" {
		return ev.Turn
	}
	return ev.Addr.String()
}

// turn is what the chat sees of a running turn. One goroutine runs it and
// alone touches draft; turnState is shared.
type turn struct {
	d     *Dispatcher
	key   string
	addr  chat.Address
	named bool // has an id, so that a final message can find its draft

	wake  chan struct{} // something changed
	taken chan struct{} // closed when the final message has come
	done  chan struct{} // closed when run has ended
	draft draft

	turnState
}

// turnState is what others tell a turn, and it them.
type turnState struct {
	mu    sync.Mutex
	text  string
	from  []chat.Source // Event.Sources of it
	ended bool
	waits bool // for a person: no sign of work
	over  bool // run is about to end and touches draft no more
	gone  bool // its answer did not wait for it
	work  work
}

func newTurn(d *Dispatcher, ev chat.Event) *turn {
	key := turnKey(ev)
	return &turn{
		d: d, key: key, addr: ev.Addr, named: ev.Turn != "",
		wake: make(chan struct{}, 1), taken: make(chan struct{}), done: make(chan struct{}),
		draft: draft{d: d, turn: key, addr: ev.Addr, trace: ev.Trace},
	}
}

func (t *turn) update(ev chat.Event) {
	t.mu.Lock()
	switch ev.Kind {
	case chat.TurnDelta:
		t.text, t.from = ev.Text, ev.Sources
	case chat.TurnEnded:
		t.ended = true
	case chat.TurnWaits, chat.TurnGoesOn:
		t.waits = ev.Kind == chat.TurnWaits
	}
	t.work.update(ev)
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

func (t *turn) waiting() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waits
}

func (t *turn) sources() []chat.Source {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.from
}

func (t *turn) run(ctx context.Context) {
	defer t.leave(ctx)
	typing, every := t.typing()
	defer typing.Stop()
	edit := time.NewTimer(0)
	edit.Stop()
	defer edit.Stop()
	idle := time.NewTimer(idleLimit)
	defer idle.Stop()
	work := time.NewTicker(workEvery)
	defer work.Stop()
	for armed := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-t.taken:
			return
		case <-idle.C:
			t.expire(ctx)
			return
		case <-typing.C:
			t.showTyping(ctx)
			typing.Reset(every)
		case <-edit.C:
			armed = t.show(ctx, edit)
		case <-work.C:
			if text, _ := t.state(); t.working() && t.named && t.draft.pause() > 0 && text != "" && !armed {
				armed = t.show(ctx, edit)
			}
		case <-t.wake:
			idle.Reset(idleLimit)
			text, ended := t.state()
			if ended {
				t.expire(ctx)
				return
			}
			if t.named && t.draft.pause() > 0 && text != "" && !armed {
				armed = true
				edit.Reset(t.draft.wait())
			}
		}
	}
}

// show brings the chat up to what is written by now, and sets the timer for the
// next time. It reports whether that is for the sake of the text; else it is for
// a draft that would go by itself.
func (t *turn) show(ctx context.Context, next *time.Timer) (again bool) {
	ctx, end := t.courtesy(ctx, draftGrace)
	defer end()
	rests := !t.draft.brief.IsZero() && t.waiting() // a question stands below it, or has taken its place
	t.draft.sources, t.draft.working = t.sources(), t.working()
	if text, _ := t.state(); !rests && t.draft.show(ctx, text) {
		next.Reset(t.draft.pause())
		return true
	}
	if life := t.draft.renewal(); life > 0 {
		next.Reset(life)
	}
	return false
}

// leave forgets the turn, unless Deliver took it over and will.
func (t *turn) leave(ctx context.Context) {
	t.d.mu.Lock()
	if t.d.turns[t.key] == t {
		delete(t.d.turns, t.key)
	}
	t.d.mu.Unlock()
	t.mu.Lock()
	t.over = true
	gone := t.gone
	t.mu.Unlock()
	if gone && t.draft.there() {
		t.draft.leave(ctx)
	}
	close(t.done)
}

// abandon gives a turn up whose last call does not end: what it has shown is
// taken away when it does. It reports false when it has ended after all.
func (t *turn) abandon(ctx context.Context) bool {
	t.mu.Lock()
	t.gone = !t.over
	gone := t.gone
	t.mu.Unlock()
	if !gone {
		return false
	}
	t.draft.table.left.Store(true)
	b := &draft{d: t.d, turn: t.key, addr: t.addr} // t's own is in use
	if err := b.recall(ctx); err != nil {
		b.d.opt.Log.WarnContext(ctx, "draft not read", "turn", t.key, "err", err)
		return true
	}
	b.table.left.Store(true)
	b.table.noted = false
	if b.ref.Channel == "" {
		b.ref = chat.MessageRef{Channel: t.addr.Channel, Chat: t.addr.Chat}
	}
	if err := b.note(ctx); err != nil {
		b.d.opt.Log.WarnContext(ctx, "abandoned draft not noted", "turn", t.key, "err", err)
	}
	return true
}

// expire waits for the final message of a turn that is over, and takes the
// draft away when none comes.
func (t *turn) expire(ctx context.Context) {
	if !t.draft.there() {
		return
	}
	patience := finalGrace
	if t.written() == "" { // nothing of an answer stands there
		patience = workGrace
	}
	grace := time.NewTimer(patience)
	defer grace.Stop()
	select {
	case <-ctx.Done():
	case <-t.taken:
	case <-grace.C:
		t.draft.remove(ctx, callTimeout)
	}
}

func (t *turn) typing() (first *time.Timer, every time.Duration) {
	first = time.NewTimer(typingDelay)
	every = max(t.d.limits.Typing*4/5, time.Second)
	if _, ok := t.d.ch.(channels.Typer); !ok || t.d.limits.Typing <= 0 {
		first.Stop()
	}
	return first, every
}

// showTyping is a courtesy: it takes no place that a message may need, and its
// failure is nobody's business.
func (t *turn) showTyping(ctx context.Context) {
	if t.waiting() || !t.d.gov.spareCall(t.addr) {
		return
	}
	ctx, end := t.courtesy(ctx, 0)
	defer end()
	ctx, cancel := context.WithTimeout(ctx, typingTimeout)
	defer cancel()
	err := t.d.ch.(channels.Typer).Typing(ctx, t.addr)
	if channels.KindOf(err) == channels.RateLimited {
		t.d.gov.rest(t.addr, err)
	}
}

// courtesy is the context of a call for which an answer does not wait longer
// than that.
func (t *turn) courtesy(ctx context.Context, longer time.Duration) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-t.taken:
			_ = sleep(ctx, longer)
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel()
		wg.Wait()
	}
}

const (
	// typingDelay: an answer that comes sooner needs no sign that it is coming,
	// and the call would cost as much as the answer itself.
	typingDelay   = 300 * time.Millisecond
	typingTimeout = 10 * time.Second
	// draftGrace: a draft that arrives after the answer would stand beside it
	// until it goes by itself.
	draftGrace = 300 * time.Millisecond
)

// claim takes the draft of the turn that out is the answer of: from here on
// nobody else touches it. nil when there is none.
func (d *Dispatcher) claim(ctx context.Context, out chat.Outbound) (*draft, error) {
	if !out.Final || out.Turn == "" {
		return nil, nil
	}
	d.mu.Lock()
	t := d.turns[out.Turn]
	delete(d.turns, out.Turn)
	if len(d.claimed) >= claimMemory {
		d.forgetOldest()
	}
	d.claimed[out.Turn] = time.Now()
	d.mu.Unlock()
	if t != nil {
		if gone, err := t.take(ctx); err != nil || gone {
			return nil, err
		}
		if t.draft.there() {
			return &t.draft, nil
		}
	}
	if d.editPause(out.Addr) == 0 {
		return nil, nil
	}
	b := &draft{d: d, turn: out.Turn, addr: out.Addr, trace: out.Trace}
	if err := b.recall(ctx); err != nil || !b.there() {
		return nil, err
	}
	if b.table.left.Load() {
		b.leave(ctx)
		return nil, nil
	}
	return b, nil
}

// take ends the turn for its answer, which waits for a call of the turn, but not
// for long. gone: such a call goes on, and its message is not for the answer.
func (t *turn) take(ctx context.Context) (gone bool, err error) {
	began := time.Now()
	close(t.taken)
	patience := time.NewTimer(t.draft.grace(finalPatience))
	defer patience.Stop()
	select {
	case <-t.done:
	case <-ctx.Done():
		return false, context.Cause(ctx)
	case <-patience.C:
		if t.abandon(ctx) {
			return true, nil
		}
		<-t.done
	}
	t.draft.tempo.spent = time.Since(began)
	return false, nil
}

// forgetOldest drops the older half of the claimed turns; d.mu is held.
func (d *Dispatcher) forgetOldest() {
	var sum time.Duration
	now := time.Now()
	for _, at := range d.claimed {
		sum += now.Sub(at)
	}
	mean := sum / time.Duration(len(d.claimed))
	for id, at := range d.claimed {
		if now.Sub(at) >= mean {
			delete(d.claimed, id)
		}
	}
}

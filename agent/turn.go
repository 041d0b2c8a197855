package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"magpie/agent/llm"
	"magpie/agent/session"
	"magpie/chat"
	"magpie/tools"
)

// turn is one answer in the making: from the message that begins it to the
// record that ends it.
type turn struct {
	h      *hold
	seq    uint64 // of the first input
	id     string // "<sid>:<seq>"
	began  time.Time
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when the turn is over

	inputs []chat.Delivery // all that the turn answers, in order, doubles included
	said   []session.Item  // what it adds to the conversation; legal before every model call
	out    []chat.Outbound
	env    env   // what does not change while it runs
	loop   loop  // what does
	doing  doing // guarded by h.mu
}

// doing is what a turn does just now.
type doing struct {
	tool    string        // the tools that run
	asks    []string      // those of them that wait for a person's approval
	sources []chat.Source // loop.sources, for /why
}

// loop is the state of the loop over model calls.
type loop struct {
	journal  *journal
	past     past          // of earlier attempts, used up as the turn catches up with it
	noted    int           // how many inputs the journal knows of
	rounds   int           // replies with calls so far
	answered bool          // a tool has sent the answer
	sources  []chat.Source // of text from outside that the model has been shown, or is about to be
	counted  bool          // this attempt stands in the journal
	again    bool          // an empty reply was asked again
	buttons  tools.Buttons
	fit      fit
	talk
	trouble
}

// talk is what the turn says, and what it may.
type talk struct {
	partial partial
	sight   sight
}

// trouble is what went wrong so far.
type trouble struct {
	failures map[string]int    // per call and way of failing
	withheld map[string]string // calls that are not run again, and why
	failed   string            // why the turn has no answer, for the history of a job
	waits    int               // pauses made for a model that could not be reached
}

// cutOff is the cause of the end of a turn that a person has cut off.
type cutOff struct {
	seq   uint64 // inputs after this one belong to the next turn; 0 = the end is an interrupt
	quiet bool   // somebody else confirms it
}

func (c *cutOff) Error() string { return ErrStopped.Error() }

// Is makes the cause of the end known as ErrStopped.
func (c *cutOff) Is(target error) bool { return target == ErrStopped }

// ErrStopped is the cause of the end of a call's context when a person has cut
// its turn off, by /stop or by a newer message. When the chat is only handed
// over the cause is another: then the call will be repeated.
var ErrStopped = errors.New("the turn was stopped by the person")

// errNoAnswer wraps the error of a model that could not answer: the turn ends
// with an honest message instead of being tried again.
type errNoAnswer struct{ err error }

func (e *errNoAnswer) Error() string { return "the model could not answer: " + e.err.Error() }
func (e *errNoAnswer) Unwrap() error { return e.err }

// errGivenUp ends a turn that was tried too often.
var errGivenUp = errors.New("the turn was tried too often")

// crashSpan is how long a turn is tried again that only crashes have ended.
const crashSpan = 30 * time.Second

// errDouble ends a turn whose message was answered before.
var errDouble = errors.New("the message was answered before")

func newTurn(h *hold, first chat.Delivery) *turn {
	t := &turn{
		h: h, seq: first.Seq, id: fmt.Sprintf("%s:%d", h.key, first.Seq), began: h.a.opt.Now(),
		done: make(chan struct{}), inputs: []chat.Delivery{first}, env: env{kit: h.a.kit.Load()},
	}
	t.loop.journal = newJournal(h.a.ports.Turn, h.key, first.Seq, h.a.opt.Now)
	t.loop.failures, t.loop.withheld = map[string]int{}, map[string]string{}
	return t
}

func (t *turn) first() *chat.Delivery { return &t.inputs[0] }

// run makes the turn and commits it. ctx ends with the turn's own work, by
// /stop for example; run ends when the chat must be left. An error means that
// the chat is dropped and its messages come again.
func (t *turn) run(run, ctx context.Context) error {
	t.event(chat.TurnStarted, "")
	defer t.ended()
	err := guarded(func() error { return t.play(ctx) })
	if run.Err() != nil {
		t.handOver()
		return context.Cause(run)
	}
	var cut *cutOff
	var mute *errNoAnswer
	var broke *panicked
	switch {
	case errors.Is(err, errDouble):
		return t.commit(run, "")
	case err == nil:
	case errors.Is(err, ErrLost):
		return err
	case errors.As(context.Cause(ctx), &cut):
		t.cutShort(run, cut)
	case errors.Is(err, errGivenUp):
		return t.giveUp(run)
	case errors.As(err, &mute):
		t.noAnswer(mute.err)
	case errors.As(err, &broke):
		t.brokeDown(broke)
	default:
		// It will be tried again, but not for ever.
		return errors.Join(err, t.count(run), t.loop.journal.add(run, entry{Kind: kindFailed}))
	}
	t.outcome()
	return t.commit(run, "")
}

// panicked is a panic of the turn as an error.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// guarded runs fn and makes an error of a panic.
func guarded(fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicked{v, debug.Stack()}
		}
	}()
	return fn()
}

// play goes through the turn up to its answer.
func (t *turn) play(ctx context.Context) error {
	sess, err := t.h.session(ctx)
	if err != nil {
		return err
	}
	if sess.Knows(t.first().ID) {
		return errDouble
	}
	if t.first().Origin == chat.FromBot {
		t.overhear(ctx)
		return nil
	}
	if err := t.resume(ctx); err != nil {
		return err
	}
	if err := t.assemble(ctx); err != nil {
		return err
	}
	if err := t.gather(ctx); err != nil {
		return err
	}
	if err := t.prepare(ctx); err != nil {
		return err
	}
	t.greet(ctx, sess)
	if t.replied(ctx) {
		return nil
	}
	if t.watched() {
		defer t.watch(ctx)()
	}
	return t.iterate(ctx)
}

// resume reads what earlier attempts have left, and counts this one if there
// may have been any.
func (t *turn) resume(ctx context.Context) error {
	entries, err := t.loop.journal.read(ctx)
	if err != nil {
		return err
	}
	if len(entries) == 0 && !t.first().Again {
		return nil
	}
	t.loop.past = newPast(entries)
	if t.hopeless() {
		return errGivenUp
	}
	return t.count(ctx)
}

// hopeless reports whether the turn was tried often enough. Attempts that a
// crash ended must also be some time apart: a program that is killed again and
// again takes turns down that are not to blame, while the turn that kills the
// program is still there after half a minute.
func (t *turn) hopeless() bool {
	past := &t.loop.past
	if past.attempts < t.h.a.opt.Attempts {
		return false
	}
	return past.failed > 0 || t.h.a.opt.Now().Sub(past.since) >= crashSpan
}

// count notes in the journal that the turn was begun.
func (t *turn) count(ctx context.Context) error {
	if t.loop.counted {
		return nil
	}
	t.loop.counted = true
	return t.loop.journal.add(ctx, entry{Kind: kindAttempt})
}

// iterate is the loop: ask, run the tools called for, ask again.
func (t *turn) iterate(ctx context.Context) error {
	most := t.env.kit.MaxIterations
	for n := 1; ; n++ {
		last := n >= most
		reply, err := t.reply(ctx, n, last)
		if err != nil {
			return err
		}
		t.h.mu.Lock()
		t.h.model = reply.Model
		t.h.mu.Unlock()
		if len(reply.Message.Calls) == 0 || last {
			if t.isEmpty(reply) && !t.loop.again && !last {
				t.loop.again = true
				continue
			}
			t.answer(reply)
			t.offer(ctx)
			return nil
		}
		if err := t.calls(ctx, reply); err != nil {
			return err
		}
		t.steer(ctx)
	}
}

// isEmpty reports whether a reply without calls says nothing although it could
// have said something.
func (t *turn) isEmpty(r llm.Reply) bool {
	return blank(r.Message.Text) && !t.loop.answered && r.Stop != llm.StopLength && r.Stop != llm.StopFilter
}

func (t *turn) event(kind chat.EventKind, text string) { t.h.a.ports.Event(t.news(kind, text)) }

func (t *turn) news(kind chat.EventKind, text string) chat.Event {
	return chat.Event{
		V: chat.Version, Kind: kind, At: t.h.a.opt.Now(),
		Addr: t.first().Addr, Trace: t.first().Trace, Turn: t.id, Text: text,
		Quiet: t.first().Origin == chat.FromCron || t.first().Origin == chat.FromBot || t.first().From.Job,
	}
}

// ended tells that the turn is over, whatever its end was.
func (t *turn) ended() {
	ev := t.news(chat.TurnEnded, "")
	ev.Took = ev.At.Sub(t.began)
	t.h.a.ports.Event(ev)
	t.h.a.opt.Log.Info("turn", "channel", ev.Addr.Channel, "session", t.h.key, "trace", ev.Trace, "turn", t.id,
		"messages", len(t.inputs), "dur", ev.Took)
}

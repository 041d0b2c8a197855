package channeltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"magpie/channels"
	"magpie/chat"
	"magpie/internal/fakes/driver"
)

func (r *rig) concurrent() {
	run := r.start()
	var wg sync.WaitGroup
	errs := make([]error, 16)
	for i := range errs {
		wg.Go(func() {
			_, errs[i] = run.trySend(outbound(r.h.Direct[i%3], fmt.Sprintf("send %d", i)))
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		r.t.Fatal(err)
	}
	var got, want []string
	for _, a := range r.h.Direct {
		for _, m := range r.h.Shown(r.t, a) {
			got = append(got, m.Text)
		}
	}
	for i := range errs {
		want = append(want, fmt.Sprintf("send %d", i))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		r.t.Errorf("the chats show %q", got)
	}
}

func (r *rig) limit() {
	run := r.start()
	l := run.Limits()
	size := l.Size
	if size == nil {
		size = utf8.RuneCountInString
	}
	for _, unit := range []string{"a", "好", "😀"} {
		text := strings.Repeat(unit, l.Text/size(unit))
		text += strings.Repeat("a", l.Text-size(text))
		if size(text) != l.Text {
			r.t.Fatalf("size of %d characters %q is %d", utf8.RuneCountInString(text), unit, size(text))
		}
		if _, err := run.trySend(outbound(r.h.Direct[0], text)); err != nil {
			r.t.Errorf("%q at the limit: %v", unit, err)
		}
		_, err := run.trySend(outbound(r.h.Direct[0], text+"a"))
		if channels.KindOf(err) != channels.TooLong {
			r.t.Errorf("%q over the limit: %v, want TooLong", unit, err)
		}
	}
	if n := len(r.h.Shown(r.t, r.h.Direct[0])); n != 3 {
		r.t.Errorf("the chat shows %d messages, want 3", n)
	}
}

func (r *rig) unusual() {
	run := r.start()
	for _, text := range []string{"你好，世界", "a & b < c > d \"e\"", "👨‍👩‍👧‍👦", "line one\n\nline two", "C:\\path\\file"} {
		run.send(r.h.Direct[1], text)
		shown := r.h.Shown(r.t, r.h.Direct[1])
		if got := shown[len(shown)-1].Text; got != text {
			r.t.Errorf("sent %q, the chat shows %q", text, got)
		}
	}
}

func (r *rig) markup() {
	r.need(r.h.Fail != nil && r.h.Fail(r.t, BadMarkup), "markup that can be refused")
	run := r.start()
	run.send(r.h.Direct[0], "some words")
	if shown := r.h.Shown(r.t, r.h.Direct[0]); len(shown) != 1 || shown[0].Text != "some words" {
		r.t.Errorf("the chat shows %+v", shown)
	}
}

func (r *rig) kinds() {
	r.need(r.h.Fail != nil, "faults")
	run := r.start()
	for _, c := range []struct {
		fault Fault
		kinds []channels.Kind
	}{
		{BadRequest, []channels.Kind{channels.Rejected}},
		{Forbidden, []channels.Kind{channels.Rejected}},
		{RateLimited, []channels.Kind{channels.RateLimited}},
		{ServerError, []channels.Kind{channels.Temporary, channels.Ambiguous}},
		{Unauthorized, []channels.Kind{channels.Unauthorized}},
	} {
		if !r.h.Fail(r.t, c.fault) {
			continue
		}
		_, err := run.trySend(outbound(r.h.Direct[0], "fault "+string(c.fault)))
		var ce *channels.Error
		if !errors.As(err, &ce) || !slices.Contains(c.kinds, ce.Kind) {
			r.t.Errorf("%s: got %v, want %v", c.fault, err, c.kinds)
			continue
		}
		if ce.Channel != run.Name() || ce.Op == "" || ce.Err == nil {
			r.t.Errorf("%s: incomplete error %+v", c.fault, ce)
		}
		if c.fault == RateLimited && ce.RetryAfter != driver.Wait*time.Second {
			r.t.Errorf("RetryAfter is %v, want 3 s", ce.RetryAfter)
		}
	}
	if shown := r.h.Shown(r.t, r.h.Direct[0]); len(shown) != 0 {
		r.t.Errorf("the chat shows %+v", shown)
	}
	run.send(r.h.Direct[0], "well again")
}

func (r *rig) ambiguous() {
	r.need(r.h.Fail != nil, "faults")
	run := r.start()
	for n, f := range []Fault{HangBefore, HangAfter} {
		if !r.h.Fail(r.t, f) {
			continue
		}
		err := run.unanswered(outbound(r.h.Direct[n], "no answer"), n)
		if channels.KindOf(err) != channels.Ambiguous || err == nil {
			r.t.Errorf("%s: got %v, want Ambiguous", f, err)
		}
		if shown := r.h.Shown(r.t, r.h.Direct[n]); len(shown) != n {
			r.t.Errorf("%s: the chat shows %+v", f, shown)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := run.Send(ctx, outbound(r.h.Direct[2], "cancelled")); err == nil || channels.KindOf(err) == channels.Rejected {
		r.t.Errorf("a cancelled send: %v", err)
	}
}

// unanswered sends to a platform that gives no answer; the time of the call ends
// when the platform has the call and the chat shows n messages.
func (run *runner) unanswered(msg chat.Outbound, n int) error {
	r := run.r
	r.t.Helper()
	if r.h.Sends == nil {
		r.t.Fatal("harness: Sends is required where calls can hang")
	}
	before := r.h.Sends()
	ctx := expiring{context.Background(), make(chan struct{})}
	done := make(chan error, 1)
	go func() {
		_, err := run.Send(ctx, msg)
		done <- err
	}()
	r.eventually("the platform has the call", func() bool {
		return r.h.Sends() > before && len(r.h.Shown(r.t, msg.Addr)) == n
	})
	close(ctx.late)
	select {
	case err := <-done:
		r.note(err)
		return err
	case <-time.After(patience):
		return errors.New("the call did not end with its time")
	}
}

// expiring is a context whose time is over when late is closed.
type expiring struct {
	context.Context
	late chan struct{}
}

func (e expiring) Done() <-chan struct{} { return e.late }

func (e expiring) Err() error {
	select {
	case <-e.late:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func (r *rig) edit() {
	run := r.start()
	e, ok := run.Channel.(channels.Editor)
	r.need(ok, "Edit")
	first := outbound(r.h.Direct[0], "first")
	first.Draft = r.h.Ways.Drafts
	ref, err := run.trySend(first)
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for range 2 {
		if err := e.Edit(ctx, ref, outbound(r.h.Direct[0], "second 第二")); err != nil {
			r.t.Fatal(err)
		}
	}
	if shown := r.h.Shown(r.t, r.h.Direct[0]); len(shown) != 1 || shown[0].Text != "second 第二" || shown[0].ID != ref.ID {
		r.t.Errorf("the chat shows %+v, want one message %q", shown, ref.ID)
	}
	gone := ref
	gone.ID = "999999999"
	err = e.Edit(ctx, gone, outbound(r.h.Direct[0], "third"))
	r.note(err)
	if channels.KindOf(err) != channels.Rejected || err == nil {
		r.t.Errorf("editing a message that is not there: %v, want Rejected", err)
	}
}

func (r *rig) draft() {
	run := r.start()
	d, ok := run.Channel.(channels.Drafter)
	r.need(ok, "Draft")
	drafted := func(a chat.Address, want string) {
		if r.h.Ways.Drafted == nil {
			return
		}
		if got := r.h.Ways.Drafted(r.t, a); got != want {
			r.t.Errorf("the chat shows the draft %q, want %q", got, want)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	drafts := run.Limits().DraftIn
	for _, a := range []chat.Address{r.h.Direct[0], r.h.Group} {
		if a.Chat == "" || drafts(a) > 0 {
			continue
		}
		err := d.Draft(ctx, a, "turn", "a draft")
		r.note(err)
		if channels.KindOf(err) != channels.Rejected || err == nil {
			r.t.Errorf("a draft in %v, which shows none: %v, want Rejected", a, err)
		}
	}
	a := r.h.Direct[0]
	r.need(drafts(a) > 0, "drafts in private chats")
	for _, text := range []string{"first", "first & **second** 第二", "first & **second** 第二"} {
		if err := d.Draft(ctx, a, "turn", text); err != nil {
			r.t.Fatal(err)
		}
	}
	drafted(a, "first & second 第二")
	if shown := r.h.Shown(r.t, a); len(shown) != 0 {
		r.t.Errorf("the draft is a message: %+v", shown)
	}
	run.send(a, "the answer")
	drafted(a, "")
	if shown := r.h.Shown(r.t, a); len(shown) != 1 || shown[0].Text != "the answer" {
		r.t.Errorf("the chat shows %+v", shown)
	}
}

func (r *rig) remove() {
	run := r.start()
	d, ok := run.Channel.(channels.Deleter)
	r.need(ok, "Delete")
	ref := run.send(r.h.Direct[0], "soon gone")
	run.send(r.h.Direct[0], "stays")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for range 2 {
		if err := d.Delete(ctx, ref); err != nil {
			r.t.Fatal(err)
		}
	}
	if shown := r.h.Shown(r.t, r.h.Direct[0]); len(shown) != 1 || shown[0].Text != "stays" {
		r.t.Errorf("the chat shows %+v", shown)
	}
}

func (r *rig) signals() {
	run := r.start()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	typer, types := run.Channel.(channels.Typer)
	reactor, reacts := run.Channel.(channels.Reactor)
	r.need(types || reacts, "typing and reactions")
	if types {
		if err := typer.Typing(ctx, r.h.Direct[0]); err != nil {
			r.t.Errorf("typing: %v", err)
		}
	}
	if !reacts {
		return
	}
	id := r.h.Say(r.t, Said{At: r.h.Direct[0], Text: "nice"})
	in := run.await(1)[0]
	ref := chat.MessageRef{Channel: run.Name(), Chat: in.Addr.Chat, ID: id}
	for _, emoji := range []string{"👍", ""} {
		if err := reactor.React(ctx, ref, emoji); err != nil {
			r.t.Errorf("react %q: %v", emoji, err)
		}
	}
}

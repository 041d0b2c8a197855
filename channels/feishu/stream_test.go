package feishu

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/feishu"
	"magpie/internal/kv"
)

// draftOf is a reply that is still written.
func draftOf(a chat.Address, turn, text string) chat.Outbound {
	msg := outbound(a, "draft:"+turn, text)
	msg.Draft = true
	return msg
}

// A reply grows in one card, which is closed with the final text and buttons.
func TestStreaming(t *testing.T) {
	w := newWorld(t, fake.Options{})
	f := w.channel(t, channels.Deps{})
	ref := mustSend(t, f, draftOf(at(ann), "1", "Die **Ant"))
	only := func() fake.Message {
		t.Helper()
		shown := w.Messages(at(ann).Chat)
		if len(shown) != 1 || shown[0].ID != ref.ID {
			t.Fatalf("the chat shows %+v", shown)
		}
		return shown[0]
	}
	for _, text := range []string{"Die **Antwort**", "Die **Antwort** ist", "Die **Antwort** ist 42"} {
		if err := f.Edit(channeltest.Bounded(t), ref, draftOf(at(ann), "1", text)); err != nil {
			t.Fatal(err)
		}
		if m := only(); m.Text != strings.ReplaceAll(text, "**", "") || !m.Streaming || m.Type != "interactive" {
			t.Errorf("while streaming: %+v", m)
		}
	}
	final := outbound(at(ann), "out", "Die **Antwort** ist 42.")
	final.Buttons = [][]chat.Button{{{Label: "OK", Data: "ok"}}}
	for range 2 { // a repeat is as good
		if err := f.Edit(channeltest.Bounded(t), ref, final); err != nil {
			t.Fatal(err)
		}
	}
	if m := only(); m.Text != "Die Antwort ist 42." || m.Streaming || len(m.Buttons) != 1 || !strings.Contains(m.Content, `"summary":{"content":"Die Antwort ist 42."}`) {
		t.Errorf("at the end: %+v", m)
	}
	if w.Calls("patch") != 0 || w.Calls("content") != 3 {
		t.Errorf("%d replaced, %d streamed", w.Calls("patch"), w.Calls("content"))
	}
	if _, err := w.Press(ann, ref.ID, "ok"); err != nil {
		t.Fatal(err)
	}
	if err := f.AnswerPress(channeltest.Bounded(t), at(ann), chat.Answer{Press: "x", Notice: "done", Message: ref.ID}); err != nil {
		t.Fatal(err)
	}
	if m := only(); m.Text != "Die Antwort ist 42.\ndone" || m.Buttons != nil {
		t.Errorf("after the press: %+v", m)
	}
}

// The next process finds the card again: its last text and its end are not
// lost with the one that began it.
func TestStreamingOverRestart(t *testing.T) {
	w := newWorld(t, fake.Options{})
	table := &kv.Memory{}
	f := w.channel(t, channels.Deps{Table: table})
	ref := mustSend(t, f, draftOf(at(ann), "1", "begun"))
	for i := range 5 { // ahead of the clock
		if err := f.Edit(channeltest.Bounded(t), ref, draftOf(at(ann), "1", fmt.Sprint("begun ", i))); err != nil {
			t.Fatal(err)
		}
	}
	f = w.channel(t, channels.Deps{Table: table})
	if err := f.Edit(channeltest.Bounded(t), ref, outbound(at(ann), "out", "**done**")); err != nil {
		t.Fatal(err)
	}
	if m := w.Messages(at(ann).Chat)[0]; m.Text != "done" || m.Streaming {
		t.Errorf("the chat shows %+v", m)
	}
	if err := w.channel(t, channels.Deps{}).Delete(channeltest.Bounded(t), ref); err != nil {
		t.Error(err)
	}
}

// A draft whose answer was lost is sent again and found: what follows is
// written into the card that the chat shows.
func TestDraftRepeated(t *testing.T) {
	w := newWorld(t, fake.Options{})
	table := &kv.Memory{}
	w.Fail(fake.Fault{After: true, Drop: true})
	if _, err := w.channel(t, channels.Deps{Table: table}).Send(channeltest.Bounded(t), draftOf(at(ann), "1", "begun")); channels.KindOf(err) != channels.Ambiguous {
		t.Fatalf("got %v", err)
	}
	f := w.channel(t, channels.Deps{Table: table})
	ref := mustSend(t, f, draftOf(at(ann), "1", "begun, more"))
	if err := f.Edit(channeltest.Bounded(t), ref, draftOf(at(ann), "1", "begun, more and more")); err != nil {
		t.Fatal(err)
	}
	if shown := w.Messages(at(ann).Chat); len(shown) != 1 || shown[0].Text != "begun, more and more" {
		t.Errorf("the chat shows %+v", shown)
	}
}

// The platform ends streaming after ten minutes; the reply goes on.
func TestStreamingTimesOut(t *testing.T) {
	now := time.Now()
	clock := func() time.Time { return now }
	w := newWorld(t, fake.Options{Now: clock})
	f := w.channel(t, channels.Deps{Now: clock})
	ref := mustSend(t, f, draftOf(at(ann), "1", "slow"))
	for _, text := range []string{"slow and", "slow and steady"} {
		now = now.Add(11 * time.Minute)
		if err := f.Edit(channeltest.Bounded(t), ref, draftOf(at(ann), "1", text)); err != nil {
			t.Fatal(err)
		}
		if m := w.Messages(at(ann).Chat)[0]; m.Text != text || !m.Streaming {
			t.Errorf("the chat shows %+v", m)
		}
	}
}

// Without the permission for CardKit the card is replaced as a whole, and the
// platform is not asked again and again.
func TestStreamingWithoutPermission(t *testing.T) {
	w := newWorld(t, fake.Options{})
	w.Deny("/open-apis/cardkit")
	f := w.channel(t, channels.Deps{})
	for turn := range 3 {
		a := at([]string{ann, bob, eve}[turn])
		ref := mustSend(t, f, draftOf(a, fmt.Sprint(turn), "beg"))
		for _, msg := range []chat.Outbound{draftOf(a, "1", "begun"), outbound(a, "out", "the **end**")} {
			if err := f.Edit(channeltest.Bounded(t), ref, msg); err != nil {
				t.Fatal(err)
			}
		}
		if shown := w.Messages(a.Chat); len(shown) != 1 || shown[0].Text != "the end" || shown[0].Streaming {
			t.Errorf("the chat shows %+v", shown)
		}
	}
	if n := w.Calls("card"); n != 1 {
		t.Errorf("asked for a card %d times", n)
	}
	f = w.channel(t, channels.Deps{}) // it does not know what kind of card it was
	ref := chat.MessageRef{ID: w.Messages(at(ann).Chat)[0].ID}
	if err := f.Edit(channeltest.Bounded(t), ref, outbound(at(ann), "out", "the **very** end")); err != nil {
		t.Fatal(err)
	}
	if m := w.Messages(at(ann).Chat)[0]; m.Text != "the very end" {
		t.Errorf("the chat shows %+v", m)
	}
}

// A card that cannot be streamed says nothing of the next one.
func TestOneCardThatIsNotStreamed(t *testing.T) {
	w := newWorld(t, fake.Options{})
	f := w.channel(t, channels.Deps{})
	w.Fail(fake.Fault{Op: "card", Code: 300305, Msg: "the number of elements exceeds the limit"})
	for turn, streams := range []bool{false, true} {
		a := at([]string{ann, bob}[turn])
		ref := mustSend(t, f, draftOf(a, fmt.Sprint(turn), "beg"))
		if shown := w.Messages(a.Chat); len(shown) != 1 || shown[0].Streaming != streams {
			t.Errorf("turn %d shows %+v", turn, shown)
		}
		if err := f.Edit(channeltest.Bounded(t), ref, outbound(a, "out", "the **end**")); err != nil {
			t.Fatal(err)
		}
		if shown := w.Messages(a.Chat); len(shown) != 1 || shown[0].Text != "the end" || shown[0].Streaming {
			t.Errorf("in the end turn %d shows %+v", turn, shown)
		}
	}
}

// Edits of what cannot be edited say so; a number that was overtaken is raised.
func TestEditTrouble(t *testing.T) {
	w := newWorld(t, fake.Options{})
	f := w.channel(t, channels.Deps{})
	plain := mustSend(t, f, outbound(at(ann), "1", "plain"))
	buttons := outbound(at(ann), "1", "plain")
	buttons.Buttons = [][]chat.Button{{{Label: "OK", Data: "ok"}}}
	if err := f.Edit(channeltest.Bounded(t), plain, buttons); channels.KindOf(err) != channels.Rejected {
		t.Errorf("buttons for a plain message: %v", err)
	}
	if err := f.Edit(channeltest.Bounded(t), plain, outbound(at(ann), "1", strings.Repeat("好", maxText))); channels.KindOf(err) != channels.TooLong {
		t.Errorf("too long: %v", err)
	}
	if err := f.Delete(channeltest.Bounded(t), plain); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*Feishu{f, w.channel(t, channels.Deps{})} {
		if err := f.Edit(channeltest.Bounded(t), plain, outbound(at(ann), "1", "late")); channels.KindOf(err) != channels.Rejected {
			t.Errorf("edit of what is gone: %v", err)
		}
	}
	draft := mustSend(t, f, draftOf(at(bob), "1", "beg"))
	for _, fault := range []fake.Fault{
		{Op: "content", Code: 300317, Msg: "The sequence number for operating on the card did not increment consecutively"},
		{Op: "content", Code: 300309, Msg: "Card streaming closed"},
	} {
		w.Fail(fault)
		if err := f.Edit(channeltest.Bounded(t), draft, draftOf(at(bob), "1", fmt.Sprint("after ", fault.Code))); err != nil {
			t.Error(err)
		}
		if m := w.Messages(at(bob).Chat)[0]; m.Text != fmt.Sprint("after ", fault.Code) {
			t.Errorf("the chat shows %+v", m)
		}
	}
	w.Fail(fake.Fault{Op: "content", Status: 429, Code: 99991400, Msg: "slow", Reset: 2})
	if err := f.Edit(channeltest.Bounded(t), draft, draftOf(at(bob), "1", "too fast")); channels.KindOf(err) != channels.RateLimited {
		t.Errorf("too fast: %v", err)
	}
	w.Fail(fake.Fault{Op: "settings", Status: 502, Page: true})
	if err := f.Edit(channeltest.Bounded(t), draft, outbound(at(bob), "1", "end")); channels.KindOf(err) != channels.Temporary {
		t.Errorf("the end that failed: %v", err)
	}
}

// The sign stands on the newest message while the bot is at work and goes when
// the answer has come, however it comes.
func TestSign(t *testing.T) {
	w := newWorld(t, fake.Options{})
	r := start(t, w.channel(t, channels.Deps{}))
	if err := r.Typing(channeltest.Bounded(t), at(ann)); err != nil || w.Calls("react") != 0 {
		t.Errorf("a sign on nothing: %v", err)
	}
	up := channels.Upload{Attachment: chat.Attachment{Kind: chat.File, Name: "a"}, Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("a")), nil
	}}
	draft := mustSend(t, r.Feishu, draftOf(at(ann), "0", "beg"))
	for name, reply := range map[string]func() error{
		"send": func() error { _, err := r.Send(channeltest.Bounded(t), outbound(at(ann), "1", "x")); return err },
		"edit": func() error { return r.Edit(channeltest.Bounded(t), draft, outbound(at(ann), "2", "x")) },
		"file": func() error {
			_, err := r.SendMedia(channeltest.Bounded(t), outbound(at(ann), "3", ""), []channels.Upload{up})
			return err
		},
	} {
		id := w.Say(fake.Said{From: ann, Text: name})
		r.Next(t)
		for range 2 {
			if err := r.Typing(channeltest.Bounded(t), at(ann)); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.Reactions(id); !slices.Equal(got, []string{"Typing"}) {
			t.Errorf("%s: at work %q", name, got)
		}
		if err := r.Edit(channeltest.Bounded(t), draft, draftOf(at(ann), "0", "more")); err != nil {
			t.Fatal(err)
		}
		if len(w.Reactions(id)) != 1 {
			t.Errorf("%s: a draft took the sign away", name)
		}
		if err := reply(); err != nil {
			t.Fatal(err)
		}
		if got := w.Reactions(id); len(got) != 0 {
			t.Errorf("%s: answered %q", name, got)
		}
	}
}

// Signs do not stay: not after a crash, not when nobody renews them, not at
// the end, not when the answer overtook them or their call had no answer.
func TestSignsGo(t *testing.T) {
	w := newWorld(t, fake.Options{})
	table := &kv.Memory{}
	begin := time.Now()
	r := start(t, w.channel(t, channels.Deps{Table: table}))
	said := func(r *receiving, text string) string {
		id := w.Say(fake.Said{From: ann, Text: text})
		for r.Next(t).MessageID != id { // what an earlier run had no time to acknowledge
			continue
		}
		return id
	}
	crashed := said(r, "crash")
	if _, err := r.react(channeltest.Bounded(t), crashed, signEmoji); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Create(channeltest.Bounded(t), "sign."+crashed, nil, 0); err != nil {
		t.Fatal(err)
	}
	ending := said(r, "end")
	if err := r.Typing(channeltest.Bounded(t), at(ann)); err != nil {
		t.Fatal(err)
	}
	if err := r.Stop(); err != nil || len(w.Reactions(ending)) != 0 {
		t.Errorf("at the end: %v, %q", err, w.Reactions(ending))
	}
	now := make(chan time.Time, 1)
	now <- begin
	clock := func() time.Time { n := <-now; now <- n; return n }
	r = start(t, w.channel(t, channels.Deps{Table: table, Now: clock}))
	channeltest.Eventually(t, "the sign of the crash goes", func() bool { return len(w.Reactions(crashed)) == 0 })

	stale := said(r, "stale")
	if err := r.Typing(channeltest.Bounded(t), at(ann)); err != nil {
		t.Fatal(err)
	}
	<-now
	now <- begin.Add(2 * signLife)
	channeltest.Eventually(t, "the stale sign goes", func() bool { return len(w.Reactions(stale)) == 0 })

	lost := said(r, "lost")
	w.Fail(fake.Fault{Op: "react", After: true, Drop: true})
	if err := r.Typing(channeltest.Bounded(t), at(ann)); channels.KindOf(err) != channels.Temporary || len(w.Reactions(lost)) != 1 {
		t.Errorf("a sign without an answer: %v", err)
	}
	mustSend(t, r.Feishu, outbound(at(ann), "1", "x"))
	if got := w.Reactions(lost); len(got) != 0 {
		t.Errorf("after the answer: %q", got)
	}
	channeltest.Eventually(t, "no sign is noted", func() bool { // a note goes after its sign
		left, err := kv.List(channeltest.Bounded(t), table, "sign")
		return err == nil && len(left) == 0
	})
}

// slow keeps back the calls that make a reaction.
type slow struct {
	http.RoundTripper
	begun, release chan struct{}
}

func (s *slow) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/reactions") {
		close(s.begun)
		<-s.release
	}
	return s.RoundTripper.RoundTrip(r)
}

// An answer that overtakes its sign takes it away all the same.
func TestSignOvertaken(t *testing.T) {
	w := newWorld(t, fake.Options{})
	road := &slow{&http.Transport{DisableKeepAlives: true}, make(chan struct{}), make(chan struct{})}
	r := start(t, w.channel(t, channels.Deps{HTTP: &http.Client{Transport: road}}))
	id := w.Say(fake.Said{From: ann, Text: "x"})
	r.Next(t)
	done := make(chan error, 1)
	go func() { done <- r.Typing(channeltest.Bounded(t), at(ann)) }()
	<-road.begun
	mustSend(t, r.Feishu, outbound(at(ann), "1", "x"))
	close(road.release)
	if err := <-done; err != nil || w.Calls("react") != 1 || len(w.Reactions(id)) != 0 {
		t.Errorf("%v, %d made, the message shows %q", err, w.Calls("react"), w.Reactions(id))
	}
}

// Without the permission for reactions there are no signs, and one refusal is
// enough.
func TestSignWithoutPermission(t *testing.T) {
	w := newWorld(t, fake.Options{})
	r := start(t, w.channel(t, channels.Deps{}))
	w.Say(fake.Said{From: ann, Text: "x"})
	r.Next(t)
	w.Fail(fake.Fault{Op: "react", Code: 99991672, Msg: "Access denied. One of the following scopes is required"})
	for range 3 {
		_ = r.Typing(channeltest.Bounded(t), at(ann)) // the first is refused
	}
	if n := w.Calls("react"); n != 1 {
		t.Errorf("tried %d times", n)
	}
}

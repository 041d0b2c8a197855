package discord

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/discord"
	"magpie/internal/kv"
)

// clock is a time that tests move.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time        { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) move(by time.Duration) { c.ahead.Add(int64(by)) }

// patient is a fake that gives a slow machine a minute for what Discord gives
// 3 s.
func patient(c *clock) *fake.Options {
	o := &fake.Options{ReplyWithin: time.Minute}
	if c != nil {
		o.Now = c.now
	}
	return o
}

// reply is the answer to a message.
func reply(in chat.Inbound, id, text string) chat.Outbound {
	msg := out(in.Addr, id, text)
	msg.Trace = in.Trace
	return msg
}

// use lets Ann use a command, and waits until the bot has it and Discord knows.
func (r *receiving) use(t *testing.T, w *world, channel string) (string, chat.Inbound) {
	t.Helper()
	id := w.Use(ann, channel, "model", "gpt 五")
	in := r.Next(t)
	channeltest.Eventually(t, "\"is thinking\"", func() bool { return w.Interaction(id).Thinking })
	return id, in
}

// A slash command comes in as it would be typed, is acknowledged in time, and
// its answer takes the place of "is thinking"; what follows comes after it. All
// that also where the bot may neither see nor write.
func TestSlashCommandIsAnsweredInPlace(t *testing.T) {
	for name, denied := range map[string]fake.Permission{"with access": 0, "without access": fake.ViewChannel, "without words": fake.SendMessages | fake.AttachFiles | fake.SendInThreads} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, patient(nil))
			w.Forbid(crowd, denied)
			r := start(t, w.channel(t, channels.Deps{}), nil)
			connected(t, w, 1)
			id, in := r.use(t, w, topic)
			want := chat.Address{Channel: instance, Chat: crowd, Thread: topic}
			if in.Text != "/model gpt 五" || in.Addr != want || in.Direct || !in.Mentioned || in.From.ID != ann || in.From.Lang != "en-US" || in.MessageID != "" {
				t.Errorf("got %+v", in)
			}
			var refs []chat.MessageRef
			for range 2 { // the second time as after a crash
				for _, part := range []string{"1", "2", "3"} {
					msg := reply(in, part, "part "+part)
					msg.Buttons = [][]chat.Button{{{Label: "A", Data: "a"}}}
					ref, err := r.Send(channeltest.Bounded(t), msg)
					if err != nil {
						t.Fatal(err)
					}
					refs = append(refs, ref)
				}
			}
			shown := w.Messages(topic)
			if len(shown) != 3 || w.Calls("create message") != 0 || w.Interaction(id).Thinking {
				t.Fatalf("shown %+v", shown)
			}
			for i, m := range shown {
				if m.Text != fmt.Sprint("part ", i+1) || m.Interaction != id || len(m.Pings) != 0 || len(m.Buttons) != 1 ||
					refs[i] != (chat.MessageRef{Channel: instance, Chat: topic, ID: m.ID}) || refs[i+3] != refs[i] {
					t.Errorf("part %d: %+v, refs %v", i, m, refs)
				}
				if err := r.Edit(channeltest.Bounded(t), refs[i], reply(in, "e", "changed")); err != nil {
					t.Error(err)
				}
			}
			if _, err := r.SendMedia(channeltest.Bounded(t), reply(in, "files", ""), []channels.Upload{media("a.png", "image/png", chat.Image, []byte("png"))}); err != nil {
				t.Errorf("files: %v", err)
			}
			if err := r.Delete(channeltest.Bounded(t), refs[2]); err != nil {
				t.Error(err)
			}
			if shown := w.Messages(topic); len(shown) != 3 || shown[1].Text != "changed" || len(shown[2].Files) != 1 {
				t.Errorf("in the end %+v", shown)
			}
			if other, err := r.Send(channeltest.Bounded(t), out(at(annDM), "other", "x")); err != nil || other.Chat != annDM {
				t.Errorf("what is no answer: %v, %v", other, err)
			}
		})
	}
}

// A streamed answer grows in the place of "is thinking".
func TestDeferredAnswerIsStreamed(t *testing.T) {
	w := newWorld(t, patient(nil))
	w.Forbid(crowd, fake.ViewChannel)
	r := start(t, w.channel(t, channels.Deps{}), nil)
	connected(t, w, 1)
	id, in := r.use(t, w, crowd)
	draft := reply(in, "draft:7", "The beginning")
	draft.Draft = true
	ref, err := r.Send(channeltest.Bounded(t), draft)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"The beginning and", "The beginning and the end"} {
		if err := r.Edit(channeltest.Bounded(t), ref, reply(in, "out:7", text)); err != nil {
			t.Fatal(err)
		}
	}
	shown := w.Messages(crowd)
	if len(shown) != 1 || shown[0].Text != "The beginning and the end" || shown[0].Edits != 2 || shown[0].Interaction != id {
		t.Errorf("shown %+v", shown)
	}
}

// An answer that comes after the token's 15 minutes, or whose command Discord
// does not count as taken, is an ordinary message.
func TestCommandThatIsTooOld(t *testing.T) {
	var c clock
	w := newWorld(t, patient(&c))
	r := start(t, w.channel(t, channels.Deps{Now: c.now}), nil)
	connected(t, w, 1)
	_, in := r.use(t, w, crowd)
	ref, err := r.Send(channeltest.Bounded(t), reply(in, "1", "in time"))
	if err != nil {
		t.Fatal(err)
	}
	c.move(16 * time.Minute)
	if err := r.Edit(channeltest.Bounded(t), ref, reply(in, "1", "edited late")); err != nil {
		t.Error(err)
	}
	if _, err := r.Send(channeltest.Bounded(t), reply(in, "2", "too late")); err != nil {
		t.Error(err)
	}
	w.Fail(fake.Fault{Route: "answer interaction", Status: 404, Code: 10062, Text: "Unknown interaction"})
	w.Use(ann, crowd, "status")
	if _, err := r.Send(channeltest.Bounded(t), reply(r.Next(t), "3", "not taken")); err != nil {
		t.Error(err)
	}
	for i, fault := range []fake.Fault{
		{Route: "edit follow-up", Status: 401, Code: 50027, Text: "Invalid Webhook Token"},
		{Route: "edit follow-up", Status: 401, Text: "401: Unauthorized"},
		{Route: "edit follow-up", Status: 404, Code: 10015, Text: "Unknown Webhook"},
	} {
		_, in := r.use(t, w, crowd)
		w.Fail(fault)
		if _, err := r.Send(channeltest.Bounded(t), reply(in, fmt.Sprint("f", i), "by itself")); err != nil {
			t.Errorf("%+v: %v", fault, err)
		}
	}
	var got []string
	for _, m := range w.Messages(crowd) {
		got = append(got, m.Text)
	}
	if want := "edited late, too late, not taken, by itself, by itself, by itself"; strings.Join(got, ", ") != want {
		t.Errorf("shown %q, want %q", got, want)
	}
}

// Another process answers in place too, and no log or error holds the token.
func TestDeferredOverRestart(t *testing.T) {
	w := newWorld(t, patient(nil))
	table := &kv.Memory{}
	var log bytes.Buffer
	deps := channels.Deps{Table: table, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	r := start(t, w.channel(t, deps), nil)
	connected(t, w, 1)
	_, in := r.use(t, w, crowd)
	_ = r.Stop()
	later := w.channel(t, deps)
	w.Fail(fake.Fault{Route: "edit follow-up", Drop: true, After: true})
	_, err := later.Send(channeltest.Bounded(t), reply(in, "1", "answer"))
	if err == nil || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), fake.Secret) {
		t.Errorf("lost: %v", err)
	}
	for _, id := range []string{"1", "2"} {
		if _, err := later.Send(channeltest.Bounded(t), reply(in, id, "answer")); err != nil {
			t.Fatal(err)
		}
	}
	again := w.channel(t, deps) // that knows from the table what was sent
	for _, id := range []string{"1", "2"} {
		if _, err := again.Send(channeltest.Bounded(t), reply(in, id, "answer")); err != nil {
			t.Fatal(err)
		}
	}
	if shown := w.Messages(crowd); len(shown) != 2 || strings.Contains(log.String(), fake.Secret) {
		t.Errorf("shown %+v, log\n%s", shown, log.String())
	}
}

// A further part that may have been sent is looked for and not sent twice.
func TestFollowUpInDoubt(t *testing.T) {
	w := newWorld(t, patient(nil))
	r := start(t, w.channel(t, channels.Deps{}), nil)
	connected(t, w, 1)
	_, in := r.use(t, w, crowd)
	send := func(id, text string) error {
		_, err := r.Send(channeltest.Bounded(t), reply(in, id, text))
		return err
	}
	if err := send("1", "same"); err != nil {
		t.Fatal(err)
	}
	for i, after := range []bool{true, false} {
		id := fmt.Sprint("more", i)
		w.Fail(fake.Fault{Route: "follow up", Drop: true, After: after})
		if err := send(id, "same"); channels.KindOf(err) != channels.Ambiguous {
			t.Errorf("lost: %v", err)
		}
		if err := send(id, "same"); err != nil {
			t.Error(err)
		}
	}
	if shown := w.Messages(crowd); len(shown) != 3 {
		t.Errorf("shown %+v", shown)
	}
}

// A command without an answer does not think for ever, and an answer that comes
// later still follows it. A sign of work keeps the mark, and stands for typing.
func TestThinkingEnds(t *testing.T) {
	var c clock
	w := newWorld(t, patient(&c))
	r := start(t, w.channel(t, channels.Deps{Now: c.now}), nil)
	connected(t, w, 1)
	id, in := r.use(t, w, crowd)
	c.move(thinkFor - 5*time.Second)
	if err := r.Typing(channeltest.Bounded(t), in.Addr); err != nil || w.Calls("typing") != 0 {
		t.Errorf("%v, %d calls of typing", err, w.Calls("typing"))
	}
	c.move(thinkFor - 5*time.Second)
	other, _ := r.use(t, w, annDM) // by now the marks were looked at
	if !w.Interaction(id).Thinking || len(r.uses.idle()) != 0 {
		t.Error("the mark is gone although there is work")
	}
	c.move(thinkFor + time.Second)
	channeltest.Eventually(t, "the end of the marks", func() bool {
		return !w.Interaction(id).Thinking && !w.Interaction(other).Thinking
	})
	if _, err := r.Send(channeltest.Bounded(t), reply(in, "1", "late")); err != nil {
		t.Fatal(err)
	}
	if shown := w.Messages(crowd); len(shown) != 1 || shown[0].Interaction != id {
		t.Errorf("shown %+v", shown)
	}
	if err := r.Typing(channeltest.Bounded(t), in.Addr); err != nil || w.Calls("typing") != 1 {
		t.Errorf("%v, %d calls of typing", err, w.Calls("typing"))
	}
}

// An answer that is quicker than Discord's acknowledgement waits for it: before
// that there is nothing to edit, and a message of its own would leave the mark.
func TestAnswerWaitsForAcknowledgement(t *testing.T) {
	w := newWorld(t, patient(nil))
	early := make(chan error, 1)
	d := w.channel(t, channels.Deps{})
	r := start(t, d, func(in chat.Inbound) error { // Discord is told after this
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err := d.Send(ctx, reply(in, "1", "quick"))
		early <- err
		return nil
	})
	connected(t, w, 1)
	id := w.Use(ann, crowd, "status")
	in := r.Next(t)
	if err := <-early; channels.KindOf(err) != channels.Temporary || err == nil || len(w.Messages(crowd)) != 0 {
		t.Errorf("before the acknowledgement: %v, shown %+v", err, w.Messages(crowd))
	}
	if _, err := r.Send(channeltest.Bounded(t), reply(in, "1", "quick")); err != nil {
		t.Fatal(err)
	}
	if shown := w.Messages(crowd); len(shown) != 1 || shown[0].Interaction != id || w.Interaction(id).Thinking {
		t.Errorf("shown %+v", shown)
	}
}

// A press is answered where the bot may not see the channel any more.
func TestPressWithoutAccess(t *testing.T) {
	w := newWorld(t, patient(nil))
	r := start(t, w.channel(t, channels.Deps{}), nil)
	connected(t, w, 1)
	msg := out(at(crowd), "1", "Sure?")
	msg.Buttons = [][]chat.Button{{{Label: "Yes", Data: "yes"}}}
	ref, err := r.Send(channeltest.Bounded(t), msg)
	if err != nil {
		t.Fatal(err)
	}
	id, err := w.Press(bob, crowd, ref.ID, "yes")
	if err != nil {
		t.Fatal(err)
	}
	in := r.Next(t)
	channeltest.Eventually(t, "the acknowledgement", func() bool { return w.Interaction(id).Answer == 6 })
	w.Forbid(crowd, fake.ViewChannel)
	if err := r.AnswerPress(channeltest.Bounded(t), in.Addr, chat.Answer{Press: in.Press.ID, Message: in.Press.Message, Notice: "done"}); err != nil {
		t.Fatal(err)
	}
	if shown := w.Messages(crowd); len(shown[0].Buttons) != 0 || shown[0].Text != "Sure?" || len(w.Interaction(id).Notices) != 1 {
		t.Errorf("shown %+v", shown)
	}
}

package qq

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/qq"
	"magpie/internal/kv"
)

func answering(to, id, text string) chat.Outbound {
	return chat.Outbound{Meta: chat.Meta{V: 1, ID: id, Addr: at(to)}, Text: text, Turn: "t", Final: true}
}

func reminder(to, id, text string) chat.Outbound {
	return chat.Outbound{Meta: chat.Meta{V: 1, ID: id, Addr: at(to)}, Text: text}
}

func (r *receiving) mustSend(t *testing.T, msg chat.Outbound) chat.MessageRef {
	t.Helper()
	ref, err := r.Send(channeltest.Bounded(t), msg)
	if err != nil {
		t.Fatalf("send %q: %v", msg.ID, err)
	}
	return ref
}

func texts(w *world, chatID string) (all []string) {
	for _, m := range w.Messages(chatID) {
		all = append(all, m.Text)
	}
	return all
}

// heard lets a person write and waits until the bot has it.
func heard(t *testing.T, w *world, r *receiving, chatID, text string) string {
	t.Helper()
	id := w.Say(fake.Said{Chat: chatID, From: member, Text: text})
	r.Next(t)
	return id
}

func TestAnswersAreReplies(t *testing.T) {
	w := newWorld(t, nil)
	r := start(t, w.channel(t, channels.Deps{}))
	for _, chatID := range []string{ann, crowd} {
		id := heard(t, w, r, chatID, "hi")
		for i := range repliesEach {
			r.mustSend(t, answering(chatID, fmt.Sprint("a", i), "answer"))
		}
		_, err := r.Send(channeltest.Bounded(t), answering(chatID, "sixth", "one more"))
		if channels.KindOf(err) != channels.Rejected || !strings.Contains(err.Error(), "5 replies") || !strings.Contains(err.Error(), "told when the person writes next") {
			t.Errorf("the sixth answer: %v", err)
		}
		shown := w.Messages(chatID)
		if len(shown) != repliesEach || w.ActiveUsed(chatID) != 0 {
			t.Fatalf("%d shown, %d active", len(shown), w.ActiveUsed(chatID))
		}
		for _, m := range shown {
			if m.ReplyTo != id {
				t.Errorf("replies to %q, want %q", m.ReplyTo, id)
			}
		}
	}
}

// A person who takes no active messages, and one who takes them again.
func TestActiveMessagesMayBeClosed(t *testing.T) {
	w := newWorld(t, nil)
	r := start(t, w.channel(t, channels.Deps{}))
	for _, chatID := range []string{ann, crowd} {
		calls := w.Calls("messages")
		w.Refuse(chatID)
		heard(t, w, r, bob, "the event before is handled")
		if _, err := r.Send(channeltest.Bounded(t), reminder(chatID, "r1", "x")); channels.KindOf(err) != channels.Rejected || err == nil {
			t.Errorf("closed: %v", err)
		}
		if w.Calls("messages") != calls {
			t.Error("the platform was asked although the answer was known")
		}
		event := w.Accept(chatID)
		shown, err := w.WaitMessages(channeltest.Bounded(t), chatID, 1) // the event can be replied to
		if err != nil || shown[0].ReplyTo != event || !strings.Contains(shown[0].Text, "x") {
			t.Fatalf("told %+v, %v", shown, err)
		}
	}
	// Nobody told the bot: the platform's refusal does.
	q := w.channel(t, channels.Deps{})
	w.Refuse(eve)
	_, err := q.Send(channeltest.Bounded(t), reminder(eve, "r", "x"))
	if channels.KindOf(err) != channels.Rejected || !strings.Contains(err.Error(), "is kept") {
		t.Errorf("refused by the platform: %v", err)
	}
	calls := w.Calls("messages")
	if _, err := q.Send(channeltest.Bounded(t), reminder(eve, "r2", "y")); err == nil || w.Calls("messages") != calls {
		t.Errorf("asked again: %v", err)
	}
}

// The ledger may be wrong (lost, or another program sends too): the platform's
// word counts.
func TestPlatformKnowsBetter(t *testing.T) {
	w := newWorld(t, nil)
	r := start(t, w.channel(t, channels.Deps{}))
	old := heard(t, w, r, ann, "one")
	newer := heard(t, w, r, ann, "two")
	for i, c := range []fake.Fault{
		{Status: 429, Code: 22009, Text: "msg limit exceed"},
		{Status: 400, Code: 40034024, Text: "请求参数msg_id无效或越权"},
	} {
		w.Fail(c)
		if i == 0 {
			r.mustSend(t, answering(ann, "a", "goes to the other"))
			continue
		}
		r.mustSend(t, reminder(ann, "b", "goes unasked"))
	}
	shown := w.Messages(ann)
	if len(shown) != 2 || shown[0].ReplyTo != old || shown[1].ReplyTo != "" || w.ActiveUsed(ann) != 1 {
		t.Errorf("the chat shows %+v, messages %s and %s", shown, old, newer)
	}
}

// A send without an answer is repeated under the same msg_seq; the platform
// refuses it when it had arrived, and that is success.
func TestRepeatIsRecognised(t *testing.T) {
	w := newWorld(t, nil)
	table := &kv.Memory{}
	r := start(t, w.channel(t, channels.Deps{Table: table}))
	heard(t, w, r, ann, "hi")
	w.Fail(fake.Fault{After: true})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sent := make(chan error, 1)
	go func() {
		_, err := r.Send(ctx, answering(ann, "a", "once"))
		sent <- err
	}()
	channeltest.Eventually(t, "it arrives", func() bool { return len(w.Messages(ann)) == 1 })
	cancel()
	if err := <-sent; channels.KindOf(err) != channels.Ambiguous {
		t.Fatalf("without an answer: %v", err)
	}
	other := w.channel(t, channels.Deps{Table: table}) // after a restart
	for range 2 {
		if _, err := other.Send(channeltest.Bounded(t), answering(ann, "a", "once")); err != nil {
			t.Fatal(err)
		}
	}
	if all := texts(w, ann); len(all) != 1 {
		t.Errorf("the chat shows %q", all)
	}
}

// A msg_seq that somebody else has used is no proof that this message arrived.
func TestForeignSequenceIsNotARepeat(t *testing.T) {
	w := newWorld(t, nil)
	r := start(t, w.channel(t, channels.Deps{}))
	heard(t, w, r, ann, "hi")
	w.Fail(fake.Fault{Status: 400, Code: 40054005, Text: "消息被去重，请检查请求msgseq"})
	r.mustSend(t, answering(ann, "a", "not lost"))
	shown := w.Messages(ann)
	if len(shown) != 1 || shown[0].Text != "not lost" || shown[0].Seq != sequence("a", nil)+1 {
		t.Errorf("the chat shows %+v; want another msg_seq than the refused one", shown)
	}
}

// Refused forms become plainer step by step, never silence.
func TestPlainerForms(t *testing.T) {
	menu := [][]chat.Button{{{Label: "Yes", Data: "y"}, {Label: "No", Data: "n"}}}
	for name, c := range map[string]struct {
		options  fake.Options
		markdown bool
		fault    *fake.Fault
		text     string
		buttons  bool
		want     string
		keyboard int
	}{
		"plain":                    {text: "**a**", want: "a"},
		"markdown":                 {options: fake.Options{Markdown: true}, markdown: true, text: "**a**", want: "**a**"},
		"markdown refused":         {markdown: true, text: "**a**", want: "a"},
		"address":                  {text: "see https://a.example/x.y and 3.14", want: "see https://a。example/x.y and 3.14"},
		"address allowed":          {options: fake.Options{URLs: true}, text: "see https://a.example", want: "see https://a.example"},
		"address in markdown":      {options: fake.Options{Markdown: true}, markdown: true, text: "**b** a.example", want: "b a。example"},
		"buttons":                  {options: fake.Options{Markdown: true}, markdown: true, text: "ok?", buttons: true, want: "ok?", keyboard: 1},
		"buttons without markdown": {text: "ok?", buttons: true, want: "ok?\n\n- Yes\n- No"},
		"buttons refused": {
			options: fake.Options{Markdown: true}, markdown: true, text: "**ok?**", buttons: true,
			fault: &fake.Fault{Status: 400, Code: 304037, Text: "没有发消息按钮组件的权限"}, want: "**ok?**\n\n- Yes\n- No",
		},
		"all refused": {markdown: true, text: "**a** a.example", buttons: true, want: "a a。example\n\n- Yes\n- No"},
		"mentions":    {text: "@everyone <@!123> <qqbot-at-everyone/> @全体成员 a@b", want: "@\u200beveryone <\u200b@!123> <\u200bqqbot-at-everyone/> @\u200b全体成员 a@b"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, &c.options)
			q := w.channel(t, channels.Deps{}, func(cfg *Config) { cfg.Markdown = c.markdown })
			if c.fault != nil {
				w.Fail(*c.fault)
			}
			msg := reminder(ann, "m", c.text)
			if c.buttons {
				msg.Buttons = menu
			}
			if _, err := q.Send(channeltest.Bounded(t), msg); err != nil {
				t.Fatal(err)
			}
			shown := w.Messages(ann)
			if len(shown) != 1 || shown[0].Text != c.want || len(shown[0].Keyboard) != c.keyboard {
				t.Errorf("the chat shows %+v, want %q", shown, c.want)
			}
		})
	}
}

// More buttons than a keyboard has rows stand side by side.
func TestManyButtons(t *testing.T) {
	w := newWorld(t, &fake.Options{Markdown: true})
	q := w.channel(t, channels.Deps{}, func(cfg *Config) { cfg.Markdown = true })
	msg := reminder(ann, "m", "which?")
	for i := range 12 {
		msg.Buttons = append(msg.Buttons, []chat.Button{{Label: fmt.Sprint("选", i), Data: fmt.Sprint(i)}})
	}
	if _, err := q.Send(channeltest.Bounded(t), msg); err != nil {
		t.Fatal(err)
	}
	shown := w.Messages(ann)
	if len(shown) != 1 || len(shown[0].Keyboard) != 4 || shown[0].Keyboard[3][2].Data != "11" {
		t.Errorf("the chat shows %+v", shown)
	}
}

// The model cannot call everybody in markdown either.
func TestMarkdownMentions(t *testing.T) {
	for _, text := range []string{"<@!123>", "<@123>", "@everyone", "<qqbot-at-everyone />", "**@all**", "<qqbot-cmd-input text=\"x\" />"} {
		for _, got := range []string{rich(text), plain(text)} {
			if marks.MatchString(got) {
				t.Errorf("%q becomes %q", text, got)
			}
		}
	}
}

func TestPressIsAnswered(t *testing.T) {
	w := newWorld(t, &fake.Options{Markdown: true})
	r := start(t, w.channel(t, channels.Deps{}, withMarkdown))
	heard(t, w, r, crowd, "hi")
	msg := answering(crowd, "m", "Shall I?")
	msg.Buttons = [][]chat.Button{{{Label: "Always, for everything", Data: "yes"}}}
	ref := r.mustSend(t, msg)
	if shown := w.Messages(crowd); shown[0].Keyboard[0][0].Label != "Always, f…" {
		t.Errorf("label %q", shown[0].Keyboard[0][0].Label)
	}
	press, err := w.Press(crowd, member, ref.ID, "yes")
	if err != nil {
		t.Fatal(err)
	}
	in := r.Next(t)
	if in.Press == nil || in.Press.ID != press || in.Press.Message != ref.ID || in.Press.Data != "yes" || in.From.ID != member {
		t.Fatalf("%+v %+v", in, in.Press)
	}
	if err := r.AnswerPress(channeltest.Bounded(t), in.Addr, chat.Answer{Press: press, Notice: "Done", Message: ref.ID}); err != nil || !w.Answered(press) {
		t.Errorf("%v", err)
	}
	// The press can be replied to when the message cannot any more.
	for i := range 2 * repliesEach {
		if _, err := r.Send(channeltest.Bounded(t), answering(crowd, fmt.Sprint("a", i), "x")); (err == nil) != (i < 2*repliesEach-1) {
			t.Errorf("answer %d: %v", i, err)
		}
	}
}

// A quote of the bot's message is one, with its text.
func TestQuoteOfTheBot(t *testing.T) {
	w := newWorld(t, nil)
	r := start(t, w.channel(t, channels.Deps{}))
	heard(t, w, r, crowd, "hi")
	r.mustSend(t, answering(crowd, "a", "the *answer*"))
	w.Say(fake.Said{Chat: crowd, From: member, Text: "why?", Quote: w.Messages(crowd)[0].Index, All: true})
	in := r.Next(t)
	if in.ReplyTo == nil || !in.ReplyTo.Mine || in.ReplyTo.Text != "the *answer*" || !in.Mentioned {
		t.Errorf("%+v, quote %+v", in, in.ReplyTo)
	}
}

func TestTyping(t *testing.T) {
	w := newWorld(t, nil)
	r := start(t, w.channel(t, channels.Deps{}))
	id := heard(t, w, r, ann, "hi")
	inGroup := heard(t, w, r, crowd, "hi")
	for range 3 {
		for _, chatID := range []string{ann, crowd, bob} {
			if err := r.Typing(channeltest.Bounded(t), at(chatID)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if w.Replies(ann, id) != 1 || w.Replies(crowd, inGroup) != 0 || w.Calls("messages") != 1 {
		t.Errorf("%d and %d replies, %d calls", w.Replies(ann, id), w.Replies(crowd, inGroup), w.Calls("messages"))
	}
	off := w.channel(t, channels.Deps{Table: r.deps.Table}, func(c *Config) { c.InputNotify = new(bool) })
	heard(t, w, r, ann, "again")
	if err := off.Typing(channeltest.Bounded(t), at(ann)); err != nil || w.Calls("messages") != 1 {
		t.Errorf("switched off: %v", err)
	}
}

// A notify that the platform does not take costs no reply: all five are left.
func TestRefusedInputNotify(t *testing.T) {
	for name, f := range map[string]fake.Fault{
		"refused":  {Status: 400, Code: 12002, Text: "RequestInvalid"},
		"too fast": {Status: 429, Code: 20028, Text: "ChannelHitWriteRateLimit"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			r := start(t, w.channel(t, channels.Deps{}))
			old := heard(t, w, r, ann, "hi")
			if err := r.Typing(channeltest.Bounded(t), at(ann)); err != nil {
				t.Fatal(err)
			}
			id := heard(t, w, r, ann, "are you there?")
			w.Fail(f)
			if err := r.Typing(channeltest.Bounded(t), at(ann)); err == nil {
				t.Fatal("no error")
			}
			for i := range 2*repliesEach - 1 { // the first message's notify was taken
				r.mustSend(t, answering(ann, fmt.Sprint("a", i), "answer"))
			}
			if w.Replies(ann, id) != repliesEach || w.Replies(ann, old) != repliesEach {
				t.Errorf("%d and %d replies", w.Replies(ann, old), w.Replies(ann, id))
			}
			calls := w.Calls("messages")
			if _, err := r.Send(channeltest.Bounded(t), answering(ann, "over", "x")); channels.KindOf(err) != channels.Rejected || w.Calls("messages") != calls {
				t.Errorf("one more: %v, %d calls", err, w.Calls("messages")-calls)
			}
		})
	}
}

// The parts of a long answer, an input notify and a notice of what was missed
// are as many messages as one message of a person allows.
func TestPartsFitTheReplies(t *testing.T) {
	if maxParts+2 != repliesEach {
		t.Errorf("%d parts, an input notify and a notice are not %d", maxParts, repliesEach)
	}
	l := plainQQ(t).Limits()
	if l.Parts != maxParts || l.Edit != 0 || l.Caption != 0 {
		t.Errorf("limits %+v", l)
	}
}

func TestSendRefusesWhatIsNoMessage(t *testing.T) {
	q := plainQQ(t)
	for name, msg := range map[string]chat.Outbound{
		"empty": reminder(ann, "m", " \n"), "no chat": reminder("12345", "m", "x"), "no id": reminder("c2c:", "m", "x"),
	} {
		if _, err := q.Send(channeltest.Bounded(t), msg); channels.KindOf(err) != channels.Rejected || err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBrokenTable(t *testing.T) {
	w := newWorld(t, nil)
	q := w.channel(t, channels.Deps{Table: &broken{}})
	_, err := q.Send(channeltest.Bounded(t), reminder(ann, "m", "x"))
	if channels.KindOf(err) != channels.Temporary || !errors.Is(err, errDisk) {
		t.Errorf("send: %v", err)
	}
	if err := q.Typing(channeltest.Bounded(t), at(ann)); !errors.Is(err, errDisk) {
		t.Errorf("typing: %v", err)
	}
	if len(w.Messages(ann)) != 0 {
		t.Error("sent without a place in the ledger")
	}
}

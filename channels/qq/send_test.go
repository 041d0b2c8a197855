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

// Four replies to a private message, five to a group's; what follows goes as
// active messages.
func TestAnswersAreReplies(t *testing.T) {
	w := newWorld(t, nil)
	r := start(t, w.channel(t, channels.Deps{}))
	for chatID, each := range map[string]int{ann: 4, crowd: 5} {
		id := heard(t, w, r, chatID, "hi")
		for i := range each + 2 {
			r.mustSend(t, answering(chatID, fmt.Sprint("a", i), "answer"))
		}
		shown := w.Messages(chatID)
		if len(shown) != each+2 || w.ActiveUsed(chatID) != 2 || w.Replies(chatID, id) != each {
			t.Fatalf("%d shown, %d active", len(shown), w.ActiveUsed(chatID))
		}
		for i, m := range shown {
			if want := map[bool]string{true: id}[i < each]; m.ReplyTo != want {
				t.Errorf("message %d replies to %q, want %q", i, m.ReplyTo, want)
			}
		}
	}
	if calls := w.Calls("messages"); calls != 4+5+2*2 {
		t.Errorf("%d calls: some were refused", calls)
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
		_, err := r.Send(channeltest.Bounded(t), reminder(chatID, "r1", "x"))
		keptForLater(t, err)
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
	keptForLater(t, err)
	calls := w.Calls("messages")
	if _, err := q.Send(channeltest.Bounded(t), reminder(eve, "r2", "y")); err == nil || w.Calls("messages") != calls {
		t.Errorf("asked again: %v", err)
	}
}

// The switch may come as an interaction that does not say which way.
func TestActiveMessagesClosedByAnInteraction(t *testing.T) {
	c := newClock()
	w := newWorld(t, &fake.Options{Now: c.Now})
	w.Grant(fake.Policy{Switch: true})
	r := start(t, w.channel(t, channels.Deps{Now: c.Now}))
	w.Refuse(ann)
	heard(t, w, r, bob, "the event before is handled")
	_, err := r.Send(channeltest.Bounded(t), reminder(ann, "r1", "x"))
	keptForLater(t, err)
	if w.Calls("messages") != 0 {
		t.Error("the platform was asked although the person has said no")
	}
	c.pass(askAgain) // it may have meant the contrary
	_, err = r.Send(channeltest.Bounded(t), reminder(ann, "r2", "y"))
	keptForLater(t, err)
	if w.Calls("messages") != 1 {
		t.Errorf("%d calls an hour later", w.Calls("messages"))
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
		{Status: 400, Code: 40034128, Text: "被动回复时间或次数超限"},
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
		"address in markdown":      {options: fake.Options{Markdown: true}, markdown: true, text: "**b** a.example", want: "**b** a。example"},
		"buttons":                  {options: fake.Options{Markdown: true}, markdown: true, text: "ok?", buttons: true, want: "ok?", keyboard: 1},
		"buttons without markdown": {text: "ok?", buttons: true, want: "ok?\n\n- Yes\n- No"},
		"buttons refused": {
			options: fake.Options{Markdown: true}, markdown: true, text: "**ok?**", buttons: true,
			fault: &fake.Fault{Status: 400, Code: 304037, Text: "没有发消息按钮组件的权限"}, want: "**ok?**\n\n- Yes\n- No",
		},
		"all refused": {markdown: true, text: "**a** a.example", buttons: true, want: "a a。example\n\n- Yes\n- No"},
		"one of many addresses": {
			options: fake.Options{Markdown: true}, markdown: true, buttons: true, keyboard: 1,
			text: "**a** [docs](https://good.example/x) [other](https://bad.example/y) `bad.example a.txt`",
			want: "**a** [docs](https://good.example/x) other (https://bad。example/y) `bad。example a.txt`",
		},
		"mentions": {text: "@everyone <@!123> <qqbot-at-everyone/> @全体成员 a@b", want: "@\u200beveryone <\u200b@!123> <\u200bqqbot-at-everyone/> @\u200b全体成员 a@b"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, &c.options)
			w.Grant(fake.Policy{Hosts: []string{"good.example"}})
			q := w.channel(t, channels.Deps{}, markdownIs(c.markdown))
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
	q := w.channel(t, channels.Deps{}, withMarkdown)
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
	for i := range 2 * groupReplies {
		r.mustSend(t, answering(crowd, fmt.Sprint("a", i), "x"))
		if active := w.ActiveUsed(crowd); (active == 0) != (i < 2*groupReplies-1) {
			t.Errorf("after answer %d %d active messages", i, active)
		}
	}
}

// A quote of the bot's message is one, with its text.
func TestQuoteOfTheBot(t *testing.T) {
	w := newWorld(t, nil)
	r := start(t, w.channel(t, channels.Deps{}))
	heard(t, w, r, crowd, "hi")
	r.mustSend(t, answering(crowd, "a", "the *answer*"))
	sent := w.Messages(crowd)[0]
	for _, talk := range []int{0, 2 * maxLines} { // however much was said meanwhile
		for i := range talk {
			w.Say(fake.Said{Chat: crowd, From: member, Text: fmt.Sprint("small talk ", i), All: true})
			r.Next(t)
		}
		for _, fields := range []map[string]any{nil, {"message_type": 103, "msg_elements": []any{map[string]any{ // as the group shows it
			"msg_idx": sent.Index, "content": "the *answer*", "author": map[string]any{"member_openid": "B0TINTHISGROUP", "bot": true},
		}}}} {
			w.Say(fake.Said{Chat: crowd, From: member, Text: "why?", Quote: sent.Index, All: true, Fields: fields})
			in := r.Next(t)
			if q := in.ReplyTo; q == nil || !q.Mine || q.Text != "the *answer*" || q.ID != sent.ID || !in.Mentioned {
				t.Errorf("after %d others: %+v, quote %+v", talk, in, in.ReplyTo)
			}
		}
	}
}

// The parts of a long answer are as many as one message of a group allows, and
// 12000 characters arrive as text.
func TestPartsFitTheReplies(t *testing.T) {
	l := plainQQ(t).Limits()
	if l.Parts != groupReplies || l.Parts*l.Text < 12000*5/4 || l.Caption != 0 {
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

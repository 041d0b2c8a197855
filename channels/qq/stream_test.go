package qq

import (
	"strings"
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/qq"
	"magpie/internal/kv"
)

const poem = "# 静夜思\n\n床前明月光，**疑是地上霜**。\n\n- one *item*\n- two `items`\n\n```go\nfmt.Println(\"a\")\nx := 1\n```\n\nThe [end](https://a.example/b) of it & more, in 3 < 4 words."

func answerOf(turn, id, text string) chat.Outbound {
	msg := answering(ann, id, text)
	msg.Turn = turn
	return msg
}

// streamed lets the poem grow to its end, n runes at a time, and returns the
// drafts that people saw.
func (r *receiving) streamed(t *testing.T, w *world, turn string, n int) (seen []string) {
	t.Helper()
	runes := []rune(poem)
	for i := n; i < len(runes); i += n {
		if err := r.Draft(channeltest.Bounded(t), at(ann), turn, string(runes[:i])); err != nil {
			t.Fatalf("draft %q: %v", string(runes[:i]), err)
		}
		if now := fake.Drive(w.Server).Draft(ann); now != "" && (len(seen) == 0 || seen[len(seen)-1] != now) {
			seen = append(seen, now)
		}
	}
	return seen
}

// A private answer grows in one message, never takes anything back, and stands
// there whole and closed at the end, as it would without. It costs one reply.
func TestAnswersAreStreamed(t *testing.T) {
	for name, on := range map[string]bool{"markdown": true, "plain": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, &fake.Options{Markdown: true, URLs: true})
			w.Grant(fake.Policy{Streams: true})
			r := start(t, w.channel(t, channels.Deps{}, markdownIs(on)))
			for _, n := range []int{1, 5, 17} {
				id := heard(t, w, r, ann, "a poem, please")
				before := len(w.Messages(ann))
				seen := r.streamed(t, w, id, n)
				if len(seen) < 5 {
					t.Errorf("%d at a time: people saw %q", n, seen)
				}
				ref := r.mustSend(t, answerOf(id, "out:"+id, poem))
				shown := w.Messages(ann)[before:]
				want := map[bool]string{true: rich(poem), false: plain(poem)}[on]
				if len(shown) != 1 || shown[0].Text != want || shown[0].Stream != "closed" || shown[0].ID != ref.ID || w.Replies(ann, id) != 1 {
					t.Errorf("%d at a time: the chat shows %+v, want %q", n, shown, want)
				}
			}
		})
	}
}

// What is not granted is asked for once a day, and answers go as ever.
func TestStreamsThatAreNotGranted(t *testing.T) {
	c := newClock()
	w := newWorld(t, &fake.Options{Markdown: true, Now: c.Now})
	table := &kv.Memory{}
	r := start(t, w.channel(t, channels.Deps{Table: table, Now: c.Now}, withMarkdown))
	id := heard(t, w, r, ann, "hi")
	if err := r.Draft(channeltest.Bounded(t), at(ann), id, "The beginning\n\nof"); channels.KindOf(err) != channels.Rejected {
		t.Errorf("refused: %v", err)
	}
	after := w.channel(t, channels.Deps{Table: table, Now: c.Now}, withMarkdown)
	if r.Limits().DraftIn(at(ann)) != 0 || after.Limits().DraftIn(at(ann)) != 0 || after.Limits().DraftIn(at(crowd)) != 0 {
		t.Error("it would be tried again")
	}
	r.mustSend(t, answerOf(id, "a", "The beginning\n\nof it"))
	if shown := w.Messages(ann); len(shown) != 1 || w.Replies(ann, id) != 1 {
		t.Errorf("the chat shows %+v", shown)
	}
	c.pass(forgetAfter)
	if after.Limits().DraftIn(at(ann)) != streamPace || after.Limits().DraftIn(at(crowd)) != 0 {
		t.Error("it is not tried a day later")
	}
}

// Whatever becomes of a stream, the answer is there whole, once, and nothing
// else.
func TestStreamsThatCannotBecomeTheAnswer(t *testing.T) {
	const begun = "A first paragraph that people see.\n\nAnd more"
	menu := [][]chat.Button{{{Label: "Yes", Data: "y"}}}
	for name, c := range map[string]struct {
		final  chat.Outbound
		before func(*world)
		want   string
	}{
		"another text":     {final: answerOf("t", "a", "Something else."), want: "Something else."},
		"with buttons":     {final: func() chat.Outbound { m := answerOf("t", "a", begun); m.Buttons = menu; return m }(), want: begun},
		"another turn":     {final: answerOf("u", "a", "A reminder."), want: "A reminder."},
		"the end refused":  {final: answerOf("t", "a", begun), before: func(w *world) { w.Fail(fake.Fault{Op: "stream", Status: 404, Code: 40007}) }, want: begun},
		"too fast":         {final: answerOf("t", "a", begun), before: func(w *world) { w.Fail(fake.Fault{Op: "stream", Status: 429, Code: 22009, Times: 100}) }, want: begun},
		"too fast once":    {final: answerOf("t", "a", begun), before: func(w *world) { w.Fail(fake.Fault{Op: "stream", Status: 429, Code: 22009}) }, want: begun},
		"too long for one": {final: answerOf("t", "a", begun), before: func(w *world) { w.Fail(fake.Fault{Op: "stream", Status: 400, Code: 40054014}) }, want: begun},
		"an address":       {final: answerOf("t", "a", begun+" at bad.example"), want: begun + " at bad。example"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, &fake.Options{Markdown: true})
			w.Grant(fake.Policy{Streams: true})
			r := start(t, w.channel(t, channels.Deps{}, withMarkdown))
			heard(t, w, r, ann, "hi")
			if err := r.Draft(channeltest.Bounded(t), at(ann), "t", begun); err != nil || fake.Drive(w.Server).Draft(ann) == "" {
				t.Fatalf("nothing was begun: %v", err)
			}
			if c.before != nil {
				c.before(w)
			}
			r.mustSend(t, c.final)
			if shown := w.Messages(ann); len(shown) != 1 || shown[0].Text != c.want || shown[0].Stream == "open" {
				t.Errorf("the chat shows %+v, want %q", shown, c.want)
			}
		})
	}
}

// The end of a stream that may have arrived is asked for again, and a repeat of
// the answer after a restart is recognised.
func TestTheEndOfAStreamInDoubt(t *testing.T) {
	w := newWorld(t, &fake.Options{Markdown: true})
	w.Grant(fake.Policy{Streams: true})
	table := &kv.Memory{}
	r := start(t, w.channel(t, channels.Deps{Table: table}, withMarkdown))
	id := heard(t, w, r, ann, "hi")
	if err := r.Draft(channeltest.Bounded(t), at(ann), "t", "The beginning.\n\nThe"); err != nil {
		t.Fatal(err)
	}
	w.Fail(fake.Fault{Op: "stream", After: true, Status: 504, Page: true})
	msg := answerOf("t", "a", "The beginning.\n\nThe end.")
	if _, err := r.Send(channeltest.Bounded(t), msg); channels.KindOf(err) != channels.Ambiguous {
		t.Fatalf("without an answer: %v", err)
	}
	r.mustSend(t, msg)
	other := w.channel(t, channels.Deps{Table: table}, withMarkdown)
	if _, err := other.Send(channeltest.Bounded(t), msg); err != nil {
		t.Fatal(err)
	}
	if shown := w.Messages(ann); len(shown) != 1 || !strings.HasSuffix(shown[0].Text, "The end.") || w.Replies(ann, id) != 1 {
		t.Errorf("the chat shows %+v", shown)
	}
}

// A program that dies while it writes leaves no half answer: the next one takes
// it back and sends the whole, also when it has to ask twice; where that is too
// late the half stays, and the answer is there all the same. What was completed
// is never taken back.
func TestStreamsAfterAKill(t *testing.T) {
	for name, c := range map[string]struct {
		fault fake.Fault
		left  int
	}{
		"taken back":  {},
		"asked twice": {fault: fake.Fault{Op: "delete", Status: 502, Page: true}},
		"too late":    {fault: fake.Fault{Op: "delete", Status: 400, Code: 40064004}, left: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, &fake.Options{Markdown: true})
			w.Grant(fake.Policy{Streams: true})
			table := &kv.Memory{}
			r := start(t, w.channel(t, channels.Deps{Table: table}, withMarkdown))
			heard(t, w, r, ann, "hi")
			if err := r.Draft(channeltest.Bounded(t), at(ann), "s", "Complete.\n\nThe"); err != nil {
				t.Fatal(err)
			}
			r.mustSend(t, answerOf("s", "z", "Complete.\n\nThe first."))
			if err := r.Draft(channeltest.Bounded(t), at(ann), "t", "The beginning.\n\nThe"); err != nil {
				t.Fatal(err)
			}
			if err := r.Stop(); err != nil {
				t.Fatal(err)
			}
			if c.fault.Op != "" {
				w.Fail(c.fault)
			}
			next := start(t, w.channel(t, channels.Deps{Table: table}, withMarkdown))
			channeltest.Eventually(t, "what was left is taken back", func() bool {
				left, err := kv.List(channeltest.Bounded(t), table, "stream")
				return err == nil && len(left) == 0
			})
			if err := next.Draft(channeltest.Bounded(t), at(ann), "t", "The beginning.\n\nThe"); err != nil {
				t.Errorf("a draft of the same turn: %v", err)
			}
			next.mustSend(t, answerOf("t", "a", "The beginning.\n\nThe end."))
			shown := w.Messages(ann)
			if last := shown[len(shown)-1]; shown[0].Text != "Complete.\n\nThe first." || last.Text != "The beginning.\n\nThe end." || last.Stream != "" || len(shown) != 2+c.left {
				t.Errorf("the chat shows %+v", shown)
			}
			if !next.learnt.works(asStream) {
				t.Error("streams count as refused")
			}
		})
	}
}

// A quote of a streamed answer holds its text and the id of its receipt.
func TestQuoteOfAStreamedAnswer(t *testing.T) {
	w := newWorld(t, &fake.Options{Markdown: true})
	w.Grant(fake.Policy{Streams: true})
	r := start(t, w.channel(t, channels.Deps{}, withMarkdown))
	heard(t, w, r, ann, "hi")
	if err := r.Draft(channeltest.Bounded(t), at(ann), "t", "The beginning.\n\nThe"); err != nil {
		t.Fatal(err)
	}
	ref := r.mustSend(t, answerOf("t", "a", "The beginning.\n\nThe end."))
	w.Say(fake.Said{Chat: ann, Text: "why?", Quote: w.Messages(ann)[0].Index})
	if in := r.Next(t); in.ReplyTo == nil || !in.ReplyTo.Mine || in.ReplyTo.ID != ref.ID || in.ReplyTo.Text != "The beginning.\n\nThe end." {
		t.Errorf("quote %+v, want message %q", in.ReplyTo, ref.ID)
	}
}

// What is shown of a text that is being written is never taken back, whatever
// follows.
func TestSettledTextStays(t *testing.T) {
	q := plainQQ(t)
	for _, text := range []string{
		poem,
		"1. first **bold *both* bold**\n2. second `a*b` and ``c`d``\n   - nested ~~gone~~\n\n> quoted *words*\n> go on\n\n---\n\nlast",
		"Before.\n\n| a | b |\n|---|---|\n| 1 | **2** |\n| 3 | `4` |\n\nAfter the table.",
		"See https://go.dev/doc?a=1&b=2_3 or <https://a.example/x_y>, ann@mail.example, [1] and [two][ref].\n\n![a picture](https://a.example/p.png)\n",
		"中文*强调*和**加粗**，以及`代码`。第二句：[链接](https://例子.公司/路径)！\n下一行\n\n```\n没有语言的代码\n```\n",
		"a_b_c __init__ 2*3*4 = 24 ** no ** \\*escaped\\* &amp; &copy; <b>tag</b> #tag\n# Heading #\ntext",
		"- [ ] task\n- [x] done\n\nNow:\n\n- a\n\n  paragraph in an item\n\n~~~py\nprint(\"`\")\n~~~\n\nAnd so on.",
	} {
		for _, markdown := range []bool{true, false} {
			whole, runes := q.streamed(text, markdown), []rune(text)
			shown := ""
			for i := range runes {
				now := q.settled(string(runes[:i]), markdown)
				if !strings.HasPrefix(whole, now) {
					t.Errorf("markdown %v, after %q people saw …%q, which the end has not", markdown, string(runes[max(0, i-30):i]), now[max(0, len(now)-30):])
					break
				}
				shown = max(shown, now)
			}
			if len(shown) < len(whole)/2 {
				t.Errorf("markdown %v: of %q only %q is shown early", markdown, whole, shown)
			}
		}
	}
}

package qq

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/qq"
	"magpie/internal/kv"
)

// What found no place is told with the next message's window, over a restart.
// The day's budget is the platform's: it is learnt from its refusal, in one call,
// and over at its midnight.
func TestMissedMessagesAreToldAtTheNextContact(t *testing.T) {
	c := newClock() // 20:00 in China
	w := newWorld(t, &fake.Options{Active: 3, Now: c.Now})
	table := &kv.Memory{}
	first := start(t, w.channel(t, channels.Deps{Table: table, Now: c.Now}))
	for i := range 3 {
		first.mustSend(t, reminder(ann, fmt.Sprint("r", i), "take the pills"))
	}
	for _, id := range []string{"r4", "r4", "r5"} { // r4 twice: a repeat is the same message
		_, err := first.Send(channeltest.Bounded(t), reminder(ann, id, "喝水 "+id))
		keptForLater(t, err)
	}
	if calls := w.Calls("messages"); calls != 4 {
		t.Errorf("%d calls: the platform was asked although it had answered", calls)
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	again := start(t, w.channel(t, channels.Deps{Table: table, Now: c.Now}))
	_, err := again.Send(channeltest.Bounded(t), reminder(ann, "r6", "after a restart"))
	keptForLater(t, err)
	if calls := w.Calls("messages"); calls != 4 {
		t.Errorf("%d calls after a restart", calls)
	}
	id := heard(t, w, again, ann, "hi")
	shown, err := w.WaitMessages(channeltest.Bounded(t), ann, 4)
	if err != nil {
		t.Fatal(err)
	}
	last := shown[len(shown)-1]
	if last.Text != "之前有 3 条消息没能送达：\n\n喝水 r4\n\n喝水 r5\n\nafter a restart" || last.ReplyTo != id {
		t.Errorf("told %+v", last)
	}
	c.pass(4 * time.Hour) // midnight in China
	again.mustSend(t, reminder(ann, "next day", "good morning"))
	if all := texts(w, ann); len(all) != 5 || w.ActiveUsed(ann) != 1 {
		t.Errorf("the chat shows %q", all)
	}
}

// An answer that comes too late to be a reply goes as an active message; where
// those are switched off it is kept.
func TestLateAnswers(t *testing.T) {
	for chatID, life := range map[string]time.Duration{ann: directWindow, crowd: groupWindow} {
		c := newClock()
		w := newWorld(t, &fake.Options{Now: c.Now})
		r := start(t, w.channel(t, channels.Deps{Now: c.Now}))
		heard(t, w, r, chatID, "take your time")
		c.pass(life + time.Second)
		r.mustSend(t, answering(chatID, "a", "here it is"))
		if shown := w.Messages(chatID); len(shown) != 1 || shown[0].ReplyTo != "" || w.ActiveUsed(chatID) != 1 {
			t.Errorf("%s: the chat shows %+v", chatID, shown)
		}
		w.Close()
		closed := newWorld(t, &fake.Options{Now: c.Now})
		q := closed.channel(t, channels.Deps{Now: c.Now})
		closed.Refuse(chatID)
		_, err := q.Send(channeltest.Bounded(t), answering(chatID, "a", "kept"))
		keptForLater(t, err)
		if calls := closed.Calls("messages"); calls != 1 {
			t.Errorf("%s: %d calls", chatID, calls)
		}
	}
}

// contact is something that a member of the group writes; nothing is told yet.
func contact(t *testing.T, w *world, q *QQ) {
	t.Helper()
	id := w.Say(fake.Said{Chat: crowd, From: member, Text: "next"})
	if _, err := q.ledger.open(t.Context(), crowd, window{ID: id, At: q.deps.Now()}, nil); err != nil {
		t.Fatal(err)
	}
}

// told lets a member write until nothing more is told, and returns the notices.
func told(t *testing.T, w *world, q *QQ) (all []string) {
	t.Helper()
	for range 20 {
		before := len(w.Messages(crowd))
		contact(t, w, q)
		if err := q.tellMissed(channeltest.Bounded(t), crowd); err != nil {
			t.Fatal(err)
		}
		shown := w.Messages(crowd)[before:]
		if len(shown) == 0 {
			return all
		}
		all = append(all, shown[0].Text)
	}
	t.Fatalf("it never ends: %.300q", all)
	return nil
}

// keptForLater checks that a message found no place and will be told.
func keptForLater(t *testing.T, err error) {
	t.Helper()
	var k interface{ Kept() bool }
	if channels.KindOf(err) != channels.Rejected || !errors.As(err, &k) || !k.Kept() {
		t.Fatalf("without a place: %v; want it refused and kept", err)
	}
}

func wantNumbers(t *testing.T, notices []string, want int) {
	t.Helper()
	found := regexp.MustCompile(`n\d{4}`).FindAllString(strings.Join(notices, "\n"), -1)
	for i, n := range found {
		if n != fmt.Sprintf("n%04d", i) {
			t.Fatalf("number %d is %s", i, n)
		}
	}
	if len(found) != want {
		t.Errorf("%d numbers were told, want %d", len(found), want)
	}
}

// Nothing of a long answer is lost: what does not fit into one notice comes
// with the next, in order, each readable by itself. The fake refuses what is
// longer than a message may be, as markdown in what it is written out.
func TestWholeAnswersAreTold(t *testing.T) {
	for name, c := range map[string]struct {
		markdown     bool
		line         string
		fence        bool
		parts, lines int
		most         int // notices
	}{
		"code":                   {line: "n%04d := compute(%[1]d) // and two words", fence: true, parts: 3, lines: 100, most: 4},
		"code in markdown":       {markdown: true, line: "n%04d := compute(%[1]d) // and two words", fence: true, parts: 3, lines: 100, most: 4},
		"markdown that is wider": {markdown: true, line: "- n%04d a_b_c [1] &lt; <2> 第%[1]d行 x", parts: 3, lines: 100, most: 4},
		"many that are wider":    {markdown: true, line: "- n%04d a_b_c [1] &lt; <2> 第%[1]d行 x", parts: 20, lines: 10, most: 3},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, &fake.Options{Markdown: c.markdown})
			w.Refuse(crowd)
			q := w.channel(t, channels.Deps{}, func(cfg *Config) { cfg.Markdown = &c.markdown })
			for part := range c.parts {
				var text []string
				for i := range c.lines {
					text = append(text, fmt.Sprintf(c.line, part*c.lines+i))
				}
				body := strings.Join(text, "\n")
				if c.fence {
					body = "```go\n" + body + "\n```"
				}
				_, err := q.Send(channeltest.Bounded(t), answering(crowd, fmt.Sprint("a#", part), body))
				keptForLater(t, err)
			}
			notices := told(t, w, q)
			wantNumbers(t, notices, c.parts*c.lines)
			for _, n := range notices {
				if strings.Count(n, "```")%2 != 0 {
					t.Errorf("code is left open in %q", n)
				}
			}
			if len(notices) > c.most || w.Calls("messages") != len(notices)+1 { // and the refusal that it learnt from
				t.Errorf("%d notices in %d calls, want %d at most", len(notices), w.Calls("messages"), c.most)
			}
		})
	}
}

// A platform that counts otherwise than the bot does not block the notices.
func TestNoticeThatIsTooLong(t *testing.T) {
	w := newWorld(t, nil)
	w.Refuse(crowd)
	q := w.channel(t, channels.Deps{})
	var text []string
	for i := range 300 {
		text = append(text, fmt.Sprintf("n%04d", i))
	}
	_, err := q.Send(channeltest.Bounded(t), answering(crowd, "a", strings.Join(text, " ")))
	keptForLater(t, err)
	w.Fail(fake.Fault{Times: 2, Status: 400, Code: 40054007, Text: "消息长度超限"})
	notices := told(t, w, q)
	wantNumbers(t, notices, 300)
	if len(notices) < 2 || !strings.HasSuffix(notices[0], "The rest follows when you write next.") {
		t.Errorf("%d notices, the first ends with %.80q", len(notices), notices[0][max(0, len(notices[0])-80):])
	}
}

func empty(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("x")), nil }

// A file is named; one that stands for a text is told as that text.
func TestMissedFiles(t *testing.T) {
	w := newWorld(t, nil)
	w.Refuse(crowd)
	q := w.channel(t, channels.Deps{})
	for id, a := range map[string]chat.Attachment{
		"a": {Kind: chat.File, Name: "report.pdf"}, "b": {Kind: chat.File, Name: "message.md", Text: "the rest of the answer"},
	} {
		_, err := q.SendMedia(channeltest.Bounded(t), answering(crowd, id, "look"), []channels.Upload{{Attachment: a, Open: empty}})
		keptForLater(t, err)
	}
	all := strings.Join(told(t, w, q), "\n")
	if !strings.Contains(all, "look\n📎 report.pdf") || !strings.Contains(all, "look\n\nthe rest of the answer") || strings.Contains(all, "message.md") {
		t.Errorf("told %q", all)
	}
}

func TestNoticeHoldsWhatFits(t *testing.T) {
	q := plainQQ(t)
	long := strings.Repeat("a ", maxText/2)
	text, left := q.notice([]missed{{"1", long}, {"2", "short"}}, 3, 1000)
	if len(left) != 2 || left[0].ID != "1" || len(text)+len(left[0].Text) < len(long) || left[1].Text != "short" ||
		!strings.HasPrefix(text, "5 messages could not be delivered earlier:") || !strings.Contains(text, "3 more could not be kept.") {
		t.Errorf("%d left: %.80q", len(left), text)
	}
	if text, left := q.notice([]missed{{"1", "a"}, {"2", "b"}}, 0, 1000); len(left) != 0 || !strings.HasSuffix(text, "a\n\nb") {
		t.Errorf("%d left: %q", len(left), text)
	}
	// One that fits into the next notice is not cut.
	if _, left := q.notice([]missed{{"1", "some words"}, {"2", strings.Repeat("b", 95)}}, 0, 100); len(left) != 1 || len(left[0].Text) != 95 {
		t.Errorf("left %+v", left)
	}
	if text, left := q.notice(nil, 2, 1000); len(left) != 0 || text != "2 messages could not be delivered earlier:\n\n2 more could not be kept." {
		t.Errorf("%q, %d left", text, len(left))
	}
}

package qq

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/qq"
	"magpie/internal/kv"
)

// What found no place is told with the next message's window, over a restart.
func TestMissedMessagesAreToldAtTheNextContact(t *testing.T) {
	w := newWorld(t, nil)
	table := &kv.Memory{}
	first := start(t, w.channel(t, channels.Deps{Table: table}))
	for i := range activeQuota {
		first.mustSend(t, reminder(ann, fmt.Sprint("r", i), "take the pills"))
	}
	for _, id := range []string{"r4", "r4", "r5"} { // r4 twice: a repeat is the same message
		_, err := first.Send(channeltest.Bounded(t), reminder(ann, id, "喝水 "+id))
		if channels.KindOf(err) != channels.Rejected || !strings.Contains(err.Error(), "quota of active messages (4 a month for each chat)") {
			t.Fatalf("over the quota: %v", err)
		}
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	again := start(t, w.channel(t, channels.Deps{Table: table}))
	id := heard(t, w, again, ann, "hi")
	shown, err := w.WaitMessages(channeltest.Bounded(t), ann, activeQuota+1)
	if err != nil {
		t.Fatal(err)
	}
	last := shown[len(shown)-1]
	if last.Text != "之前有 2 条消息没能送达：\n\n喝水 r4\n\n喝水 r5" || last.ReplyTo != id {
		t.Errorf("told %+v", last)
	}
	heard(t, w, again, ann, "and now?")
	again.mustSend(t, answering(ann, "a", "nothing more"))
	if all := texts(w, ann); len(all) != activeQuota+2 {
		t.Errorf("the chat shows %q", all)
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
			q := w.channel(t, channels.Deps{}, func(cfg *Config) { cfg.Markdown = c.markdown })
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
			if len(notices) > c.most || w.Calls("messages") != len(notices) {
				t.Errorf("%d notices in %d calls, want %d at most", len(notices), w.Calls("messages"), c.most)
			}
		})
	}
}

// A platform that counts otherwise than the bot does not block the notices.
func TestNoticeThatIsTooLong(t *testing.T) {
	w := newWorld(t, nil)
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

// A file is named; one that stands for a text is told as that text.
func TestMissedFiles(t *testing.T) {
	w := newWorld(t, nil)
	q := w.channel(t, channels.Deps{})
	for id, a := range map[string]chat.Attachment{
		"a": {Kind: chat.File, Name: "report.pdf"}, "b": {Kind: chat.File, Name: "message.md", Text: "the rest of the answer"},
	} {
		_, err := q.SendMedia(channeltest.Bounded(t), answering(crowd, id, "look"), []channels.Upload{{Attachment: a}})
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

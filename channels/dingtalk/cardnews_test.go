package dingtalk

import (
	"slices"
	"sort"
	"strings"
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	"magpie/internal/kv"

	fake "magpie/internal/fakes/dingtalk"
)

// A card announces what it holds, and in a group the one whom it answers.
func TestCardNews(t *testing.T) {
	w := newWorld(t, nil)
	w.cfg = withCards
	r := w.start(t, nil, nil)
	w.Say(fake.Said{From: bob().Chat(), Chat: crowd().Chat(), Text: "first?", Mention: true})
	first := r.Next(t)
	w.Say(fake.Said{From: ann().Chat(), Chat: crowd().Chat(), Text: "second?", Mention: true})
	r.Next(t)
	answer := outbound(crowd().Chat(), "# 答案\n\nmore")
	answer.ReplyTo, answer.Draft = first.MessageID, true
	ref, err := r.Send(channeltest.Bounded(t), answer)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Channel.(channels.Editor).Edit(channeltest.Bounded(t), ref, outbound(crowd().Chat(), "done")); err != nil {
		t.Fatal(err)
	}
	typer := r.Channel.(channels.Typer)
	for _, a := range []string{crowd().Chat(), bob().Chat()} {
		if err := typer.Typing(channeltest.Bounded(t), at(a)); err != nil {
			t.Fatal(err)
		}
	}
	m := slices.DeleteFunc(w.Messages(crowd().Chat()), func(m fake.Message) bool { return m.Kind != "card" })
	private := w.Messages(bob().Chat())
	if len(m) < 2 || len(private) != 1 {
		t.Fatalf("the group shows %+v, the private chat %+v", m, private)
	}
	if m[0].News["ZH_CN"] != "答案" || m[0].News["EN_US"] != "答案" || !slices.Equal(m[0].At, []string{bob().StaffID}) {
		t.Errorf("the answer announces %v to %v", m[0].News, m[0].At)
	}
	if m[1].News["ZH_CN"] != workingChinese || m[1].News["EN_US"] != workingEnglish || !slices.Equal(m[1].At, []string{ann().StaffID}) {
		t.Errorf("the sign of work announces %v to %v", m[1].News, m[1].At)
	}
	if private[0].News["ZH_CN"] != workingChinese || private[0].At != nil {
		t.Errorf("in private it announces %v to %v", private[0].News, private[0].At)
	}
}

// A card has the dialect of cards, a message that of robots, in drafts and
// answers alike.
func TestTwoDialects(t *testing.T) {
	s := newStudio(t, &kv.Memory{})
	const text = "one\ntwo\n\n|A|B|\n|-|-|\n|1|2|"
	ref, err := s.Send(channeltest.Bounded(t), draft("t1", text))
	if err != nil {
		t.Fatal(err)
	}
	const card = "one<br>two\n\n| A | B |\n| --- | --- |\n| 1 | 2 |"
	s.shows("card inputing " + card)
	if err := s.Edit(channeltest.Bounded(t), ref, draft("t1", text+"\n\nx\ny")); err != nil {
		t.Fatal(err)
	}
	s.shows("card inputing " + card + "\n\nx<br>y")
	if err := s.Edit(channeltest.Bounded(t), ref, outbound(ann().Chat(), text)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Send(channeltest.Bounded(t), outbound(ann().Chat(), text)); err != nil {
		t.Fatal(err)
	}
	s.shows("card finished "+card, "markdown  one  \ntwo\n\n- **1** · B: 2")
}

// A text that Limits says to fit is taken: by characters in cards, by bytes in
// the parameters of groups, whatever the characters are.
func TestLongestTexts(t *testing.T) {
	for _, cards := range []bool{false, true} {
		w := newWorld(t, nil)
		if cards {
			w.cfg = withCards
		}
		ch := w.channel(t, channels.Deps{})
		l := ch.Limits()
		for _, unit := range []string{"a", "好", "😀", "a\"", "a>", "a<", "a&", "a\\", "a\u2028", "a\nb", "a\n\n> b\n\n"} {
			n := sort.Search(2*l.Text, func(n int) bool { return l.Size(strings.Repeat(unit, n+1)) > l.Text })
			text := strings.Repeat(unit, n)
			for _, a := range []string{ann().Chat(), crowd().Chat()} {
				for _, drafted := range []bool{false, cards} {
					msg := outbound(a, text)
					msg.Draft = drafted
					if _, err := ch.Send(channeltest.Bounded(t), msg); err != nil {
						t.Errorf("cards %v, %d of %q to %s: %v", cards, n, unit, a, err)
					}
				}
			}
			if n := l.Size(strings.Repeat("好", l.Text)); n != l.Text {
				t.Errorf("%d Chinese characters measure %d", l.Text, n)
			}
			long := outbound(crowd().Chat(), strings.Repeat(unit, n+1))
			if _, err := ch.Send(channeltest.Bounded(t), long); channels.KindOf(err) != channels.TooLong {
				t.Errorf("cards %v, too many %q: %v", cards, unit, err)
			}
		}
	}
}

// A card that is made too fast is made a moment later, with its buttons.
func TestCardsMadeTooFast(t *testing.T) {
	s := newStudio(t, &kv.Memory{})
	s.Fail(fake.Fault{Op: fake.OpCardCreate, Status: 403, Code: "Forbidden.AccessDenied.QpsLimitForApi", Times: 2})
	answer := outbound(ann().Chat(), "shall I?")
	answer.Buttons = [][]chat.Button{{{Label: "Yes", Data: "y"}}}
	if _, err := s.Send(channeltest.Bounded(t), answer); err != nil {
		t.Fatal(err)
	}
	s.shows("card finished shall I?")
	if m := s.Messages(ann().Chat()); len(m[0].Buttons) != 1 {
		t.Errorf("the card has %d buttons", len(m[0].Buttons))
	}
}

// Cards that change too fast hold back neither messages nor other chats; a limit
// of the whole application does.
func TestLimitOfCards(t *testing.T) {
	for code, whole := range map[string]bool{
		"Forbidden.AccessDenied.QpsLimitForAppkeyAndApi": false, "Forbidden.AccessDenied.QpsLimitForApi": false,
		"Forbidden.AccessDenied.QpsLimitForAppkey": true, "Forbidden.AccessDenied.QpmLimitForCorp": true,
	} {
		s := newStudio(t, &kv.Memory{})
		s.Fail(fake.Fault{Op: fake.OpCardStream, Status: 403, Code: code})
		_, err := s.Send(channeltest.Bounded(t), draft("turn", "half"))
		if _, global := channels.Limit(err); channels.KindOf(err) != channels.RateLimited || global != whole {
			t.Errorf("%s: %v, of the whole bot: %v", code, err, global)
		}
	}
}

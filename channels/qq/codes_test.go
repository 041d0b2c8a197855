package qq

import (
	"errors"
	"strings"
	"testing"
	"time"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/qq"
	"magpie/internal/kv"
)

// Every code of the platform's tables of July 2026 in its class, also with a
// status that says something else.
func TestEveryCodeHasItsClass(t *testing.T) {
	for kind, codes := range map[channels.Kind][]int{
		channels.Temporary:    {11242, 306010, 1100300, 50001, 340067, 40034004, 40054006, 50055001, 50055002, 50055006, 50065001, 304016, 304018},
		channels.TooLong:      {40054007, 40054014, 40054018, 304020},
		channels.RateLimited:  {20028, 22009, 50002, 100001, 610013, 1100100, 1100308},
		channels.Unauthorized: {100007, 100016, 11244, 11298, 40054016},
		channels.Rejected: {
			22006, 50059, 304004, 304061, 304062, 304064, 304080, 304103, 305007, 306009, 340069, 40007, 40034005, 40034006,
			40034008, 40034009, 40034010, 40034011, 40034016, 40034017, 40034018, 40034019, 40034020, 40034021, 40034022, 40034024,
			40034025, 40034026, 40034027, 40034029, 40034100, 40034101, 40034105, 40034106, 40034108, 40034109, 40034122, 40034123,
			40034124, 40034127, 40034128, 40054002, 40054003, 40054004, 40054005, 40054010, 40054013, 40061001, 40061002, 40062003,
			40064004, 304036, 304037, 304041, 850019, 850026, 850027, 850031,
			10000, 50045, 50046, 304028, 304031, 304032, 304034, 304035, 304047, 306011, 850018, 1100104, 1100301,
		},
	} {
		for _, code := range codes {
			for _, status := range []int{400, 500} {
				if status == 500 && (code == 22006 || code/1000 == 850 || !known500(code)) {
					continue // what is not in a class follows the status
				}
				w := newWorld(t, nil)
				q := w.channel(t, channels.Deps{})
				w.Fail(fake.Fault{Op: "delete", Times: 2, Status: status, Code: code, Text: "x"})
				err := q.api.call(channeltest.Bounded(t), request{op: "x", method: "DELETE", path: "/v2/users/X/messages/y"}, nil)
				if channels.KindOf(err) != kind || err == nil {
					t.Errorf("status %d, code %d: %v, want %v", status, code, err, kind)
				}
			}
		}
	}
}

func known500(code int) bool { return refusedWith(&refusal{code: code}, refusalCodes()) }

// What is too fast waits; when it is refused after longer than any rate lasts,
// there are no more. Neither is a dead letter.
func TestTooFastOrNoMore(t *testing.T) {
	fast := fake.Fault{Status: 429, Code: 22009, Text: "msg limit exceed"}
	for name, c := range map[string]struct {
		reply bool
		fault fake.Fault
	}{
		"a reply":                       {true, fast},
		"an active message":             {false, fast},
		"an active message, other code": {false, fake.Fault{Status: 429, Code: 40034100, Text: "主动消息发送超过频控限制"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			r := start(t, w.channel(t, channels.Deps{}))
			if c.reply {
				heard(t, w, r, ann, "hi")
			}
			w.Fail(c.fault)
			_, err := r.Send(channeltest.Bounded(t), answering(ann, "a", "soon"))
			var e *channels.Error
			if !errors.As(err, &e) || e.Kind != channels.RateLimited || e.RetryAfter != quick().slow {
				t.Fatalf("refused once: %v", err)
			}
			r.mustSend(t, answering(ann, "a", "soon"))
			if shown := w.Messages(ann); len(shown) != 1 || (shown[0].ReplyTo != "") != c.reply {
				t.Errorf("the chat shows %+v", shown)
			}
			again := c.fault
			again.Times = maxSlow + 1
			w.Fail(again)
			for wait := quick().slow; wait <= 25*quick().slow; wait *= 5 {
				_, err := r.Send(channeltest.Bounded(t), answering(ann, "b", "later"))
				if !errors.As(err, &e) || e.Kind != channels.RateLimited || e.RetryAfter != wait {
					t.Fatalf("refused again: %v, want a wait of %v", err, wait)
				}
			}
			_, err = r.Send(channeltest.Bounded(t), answering(ann, "b", "later"))
			if c.reply { // the reply's place is over, an active message goes
				if err != nil || w.ActiveUsed(ann) != 1 {
					t.Errorf("refused for ever: %v, %d active", err, w.ActiveUsed(ann))
				}
				return
			}
			keptForLater(t, err)
		})
	}
}

// Where nothing can be said the message is kept, not dead, and one call is made
// for it.
func TestNobodyThere(t *testing.T) {
	for _, code := range []int{40054013, 40054004, 40054003, 40034101, 40054002, 304034, 850018, 1100104, 1100301, 40034105} {
		w := newWorld(t, nil)
		r := start(t, w.channel(t, channels.Deps{}))
		heard(t, w, r, ann, "hi")
		heard(t, w, r, ann, "and bye")
		if code == 40034105 {
			heard(t, w, r, bob, "no window of Ann's is needed")
		}
		w.Fail(fake.Fault{Status: 400, Code: code, Text: "x"})
		to := ann
		if code == 40034105 {
			to = eve
		}
		_, err := r.Send(channeltest.Bounded(t), answering(to, "a", "too late"))
		keptForLater(t, err)
		if calls := w.Calls("messages"); calls != 1 {
			t.Errorf("%d: %d calls", code, calls)
		}
	}
	// The platform says it by itself, too.
	w := newWorld(t, nil)
	q := w.channel(t, channels.Deps{})
	w.Unfriend(ann, false)
	w.Unfriend(crowd, false)
	for _, to := range []string{ann, crowd} {
		_, err := q.Send(channeltest.Bounded(t), reminder(to, "r", "x"))
		keptForLater(t, err)
	}
}

// A message that is too old to be taken back is as good as gone.
func TestRecallThatIsTooLate(t *testing.T) {
	c := newClock()
	w := newWorld(t, &fake.Options{Now: c.Now})
	q := w.channel(t, channels.Deps{Now: c.Now})
	ref, err := q.Send(channeltest.Bounded(t), reminder(ann, "r", "x"))
	if err != nil {
		t.Fatal(err)
	}
	w.Fail(fake.Fault{Op: "delete", Status: 400, Code: 306011, Text: "超出可撤回消息时间"}) // as older pages call it
	if err := q.Delete(channeltest.Bounded(t), ref); err != nil {
		t.Errorf("306011: %v", err)
	}
	c.pass(3 * time.Minute)
	if err := q.Delete(channeltest.Bounded(t), ref); err != nil || len(w.Messages(ann)) != 1 {
		t.Errorf("%v, %d messages", err, len(w.Messages(ann)))
	}
}

// A form that the account does not have is left at once for the same message,
// remembered over a restart, and tried again after a day.
func TestRefusedFormsAreRemembered(t *testing.T) {
	menu := [][]chat.Button{{{Label: "Yes", Data: "y"}}}
	for name, c := range map[string]struct {
		markdown bool // the account has it
		fault    *fake.Fault
		want     string
	}{
		"markdown 304041":   {fault: &fake.Fault{Status: 500, Code: 304041, Text: "不允许发送 markdown"}, want: "a\n\n- Yes"},
		"markdown 50056":    {fault: &fake.Fault{Status: 400, Code: 50056, Text: "不允许发送原生 markdown"}, want: "a\n\n- Yes"},
		"markdown 40034127": {fault: &fake.Fault{Status: 400, Code: 40034127, Text: "无markdown模板权限"}, want: "a\n\n- Yes"},
		"buttons":           {markdown: true, fault: &fake.Fault{Status: 400, Code: 304037, Text: "没有发消息按钮组件的权限"}, want: "**a**\n\n- Yes"},
	} {
		t.Run(name, func(t *testing.T) {
			clock := newClock()
			w := newWorld(t, &fake.Options{Markdown: true, Now: clock.Now})
			table := &kv.Memory{}
			q := w.channel(t, channels.Deps{Table: table, Now: clock.Now}, withMarkdown)
			send := func(id string, calls int, want string) {
				t.Helper()
				before := w.Calls("messages")
				msg := reminder(ann, id, "**a**")
				msg.Buttons = menu
				if _, err := q.Send(channeltest.Bounded(t), msg); err != nil {
					t.Fatal(err)
				}
				shown := w.Messages(ann)
				if got := w.Calls("messages") - before; got != calls || shown[len(shown)-1].Text != want {
					t.Errorf("%s: %d calls, the chat shows %q, want %d and %q", id, got, shown[len(shown)-1].Text, calls, want)
				}
			}
			w.Fail(*c.fault)
			send("first", 2, c.want)
			send("second", 1, c.want)
			q = w.channel(t, channels.Deps{Table: table, Now: clock.Now}, withMarkdown)
			send("after a restart", 1, c.want)
			clock.pass(forgetAfter)
			send("a day later", 1, "**a**")
			shown := w.Messages(ann)
			if len(shown[len(shown)-1].Keyboard) != 1 {
				t.Error("a day later there are no buttons")
			}
		})
	}
}

// What is wrong with one message says nothing of the others.
func TestOtherRefusalsAreNotRemembered(t *testing.T) {
	w := newWorld(t, &fake.Options{Markdown: true})
	q := w.channel(t, channels.Deps{}, withMarkdown)
	for i, code := range []int{40034011, 305007, 50055} {
		w.Fail(fake.Fault{Status: 400, Code: code, Text: "x"})
		msg := reminder(ann, string(rune('a'+i)), "**a**")
		msg.Buttons = [][]chat.Button{{{Label: "Yes", Data: "y"}}}
		if _, err := q.Send(channeltest.Bounded(t), msg); err != nil {
			t.Fatal(err)
		}
	}
	if !q.learnt.works(asMarkdown) || !q.learnt.works(asButtons) {
		t.Error("remembered")
	}
}

// A code that no table has, with words about the form: plain text is tried once,
// and no more when that is refused too.
func TestRefusalsInWords(t *testing.T) {
	for _, fault := range []fake.Fault{
		{Status: 400, Code: 40034997, Text: "Markdown 暂不支持"}, {Status: 403, Code: 304998, Text: "keyboard not allowed"}, {Status: 400, Code: 40034998, Text: "消息按钮无效"},
	} {
		w := newWorld(t, &fake.Options{Markdown: true})
		q := w.channel(t, channels.Deps{}, withMarkdown)
		w.Fail(fault)
		msg := reminder(ann, "a", "**a**")
		msg.Buttons = [][]chat.Button{{{Label: "Yes", Data: "y"}}}
		if _, err := q.Send(channeltest.Bounded(t), msg); err != nil {
			t.Errorf("%+v: %v", fault, err)
			continue
		}
		if shown := w.Messages(ann); len(shown) != 1 || shown[0].Text != "a\n\n- Yes" {
			t.Errorf("%+v: the chat shows %+v", fault, shown)
		}
		if !q.learnt.works(asMarkdown) || !q.learnt.works(asButtons) {
			t.Errorf("%+v: remembered", fault)
		}
		fault.Times = 2
		w.Fail(fault)
		before := w.Calls("messages")
		if _, err := q.Send(channeltest.Bounded(t), reminder(ann, "b", "**b**")); err == nil || channels.KindOf(err) != channels.Rejected || w.Calls("messages") != before+2 {
			t.Errorf("%+v, twice: %v after %d calls", fault, err, w.Calls("messages")-before)
		}
	}
}

// A code that no table has, with words about a trouble that passes.
func TestTroublesInWords(t *testing.T) {
	for text, want := range map[string]channels.Kind{"系统繁忙，请稍后重试": channels.Temporary, "消息发送过于频繁": channels.RateLimited, "消息内容违规，请修改后重试": channels.Rejected} {
		w := newWorld(t, nil)
		q := w.channel(t, channels.Deps{})
		w.Fail(fake.Fault{Status: 400, Code: 40034996, Text: text})
		if _, err := q.Send(channeltest.Bounded(t), reminder(ann, "a", "x")); err == nil || channels.KindOf(err) != want {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
}

// In groups an answer shows what it answers; a platform that does not take that
// gets it without, also next time.
func TestQuotingAnswers(t *testing.T) {
	w := newWorld(t, &fake.Options{Markdown: true})
	w.Grant(fake.Policy{ByIndex: true})
	r := start(t, w.channel(t, channels.Deps{}, withMarkdown))
	for i, fault := range []*fake.Fault{nil, {Status: 400, Code: 304026, Text: "MSG_ID 回复的消息 id 错误"}, nil} {
		id := heard(t, w, r, crowd, "question")
		if fault != nil {
			w.Fail(*fault)
		}
		msg := answering(crowd, string(rune('a'+i)), "answer")
		msg.ReplyTo = id
		r.mustSend(t, msg)
		shown := w.Messages(crowd)
		last := shown[len(shown)-1]
		if want := map[bool]string{true: id}[i == 0]; last.Quotes != want || last.ReplyTo != id {
			t.Errorf("answer %d quotes %q and replies to %q, want %q and %q", i, last.Quotes, last.ReplyTo, want, id)
		}
	}
	if calls := w.Calls("messages"); calls != 4 {
		t.Errorf("%d calls", calls)
	}
	id := heard(t, w, r, ann, "in private")
	msg := answering(ann, "p", "answer")
	msg.ReplyTo = id
	r.mustSend(t, msg)
	if shown := w.Messages(ann); shown[0].Quotes != "" {
		t.Error("quoted in a private chat")
	}
}

// Doctor names what was refused, and the switches that cannot be asked for.
func TestSurveyNamesWhatWasRefused(t *testing.T) {
	w := newWorld(t, nil)
	q := w.channel(t, channels.Deps{}, withMarkdown)
	if lines, err := q.Survey(t.Context()); len(lines) != 1 || !strings.Contains(lines[0], "接收所有消息") || !strings.Contains(lines[0], "主动发言") || err != nil {
		t.Errorf("at first: %q, %v", lines, err)
	}
	if _, err := q.Send(channeltest.Bounded(t), reminder(ann, "m", "**a**")); err != nil { // the account has no markdown
		t.Fatal(err)
	}
	if lines, err := q.Survey(t.Context()); len(lines) != 2 || !strings.Contains(lines[0], "native Markdown was refused") || err != nil {
		t.Errorf("after a refusal: %q, %v", lines, err)
	}
}

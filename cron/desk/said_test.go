package desk_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"magpie/chat"
	"magpie/cron"
	"magpie/cron/desk"
	"magpie/cron/intent"
	"magpie/cron/when"
)

// "ok" and "done" end what rang of late, and nothing else: not the reminder that
// was just made.
func TestOkIsNotDone(t *testing.T) {
	langs(t, func(t *testing.T, lang string) {
		w := newWorld(t, lang)
		ok := intent.Intent{Kind: intent.Change, Op: intent.Done, Ref: intent.Ref{Rang: true}, Maybe: true}
		if said := w.do(t, ok, desk.Message{}); len(said.Jobs) > 0 || !strings.Contains(said.Text, w.say("water the plants", "浇花")) {
			t.Errorf("what rang: %+v", said)
		}
		w.do(t, intent.Intent{Kind: intent.Create, Text: "tea", Times: []when.Phrase{{At: w.now.Add(time.Hour), Zone: w.ann.Zone}}}, desk.Message{})
		before := w.seen(t)
		for range 2 {
			var r *desk.Refusal
			if said, err := w.Do(t.Context(), w.ann, ok, desk.Message{}); !errors.As(err, &r) || r.Kind != desk.Unknown {
				t.Errorf("%+v, %v", said, err)
			}
			pills := w.known["pills"] // rang, but long ago
			if err := w.Rang(t.Context(), cron.Fired{Job: pills, Slot: w.now.Add(-7 * time.Hour)}); err != nil {
				t.Fatal(err)
			}
		}
		if got := difference(before, w.seen(t)); len(got) != 0 {
			t.Errorf("it changes %q", got)
		}
	})
}

// What an answer says of the state and the time of a reminder.
func TestWordsOfChanges(t *testing.T) {
	langs(t, func(t *testing.T, lang string) {
		w := newWorld(t, lang)
		rent := intent.Ref{Words: w.known["rent"].ID}
		w.do(t, change(intent.Resume, rent), desk.Message{})
		if said := w.do(t, change(intent.Undo, intent.Ref{}), desk.Message{}); !strings.HasSuffix(said.Text, w.say(" It is paused.", "。现在是暂停状态")) {
			t.Errorf("undone: %q", said.Text)
		}
		later := change(intent.Snooze, intent.Ref{Words: w.known["milk"].ID})
		later.Shift.Exact = 30 * time.Minute
		if said, want := w.do(t, later, desk.Message{}), w.spelled(w.say("OK, now {2026-11-27T17:30}: buy milk.", "好的，改为{2026-11-27T17:30}：买牛奶")); said.Text != want {
			t.Errorf("put off: %q, want %q", said.Text, want)
		}
		made := w.do(t, intent.Intent{Kind: intent.Create, Text: "tea", Times: []when.Phrase{{At: w.now.Add(20*time.Minute + 7*time.Second), Zone: w.ann.Zone}}}, desk.Message{})
		if want := w.say("OK, in 20 minutes (10:20): tea.", "好的，20分钟后（10:20）提醒你：tea"); made.Text != want {
			t.Errorf("made: %q, want %q", made.Text, want)
		}
		gone := w.do(t, change(intent.Remove, intent.Ref{Last: true}), desk.Message{})
		if want := w.say("Cancelled (in 20 minutes, 10:20): tea.", "已取消（20分钟后，10:20）：tea"); gone.Text != want {
			t.Errorf("gone: %q, want %q", gone.Text, want)
		}
	})
}

// Where nobody can answer, as in a shell, a question is an error, and the chat
// hears nothing of it.
func TestNobodyIsAsked(t *testing.T) {
	w := newWorld(t, "en")
	before := w.seen(t)
	later := change(intent.Move, intent.Ref{Words: w.known["team"].ID})
	later.Time = "at 8"
	for _, in := range []intent.Intent{later, change(intent.Move, intent.Ref{Words: "m"}), change(intent.Remove, intent.Ref{All: true})} {
		var r *desk.Refusal
		if said, err := w.Do(t.Context(), w.ann, in, desk.Message{Alone: true}); !errors.As(err, &r) || r.Kind != desk.Unsure {
			t.Errorf("%s: %+v, %v", in.Op, said, err)
		}
	}
	if got := difference(before, w.seen(t)); len(got) != 0 {
		t.Errorf("there is %q", got)
	}
}

// Undo takes back what the asker did, also when an admin asks: what somebody
// else did has a button of its own.
func TestUndoIsOfTheAsker(t *testing.T) {
	w := newWorld(t, "en")
	said := w.do(t, change(intent.Remove, intent.Ref{Words: w.known["milk"].ID}), desk.Message{})
	admin := w.ann
	admin.Sender.ID, admin.Admin = "cat", true
	var r *desk.Refusal
	if got, err := w.Do(t.Context(), admin, change(intent.Undo, intent.Ref{}), desk.Message{}); !errors.As(err, &r) {
		t.Errorf("the admin undoes %+v, %v", got, err)
	}
	if got, err := w.Press(t.Context(), admin, said.Buttons[0][0].Press, ""); err != nil || !strings.Contains(got.Text, "buy milk") {
		t.Errorf("%+v, %v", got, err)
	}
	if _, there := w.get(t, "milk"); !there {
		t.Error("milk is gone")
	}
}

// The same time said twice is one reminder.
func TestSaidTwice(t *testing.T) {
	w := newWorld(t, "en")
	six := when.Phrase{At: onClock(w.now, 18), Zone: w.ann.Zone}
	said := w.do(t, intent.Intent{Kind: intent.Create, Text: "tea", Times: []when.Phrase{six, six}}, desk.Message{})
	if len(said.Jobs) != 1 || !strings.HasPrefix(said.Text, "OK, today at 18:00") {
		t.Errorf("%+v", said)
	}
}

// "until I say done" is heard wherever a time is given in words.
func TestNagOfASchedule(t *testing.T) {
	w := newWorld(t, "en")
	said, err := w.Make(t.Context(), w.ann, desk.Ask{Schedule: "every 5 minutes until I say done", Message: "take the pill"})
	if err != nil || len(said.Jobs) != 1 || said.Jobs[0].Nag != 5*time.Minute || !strings.Contains(said.Text, "until you say done") {
		t.Errorf("%+v, %v", said, err)
	}
}

// Whom a message in a group is about.
func TestWhom(t *testing.T) {
	bob, wang := chat.Sender{ID: "7", Name: "Bob"}, chat.Sender{ID: "8", Name: "小王", Username: "xw"}
	for _, c := range []struct {
		text    string
		command bool
		plain   string
		who     string
		at      string
	}{
		{"remind @Bob tomorrow at 9am to call", false, "remind me tomorrow at 9am to call", "7", ""},
		{"please remind Bob to call", false, "please remind me to call", "7", ""},
		{"明天早上9点提醒@小王 交报告", false, "明天早上9点提醒我交报告", "8", ""},
		{"提醒一下 @xw 明天早上9点交报告", false, "提醒我明天早上9点交报告", "8", ""},
		{"@Bob tomorrow at 9am stand-up", true, "tomorrow at 9am stand-up", "7", ""},
		{"@Bob tomorrow at 9am stand-up", false, "", "", ""},
		{"remind @eve tomorrow at 9am to call", false, "remind me tomorrow at 9am to call", "", "@eve"},
		{"remind Bobby tomorrow", false, "", "", ""},
		{"remind me tomorrow to call @Bob", false, "", "", ""},
		{"remind me to ping @Bob tomorrow", false, "", "", ""},
		{"ping @Bob tomorrow", true, "", "", ""},
		{strings.Repeat("remind ", 500) + "@Bob", false, "", "", ""},
		{"", true, "", "", ""},
	} {
		plain, who, at := desk.Whom(c.text, []chat.Sender{bob, wang, {}}, c.command)
		if c.plain == "" {
			c.plain = c.text
		}
		if plain != c.plain || who.ID != c.who || at != c.at {
			t.Errorf("%.50q: %.50q, %+v, %q", c.text, plain, who, at)
		}
	}
}

// A reminder for somebody else of a group is theirs and its maker's; both may
// change it, and others are told whose it is.
func TestForSomebody(t *testing.T) {
	langs(t, func(t *testing.T, lang string) {
		f := newFixture(t)
		d := desk.New(f.jobs, f.notes)
		ann := f.ann
		ann.Lang, ann.Direct, ann.Addr.Chat = lang, false, "-1"
		bob := ann
		bob.Sender = chat.Sender{ID: "7", Name: "Bob"}
		eve := ann
		eve.Sender = chat.Sender{ID: "9", Name: "Eve"}
		text := map[string]string{"en": "remind @Bob tomorrow at 9am to call", "zh": "明天早上9点提醒@Bob 打电话"}[lang]
		said, mine, err := d.Say(t.Context(), ann, desk.Message{Text: text, Named: []chat.Sender{bob.Sender}})
		if err != nil || !mine || len(said.Jobs) != 1 || said.Jobs[0].For.ID != "7" || !strings.Contains(said.Text, "Bob") {
			t.Fatalf("%+v, %v", said, err)
		}
		ref := intent.Ref{Words: said.Jobs[0].ID}
		var r *desk.Refusal
		if _, err := d.Do(t.Context(), eve, change(intent.Pause, ref), desk.Message{}); !errors.As(err, &r) || r.Kind != desk.Forbidden || !strings.Contains(r.Text, "Bob") {
			t.Errorf("Eve: %v", err)
		}
		for _, who := range []desk.Who{ann, bob} {
			if _, err := d.Do(t.Context(), who, change(intent.Pause, ref), desk.Message{}); err != nil {
				t.Errorf("%s: %v", who.Sender.Name, err)
			}
		}
		// Also when something had to be asked first, and by a command.
		unsure := map[string]string{"en": "remind @Bob tomorrow at 8 to run", "zh": "明天8点提醒@Bob 跑步"}[lang]
		if said, _, err = d.Say(t.Context(), ann, desk.Message{Text: unsure, Named: []chat.Sender{bob.Sender}}); err != nil || !said.Asked {
			t.Fatalf("%+v, %v", said, err)
		}
		if said, _, err = d.Say(t.Context(), ann, desk.Message{Text: "2"}); err != nil || len(said.Jobs) != 1 || said.Jobs[0].For.ID != "7" {
			t.Errorf("answered: %+v, %v", said, err)
		}
		// Somebody who is known by name only is named in what it says.
		named := strings.ReplaceAll(text, "@Bob", "@eve_1")
		if said, _, err = d.Say(t.Context(), ann, desk.Message{Text: named}); err != nil || len(said.Jobs) != 1 || !strings.HasPrefix(said.Jobs[0].Message, "@eve_1 ") || said.Jobs[0].For.ID != "" {
			t.Errorf("by name: %+v, %v", said, err)
		}
	})
}

// Numbers of a list that nobody has shown mean nothing, also two of them.
func TestNumbersWithoutAList(t *testing.T) {
	w := newWorld(t, "en")
	w.now = w.now.Add(time.Hour)
	before := w.seen(t)
	var r *desk.Refusal
	if said, err := w.Do(t.Context(), w.ann, change(intent.Remove, desk.RefOf("1 and 2")), desk.Message{}); !errors.As(err, &r) || !strings.Contains(r.Text, "which numbers?\n\n1. ") {
		t.Errorf("%+v, %v", said, err)
	}
	if got := difference(before, w.seen(t)); len(got) != 0 {
		t.Errorf("it changes %q", got)
	}
	if said := w.do(t, change(intent.Remove, desk.RefOf("1 and 2")), desk.Message{}); !said.Asked || !strings.HasPrefix(said.Text, "Really remove all 2?") {
		t.Errorf("now that they are shown: %+v", said)
	}
}

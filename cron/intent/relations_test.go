package intent_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"magpie/cron/intent"
	"magpie/cron/when"
)

// corpus is what is said in the phrases of the desk.
func corpus(t testing.TB) (all []string) {
	t.Helper()
	files, err := filepath.Glob("../desk/testdata/phrases/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no phrases", err)
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var p struct{ Say string }
			if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
				t.Fatal(err)
			}
			all = append(all, p.Say)
		}
		_ = f.Close()
	}
	return all
}

// known are the reminders of the phrases, in a language.
func known(chinese bool) []intent.Known {
	names := []string{"call mum", "gym", "take my pills", "buy milk", "team meeting", "pay rent", "water the plants"}
	if chinese {
		names = []string{"给妈妈打电话", "健身", "吃药", "买牛奶", "周会", "交房租", "浇花"}
	}
	var all []intent.Known
	for i, n := range names {
		all = append(all, intent.Known{ID: fmt.Sprint(i + 1), Text: n})
	}
	return all
}

func chinese(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

func read(text string) intent.Intent {
	zone := time.UTC
	return intent.Read(text, intent.Context{Now: time.Date(2026, 11, 25, 10, 0, 0, 0, zone), Zone: zone, Known: func() []intent.Known { return known(chinese(text)) }})
}

// told is what an intent comes to, without the spelling of its words.
func told(in intent.Intent) string {
	var times []string
	for _, p := range in.Times {
		times = append(times, when.Words(p, "en"))
	}
	missing := ""
	if in.Question != nil {
		missing = in.Question.Missing
		for _, p := range in.Question.Choices {
			times = append(times, when.Words(p, "en"))
		}
	}
	return fmt.Sprint(in.Kind, in.Op, in.What, missing, in.Shift, in.Nag, in.Ref.ID, in.Ref.Number, in.Ref.All, times)
}

// orders says that a text asks for a reminder itself.
func orders(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc([]string{
		"remind", "timer", "alarm", "forget", "nudge", "ping", "wake", "tell me", "note", "todo", "remember", "bug me", "nag", "buzz", "let me know", "heads up", "alert", "beep", "shout", "told", "set ",
		"提醒", "叫", "喊", "闹钟", "鬧鐘", "计时", "催", "忘", "记", "通知", "告诉", "定时", "倒数", "备忘", "戳", "提我", "待办", " me ", "我", "until i", "pomodoro", "番茄钟",
	}, func(word string) bool { return strings.Contains(text, word) })
}

// refused are forms of a text in which it asks for no reminder.
func refused(text string) []string {
	if orders(text) {
		return nil
	}
	if chinese(text) {
		return []string{"别提醒我" + text, "不用提醒我" + text, "昨天你为什么提醒我" + text + "？", "取消" + text, "把" + text + "删掉", "把" + text + "的提醒暂停"}
	}
	return []string{"don't remind me to " + text, "no need to remind me: " + text, "why did you remind me to " + text + "?", "you reminded me yesterday to " + text, "cancel " + text, "delete the reminder to " + text, "snooze " + text, "pause the reminder " + text}
}

// alike are forms of a text that mean the same.
func alike(text string) []string {
	wide := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r - '0' + '０'
		}
		return r
	}, text)
	if chinese(text) {
		return []string{wide, "请" + text, "麻烦" + text, text + "，谢谢", "那个，" + text, text + "吧"}
	}
	return []string{wide, strings.ToUpper(text), strings.ToLower(text), "please " + text, "hey, " + text, text + " please", text + ", thanks"}
}

// related says what does not hold for a text.
func related(text string) (made, differ []string) {
	for _, form := range refused(text) {
		if in := read(form); in.Kind == intent.Create {
			made = append(made, fmt.Sprintf("%q makes a reminder: %s, %q", form, told(in), in.Text))
		}
	}
	want := told(read(text))
	for _, form := range alike(text) {
		if got := told(read(form)); got != want {
			differ = append(differ, fmt.Sprintf("%q is %s, and %q %s", text, want, form, got))
		}
	}
	return made, differ
}

// most is how many forms that mean the same are read otherwise. Who makes it
// fewer writes it here.
const most = 34

// TestRelations holds the phrases against what must be so for every text.
func TestRelations(t *testing.T) {
	n, differ := 0, 0
	for _, say := range corpus(t) {
		made, other := related(say)
		for _, b := range made {
			t.Error(b)
		}
		for _, b := range other {
			t.Log(b)
		}
		n, differ = n+len(alike(say)), differ+len(other)
	}
	t.Logf("%d of %d forms that mean the same are read otherwise", differ, n)
	if differ > most {
		t.Errorf("at most %d have been", most)
	}
}

// FuzzRelations holds any text against that no negation, question or verb of
// change makes a reminder.
func FuzzRelations(f *testing.F) {
	for i, say := range corpus(f) {
		if i%20 == 0 {
			f.Add(say)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 300 || !utf8.ValidString(text) {
			return
		}
		for _, form := range refused(text) {
			if in := read(form); in.Kind == intent.Create {
				t.Errorf("%q makes a reminder: %s, %q", form, told(in), in.Text)
			}
		}
	})
}

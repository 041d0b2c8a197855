package desk_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"magpie/cron/desk"
)

// A stopwatch runs for who has started it, also over a restart of the program.
func TestStopwatch(t *testing.T) {
	langs(t, func(t *testing.T, lang string) {
		w := newWorld(t, lang)
		say := func(text, want string) {
			t.Helper()
			w.Desk = desk.New(w.jobs, w.notes)
			said, mine, err := w.Say(t.Context(), w.ann, desk.Message{Text: text})
			if r, refused := errors.AsType[*desk.Refusal](err); refused {
				said.Text, err = r.Text, nil
			}
			if err != nil || mine != (want != "") || !strings.Contains(said.Text, want) {
				t.Errorf("%q: %q, %v, %v; want %q", text, said.Text, mine, err, want)
			}
		}
		before := w.seen(t)
		say(w.say("how long has it been?", "过了多久了？"), "") // of something else
		say(w.say("stop the stopwatch", "停止计时"), w.say("no stopwatch is running; say", "没有在计时；要开始"))
		say(w.say("start a stopwatch please", "开始计时"), "10:00:00")
		w.now = w.now.Add(62*time.Minute + 3*time.Second)
		say(w.say("how long has it been", "过了多久"), w.say("1 hour 2 minutes 3 seconds", "1小时2分钟3秒"))
		say(w.say("start the stopwatch", "打开秒表"), w.say("say “restart the stopwatch”", "就说“重新计时”"))
		say(w.say("restart the stopwatch", "重新计时"), "11:02:03")
		w.now = w.now.Add(time.Minute)
		say(w.say("stop the stopwatch", "结束计时"), w.say("Stopped after 1 minute.", "计时结束：1分钟"))
		say(w.say("check the stopwatch", "看看秒表"), w.say("no stopwatch is running", "没有在计时"))
		say(w.say("how long is left on the timer", "倒计时还剩多久"), w.say("No timer is running; start one", "没有正在走的倒计时"))
		say(w.say("buy a stopwatch", "买个秒表"), "")
		if got := difference(before, w.seen(t)); len(got) > 0 {
			t.Errorf("it changes %q", got)
		}
	})
}

package desk_test

import (
	"slices"
	"strings"
	"testing"

	"magpie/cron"
	"magpie/cron/desk"
)

// ring has a reminder of the world come, as the scheduler does.
func (w *world) ring(t testing.TB, n string) {
	t.Helper()
	j, _ := w.get(t, n)
	if j.ID == "" { // what the conversation has made is named by its words
		all, _ := w.jobs.All(t.Context())
		for _, made := range all {
			if made.Message == n {
				j = made
			}
		}
	}
	slot, err := cron.Next(j, w.now)
	if err != nil {
		t.Fatal(err)
	}
	w.now = slot
	if err := w.Rang(t.Context(), cron.Fired{Job: j, Slot: slot}); err != nil {
		t.Fatal(err)
	}
	if !j.Schedule.At.IsZero() {
		if err := w.jobs.Remove(t.Context(), j.Addr, j.ID, cron.By{Admin: true}); err != nil {
			t.Fatal(err)
		}
	}
}

// conversation is one in the world of the phrases: messages before the last,
// separated by "; ", of which "!mum" has that reminder ring; last messages,
// separated by "|"; and what is wanted of each of them: what it changes; else what
// it says, with nothing changed; "says …" whatever is changed; "-" that it is not
// for the desk.
type conversation struct{ lang, before, last, want string }

func (c conversation) check(t *testing.T) {
	t.Helper()
	for _, last := range strings.Split(c.last, "|") {
		said, changed := talked(t, c.lang, c.before, last)
		text, anyhow := strings.CutPrefix(c.want, "says ")
		says := strings.Contains(said, text)
		if c.want == "-" {
			says = said == "-"
		}
		if changed != c.want && (changed != "" && !anyhow || !says) {
			t.Errorf("%q, %q: says %q, changes %q, want %q", c.before, last, said, changed, c.want)
		}
	}
}

func TestTalks(t *testing.T) {
	for _, c := range []conversation{
		// what has just rung
		{"en", "!mum", "in an hour|give me an hour|ok, in an hour|not now, in an hour", "+call mum @ 2026-11-25T19:00"},
		{"en", "!mum", "later|not now|remind me later|maybe later|i'm busy", "+call mum @ 2026-11-25T18:10"},
		{"en", "!mum", "tomorrow|maybe tomorrow|no, tomorrow|not today, tomorrow|remind me tomorrow instead|tomorrow then", "+call mum @ 2026-11-26T18:00"},
		{"en", "!mum", "change it to 8pm|make it 8pm|8pm", "+call mum @ 2026-11-25T20:00"},
		{"en", "!mum", "change it to call jane", "has come or was cancelled"},
		{"en", "!mum", "see you tomorrow|talk to you later|tomorrow is my birthday|good night|tomorrow?|thanks", "-"},
		{"zh", "!mum", "一小时后|过一个小时|再等一小时|一小时后吧", "+给妈妈打电话 @ 2026-11-25T19:00"},
		{"zh", "!mum", "明天再说|明天吧|明天|今天不行，明天吧|还是明天提醒我吧|改成明天提醒我", "+给妈妈打电话 @ 2026-11-26T18:00"},
		{"zh", "!mum", "等一下再提醒|晚点|现在没空|先不|等我忙完", "+给妈妈打电话 @ 2026-11-25T18:10"},
		{"zh", "!mum", "过会儿|等会儿", "+给妈妈打电话 @ 2026-11-25T18:30"},
		{"zh", "!mum", "明天见|好的，明天见|明天下雨吗|明天？|晚安|谢谢", "-"},
		{"zh", "!mum", "改成给爸爸打电话", "已经提醒过或取消了"},
		// what was just set
		{"en", "remind me tomorrow at 9am to jog", "make it 9:30|actually 9:30|sorry, 9:30|no wait, 9:30|half an hour later|or rather 9:30am", "-jog @ 2026-11-26T09:00 +jog @ 2026-11-26T09:30"},
		{"en", "remind me today at 5pm to jog", "no, tomorrow|tomorrow instead|remind me tomorrow instead|how about tomorrow?", "-jog @ 2026-11-25T17:00 +jog @ 2026-11-26T17:00"},
		{"en", "move the gym to friday", "no, saturday|actually saturday|saturday instead", "-gym @ 2026-11-27T07:00 +gym @ 2026-11-28T07:00"},
		{"en", "remind me today at 5pm to jog", "later|a bit later", "When shall “jog” come?"},
		{"en", "remind me today at 5pm to jog", "also tomorrow|tomorrow?|see you tomorrow|great, see you then|is it raining tomorrow?", "-"},
		{"en", "remind me at noon and 6pm to stretch", "make it 7pm|tomorrow", "Which one?"},
		{"en", "cancel the gym", "move it to friday|make it friday", "is no more in the list"},
		{"zh", "明天早上九点提醒我跑步", "推迟半小时|晚半小时|往后推半小时", "-跑步 @ 2026-11-26T09:00 +跑步 @ 2026-11-26T09:30"},
		{"zh", "明天早上九点提醒我跑步", "提前半小时|早半小时", "-跑步 @ 2026-11-26T09:00 +跑步 @ 2026-11-26T08:30"},
		{"zh", "今天下午五点提醒我跑步", "还是明天吧|不，明天|改成明天提醒我|明天吧", "-跑步 @ 2026-11-25T17:00 +跑步 @ 2026-11-26T17:00"},
		{"zh", "今天下午五点提醒我跑步", "改成六点半|六点半吧|不对，六点半|算了，六点半吧|说错了，六点半", "-跑步 @ 2026-11-25T17:00 +跑步 @ 2026-11-25T18:30"},
		{"zh", "今天下午五点提醒我跑步", "晚点|早一点", "改到什么时候"},
		{"zh", "取消健身", "改到周五", "不在列表里了"},
		{"en", "timer 10 minutes", "make it 15|change it to 15", "-timer: time is up @ 2026-11-25T10:10 +timer: time is up @ 2026-11-25T10:15"},
		{"en", "remind me today at 5pm to jog", "remind me friday|周五提醒我", "What shall I remind you of?"},
		{"en", "remind me today at 5pm to jog", "it's 5pm|it's friday|friday at last", "-"},
		// the last one
		{"en", "list", "cancel the last one|delete the last item", "-pay rent paused"},
		{"en", "list; remind me today at 5pm to jog", "cancel the last one|cancel the last one you set", "-jog @ 2026-11-25T17:00"},
		{"en", "remind me today at 5pm to jog; list", "cancel the last one you set|cancel the newest", "-jog @ 2026-11-25T17:00"},
		{"en", "remind me today at 5pm to jog; list", "cancel the last one|cancel the last one on the list", "-pay rent paused"},
		{"zh", "列表", "删掉最后一个|删掉最后一条", "-交房租 paused"},
		{"zh", "列表; 今天下午五点提醒我跑步", "删掉最后一个|删掉刚才那个|删掉你设的最后一个", "-跑步 @ 2026-11-25T17:00"},
		{"zh", "今天下午五点提醒我跑步; 列表", "删掉最后一个|删掉列表里最后一个", "-交房租 paused"},
		// numbers
		{"en", "!mum", "snooze 20", "+call mum @ 2026-11-25T18:20"},
		{"en", "snooze 3", "minutes|3 minutes|1", "+water the plants @ 2026-11-25T10:03"},
		{"zh", "贪睡3", "分钟|3分钟|第一个", "+浇花 @ 2026-11-25T10:03"},
		{"en", "cancel all", "1|2", "-"},
		{"en", "remind me tomorrow at 3pm to call dad; cancel the call", "2|cancel 2|cancel number 2|the second one", "-call dad @ 2026-11-26T15:00"},
		// answers
		{"en", "remind me tomorrow at 3pm to call dad; cancel the call", "both|all of them|1 and 2", "Really remove all 2?"},
		{"en", "remind me tomorrow at 3pm to call dad; cancel the call", "neither|none of them|never mind|actually never mind", "I leave it as it is"},
		{"en", "remind me tomorrow at 3pm to call dad; cancel the call", "either|i don't know|whatever|hmm|the other one|which?", "Which one?"},
		{"en", "remind me tomorrow at 3pm to call dad; cancel the call", "dad|not mum|the later one|the one tomorrow|call dad, not mum|tomorrow", "-call dad @ 2026-11-26T15:00"},
		{"en", "remind me tomorrow at 3pm to call dad; cancel the call", "remind me at 5pm to eat", "says “Which one?” is dropped"},
		{"zh", "明天下午三点提醒我给爸爸打电话; 取消打电话", "两个都要|都取消|两个都取消|全部", "真的要删除全部 2 个"},
		{"zh", "明天下午三点提醒我给爸爸打电话; 取消打电话", "都不是|都不要|算了", "不改了"},
		{"zh", "明天下午三点提醒我给爸爸打电话; 取消打电话", "随便|都行|另一个|不知道", "是哪一个？"},
		{"zh", "明天下午三点提醒我给爸爸打电话; 取消打电话", "爸爸|第二个|晚的那个|明天那个|不是妈妈，是爸爸", "-给爸爸打电话 @ 2026-11-26T15:00"},
		{"zh", "明天下午三点提醒我给爸爸打电话; 取消打电话", "后天晚上八点提醒我吃饭", "says “是哪一个？”不再等回答"},
		{"en", "remind me tomorrow at 8 to swim", "am|the earlier|not the evening|either|i don't care", "+swim @ 2026-11-26T08:00"},
		{"en", "remind me tomorrow at 8 to swim", "both|all of them", "+swim @ 2026-11-26T08:00 +swim @ 2026-11-26T20:00"},
		{"en", "remind me tomorrow at 8 to swim", "neither|hmm|yes|both?", "1. tomorrow at 08:00"},
		{"zh", "明天八点提醒我游泳", "早上那个|都行|随便|不是晚上|早的", "+游泳 @ 2026-11-26T08:00"},
		{"zh", "明天八点提醒我游泳", "两个都要|都要", "+游泳 @ 2026-11-26T08:00 +游泳 @ 2026-11-26T20:00"},
		{"en", "remind me to call Bob", "tomorrow at 8", "1. tomorrow at 08:00"},
		{"en", "remind me to call Bob; tomorrow at 8", "pm", "+call Bob @ 2026-11-26T20:00"},
		{"zh", "提醒我唱歌; 明天八点", "晚上", "+唱歌 @ 2026-11-26T20:00"},
		{"en", "remind me to call Bob", "whenever|i don't know yet|not sure", "When?"},
		{"en", "remind me at 5", "make it 6|actually 6|at 6|i don't know", "What shall I remind you of?"},
		{"en", "remind me at 5; make it 6", "call Bob", "+call Bob @ 2026-11-25T18:00"},
		{"zh", "五点提醒我; 改成六点", "吃饭", "+吃饭 @ 2026-11-25T18:00"},
		{"en", "cancel all", "all but the gym|not the gym", "Really remove all 5?"},
		{"en", "cancel all", "only the gym", "-gym @ 2026-11-26T07:00"},
		{"en", "cancel all", "really?|no wait|hmm", "Really remove all 6?"},
		{"en", "cancel all", "no|not really|definitely not|don't", "I leave it as it is"},
		{"zh", "清空所有提醒", "除了健身", "真的要删除全部 5 个"},
		{"zh", "清空所有提醒", "等等|真的？|我想想", "真的要删除全部 6 个"},
	} {
		c.check(t)
	}
}

// talked is what the last message of a conversation says ("-": it is not for the
// desk) and changes.
func talked(t *testing.T, lang, before, last string) (said, changed string) {
	t.Helper()
	w := worldIn(t, lang, "Asia/Shanghai")
	w.Desk = desk.New(w.jobs, w.notes)
	for _, text := range append(strings.Split(before, "; "), last) {
		if text == "" {
			continue
		}
		was := w.seen(t)
		if n, ring := strings.CutPrefix(text, "!"); ring {
			w.ring(t, n)
			continue
		}
		answer, mine, err := w.Say(t.Context(), w.ann, desk.Message{Text: text})
		switch said = answer.Text; {
		case err != nil:
			said = err.Error()
		case !mine:
			said = "-"
		}
		changed = strings.Join(slices.DeleteFunc(difference(was, w.seen(t)), func(s string) bool { return strings.Contains(s, "hidden: ") }), " ")
		w.now = w.now.Add(1e9)
	}
	return said, changed
}

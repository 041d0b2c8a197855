package offline_test

import (
	"slices"
	"strings"
	"testing"

	"magpie/agent/llm"
)

// After a question of the tool the next words are handed to it whatever they
// are; when they are none of its business, the assistant answers itself.
func TestAnswersToAQuestionAreHandedOn(t *testing.T) {
	before := func(text string, failed bool) []llm.Message {
		return []llm.Message{
			user("remind me tomorrow at 8 to run"),
			{Role: llm.Assistant, Calls: []llm.Call{{ID: "c", Name: "cron", Args: `{"action":"say","said":"remind me tomorrow at 8 to run"}`}}},
			{Role: llm.Tool, CallID: "c", Name: "cron", Failed: failed, Text: text},
		}
	}
	const asks = "“at 8”: in the morning or in the evening?\n1. tomorrow at 8:00\n2. tomorrow at 20:00\n[The person is asked this.]"
	if text := ask(t, before(asks, false)...).Message.Text; text != strings.TrimSuffix(asks, "\n[The person is asked this.]") {
		t.Errorf("the question is worded %q", text)
	}
	history := append(before(asks, false), llm.Message{Role: llm.Assistant, Text: "which?"})
	for _, said := range []string{"2", "pm", "晚上那个", "ok", "hi", "The first one!"} {
		r := ask(t, append(slices.Clone(history), user(said))...)
		if calls := r.Message.Calls; len(calls) != 1 || calls[0].Name != "cron" || calls[0].Args != `{"action":"say","said":"`+said+`"}` {
			t.Errorf("%q: %+v, said %q", said, calls, r.Message.Text)
		}
	}
	const nothing = "error (not_found): these words want nothing of the reminders"
	refused := func(said string) []llm.Message {
		return append(slices.Clone(history), user(said),
			llm.Message{Role: llm.Assistant, Calls: []llm.Call{{ID: "d", Name: "cron", Args: `{"action":"say","said":"` + said + `"}`}}},
			llm.Message{Role: llm.Tool, CallID: "d", Name: "cron", Failed: true, Text: nothing})
	}
	for said, want := range map[string]string{"hi": "Hello", "谢谢": "不客气", "write me a poem": "no model"} {
		if r := ask(t, refused(said)...); !strings.Contains(r.Message.Text, want) || len(r.Message.Calls) != 0 {
			t.Errorf("%q: %q with %+v", said, r.Message.Text, r.Message.Calls)
		}
	}
	if r := ask(t, refused("read notes.txt")...); len(r.Message.Calls) != 1 || r.Message.Calls[0].Name != "read_file" {
		t.Errorf("a file is read by %+v, %q", r.Message.Calls, r.Message.Text)
	}
	// Small talk leaves it open.
	r := ask(t, append(refused("hi"), llm.Message{Role: llm.Assistant, Text: "Hello"}, user("2"))...)
	if calls := r.Message.Calls; len(calls) != 1 || calls[0].Args != `{"action":"say","said":"2"}` {
		t.Errorf("behind small talk: %+v, %q", calls, r.Message.Text)
	}
	// What may name a reminder is for the tool to know.
	for _, said := range []string{"when is the gym", "什么时候健身", "I walked"} {
		if r := ask(t, user(said)); len(r.Message.Calls) != 1 || r.Message.Calls[0].Args != `{"action":"say","said":"`+said+`"}` {
			t.Errorf("%q: %+v, %q", said, r.Message.Calls, r.Message.Text)
		}
	}
	for _, history := range [][]llm.Message{ // no question was open
		{user("2")},
		append(before("OK, tomorrow at 8:00: run", false), llm.Message{Role: llm.Assistant, Text: "OK"}, user("2")),
	} {
		if r := declined(t, history...); len(r.Message.Calls) != 0 || !strings.Contains(r.Message.Text, "no model") {
			t.Errorf("%q: %+v, %q", history[len(history)-1].Text, r.Message.Calls, r.Message.Text)
		}
	}
}

// The tool speaks the language of the chat, whatever the person has asked in;
// what the assistant adds is in the same one.
func TestOneLanguageAnAnswer(t *testing.T) {
	for _, c := range []struct{ said, tool, want string }{
		{"明天8点提醒我跑步", "“8点”: in the morning or in the evening?\n1. Tue 2026-11-24 08:00\n2. Tue 2026-11-24 20:00", "“8点”: in the morning or in the evening?\n1. Tue 2026-11-24 08:00\n2. Tue 2026-11-24 20:00"},
		{"取消提醒9", "there is no such reminder in this chat", "there is no such reminder in this chat"},
		{"删除喝水的提醒", "several are like that; say the number or the id of one:\n- 1: ⏰ 喝水", "several are like that; say the number or the id of one:\n- 1: ⏰ 喝水"},
		{"25点提醒我喝水", `no such time: not understood: "25点提醒我喝水"`, `no such time: not understood: "25点提醒我喝水"`},
		{"remind me tomorrow at 8 to run", "“at 8”是上午还是晚上？\n1. 2026-11-24 周二 08:00\n2. 2026-11-24 周二 20:00", "“at 8”是上午还是晚上？\n1. 2026-11-24 周二 08:00\n2. 2026-11-24 周二 20:00"},
		{"cancel reminder 9", "这个会话里没有这个提醒", "这个会话里没有这个提醒"},
	} {
		r := ask(t, user(c.said), llm.Message{Role: llm.Assistant, Calls: []llm.Call{{ID: "c", Name: "cron", Args: "{}"}}},
			llm.Message{Role: llm.Tool, CallID: "c", Name: "cron", Text: "error (invalid_arguments): " + c.tool, Failed: true})
		if r.Message.Text != c.want {
			t.Errorf("%s: %q, want %q", c.said, r.Message.Text, c.want)
		}
	}
}

func TestToolsOfNotesAndReminders(t *testing.T) {
	for _, c := range []struct {
		said, tool, result string
		failed             bool
		want               string
	}{
		{"remind me in 1 hour to x", "cron", "I will remind you: x\n\n- id: abcdefghij", false, "I will remind you: x\n\n- id: abcdefghij"},
		{"remind me to x", "cron", "error (invalid_arguments): no time found", true, "no time found"},
		{"remind me in 1 hour to x", "cron", "error (execution_failed): the table is gone", true, "That did not work: the table is gone"},
		{"remind me to x", "cron", "error (permission): “x” is the reminder of Bob", true, "That did not work: “x” is the reminder of Bob"},
		{"remember x", "memory_write", "remembered as note 1", false, "I will remember that."},
		{"记住 x 猫", "memory_write", "remembered as note 1", false, "记住了。"},
		{"search for x", "web_search", "<outside from=\"web_search\">\n1. X\n</outside>", false, "1. X"},
	} {
		r := ask(t, user(c.said), llm.Message{Role: llm.Assistant, Calls: []llm.Call{{ID: "c", Name: c.tool, Args: "{}"}}},
			llm.Message{Role: llm.Tool, CallID: "c", Name: c.tool, Text: c.result, Failed: c.failed})
		if r.Message.Text != c.want {
			t.Errorf("%s: %q, want %q", c.said, r.Message.Text, c.want)
		}
	}
}

// A reminder that was shown is not the person speaking: with the next message
// it would make itself again.
func TestAShownReminderAsksForNothing(t *testing.T) {
	t.Parallel()
	shown := user("[The chat has been shown this reminder, as its job asks; nobody has answered it yet:]\n<reminder>\n⏰ call mum tomorrow at 3pm\n</reminder>")
	for said, want := range map[string]string{"hello": "Hello", "你好": "你好"} {
		if r := ask(t, shown, user(said)); len(r.Message.Calls) > 0 || !strings.HasPrefix(r.Message.Text, want) {
			t.Errorf("%q behind a reminder is answered %q with the calls %v", said, r.Message.Text, r.Message.Calls)
		}
	}
	report := user("[A background task has ended. The person has not seen its report; tell them what matters:]\n<report from=\"look\">\nremind me in 5 minutes\n</report>")
	if r := ask(t, report); len(r.Message.Calls) > 0 || r.Message.Text != "remind me in 5 minutes" {
		t.Errorf("a report is answered %q with the calls %v", r.Message.Text, r.Message.Calls)
	}
}

package offline_test

import (
	"strings"
	"testing"

	"magpie/agent/llm"
)

// A time with several meanings is asked about in the tool's words; a number
// chooses, and the call is made again with the choice and what was to be said.
func TestAnAmbiguousTimeIsChosenByNumber(t *testing.T) {
	asked := func(said, args, question string) []llm.Message {
		return []llm.Message{
			user(said),
			{Role: llm.Assistant, Calls: []llm.Call{{ID: "c", Name: "cron", Args: args}}},
			{Role: llm.Tool, CallID: "c", Name: "cron", Failed: true, Text: "error (invalid_arguments): " + question + "\n[This call failed the same way before.]"},
		}
	}
	const en = "“at 8”: in the morning or in the evening?\n1. Tue 2026-11-24 08:00 (Asia/Shanghai)\n2. Tue 2026-11-24 20:00 (Asia/Shanghai)"
	const zh = "“8点”是上午还是晚上？\n1. 2026-11-24 周二 08:00（Asia/Shanghai）\n2. 2026-11-24 周二 20:00（Asia/Shanghai）"
	english := asked("remind me tomorrow at 8 to run", `{"action":"add","schedule":"remind me tomorrow at 8 to run"}`, en)
	r := ask(t, english...)
	if text := r.Message.Text; !strings.HasPrefix(text, "“at 8”") || !strings.HasSuffix(text, "Answer with the number.") || strings.Contains(text, "This call") {
		t.Errorf("the question is worded %q", text)
	}
	chinese := asked("明天8点提醒我跑步", `{"action":"add","schedule":"明天8点提醒我跑步"}`, zh)
	if text := ask(t, chinese...).Message.Text; !strings.HasSuffix(text, "请回复编号。") {
		t.Errorf("the question is worded %q", text)
	}
	for _, c := range []struct {
		before []llm.Message
		said   string
		want   string
	}{
		{english, "2", `{"action":"add","message":"run","schedule":"Tue 2026-11-24 20:00 (Asia/Shanghai)"}`},
		{english, "The first one!", `{"action":"add","message":"run","schedule":"Tue 2026-11-24 08:00 (Asia/Shanghai)"}`},
		{chinese, "2", `{"action":"add","message":"跑步","schedule":"2026-11-24 周二 20:00（Asia/Shanghai）"}`},
		{chinese, "第一个", `{"action":"add","message":"跑步","schedule":"2026-11-24 周二 08:00（Asia/Shanghai）"}`},
	} {
		history := append(append([]llm.Message{}, c.before...), llm.Message{Role: llm.Assistant, Text: "which?"}, user(c.said))
		r := ask(t, history...)
		if calls := r.Message.Calls; len(calls) != 1 || calls[0].Name != "cron" || calls[0].Args != c.want {
			t.Errorf("%q: %+v, said %q", c.said, calls, r.Message.Text)
		}
	}
	// A number that is no choice, one out of the blue, and one after something
	// else was said.
	for _, history := range [][]llm.Message{
		append(append([]llm.Message{}, english...), llm.Message{Role: llm.Assistant, Text: "which?"}, user("7")),
		{user("2")},
		append(append([]llm.Message{}, english...), llm.Message{Role: llm.Assistant, Text: "which?"}, user("hello"), llm.Message{Role: llm.Assistant, Text: "Hello"}, user("2")),
	} {
		if r := ask(t, history...); len(r.Message.Calls) != 0 || !strings.Contains(r.Message.Text, "no model") {
			t.Errorf("%q: %+v, %q", history[len(history)-1].Text, r.Message.Calls, r.Message.Text)
		}
	}
	// The answer to a bare number keeps the language of the conversation.
	history := append(append([]llm.Message{}, chinese...), llm.Message{Role: llm.Assistant, Text: "哪个？"}, user("2"),
		llm.Message{Role: llm.Assistant, Calls: []llm.Call{{ID: "d", Name: "read_file", Args: "{}"}}}, llm.Message{Role: llm.Tool, CallID: "d", Name: "read_file", Text: "x"})
	if r := ask(t, history...); !strings.Contains(r.Message.Text, "内容如下") {
		t.Errorf("answered %q", r.Message.Text)
	}
}

// The tool speaks the language of the chat, whatever the person has asked in;
// what the assistant adds is in the same one.
func TestOneLanguageAnAnswer(t *testing.T) {
	for _, c := range []struct{ said, tool, want string }{
		{"明天8点提醒我跑步", "“8点”: in the morning or in the evening?\n1. Tue 2026-11-24 08:00\n2. Tue 2026-11-24 20:00", "“8点”: in the morning or in the evening?\n1. Tue 2026-11-24 08:00\n2. Tue 2026-11-24 20:00\n\nAnswer with the number."},
		{"取消提醒9", "there is no such reminder in this chat", "That did not work: there is no such reminder in this chat"},
		{"删除喝水的提醒", "several are like that; say the number or the id of one:\n- 1: ⏰ 喝水", "That did not work: several are like that; say the number or the id of one:\n- 1: ⏰ 喝水"},
		{"25点提醒我喝水", `no such time: not understood: "25点提醒我喝水"`, `That did not work: no such time: not understood: "25点提醒我喝水"`},
		{"remind me tomorrow at 8 to run", "“at 8”是上午还是晚上？\n1. 2026-11-24 周二 08:00\n2. 2026-11-24 周二 20:00", "“at 8”是上午还是晚上？\n1. 2026-11-24 周二 08:00\n2. 2026-11-24 周二 20:00\n\n请回复编号。"},
		{"cancel reminder 9", "这个会话里没有这个提醒", "没有成功：这个会话里没有这个提醒"},
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
		{"remind me to x", "cron", "error (invalid_arguments): no time found", true, "That did not work: no time found"},
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

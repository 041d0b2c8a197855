package offline_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"magpie/agent/llm"
	"magpie/agent/llm/llmtest"
	"magpie/agent/llm/offline"
)

func tool(name string) llm.ToolDef {
	return llm.ToolDef{Name: name, Description: "d", Schema: json.RawMessage(`{"type":"object"}`)}
}

var tools = []llm.ToolDef{tool("current_time"), tool("list_dir"), tool("read_file"), tool("write_file"), tool("cron"), tool("memory_write"), tool("memory_read"), tool("memory_search"), tool("web_search"), tool("web_fetch")}

func ask(t llmtest.T, msgs ...llm.Message) llm.Reply {
	t.Helper()
	s := llmtest.Check(context.Background(), t, offline.New(""), llm.Request{Messages: msgs, Tools: tools})
	if s.Reply == nil {
		t.Errorf("no reply: %v", s.Err)
		return llm.Reply{}
	}
	return *s.Reply
}

// declined is ask where the reminders have nothing to do with the words that they
// are handed.
func declined(t llmtest.T, msgs ...llm.Message) llm.Reply {
	t.Helper()
	r := ask(t, msgs...)
	if calls := r.Message.Calls; len(calls) == 1 && calls[0].Name == "cron" && strings.Contains(calls[0].Args, `"action":"say"`) {
		return ask(t, append(slices.Clone(msgs), r.Message, llm.Message{
			Role: llm.Tool, CallID: calls[0].ID, Name: "cron", Failed: true, Text: "error (not_found): these words want nothing of the reminders",
		})...)
	}
	return r
}

func user(text string) llm.Message { return llm.Message{Role: llm.User, Text: text} }

func TestCalls(t *testing.T) {
	for said, want := range map[string]string{
		"what time is it":                                 `current_time {}`,
		"What time is it?":                                `current_time {}`,
		"what's the time":                                 `current_time {}`,
		"what time is it in Tokyo?":                       `current_time {"timezone":"Asia/Tokyo"}`,
		"what time is it in New York now":                 `current_time {"timezone":"America/New_York"}`,
		"Time in Europe/Oslo":                             `current_time {"timezone":"Europe/Oslo"}`,
		"现在几点":                                            `current_time {}`,
		"请问现在几点了？":                                        `current_time {}`,
		"东京现在几点":                                          `current_time {"timezone":"Asia/Tokyo"}`,
		"现在北京时间几点":                                        `current_time {"timezone":"Asia/Shanghai"}`,
		"今天星期几":                                           `current_time {}`,
		"list files":                                      `list_dir {"path":"."}`,
		"Please list the files in docs":                   `list_dir {"path":"docs"}`,
		"ls":                                              `list_dir {"path":"."}`,
		"what files are there?":                           `list_dir {"path":"."}`,
		"看看文件":                                            `list_dir {"path":"."}`,
		"有哪些文件？":                                          `list_dir {"path":"."}`,
		"看看 docs 目录里的文件":                                  `list_dir {"path":"docs"}`,
		"read notes.txt":                                  `read_file {"path":"notes.txt"}`,
		"Could you read the file README":                  `read_file {"path":"README"}`,
		`show me "my notes.txt" please`:                   `read_file {"path":"my notes.txt"}`,
		"读 notes.txt":                                     `read_file {"path":"notes.txt"}`,
		"帮我打开笔记.txt":                                      `read_file {"path":"笔记.txt"}`,
		"write hello to a.txt":                            `write_file {"content":"hello","path":"a.txt"}`,
		"save \"to be or not to be\" to the file b/c.txt": `write_file {"content":"to be or not to be","path":"b/c.txt"}`,
		"把 hello 写入 a.txt":                                `write_file {"content":"hello","path":"a.txt"}`,
		"写 你好 到 a.txt":                                    `write_file {"content":"你好","path":"a.txt"}`,
		"remind me in 20 minutes to stretch":              `cron {"action":"say","said":"remind me in 20 minutes to stretch"}`,
		"Please remind me tomorrow at 3pm to call Ann.":   `cron {"action":"say","said":"Please remind me tomorrow at 3pm to call Ann."}`,
		"remind me to read notes.txt at 5pm":              `cron {"action":"say","said":"remind me to read notes.txt at 5pm"}`,
		"每天早上9点提醒我吃药":                                     `cron {"action":"say","said":"每天早上9点提醒我吃药"}`,
		"明天下午三点开会提醒我":                                     `cron {"action":"say","said":"明天下午三点开会提醒我"}`,
		"请你半小时后叫我起床！":                                     `cron {"action":"say","said":"请你半小时后叫我起床！"}`,
		"list reminders":                                  `cron {"action":"say","said":"list reminders"}`,
		"What reminders do I have?":                       `cron {"action":"say","said":"What reminders do I have?"}`,
		"show me my reminders":                            `cron {"action":"say","said":"show me my reminders"}`,
		"my alarms":                                       `cron {"action":"say","said":"my alarms"}`,
		"我的提醒":                                            `cron {"action":"say","said":"我的提醒"}`,
		"我有哪些提醒？":                                         `cron {"action":"say","said":"我有哪些提醒？"}`,
		"看看所有的定时任务":                                       `cron {"action":"say","said":"看看所有的定时任务"}`,
		"cancel reminder 2":                               `cron {"action":"say","said":"cancel reminder 2"}`,
		"delete the second reminder":                      `cron {"action":"say","said":"delete the second reminder"}`,
		"cancel the stretch reminder":                     `cron {"action":"say","said":"cancel the stretch reminder"}`,
		"cancel the reminder to stretch":                  `cron {"action":"say","said":"cancel the reminder to stretch"}`,
		"cancel all my reminders":                         `cron {"action":"say","said":"cancel all my reminders"}`,
		"cancel my reminder":                              `cron {"action":"say","said":"cancel my reminder"}`,
		"pause reminder abcdefgh27":                       `cron {"action":"say","said":"pause reminder abcdefgh27"}`,
		"resume reminder #1":                              `cron {"action":"say","said":"resume reminder #1"}`,
		"取消提醒2":                                           `cron {"action":"say","said":"取消提醒2"}`,
		"取消第二个提醒":                                         `cron {"action":"say","said":"取消第二个提醒"}`,
		"删除吃药的提醒":                                         `cron {"action":"say","said":"删除吃药的提醒"}`,
		"取消所有提醒":                                          `cron {"action":"say","said":"取消所有提醒"}`,
		"取消提醒":                                            `cron {"action":"say","said":"取消提醒"}`,
		"暂停提醒 1":                                          `cron {"action":"say","said":"暂停提醒 1"}`,
		"remember that I like tea":                        `memory_write {"content":"I like tea"}`,
		"记住我对花生过敏":                                        `memory_write {"content":"我对花生过敏"}`,
		"what do you know about me?":                      `memory_read {}`,
		"What do you remember about my allergies":         `memory_search {"keywords":"my allergies"}`,
		"你还记得我什么？":                                        `memory_read {}`,
		"你记得我的生日吗":                                        `memory_search {"keywords":"我的生日"}`,
		"search for weather in Tokyo":                     `web_search {"query":"weather in Tokyo"}`,
		"搜索一下东京天气":                                        `web_search {"query":"东京天气"}`,
		"open https://example.com/a?b=1":                  `web_fetch {"url":"https://example.com/a?b=1"}`,
		"read https://example.com":                        `web_fetch {"url":"https://example.com"}`,
		"将买牛奶保存到清单.txt":                                   `write_file {"content":"买牛奶","path":"清单.txt"}`,
	} {
		r := ask(t, user(said))
		var got []string
		for _, c := range r.Message.Calls {
			got = append(got, c.Name+" "+c.Args)
		}
		if diff := cmp.Diff([]string{want}, got); diff != "" {
			t.Errorf("%q, said %q: (-want +got)\n%s", said, r.Message.Text, diff)
		}
	}
}

func TestTalk(t *testing.T) {
	for said, want := range map[string]string{
		"hi": "Hello", "Hello!": "Hello", "你好": "你好", "早上好！": "你好", "thanks": "welcome", "谢谢你": "不客气",
		"bye": "Goodbye", "再见": "再见", "help": "OPENAI_API_KEY", "帮助": "OPENAI_API_KEY", "?": "what time is it",
		"你能做什么？": "现在几点", "What can you do?": "list files", "who are you": "offline assistant", "你是谁": "离线助手",
		"how are you?": "Fine", "write me a poem": "no model is configured", "写一首诗": "还没有配置模型",
		"会议时间": "还没有配置模型", "show me something": "no model is configured", "": "help", "  \n": "help",
		"llm.models?": "config.yaml",
	} {
		if r := declined(t, user(said)); !strings.Contains(r.Message.Text, want) || len(r.Message.Calls) != 0 {
			t.Errorf("%q: got %q with calls %v, want %q", said, r.Message.Text, r.Message.Calls, want)
		}
	}
}

func TestResultsAreWorded(t *testing.T) {
	asked := func(said, tool string) []llm.Message {
		return []llm.Message{user(said), {Role: llm.Assistant, Calls: []llm.Call{{ID: "c", Name: tool, Args: "{}"}}}}
	}
	result := func(tool, text string) llm.Message {
		return llm.Message{Role: llm.Tool, CallID: "c", Name: tool, Text: text}
	}
	bad := result("read_file", "notes.txt: not found")
	bad.Failed = true
	for name, c := range map[string]struct {
		msgs []llm.Message
		want string
	}{
		"time":         {append(asked("what time is it", "current_time"), result("current_time", "12:00 UTC")), "It is 12:00 UTC"},
		"时间":           {append(asked("现在几点", "current_time"), result("current_time", "12:00 UTC")), "现在是 12:00 UTC"},
		"file":         {append(asked("read a.md", "read_file"), result("read_file", "a ```` b")), "Here it is:\n\n`````\na ```` b\n`````"},
		"indented":     {append(asked("read a.md", "read_file"), result("read_file", "  1  x\n 10  y\n")), "```\n  1  x\n 10  y\n```"},
		"list":         {append(asked("看看文件", "list_dir"), result("list_dir", "📄 a.txt")), "文件如下"},
		"written":      {append(asked("write x to y.txt", "write_file"), result("write_file", "created y.txt, 1 byte")), "Done. created y.txt"},
		"failed":       {append(asked("read notes.txt", "read_file"), bad), "That did not work: notes.txt: not found"},
		"empty":        {append(asked("读 a.txt", "read_file"), result("read_file", " ")), "是空的"},
		"other tool":   {append(asked("x", "odd"), result("odd", "the output")), "the output"},
		"no message":   {nil, "help"},
		"two at once":  {[]llm.Message{user("hi"), user("谢谢")}, "Hello! I am the offline assistant: no model is configured. Say \"help\" to see what I can do.\n\n不客气"},
		"steered":      {append(asked("what time is it", "current_time"), result("current_time", "12:00"), user("thanks")), "It is 12:00\n\nYou are welcome."},
		"image only":   {[]llm.Message{{Role: llm.User, Images: []llm.Image{{Ref: "r"}}}}, "pictures"},
		"spoke before": {[]llm.Message{user("hi"), {Role: llm.Assistant, Text: "Hello"}, user("谢谢")}, "不客气"},
	} {
		if r := ask(t, c.msgs...); !strings.Contains(r.Message.Text, c.want) {
			t.Errorf("%s: got %q, want %q", name, r.Message.Text, c.want)
		}
	}
}

func TestToolsThatAreNotOffered(t *testing.T) {
	s := llmtest.Check(t.Context(), t, offline.New("x"), llm.Request{Messages: []llm.Message{user("what time is it")}})
	if s.Err != nil || !strings.Contains(s.Text(), "current_time is not available") || len(s.Reply.Message.Calls) != 0 {
		t.Errorf("got %q, %v", s.Text(), s.Err)
	}
}

func TestStreamsInPieces(t *testing.T) {
	s := llmtest.Check(t.Context(), t, offline.New("x"), llm.Request{Messages: []llm.Message{user("帮助")}})
	if len(s.Pieces) < 2 {
		t.Errorf("got %d pieces, want several", len(s.Pieces))
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s := llmtest.Check(ctx, t, offline.New("x"), llm.Request{Messages: []llm.Message{user("hi")}}); !errors.Is(s.Err, context.Canceled) {
		t.Errorf("got %v, want the context's error", s.Err)
	}
	for range offline.New("x").Stream(t.Context(), llm.Request{Messages: []llm.Message{user("help")}}) {
		break
	}
}

// Any text gets some answer, in the language of the text.
func checkAnswer(t llmtest.T, said string) {
	r := ask(t, user(said))
	if r.Message.Text == "" && len(r.Message.Calls) == 0 {
		t.Errorf("%q got no answer", said)
	}
	for _, c := range r.Message.Calls {
		if !json.Valid([]byte(c.Args)) {
			t.Errorf("%q: bad arguments %q", said, c.Args)
		}
	}
	han := func(s string) bool {
		return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
	}
	if r.Message.Text != "" && han(said) != han(r.Message.Text) {
		t.Errorf("%q was answered in the other language: %q", said, r.Message.Text)
	}
}

func TestAnyTextIsAnswered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := []string{"read", "write", "list", "files", " ", "to", "a.txt", "time", "in", "Tokyo", "几点", "文件", "读", "把", "写入", "?", "\"", "what is the", "please", "帮我"}
		checkAnswer(t, strings.Join(rapid.SliceOf(rapid.OneOf(rapid.SampledFrom(words), rapid.StringN(0, 5, -1))).Draw(t, "said"), ""))
	})
	checkAnswer(t, strings.Repeat("长文 write to ", 20_000)+"a.txt")
}

func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{"hi", "现在几点", "read \"", "write  to ", "把写入", "ls ''", "\xff\xfe", "?"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, said string) {
		if utf8.ValidString(said) {
			checkAnswer(t, said)
		} else {
			ask(t, user(said))
		}
	})
}

package command_test

import (
	"strings"
	"testing"
	"time"

	"magpie/agent/command"
	"magpie/chat"
)

func TestWhy(t *testing.T) {
	f := newFixture(t)
	wantAll(t, f.say(t, "/why"), "cannot be looked up")
	f.room.status.Why = &command.Why{}
	wantAll(t, f.say(t, "/why"), "nothing from outside")
	wantAll(t, f.say(t, "/为什么"), "没有读过外部内容")
	at := time.Date(2026, 11, 3, 10, 0, 0, 0, time.UTC)
	long := "https://a.example/" + strings.Repeat("x", 500)
	f.room.status.Why = &command.Why{
		Sources: []chat.Source{
			{Kind: chat.SourcePage, Name: "https://a.example/`b`\n# c", At: at},
			{Kind: chat.SourceServer, Name: "github", At: at, Via: "note 3 2026-11-02"},
			{Kind: chat.SourceOthers, Name: "Eve", At: at, Via: "reminder 2026-11-01"},
			{Kind: chat.SourceFile, Name: "a.ics", Via: "task abc"},
			{Kind: chat.SourceUnknown},
			{Kind: "later", Name: long, Via: "some`thing else"},
		},
		Summarised: []chat.Source{{Kind: chat.SourceOthers, Name: "Eve"}},
	}
	en := f.say(t, "/why")
	wantAll(t, en, "the web: `https://a.example/ b # c`, 2026-11-03 ", "an MCP server: `github`", "through note 3 of 2026-11-02",
		"words of others: `Eve`", "made on 2026-11-01, in the summary", "a file: `a.ics`, through the background task `abc`",
		"not known where it came from", "through `something else`", "`/new` begins")
	if strings.Contains(en, long) {
		t.Error("a long name is not cut")
	}
	zh := f.say(t, "/为什么")
	wantAll(t, zh, "网络：`https://a.example/ b # c`", "经由 2026-11-02 的第 3 条记忆", "经由 2026-11-01 创建的提醒或任务", "见较早消息的摘要", "来源不明", "`/新对话`")

	reply := func(q *chat.Quote) string {
		d := f.delivery("/why", "joe", "")
		d.ReplyTo = q
		return f.handle(t, d)
	}
	wantAll(t, reply(&chat.Quote{ID: "3", Text: "hi"}), "not written that message")
	wantAll(t, reply(&chat.Quote{ID: "3", Text: "hi", Mine: true}), "When I wrote this I had read nothing")
	quoted := reply(&chat.Quote{ID: "3", Text: "hi", Mine: true, Sources: []chat.Source{{Kind: chat.SourcePage, Name: "https://b.example/"}}})
	wantAll(t, quoted, "When I wrote this", "`https://b.example/`")
	if strings.Contains(quoted, "Eve") {
		t.Errorf("a reply is told of the conversation: %s", quoted)
	}
}

package driver_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/internal/fakes/dingtalk"
	"magpie/internal/fakes/discord"
	"magpie/internal/fakes/driver"
	"magpie/internal/fakes/feishu"
	"magpie/internal/fakes/qq"
	"magpie/internal/fakes/telegram"
)

func platforms(t *testing.T) map[string]driver.Platform {
	all := map[string]driver.Platform{}
	for _, p := range []driver.Platform{
		telegram.Drive(telegram.New(nil)), discord.Drive(discord.New(nil)), feishu.Drive(feishu.New(&feishu.Options{})),
		dingtalk.Drive(dingtalk.New(nil)), qq.Drive(qq.New(&qq.Options{Markdown: true})),
	} {
		all[p.Name()] = p
		t.Cleanup(p.Close)
	}
	if len(all) != 5 {
		t.Fatalf("platforms of one name: %v", all)
	}
	return all
}

// What every driver promises, whatever the platform: who a number is stays the
// same, every message has an id of its own, nothing is shown and nobody is
// connected before there is a bot, and what is not there cannot be pressed.
func TestDrivers(t *testing.T) {
	for name, p := range platforms(t) {
		t.Run(name, func(t *testing.T) {
			ada, bob := p.Join(1, "Ada"), p.Join(2, "Bob")
			if ada != p.Person(1) || bob != p.Person(2) || ada.ID == bob.ID || ada.Chat == bob.Chat || ada.ID == "" {
				t.Errorf("people: %+v, %+v", ada, bob)
			}
			group := p.Group(1, "Group")
			ids := map[string]bool{}
			for _, s := range []driver.Said{
				{Chat: ada.Chat, Text: "你好"},
				{Chat: ada.Chat, Files: []driver.File{{Name: "a.png", MIME: "image/png", Data: []byte("png")}}},
				{From: ada.Chat, Chat: group, Text: "you", Mention: true},
				{From: bob.Chat, Chat: group, Text: "others"},
			} {
				ids[s.Chat+" "+p.Say(s)] = true
			}
			if len(ids) != 4 {
				t.Errorf("ids: %v", ids)
			}
			if _, err := p.Press(ada.Chat, ada.Chat, "1", "yes"); err == nil {
				t.Error("a button was pressed where there is none")
			}
			if shown := p.Shown(ada.Chat); len(shown) != 0 || p.Connected() || p.Sends() != 0 {
				t.Errorf("before there is a bot: connected %v, sends %d, %v", p.Connected(), p.Sends(), shown)
			}
			if section := p.Section("http://base"); section["api_base"] != "http://base" {
				t.Errorf("section: %v", section)
			}
			if _, lossy := p.(driver.Lossy); lossy != (name == "dingtalk") {
				t.Errorf("lossy: %v", lossy)
			}
			trouble(t, p)
			answers(t, p)
		})
	}
}

// trouble: each is known, but that Discord never refuses markup.
func trouble(t *testing.T, p driver.Platform) {
	t.Helper()
	for _, one := range []driver.Trouble{
		driver.BadRequest, driver.Unauthorized, driver.Forbidden, driver.RateLimited, driver.ServerError, driver.HangBefore,
		driver.HangAfter, driver.Dropped, driver.Answered, driver.BadMarkup,
	} {
		if known := p.Fail(one, 1); known != (one != driver.BadMarkup || p.Name() != "discord") {
			t.Errorf("%s: %v", one, known)
		}
	}
	if p.Fail("no such", 1) {
		t.Error("a trouble that nobody knows was arranged")
	}
}

// answers: the handler is the fake's, which lets nobody in without credentials.
func answers(t *testing.T, p driver.Platform) {
	t.Helper()
	w := httptest.NewRecorder()
	p.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/no/such/thing", nil))
	if w.Code < 400 {
		t.Errorf("anything is answered with %d", w.Code)
	}
}

func TestKinds(t *testing.T) {
	kinds := driver.Kinds{driver.Image: "photo", driver.Document: "document", driver.Video: "clip"}
	for want, files := range map[string][]driver.File{
		"photo":    {{Kind: driver.Image}, {MIME: "image/png"}, {Kind: driver.Image, MIME: "text/plain"}},
		"clip":     {{Kind: driver.Video}, {MIME: "video/mp4"}},
		"document": {{}, {Kind: driver.Document, MIME: "image/png"}, {Kind: driver.Voice}, {MIME: "audio/ogg"}, {MIME: "text/plain"}},
	} {
		for _, f := range files {
			if got := kinds.Name(f); got != want {
				t.Errorf("%+v: %q, want %q", f, got, want)
			}
		}
	}
	if kinds.Named("clip") != driver.Video || kinds.Named("x") != "" {
		t.Errorf("named: %q, %q", kinds.Named("clip"), kinds.Named("x"))
	}
}

func TestRows(t *testing.T) {
	got := driver.Rows([][]string{{"a:1", "b:2"}, {}, {"c:3"}}, func(b string) (label, data string) {
		label, data, _ = strings.Cut(b, ":")
		return label, data
	})
	want := []driver.Button{{Label: "a", Data: "1"}, {Label: "b", Data: "2"}, {Label: "c", Data: "3", Row: 2}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// What is escaped on the way is read without it, and nothing else.
func TestReads(t *testing.T) {
	const sent = `a\*b \\ &lt;c&gt; \x`
	if got := qq.Read(qq.Message{Text: sent, Markdown: true}); got != `a*b \ <c> \x` {
		t.Errorf("qq: %q", got)
	}
	if got := dingtalk.Read(dingtalk.Message{Text: sent + "  \nd", Kind: "markdown"}); got != "a*b \\ <c> \\x\nd" {
		t.Errorf("dingtalk: %q", got)
	}
	if qq.Read(qq.Message{Text: sent}) != sent || dingtalk.Read(dingtalk.Message{Text: sent, Kind: "text"}) != sent {
		t.Error("plain text is read otherwise than it was sent")
	}
}

package feishu

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/feishu"
	"magpie/internal/kv"
)

// Each scope of a feature is missed, with what is lost; without the first
// nothing works and the check fails.
func TestSurvey(t *testing.T) {
	w := newWorld(t, fake.Options{})
	f := w.channel(t, channels.Deps{})
	if lines, err := f.Survey(channeltest.Bounded(t)); err != nil || len(lines) != 0 {
		t.Errorf("with all scopes: %q %v", lines, err)
	}
	for _, l := range lacks() {
		w.Withhold(l.any...)
		lines, err := f.Survey(channeltest.Bounded(t))
		if err != nil || !slices.ContainsFunc(lines, func(s string) bool { return strings.Contains(s, l.any[0]) && strings.Contains(s, l.lost) }) {
			t.Errorf("without %q: %q %v", l.any, lines, err)
		}
	}
	w.Withhold("im:message.group_msg", "cardkit:card:write", "im:resource")
	if err := f.Check(channeltest.Bounded(t)); err != nil {
		t.Errorf("without what only some features need: %v", err)
	}
	w.Withhold("im:message", "im:message:send_as_bot")
	if err := f.Check(channeltest.Bounded(t)); channels.KindOf(err) != channels.Rejected || !strings.Contains(err.Error(), "im:message") {
		t.Errorf("without the right to send: %v", err)
	}
	w.Withhold()
	w.Fail(fake.Fault{Op: "scopes", Code: 212100, Msg: "app not install"})
	if _, err := f.Survey(channeltest.Bounded(t)); channels.KindOf(err) != channels.Rejected || err == nil {
		t.Errorf("not installed: %v", err)
	}
}

// What the pages give to paste is what doctor asks for, bot init prints and the
// link of a scanned code names, in the console's form; they name every event too.
func TestScopesOfThePages(t *testing.T) {
	type paste struct {
		Scopes struct {
			Tenant []string `json:"tenant"`
			User   []string `json:"user"`
		} `json:"scopes"`
	}
	read := func(from, block string) []string {
		var p paste
		if err := json.Unmarshal([]byte(block), &p); err != nil || p.Scopes.User == nil || len(p.Scopes.User) != 0 {
			t.Errorf("%s: %v in %q", from, err, block)
		}
		return p.Scopes.Tenant
	}
	want := Scopes()
	for _, l := range lacks() {
		if !slices.Contains(want, l.any[0]) {
			t.Errorf("%s is missing in %q", l.any[0], want)
		}
	}
	if got := read("Import", Import()); !slices.Equal(got, want) {
		t.Errorf("to be pasted: %q, the bot asks for %q", got, want)
	}
	for _, s := range want {
		if !slices.Contains(fake.Scopes(), s) {
			t.Errorf("the fake does not know %s", s)
		}
	}
	for _, page := range []string{"feishu.md", "feishu.zh.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", "channels", page))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "```json\n")
		block, _, _ := strings.Cut(rest, "```")
		if got := read(page, block); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
			t.Errorf("%s gives %q, the bot asks for %q", page, got, want)
		}
		for _, name := range append(Events(), Callbacks()...) {
			if !strings.Contains(string(text), "`"+name+"`") {
				t.Errorf("%s does not name %s", page, name)
			}
		}
	}
}

// direct calls a handler without a network, as synctest wants it.
type direct struct{ http.Handler }

func (h direct) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	in := r.Clone(r.Context())
	if in.Body == nil {
		in.Body = http.NoBody
	}
	h.ServeHTTP(rec, in)
	return rec.Result(), nil
}

// A bot behind a webhook that nobody talks to leaves the month's calls of a free
// plan to those who do.
func TestIdleMonth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := fake.New(&fake.Options{Monthly: 10_000, VerificationToken: verifyToken})
		defer w.Close()
		cfg := Config{AppID: w.AppID(), AppSecret: chat.Secret(w.Secret()), Mode: modeWebhook, VerificationToken: verifyToken}
		if err := cfg.complete(); err != nil {
			t.Fatal(err)
		}
		status := channels.NewStatus(nil)
		f := newFeishu(instance, cfg, channels.Deps{HTTP: &http.Client{Transport: direct{w.Handler()}}, Table: &kv.Memory{}, Status: status}, normalPace())
		r := channeltest.Receive(t, f, nil)
		calls := 0
		for range 31 {
			before := w.Calls("info")
			<-time.After(24 * time.Hour)
			calls += w.Calls("info") - before
		}
		if calls < 31 || calls > 31*24 {
			t.Errorf("%d calls in a month", calls)
		}
		if !status.State().Connected {
			t.Errorf("status %+v", status.State())
		}
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
	})
}

// docs/platforms.md says what the code does.
func TestPlatformTable(t *testing.T) {
	f := offline(t)
	l := f.Limits()
	channeltest.PlatformTable(t, "Feishu", map[string]any{
		"text of a message, bytes as rendered":                    maxText,
		"tables in a message":                                     maxTables,
		"picture out, bytes":                                      maxImage,
		"file out, bytes":                                         maxFile,
		"messages to one chat at once":                            l.Rate.ChatBurst,
		"messages in all at once":                                 l.Rate.Burst,
		"messages in all, a minute":                               perMinute,
		"pause between edits of a card":                           l.Edit,
		"a card can be changed for":                               cardLife,
		"a repeated send is known for":                            uuidLife,
		"an event is answered within":                             normalPace().answer,
		"pause between looks at the credentials behind a webhook": normalPace().look,
		"a token is replaced before its end by":                   tokenMargin,
		"forwarded messages shown":                                maxForwarded,
	})
}

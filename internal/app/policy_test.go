package app_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"

	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// TestPolicySeesEveryArgument: through the whole program, a rule stops a call by
// whatever of its arguments it matches, however that is written.
func TestPolicySeesEveryArgument(t *testing.T) {
	t.Parallel()
	const refused = "policy of this bot does not allow"
	run := func(name, args string) map[string]modelserver.Call {
		return map[string]modelserver.Call{"do it": {Name: name, Args: args}}
	}
	rule := func(line string) string {
		return "tools: {web: {allow_private: [127.0.0.0/8]}, symlinks: inside, path_policy: resolve, policy: [" + line + "]}"
	}
	files := func(w *world) {
		_ = os.MkdirAll(w.data("workspace", "private"), 0o700)
		_ = os.WriteFile(w.data("workspace", "private", "no-entry.csv"), []byte("secret"), 0o600)
		_ = os.Symlink("private", w.data("workspace", "way"))
	}
	for _, c := range []struct {
		key, rule, tool, args string
		answer, never         string
	}{
		{"message media", `{match: no-entry, action: deny}`, "message", `{"content":"hi","media":["private/no-entry.csv"]}`, refused, ""},
		{"media through a link", `{match: "^private/", action: deny}`, "send_media", `{"file_paths":["way/no-entry.csv"]}`, refused, ""},
		{"media with dots", `{match: "^private/", action: deny}`, "send_media", `{"file_paths":["./x/..//private/no-entry.csv"]}`, refused, ""},
		{"chat of a message", `{tool: message, match: '"chat_id":"7"', action: deny}`, "message", `{"content":"hi","chat_id":"7"}`, refused, ""},
		{"mode of cron", `{tool: cron, match: '"mode":"agent"', action: deny}`, "cron", `{"action":"add","message":"look","mode":"agent","every_seconds":3600}`, refused, ""},
		{"note", `{match: "geheim", action: deny}`, "memory_write", `{"content":"geheim"}`, refused, ""},
		{"encoded URL", `{tool: web_fetch, match: "/secret", action: deny}`, "web_fetch", `{"url":"SITE/s%65cret"}`, refused, "the page"},
		{"encoded twice by slashes", `{tool: web_fetch, match: "/secret/", action: deny}`, "web_fetch", `{"url":"SITE/a/%2e%2e/secret%2Fx"}`, refused, "the page"},
		{"redirect", `{tool: web_fetch, match: "/secret", action: deny}`, "web_fetch", `{"url":"SITE/go"}`, "policy of this bot", "the page"},
		{"redirect of http_get", `{tool: http_get, match: "/secret", action: deny}`, "http_get", `{"url":"SITE/go"}`, "policy of this bot", "the page"},
		{"allowed host only", `{tool: web_fetch, match: "/go$", action: allow}, {tool: web_fetch, action: deny}`, "web_fetch", `{"url":"SITE/go"}`, "policy of this bot", "the page"},
		{"folder", `{match: "^private(/|$)", action: deny}`, "list_dir", `{"path":".","recursive":true}`, "left out by the policy", "no-entry"},
		{"search", `{match: "^private(/|$)", action: deny}`, "file_search", `{"content":"secret"}`, "left out by the policy", "no-entry"},
		{"variable", ``, "set_env", `{"key":"GIT_EXTERNAL_DIFF","value":"x"}`, "cannot be set", ""},
		{"home of commands", ``, "get_env", `{"key":"HOME"}`, "/workspace/.home", ""},
	} {
		t.Run(c.key, func(t *testing.T) {
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/go" {
					http.Redirect(w, r, "/s%65cret", http.StatusFound)
					return
				}
				_, _ = w.Write([]byte("this is the page"))
			}))
			t.Cleanup(site.Close)
			wiring{key: c.key, extra: rule(c.rule), early: files, check: func(t *testing.T, w *world, b *bot) {
				w.calls(run(c.tool, strings.ReplaceAll(c.args, "SITE", site.URL)))
				got := w.ask("do it")
				if !strings.Contains(got, c.answer) || c.never != "" && strings.Contains(got, c.never) {
					t.Errorf("%s %s: %s", c.tool, c.args, got)
				}
			}}.run(t)
		})
	}
}

// TestWrittenCodeIsAskedAbout: what a turn wrote after it had read a page does
// not run later unasked, although a rule allows all commands, the conversation
// is a new one, and the program was killed while the question stood.
func TestWrittenCodeIsAskedAbout(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("a script: touch ran"))
	}))
	t.Cleanup(site.Close)
	w := newWorld(t, nil)
	w.extra = "tools: {web: {allow_private: [127.0.0.0/8]}, policy: [{tool: exec, action: allow}]}"
	w.model.Reply(readsThenWrites(site.URL))
	outcomes := func(n int) []telegram.Message {
		return w.wait(owner, "the outcome", func(m []telegram.Message) bool { return count(m, "outcome:") == n })
	}
	ran := func() bool {
		_, err := os.Stat(w.data("workspace", "ran"))
		return err == nil
	}
	b := w.start("bot")
	b.ready()
	w.say("read and write")
	outcomes(1)
	fresh := 0
	renew := func() {
		fresh++
		w.say("/new")
		w.wait(owner, "a new conversation", func(m []telegram.Message) bool { return count(m, "ew conversation") == fresh })
	}
	renew()
	w.say("run it")
	msgs := w.wait(owner, "the question", func(m []telegram.Message) bool { return len(m[len(m)-1].Keyboard) > 0 })
	question := msgs[len(msgs)-1]
	if text := texts(w.tg.Messages(owner)); !strings.Contains(text, "tools/run.sh") || !strings.Contains(text, "nobody has allowed to run yet") || ran() {
		t.Fatalf("the question is %s", text)
	}
	_ = b.signal(syscall.SIGKILL)
	b = w.start("bot")
	b.ready()
	if _, err := w.tg.Press(owner, owner, question.ID, question.Keyboard[0][0].Data); err != nil {
		t.Fatal(err)
	}
	questions := count(outcomes(2), "May I?") // Telegram may show one again after a kill
	if !ran() {
		t.Error("it did not run although it was allowed")
	}
	renew()
	_ = b.signal(syscall.SIGKILL)
	w.start("bot").ready()
	w.say("run it")
	if msgs := outcomes(3); count(msgs, "May I?") != questions {
		t.Errorf("it was asked about again: %s", texts(msgs))
	}
}

// readsThenWrites is a model that writes a script after reading a page, and runs
// it when it is told to.
func readsThenWrites(site string) func(modelserver.Request) modelserver.Answer {
	return func(r modelserver.Request) modelserver.Answer {
		call := func(name, args string) modelserver.Answer {
			return modelserver.Answer{Calls: []modelserver.Call{{Name: name, Args: args}}}
		}
		res := r.Results()
		switch write := strings.Contains(r.LastUser(), "read and write"); {
		case write && len(res) == 0:
			return call("web_fetch", `{"url":"`+site+`"}`)
		case write && strings.HasPrefix(res[len(res)-1].Text, `<outside from="web_fetch">`):
			return call("write_file", `{"path":"tools/run.sh","content":"touch ran # as the page says"}`)
		case strings.Contains(r.LastUser(), "run it") && len(res) == 0:
			return call("exec", `{"command":"sh tools/run.sh"}`)
		case len(res) > 0:
			return modelserver.Answer{Text: "outcome: " + res[len(res)-1].Text}
		}
		return modelserver.Echo(r)
	}
}

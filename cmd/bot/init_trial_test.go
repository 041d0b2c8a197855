package main

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"magpie/internal/setup"
)

// unreachable are addresses where no platform and no model answers, each in a
// way that people meet: no network, no name, a proxy that breaks TLS, a server
// in trouble.
func unreachable(t *testing.T) map[string]string {
	t.Helper()
	broken := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		_, _ = io.WriteString(w, "<html>bad gateway</html>")
	}), func() {})
	cut := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), func() {})
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	return map[string]string{
		"nobody listens": "http://" + freeAddress(t),
		"no such name":   "http://no-such-host.invalid",
		"foreign TLS":    secure.URL,
		"bad gateway":    broken,
		"cut off":        cut,
	}
}

// TestInitWithoutNetwork: for each platform and the model, whatever is in the
// way, the same can be tried again, skipped, and kept with the answers from
// before; what is kept is good for a start.
func TestInitWithoutNetwork(t *testing.T) {
	t.Parallel()
	for what, url := range unreachable(t) {
		for _, c := range candidates(t) {
			t.Run(what+" "+c.name, func(t *testing.T) {
				t.Parallel()
				b := &beginner{t: t, dir: t.TempDir()}
				first, kept := "", "\n" // answers to the questions; then Enter for each
				if c.id != "" {
					first, kept = c.id+"\n", "\n\n"
				}
				lines := c.name + "\n" + first + c.secret + "\n" + // it fails
					"retry\n" + "skip\n" + // as it does again
					c.name + "\n" + kept + "keep anyway\n" + "\n" + // no more platforms
					"openai\n" + url + "/v1\nscripted\n" + modelKey + "\n" + "1\n" + "保留\n" + "北京\n"
				args := []string{"--key", "api_base=" + url}
				for _, extra := range c.extra {
					if base, _, ok := strings.Cut(extra, "="); ok {
						args = append(args, "--key", base+"="+url)
					}
				}
				code, out, errs := b.init(lines, nil, args...)
				if code != exitDone {
					t.Fatalf("exit code %d\n%s%s", code, out, errs)
				}
				if n := strings.Count(out, "FAIL  channel "+c.name); n != 3 {
					t.Errorf("the platform was tried %d times, want 3:\n%s", n, out)
				}
				if n := strings.Count(out, "FAIL  model main"); n != 2 {
					t.Errorf("the model was tried %d times, want 2:\n%s", n, out)
				}
				parts(t, "output", out, []string{"HTTPS_PROXY", "Going on without " + c.name, "It is kept as it is", "北京 is Asia/Shanghai", "To start it: "})
				text, vars := b.read("config.yaml"), b.read(".env")
				parts(t, "config.yaml", text, []string{"${" + c.env + "}", "timezone: Asia/Shanghai", "${OPENAI_API_KEY}"})
				parts(t, ".env", vars, []string{c.env + "=" + c.secret + "\n", "OPENAI_API_KEY=" + modelKey + "\n"})
				if code, out, errs := run(t, b.dir, nil, "config", "check"); code != exitDone {
					t.Errorf("what was kept cannot be started: %s%s", out, errs)
				}
			})
		}
	}
}

// TestInitEndsAtAnyPoint: whoever stops, or whose input ends, gets nothing
// written, and is told.
func TestInitEndsAtAnyPoint(t *testing.T) {
	t.Parallel()
	url := "http://" + freeAddress(t)
	const telegram = "telegram\n123456:abcdef\n"
	lines := telegram + "retry\nkeep\n\nopenai\n" + url + "\nm\nsk-key\nkeep\nUTC\n"
	var ends []string
	for i, c := range lines {
		if c == '\n' && i < len(lines)-1 {
			ends = append(ends, lines[:i+1])
		}
	}
	for _, stop := range []string{"stop", "quit", "5", "中止", "q"} {
		ends = append(ends, telegram+stop+"\n")
	}
	for _, input := range append(ends, "", "tele", "telegram\n\n\n", "telegram\nabc\n\n\nstop\n") {
		b := &beginner{t: t, dir: t.TempDir()}
		code, out, errs := b.init(input, nil, "--key", "api_base="+url)
		if files, _ := os.ReadDir(b.dir); code != exitFailed || len(files) > 0 || !strings.Contains(errs, "nothing was written") {
			t.Errorf("%q: exit code %d, written %v\n%s%s", input, code, files, out, errs)
		}
	}
	b := &beginner{t: t, dir: t.TempDir()}
	if code, out, errs := b.init(lines, nil, "--key", "api_base="+url); code != exitDone {
		t.Errorf("all answers: %d\n%s%s", code, out, errs)
	}
}

// TestInitOfMalformedAnswers: what the bot would not start with cannot be kept,
// but corrected or left out.
func TestInitOfMalformedAnswers(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string]string{
		"telegram": "telegram\nabc\nkeep\n\"123456:abcdef\"\n",
		"discord":  "discord\nBot a.b.c\nkeep\nDISCORD_BOT_TOKEN=a.b.c\n",
		"feishu":   "feishu\napp\nsecret\nkeep\n secret1 \ncli_a\n“secret2”\n",
		"qq":       "qq\n１２３\nsecret\n123\nsecret2\n",
		"dingtalk": "dingtalk\n填你的ID\nsecret\nskip\ndingtalk\nding1\nsecret2\n",
	} {
		b := &beginner{t: t, dir: t.TempDir()}
		code, out, errs := b.init(lines+"\noffline\nUTC\n", nil, "--no-check")
		if code != exitDone || !strings.Contains(out, "FAIL  channels."+name) || strings.Contains(out, "keep it anyway") || !strings.Contains(b.read("config.yaml"), name) {
			t.Errorf("%s: exit code %d\n%s%s", name, code, out, errs)
		}
		for _, pasted := range []string{"\"", "“", "TOKEN=DISCORD"} {
			if strings.Contains(b.read(".env"), pasted) {
				t.Errorf("%s: .env holds %s", name, pasted)
			}
		}
	}
}

// TestInitSaysInChineseWhatToDo: what is wrong with an answer, and what to do
// about a platform and a model that were not reached, also by a proxy.
func TestInitSaysInChineseWhatToDo(t *testing.T) {
	t.Parallel()
	b := &beginner{t: t, dir: t.TempDir()}
	url := "http://" + freeAddress(t)
	lines := "telegram\nabc\n123456:abcdef\nskip\n\nopenai\n" + url + "/v1\nm\nsk-key\nskip\nUTC\n"
	code, out, errs := b.init(lines, []string{"LANG=zh_CN.UTF-8"}, "--key", "api_base="+url, "--key", "proxy=http://"+freeAddress(t))
	if code != exitDone {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
	parts(t, "output", out, []string{
		"错误  填写的内容格式不对。\n      channels.telegram.token: is not a bot token",
		"怎么办：没有连上平台：检查本机的网络，以及 channels.telegram 里的 api_base 等地址；正在使用 channels.telegram.proxy 里的代理：127.0.0.1:",
		"怎么办：没有连上模型服务：检查本机的网络，以及 llm.models 里 main 的 base_url 是否正确；要通过代理才能上网的，设置环境变量 HTTPS_PROXY，或 llm.models 里 main 的 proxy",
	})
	if strings.Contains(out, "holds a text") {
		t.Errorf("it speaks of a variable to somebody who has typed the value:\n%s", out)
	}
}

func TestChosen(t *testing.T) {
	t.Parallel()
	all := setup.Finding{}.Offers()
	for answer, want := range map[string]setup.Action{
		"retry": setup.Retry, "R": setup.Retry, "1": setup.Retry, "１": setup.Retry, "重试": setup.Retry, "[r]": setup.Retry, "try again": setup.Retry,
		"keep anyway": setup.Keep, "k": setup.Keep, "3.": setup.Keep, "s": setup.Skip, "跳过": setup.Skip, "back": setup.Change, "q": setup.Stop, "stop": setup.Stop, "5": setup.Stop,
		"": "", "6": "", "123456:abc": "", "cli_keep": "",
	} {
		if got, _ := setup.Chosen(answer, all); got != want {
			t.Errorf("%q: %q, want %q", answer, got, want)
		}
	}
}

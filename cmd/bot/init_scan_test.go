package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"magpie/internal/fakes/dingtalk"
	"magpie/internal/fakes/feishu"
)

// scene is a platform whose apps are made by a scan.
type scene struct {
	platform, url           string
	id, secret, variable    string
	agree, decline, outdate func()
	keys                    []string
	asks, asksSecret        string
	link                    string
}

func scenes(t *testing.T) []scene {
	fs, dt := feishu.New(nil), dingtalk.New(nil)
	fs.Hurry(1e9)
	fsURL, dtURL := serve(t, fs.Handler(), fs.Close), serve(t, dt.Handler(), dt.Close)
	return []scene{
		{
			platform: "feishu", url: fsURL, id: fs.AppID(), secret: fs.Secret(), variable: "FEISHU_APP_SECRET",
			agree: func() { fs.Confirm("feishu") }, decline: fs.Decline, outdate: fs.Outdate,
			keys: []string{"--key", "api_base=" + fsURL}, asks: "App ID (cli_…)", asksSecret: "App Secret: ", link: "https://open.feishu.cn/page/launcher?",
		},
		{
			platform: "dingtalk", url: dtURL, id: dingtalk.DefaultClientID, secret: dingtalk.DefaultClientSecret, variable: "DINGTALK_CLIENT_SECRET",
			agree: dt.Agree, decline: func() { dt.Decline("用户拒绝") }, outdate: dt.Outdate,
			keys: []string{"--key", "api_base=" + dtURL, "--key", "oapi_base=" + dtURL}, asks: "Client ID (AppKey)", asksSecret: "(AppSecret): ", link: dtURL + "/scan?user_code=FAKE-CODE",
		},
	}
}

// watched is an output that is looked at while it grows.
type watched struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	want string
	then func()
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.buf.Write(p)
	if w.then != nil && strings.Contains(w.buf.String(), w.want) {
		go w.then()
		w.then = nil
	}
	return n, err
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// scanInit pipes lines into bot init; then is called when a text has come out.
func (b *beginner) scanInit(lines io.Reader, env []string, want string, then func(), args ...string) (code int, out string) {
	b.t.Helper()
	cmd := bot(b.t, b.dir, env, append([]string{"init"}, args...)...)
	w := &watched{want: want, then: then}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = lines, w, w
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		b.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), w.String()
}

// TestInitByScan makes an app by a code over a pipe, which gets the link alone:
// its keys are tried and written as those that are typed, and the doctor is
// content.
func TestInitByScan(t *testing.T) {
	t.Parallel()
	for _, s := range scenes(t) {
		t.Run(s.platform, func(t *testing.T) {
			t.Parallel()
			b := newBeginner(t)
			b.write("config.yaml", "web: {listen: '"+freeAddress(t)+"'}\n")
			code, out := b.scanInit(strings.NewReader(s.platform+"\nscan\n\noffline\nUTC\n"), nil, "Ctrl-C", s.agree, s.keys...)
			if code != exitDone {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			parts(t, "output", out, []string{"or scan: make the app by a QR code", "\n" + s.link, "The app was made: " + s.id, "ok    channel " + s.platform + ": "})
			if strings.ContainsAny(out, "▀▄█\x1b") || strings.Contains(out, s.secret) {
				t.Errorf("a pipe gets a drawing, or the secret:\n%s", out)
			}
			parts(t, "config.yaml", b.read("config.yaml"), []string{s.id, "${" + s.variable + "}", s.url, map[string]string{"feishu": `allow: ["ou_owner"]`, "dingtalk": "client_id: "}[s.platform]})
			parts(t, ".env", b.read(".env"), []string{s.variable + "=" + s.secret + "\n"})
			if _, found, errs := run(t, b.dir, nil, "doctor"); !strings.Contains(found, "ok    channel "+s.platform) {
				t.Errorf("the doctor says\n%s%s", found, errs)
			}
			b.starts()
		})
	}
}

// TestInitByScanOfLark: the address of somebody on Lark is kept, and the link
// of a file of variables or flag may ask for a scan without any question.
func TestInitByScanOfLark(t *testing.T) {
	t.Parallel()
	fs := feishu.New(nil)
	fs.Hurry(1e9)
	way := serve(t, fs.Handler(), fs.Close) // a proxy that knows one host
	b := newBeginner(t)
	code, out := b.scanInit(nil, []string{"HTTP_PROXY=" + way, "LANG=zh_CN.UTF-8"}, "手工输入", func() { fs.Confirm("lark") },
		"--yes", "--platform", "feishu", "--key", "app_id=扫码", "--key", "api_base=http://open.lark.test", "--zone", "UTC")
	if code != exitDone {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	parts(t, "output", out, []string{"请用手机 App 扫码", "应用已创建：" + fs.AppID()})
	parts(t, "config.yaml", b.read("config.yaml"), []string{"api_base: http://open.lark.test", fs.AppID()})
}

func TestLife(t *testing.T) {
	for d, want := range map[time.Duration]string{
		10 * time.Minute: "10m", 2 * time.Hour: "2h", 90 * time.Second: "1m30s", 100 * time.Minute: "1h40m", 20 * time.Second: "20s", time.Hour + 5*time.Second: "1h0m5s",
	} {
		if got := life(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

// TestInitSaysWhereToBegin: each platform's links and what can be pasted there
// are printed in both languages, the pages of the documentation have the same,
// and the links that need the keys follow once these are right.
func TestInitSaysWhereToBegin(t *testing.T) {
	t.Parallel()
	wants := map[string][]string{
		"telegram": {"https://t.me/BotFather", "/setprivacy", "https://t.me/magpie_test_bot"},
		"discord":  {"https://discord.com/developers/applications", "https://discord.com/oauth2/authorize?client_id="},
		"feishu":   {"https://open.feishu.cn/app", "\"scopes\": {", "\"im:message\",", "im.message.receive_v1", "card.action.trigger"},
		"dingtalk": {"https://open-dev.dingtalk.com", "qyapi_robot_sendmsg"},
		"qq":       {"https://q.qq.com/qqbot/openclaw/index.html", "接收所有消息", "主动发言"},
	}
	for _, c := range candidates(t) {
		for _, tongue := range []string{"en_US.UTF-8", "zh_CN.UTF-8"} {
			b := &beginner{t: t, dir: t.TempDir()}
			lines := c.secret + "\n\noffline\nUTC\n"
			if c.id != "" {
				lines = c.id + "\n" + lines
			}
			code, out, errs := b.init(c.name+"\n"+lines, []string{"LANG=" + tongue}, append([]string{"--key", "api_base=" + c.url}, c.extra...)...)
			if code != exitDone {
				t.Errorf("%s: exit code %d\n%s%s", c.name, code, out, errs)
			}
			parts(t, c.name+" "+tongue, out, wants[c.name])
			page := map[string]string{"en_US.UTF-8": ".md", "zh_CN.UTF-8": ".zh.md"}[tongue]
			text, err := os.ReadFile(filepath.Join("..", "..", "docs", "channels", c.name+page))
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range wants[c.name] {
				if strings.HasPrefix(want, "https://") && !strings.Contains(want, "magpie") && !strings.Contains(string(text), want) {
					t.Errorf("%s%s does not have %s", c.name, page, want)
				}
			}
		}
	}
}

// TestInitByScanFails: a refusal, an old code and a platform that is cut off
// each say what happened, and the keys can be typed, or a new code scanned.
func TestInitByScanFails(t *testing.T) {
	t.Parallel()
	for _, s := range scenes(t) {
		b := newBeginner(t)
		code, out := b.scanInit(strings.NewReader(s.platform+"\nscan\n"+s.id+"\n"+s.secret+"\n\noffline\nUTC\n"), nil, "Ctrl-C", s.outdate, s.keys...)
		if code != exitDone || !strings.Contains(out, "The code has expired") || !strings.Contains(out, "Type the keys of an app") {
			t.Errorf("%s, outdated: %d\n%s", s.platform, code, out)
		}
		parts(t, ".env", b.read(".env"), []string{s.variable + "=" + s.secret})

		for word, want := range map[string]string{"跳过": "Going on without " + s.platform, "stop": "nothing was written"} {
			b = newBeginner(t)
			code, out = b.scanInit(strings.NewReader(s.platform+"\nscan\n"+word+"\n\noffline\nUTC\n"), nil, "Ctrl-C", s.outdate, s.keys...)
			if done := word == "跳过"; (code == exitDone) != done || !strings.Contains(out, want) {
				t.Errorf("%s, outdated, then %s: %d\n%s", s.platform, word, code, out)
			}
		}

		b = newBeginner(t)
		code, out = b.scanInit(strings.NewReader(s.platform+"\n扫码\n"), nil, "Ctrl-C", s.decline, s.keys...)
		if code != exitFailed || !strings.Contains(out, "The scan was refused") || !strings.Contains(out, map[string]string{"feishu": "may not make apps", "dingtalk": "用户拒绝"}[s.platform]) || strings.Count(out, s.asks) != 2 || !strings.Contains(out, "nothing was written") {
			t.Errorf("%s, refused: %d\n%s", s.platform, code, out)
		}
	}
}

// TestInitByScanCutOff: the network goes while somebody scans, and comes back;
// before there is a code, the person is asked again.
func TestInitByScanCutOff(t *testing.T) {
	t.Parallel()
	for _, s := range scenes(t) {
		to, err := url.Parse(s.url)
		if err != nil {
			t.Fatal(err)
		}
		var cut atomic.Bool
		onward := httputil.NewSingleHostReverseProxy(to)
		url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if cut.Load() {
				panic(http.ErrAbortHandler)
			}
			onward.ServeHTTP(w, r)
		}), func() {})
		b := newBeginner(t)
		lines, typed := io.Pipe()
		go func() {
			_, _ = io.WriteString(typed, s.platform+"\nscan\n\noffline\nUTC\n")
			_ = typed.Close()
		}()
		first := &watched{want: "it is asked again", then: func() {
			s.agree()
			cut.Store(false)
		}}
		cmd := bot(t, b.dir, nil, "init", "--key", "api_base="+url, "--key", "oapi_base="+url)
		if s.platform == "feishu" {
			cmd = bot(t, b.dir, nil, "init", "--key", "api_base="+url)
		}
		cmd.Stdin, cmd.Stdout = lines, io.MultiWriter(first, &watched{want: "Ctrl-C", then: func() { cut.Store(true) }})
		if err := cmd.Run(); err != nil {
			t.Errorf("%s: %v\n%s", s.platform, err, first.String())
		}
		parts(t, "output", first.String(), []string{"The app was made: " + s.id, "ok    channel " + s.platform})

		cut.Store(true)
		b = newBeginner(t)
		code, out := b.scanInit(strings.NewReader(s.platform+"\nscan\n"), nil, "", nil, "--key", "api_base="+url, "--key", "oapi_base="+url)
		if code != exitFailed || !strings.Contains(out, "No app could be made") || !strings.Contains(out, "HTTPS_PROXY") || strings.Count(out, s.asks) < 2 {
			t.Errorf("%s, no network: %d\n%s", s.platform, code, out)
		}
	}
}

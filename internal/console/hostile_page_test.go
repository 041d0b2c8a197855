package console_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"magpie/channels/web"
	"magpie/chat"
	"magpie/internal/need"
)

//go:embed testdata/hostile.html
var hostilePage string

// hostile is a server that somebody else has on this machine: a command of the
// agent, say. Its page tries what pages can, the server keeps what came.
type hostile struct {
	port   string
	victim string

	mu    sync.Mutex
	heard []http.Header // of requests with the console's cookie
	got   []string      // what the page could read
	done  bool
}

func newHostile(t *testing.T) *hostile {
	t.Helper()
	h := &hostile{}
	four, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, h.port, _ = net.SplitHostPort(four.Addr().String())
	listeners := []net.Listener{four}
	if six, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "[::1]:"+h.port); err == nil {
		listeners = append(listeners, six)
	}
	for _, l := range listeners {
		srv := httptest.NewUnstartedServer(h)
		_ = srv.Listener.Close()
		srv.Listener = l
		srv.Start()
		t.Cleanup(srv.Close)
	}
	return h
}

func (h *hostile) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if strings.Contains(r.Header.Get("Cookie"), "magpie_") {
		h.heard = append(h.heard, r.Header.Clone())
	}
	switch r.URL.Path {
	case "/":
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(rw, strings.ReplaceAll(hostilePage, "VICTIM", h.victim))
	case "/got":
		h.done = json.NewDecoder(r.Body).Decode(&h.got) == nil
	default:
		http.NotFound(rw, r)
	}
}

// replay sends what the browser gave away to the console, as if the console's
// own page had sent it.
func (h *hostile) replay(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	h.mu.Lock()
	header := h.heard[len(h.heard)-1].Clone()
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // a stream that is given away has no end
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, h.victim+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(r.Header, header)
	for name, value := range map[string]string{
		"Origin": h.victim, "Referer": h.victim + "/", "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", "Accept": "*/*",
		"Content-Type": "application/json", "Accept-Encoding": "identity",
	} {
		r.Header.Set(name, value)
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	said, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil && ctx.Err() == nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(said)
}

// ownersBot answers what the owner says with a question of an approval.
func ownersBot(t *testing.T) *bot {
	return newBot(t, func(w *web.Web, in chat.Inbound) {
		if err := reply(w, in, "echo: "+in.Text, func(o *chat.Outbound) {
			o.Buttons = [][]chat.Button{{{Label: "Allow", Data: "allow:1"}, {Label: "Deny", Data: "deny:1"}}}
		}); err != nil {
			t.Error(err)
		}
	})
}

// A page of another port, of another name of this machine or of another site
// reads nothing of the console and does nothing there; nor does its server with
// all that the browser sends it.
func TestHostilePages(t *testing.T) {
	for name, c := range map[string]struct {
		owner, at string // host names that the owner and the hostile page are opened by
		cookie    bool   // whether the browser gives it away
	}{
		"another port":              {"127.0.0.1", "127.0.0.1", true},
		"another port of localhost": {"localhost", "localhost", true},
		"another name":              {"127.0.0.1", "localhost", false},
		"the other address":         {"127.0.0.1", "[::1]", false},
		"a name below localhost":    {"localhost", "evil.localhost", false},
		"another site":              {"127.0.0.1", "evil.example", false},
	} {
		t.Run(name, func(t *testing.T) {
			b, h := ownersBot(t), newHostile(t)
			if conn, err := net.Dial("tcp", "[::1]:"+h.port); err == nil {
				_ = conn.Close()
			} else if c.at == "[::1]" {
				need.Unmet(t, "no IPv6: %v", err)
			}
			_, port, _ := net.SplitHostPort(b.listen)
			h.victim = "http://" + c.owner + ":" + port
			br := openBrowser(t, chromedp.Flag("host-resolver-rules", "MAP evil.example 127.0.0.1"), chromedp.Flag("disable-popup-blocking", true))
			br.open(h.victim + "/?token=the-token")
			br.say("mine")
			br.Until("document.querySelectorAll('.message.bot .choice').length === 2")

			evil := browser{br.Another()}
			evil.Do(chromedp.Navigate("http://" + c.at + ":" + h.port + "/"))
			evil.Until("document.title === 'done'")
			if !h.done || len(h.got) > 0 {
				t.Errorf("the hostile page could read: %q", h.got)
			}
			if (len(h.heard) > 0) != c.cookie {
				t.Errorf("the browser gave the cookie away %d times", len(h.heard))
			}
			if c.cookie {
				h.takesNothing(t)
			}
			// The owner goes on as before.
			br.say("still mine")
			br.Until("document.querySelector('#messages').innerText.includes('echo: still mine')")
			if br.Eval("document.querySelector('#login').open") != "false" {
				t.Error("the owner was logged out")
			}
			for _, in := range b.inbound() {
				if in.Press != nil || !strings.Contains(in.Text, "mine") {
					t.Errorf("came in: %+v", in)
				}
			}
		})
	}
}

// takesNothing replays the cookie on every route.
func (h *hostile) takesNothing(t *testing.T) {
	t.Helper()
	for _, ask := range []string{
		"GET /api/chat/chats", "GET /api/chat/chats/main/events", "GET /api/chat/chats/main/events?after=0&format=text", "GET /api/chat/files/u1",
		"HEAD /api/chat/chats", "POST /api/chat/chats/main/messages", "POST /api/chat/chats/main/press", "POST /api/chat/chats/main/files?name=x",
		"DELETE /api/chat/chats/main", "POST /api/op/pair.list", "POST /api/op/audit.tail", "POST /api/backup", "POST /", "GET /api/", "GET /api/op/pair.list",
	} {
		method, path, _ := strings.Cut(ask, " ")
		status, said := h.replay(t, method, path, `{"id":"forged","text":"forged","message":"m1","data":"allow:1"}`)
		if status != http.StatusUnauthorized || method != "HEAD" && !strings.Contains(said, "error") {
			t.Errorf("%s with the cookie: %d %.200s", ask, status, said)
		}
	}
	for _, path := range []string{"/login", "/logout"} {
		if status, said := h.replay(t, "POST", path, "token="); status == http.StatusOK || strings.Contains(said, "key") {
			t.Errorf("%s with the cookie: %d %.200s", path, status, said)
		}
	}
	status, page := h.replay(t, "GET", "/", "")
	if _, again := h.replay(t, "GET", "/", ""); status != http.StatusOK || again != page || strings.Contains(page, "mine") {
		t.Errorf("the page with the cookie: %d, with something of the owner in it: %s", status, page)
	}
}

// A name of somebody else that points here is not the console's.
func TestReboundNames(t *testing.T) {
	b := ownersBot(t)
	_, port, _ := net.SplitHostPort(b.listen)
	br := openBrowser(t, chromedp.Flag("host-resolver-rules", "MAP evil.example 127.0.0.1, MAP *.evil.example 127.0.0.1, MAP 127-0-0-1.evil.test 127.0.0.1"))
	br.open(b.url + "/?token=the-token")
	for _, name := range []string{"evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "127-0-0-1.evil.test"} {
		for _, path := range []string{"/", "/?token=the-token", "/login", "/api/chat/chats", "/assets/login.js"} {
			br.Do(chromedp.Navigate("http://" + name + ":" + port + path))
			if said := br.Eval("document.body.innerText"); !strings.Contains(said, "does not answer to the host name") {
				t.Errorf("%s%s shows %q", name, path, said)
			}
		}
	}
}

// Without its half of the login the page asks for the token, says why in the
// person's language and goes on with all that was written.
func TestLoginAgain(t *testing.T) {
	for lang, words := range map[string][]string{
		"en-US": {"Log in again", "What you have written stays here", "This is not the token"},
		"zh-CN": {"请重新登录", "你写的内容都会保留", "令牌不正确"},
	} {
		t.Run(lang, func(t *testing.T) {
			b := newBot(t, func(w *web.Web, in chat.Inbound) { _ = reply(w, in, "echo: "+in.Text) })
			br := openBrowser(t, chromedp.Flag("lang", lang), chromedp.Flag("accept-lang", lang), chromedp.Env("LANGUAGE="+strings.ReplaceAll(lang, "-", "_"), "LANG="+strings.ReplaceAll(lang, "-", "_")+".UTF-8"))
			br.open(b.url + "/?token=the-token")
			if is := br.Eval("navigator.language"); is[:2] != lang[:2] {
				need.Unmet(t, "this browser cannot be switched to %s, it says %s", lang, is)
			}
			other := browser{br.Another()}
			other.open(b.url + "/")
			br.Eval("document.querySelector('#text').value = 'half a 句子'")
			br.Eval("Object.keys(localStorage).filter(k => k.endsWith('key')).forEach(k => localStorage.setItem(k, 'stale'))")
			br.Eval("document.querySelector('#text').focus()")
			br.Do(enter(13, false))
			br.Until("document.querySelector('#login').open && document.activeElement.id === 'token'")
			br.Shot("again")
			for _, word := range words[:2] {
				if said := br.Eval("document.querySelector('#login').innerText"); !strings.Contains(said, word) {
					t.Errorf("%q is not in %q", word, said)
				}
			}
			br.Do(chromedp.KeyEvent("wrong"), enter(13, false))
			br.Until("document.querySelector('#login [role=alert]').textContent.includes('" + words[2] + "')")
			if n := len(b.inbound()); n != 0 {
				t.Errorf("%d messages came in before the login", n)
			}
			br.Eval("document.querySelector('#token').value = ''")
			br.Do(chromedp.KeyEvent("the-token"), enter(13, false))
			br.Until("!document.querySelector('#login').open && document.querySelector('#messages').innerText.includes('echo: half a 句子')")
			if n := len(b.inbound()); n != 1 {
				t.Errorf("%d messages came in, want 1", n)
			}
			// A tab beside takes the new key over by itself.
			other.say("beside")
			other.Until("document.querySelector('#messages').innerText.includes('echo: beside')")
			if other.Eval("document.querySelector('#login').open") != "false" {
				t.Error("the other tab asks for the token, too")
			}
			// After a restart the login is as good as before, in a new tab too.
			b.stop()
			b.start()
			br.Do(chromedp.Reload())
			br.Until("document.querySelector('#state').classList.contains('up')")
			if at := br.Eval("location.href"); strings.Contains(at, "in=") {
				t.Errorf("the key stays in the address: %s", at)
			}
		})
	}
}

// The key is in no address that the browser keeps or sends.
func TestKeyLeavesNoTrace(t *testing.T) {
	b := ownersBot(t)
	br := openBrowser(t)
	br.open(b.url + "/?token=the-token")
	key := br.Eval("localStorage.getItem('magpie.key')")
	if len(key) < 40 {
		t.Fatalf("key %q", key)
	}
	seen := append(br.Asked(), br.Eval("location.href"), br.Eval("document.referrer"), br.Eval("document.cookie"), br.Eval("document.documentElement.outerHTML"),
		br.Eval("navigation.entries().map(e => e.url).join(' ')"))
	for _, s := range seen {
		if strings.Contains(s, key) {
			t.Errorf("the key stands in %s", s)
		}
	}
}

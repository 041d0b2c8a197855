package app_test

import (
	"cmp"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	gocmp "github.com/google/go-cmp/cmp"

	"magpie/internal/fakes/telegram"
	"magpie/internal/pagetest"
)

// The examples of docs/proxies.md, run by the proxies that they are for.
func TestBehindAProxy(t *testing.T) {
	all := examples(t, "proxies.md")
	for name, c := range map[string]struct {
		example string
		change  []string
		most    int // bytes of an upload that pass
	}{
		"nginx, path taken away without a word": {"nginx, under a path", []string{`proxy_set_header .*;`, ``}, 1 << 20},
		"Caddy, path taken away without a word": {"Caddy, under a path", nil, 1 << 20},
		"nginx":                                 {"nginx", nil, 5 << 20},
		"nginx, the host with its port":         {"nginx", []string{`Host \$host`, `Host $$http_host`}, 1 << 20},
		"nginx, the host unchanged":             {"nginx", []string{`proxy_set_header Host \$host;`, ``}, 1 << 20},
		"nginx, an upstream":                    {"nginx", []string{`(?s)^(.*?)proxy_pass http://(\S+);\s+proxy_set_header Host \$host;`, "upstream magpie_bot { server $2; }\n${1}proxy_pass http://magpie_bot;"}, 1 << 20},
		"nginx, path taken away":                {"nginx, under a path", nil, 5 << 20},
		"nginx, path left":                      {"nginx, under a path", []string{`(proxy_pass http://\S+)/;`, `$1;`}, 1 << 20},
		"nginx, a slash forgotten":              {"nginx, under a path", []string{`location /bot/`, `location /bot`}, 1 << 20},
		"nginx, kept connections, gzip":         {"nginx", []string{`location / \{`, "gzip on; gzip_types *; gzip_proxied any;\nlocation / { proxy_http_version 1.1; proxy_set_header Connection '';"}, 1 << 20},
		"nginx, the shortest":                   {"nginx, the shortest", nil, 1 << 19},
		"Caddy":                                 {"Caddy", nil, 5 << 20},
		"Caddy, compressing":                    {"Caddy", []string{`reverse_proxy`, "encode gzip\n\treverse_proxy"}, 1 << 20},
		"Caddy, path taken away":                {"Caddy, under a path", nil, 5 << 20},
		"Caddy, path left":                      {"Caddy, under a path", []string{`handle_path`, `handle`}, 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, ok := all[c.example]
			if !ok {
				t.Fatalf("the page has no example %q", c.example)
			}
			e.told = !strings.Contains(name, "without a word")
			s := newSite(t, e, c.change...)
			v := s.visitor("127.0.0.1")
			v.logsIn()
			v.talks()
			v.uploads(c.most)
			s.tg.Say(telegram.Said{From: owner, Text: "by the hook"})
			s.wait(owner, "an answer to what came by the hook", func(m []telegram.Message) bool {
				return len(m) > 0 && strings.Contains(m[len(m)-1].Text, "echo: by the hook")
			})
			if resp, body := v.fetch("GET", "/healthz", ""); resp.StatusCode != http.StatusOK {
				t.Errorf("/healthz: %s %s", resp.Status, body)
			}
			s.guesses(!e.told || !strings.Contains(e.yaml, "trusted_proxies"))
		})
	}
}

var link = regexp.MustCompile(`(?:href|src|action)="([^"#]+)"`)

// logsIn opens the page by its form, and looks whether all it names is there.
func (v *visitor) logsIn() {
	v.t.Helper()
	resp, body := v.fetch("GET", "/", "", "Accept", "text/html")
	if resp.StatusCode != http.StatusUnauthorized {
		v.t.Fatalf("without a login: %s %s", resp.Status, body)
	}
	at := resp.Request.URL
	links := link.FindAllStringSubmatch(body, -1)
	if len(links) != 2 {
		v.t.Fatalf("the login page has the links %q, want its style and its form", links)
	}
	style, err := at.Parse(links[0][1])
	if err != nil {
		v.t.Fatal(err)
	}
	if resp, _ := v.fetch("GET", style.String(), ""); resp.StatusCode != http.StatusOK {
		v.t.Errorf("%s: %s", style, resp.Status)
	}
	action, err := at.Parse(links[1][1])
	if err != nil {
		v.t.Fatal(err)
	}
	resp, body = v.fetch("POST", action.String(), "next=%2F&token="+url.QueryEscape(v.token()), "Content-Type", form)
	if got := resp.Request.URL.String(); resp.StatusCode != http.StatusOK || got != v.public+"/" || !strings.Contains(body, "assets/chat.js") {
		v.t.Fatalf("the login leads to %s: %s %s", got, resp.Status, body)
	}
	for _, m := range link.FindAllStringSubmatch(body, -1) {
		to, err := resp.Request.URL.Parse(m[1])
		if err != nil {
			v.t.Fatal(err)
		}
		if resp, _ := v.fetch("GET", to.String(), ""); resp.StatusCode != http.StatusOK {
			v.t.Errorf("%s: %s", to, resp.Status)
		}
	}
	v.keepsCookie()
}

// keepsCookie looks at the cookie that the link with the token sets.
func (v *visitor) keepsCookie() {
	v.t.Helper()
	follow := *v.http
	follow.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	other := &visitor{v.site, &follow}
	resp, body := other.fetch("GET", "/?token="+url.QueryEscape(v.token()), "")
	if len(resp.Cookies()) != 1 {
		v.t.Fatalf("%s %s sets %v", resp.Status, body, resp.Cookies())
	}
	public, err := url.Parse(v.public + "/")
	if err != nil {
		v.t.Fatal(err)
	}
	if to, err := resp.Location(); err != nil || to.String() != public.String() {
		v.t.Errorf("the link leads to %v (%v), want %s", to, err, public)
	}
	if !v.told {
		return
	}
	c := resp.Cookies()[0]
	if c.Path != cmp.Or(strings.TrimSuffix(public.Path, "/"), "/") || c.Secure != (public.Scheme == "https") || !c.HttpOnly {
		v.t.Errorf("cookie %v, want it for %s", c, public)
	}
	if public.Path == "/" {
		return
	}
	resp, _ = v.fetch("GET", "", "", "Accept", "text/html") // without the slash
	if got := resp.Request.URL.String(); resp.StatusCode != http.StatusOK || got != public.String() && got+"/" != public.String() {
		v.t.Errorf("without its slash the page is at %s: %s", got, resp.Status)
	}
}

// talks writes a message and reads the answer from a stream that stays open.
func (v *visitor) talks() {
	v.t.Helper()
	p := &page{t: v.t, base: v.public, chat: "main", client: v.http}
	p.ask("through the proxy", "echo: through the proxy")
	p.ask(strings.Repeat("long 长 ", 20_000), "echo: long")
}

// uploads sends a file of so many bytes, and one that is refused when the proxy
// takes no more.
func (v *visitor) uploads(most int) {
	v.t.Helper()
	sent := strings.Repeat("0123456789abcdef", most/16)
	resp, body := v.fetch("POST", "/api/chat/chats/main/files?name=%E7%AC%94%E8%AE%B0.txt", sent, "Content-Type", "text/plain")
	id := regexp.MustCompile(`"id":"(\w+)"`).FindStringSubmatch(body)
	if resp.StatusCode != http.StatusOK || id == nil {
		v.t.Fatalf("upload: %s %s", resp.Status, body)
	}
	if resp, got := v.fetch("GET", "/api/chat/files/"+id[1], ""); resp.StatusCode != http.StatusOK || got != sent {
		v.t.Errorf("download: %s, %d bytes of %d", resp.Status, len(got), len(sent))
	}
}

// guesses tries wrong tokens from two addresses. They count for whoever sends
// them, or together where the bot cannot know.
func (s *site) guesses(together bool) {
	s.t.Helper()
	guess := func(from string) int {
		resp, _ := s.visitor(from).fetch("POST", "/login", "token=wrong", "Content-Type", form)
		return resp.StatusCode
	}
	for i := range 10 {
		if got := guess("127.0.0.5"); got != http.StatusForbidden {
			s.t.Fatalf("wrong token %d: %d", i, got)
		}
	}
	want := http.StatusForbidden
	if together {
		want = http.StatusTooManyRequests
	}
	if first, other := guess("127.0.0.5"), guess("127.0.0.6"); first != http.StatusTooManyRequests || other != want {
		s.t.Errorf("after ten wrong tokens: %d, and %d for another sender, want 429 and %d", first, other, want)
	}
	resp, _ := s.visitor("127.0.0.5").fetch("POST", "/login", "token="+url.QueryEscape(s.token()), "Content-Type", form)
	if resp.StatusCode != http.StatusOK {
		s.t.Errorf("the owner is shut out by wrong tokens of others: %s", resp.Status)
	}
}

// A browser, TLS, and a path that the proxy takes away.
func TestPageBehindAProxy(t *testing.T) {
	for name, title := range map[string]string{"nginx": "nginx, under a path", "Caddy": "Caddy, under a path"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, examples(t, "proxies.md")[title])
			b := pagetest.Open(t, chromedp.Flag("host-resolver-rules", "MAP example.org 127.0.0.1"), chromedp.Flag("ignore-certificate-errors", true))
			b.Do(chromedp.Navigate(s.public + "/"))
			b.Complaints() // of the 401 that comes with the login page
			s.logIn(b)
			b.Eval("document.querySelector('#text').value = 'hello 你好'")
			b.Eval("document.querySelector('#send').click()")
			b.Until("document.querySelector('.message.bot')?.innerText.includes('echo: hello 你好')")
			attachLarge(t, b)
			b.Until("document.querySelectorAll('#attached .ready').length === 1")
			b.Eval("document.querySelector('#send').click()")
			b.Until("document.querySelectorAll('.message.bot').length === 2 && document.querySelectorAll('.message.person .file.card').length === 1")
			b.Do(chromedp.Reload())
			b.Until("document.querySelectorAll('.message').length === 4")
			if at := b.Eval("location.href"); at != s.public+"/#main" {
				t.Errorf("the page is at %s", at)
			}
			for _, asked := range b.Asked() {
				if !strings.HasPrefix(asked, s.public+"/") && asked != "about:blank" {
					t.Errorf("the page asks for %s", asked)
				}
			}
			for _, c := range b.Complaints() {
				t.Errorf("the browser complains: %s", c)
			}
		})
	}
}

// logIn fills in the form and waits for the page.
func (s *site) logIn(b *pagetest.Browser) {
	b.Eval("document.querySelector('#token').value = '" + s.token() + "'")
	b.Eval("document.querySelector('form').submit()")
	b.Until("document.querySelector('#state')?.classList.contains('up')")
}

// attachLarge gives the page a file that is larger than proxies take unasked.
func attachLarge(t *testing.T, b *pagetest.Browser) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "large.bin")
	if err := os.WriteFile(file, make([]byte, 3<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	b.Do(chromedp.SetUploadFiles("#picker", []string{file}, chromedp.NodeReady))
}

// What a proxy refuses is said in words, and without TLS the form opens the
// page although the browser says less of where it comes from.
func TestPageBehindTheShortestProxy(t *testing.T) {
	t.Parallel()
	s := newSite(t, examples(t, "proxies.md")["nginx, the shortest"])
	b := pagetest.Open(t, chromedp.Flag("host-resolver-rules", "MAP bot.example.org 127.0.0.1"))
	b.Do(chromedp.Navigate(s.public + "/"))
	s.logIn(b)
	attachLarge(t, b)
	b.Until("document.querySelector('#problem').innerText.includes('client_max_body_size')")
	b.Eval("document.querySelector('#text').value = 'all the same'")
	b.Eval("document.querySelector('#send').click()")
	b.Until("document.querySelector('.message.bot')?.innerText.includes('echo: all the same')")
}

// Both languages show the same examples.
func TestProxyPagesAgree(t *testing.T) {
	var texts [2][]string
	for i, page := range []string{"proxies.md", "proxies.zh.md"} {
		data, err := os.ReadFile(filepath.Join("../../docs", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("(?ms)^```\\w*\n(.*?)^```$").FindAllStringSubmatch(string(data), -1) {
			texts[i] = append(texts[i], regexp.MustCompile(`#.*`).ReplaceAllString(m[1], ""))
		}
	}
	if diff := gocmp.Diff(texts[0], texts[1]); diff != "" || len(texts[0]) < 8 {
		t.Errorf("examples (-English +Chinese):\n%s", diff)
	}
}

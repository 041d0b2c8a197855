package app_test

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/proxy"
	"magpie/internal/fakes/telegram"
)

// hidden is in the password of every proxy of these tests.
const hidden = "hunter2"

func newProxy(t *testing.T) *proxy.Server {
	t.Helper()
	p, err := proxy.New(proxy.Options{User: "me", Password: hidden + "@/"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// behind puts the server at base where only a proxy finds it and returns its
// address there: the name leads nowhere else.
func behind(t testing.TB, p *proxy.Server, name, base string) string {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	host := name + ".invalid:" + u.Port()
	p.Know(host, u.Host)
	return strings.Replace(base, u.Host, host, 1)
}

// untold fails when a proxy's password stands in the log or in a command's
// output.
func untold(t testing.TB, where, text string) {
	t.Helper()
	if strings.Contains(text, hidden) {
		t.Errorf("%s shows the proxy's password", where)
	}
}

// ends waits for a command.
func (b *bot) ends() {
	b.t.Helper()
	select {
	case err := <-b.ended:
		b.ended <- err
	case <-time.After(deadline):
		b.t.Fatal("the command does not end")
	}
}

// TestFiveByProxies: every platform and the model are called through a proxy of
// each kind that their keys name; texts, files in both directions and web
// sockets go through it, and while it refuses nothing goes past it.
func TestFiveByProxies(t *testing.T) {
	t.Parallel()
	p := newProxy(t)
	f := newFive(t, fiveOptions{})
	f.common = "stream: false, proxy: PROXY"
	f.models = ", proxy: " + p.Address("socks5")
	picture := photo(t).Data
	f.workspace(map[string][]byte{"图.png": picture})
	send := sendsFiles("图.png")
	f.model.Reply(func(r modelserver.Request) modelserver.Answer {
		if strings.Contains(r.LastUser(), "send it") || len(r.Results()) > 0 {
			return send(r)
		}
		return modelserver.Answer{Text: "heard: " + r.LastUser()}
	})
	path, listen := f.config()
	env, hosts := f.hide(p, path)
	b := launch(t, f.dir, env, "run", "--config", path)
	b.listen = listen
	b.ready()
	f.each(func(s side) {
		chat := s.join(0)
		s.say(chat, "", sentFile{kind: "file", name: "报告.txt", mime: "text/plain", data: []byte("document of " + s.name())})
		f.wait(s, chat, "the answer to a file", func(all []line) bool { return holding(all, "heard: ") == 1 })
		if got := f.inbox("报告"); !got["document of "+s.name()] {
			t.Errorf("%s: the inbox holds %v", s.name(), got)
		}
		s.say(chat, "send it")
		shown := f.wait(s, chat, "the file", func(all []line) bool { return len(filesOf(all)) == 1 && holding(all, "result:") == 1 })
		if got := filesOf(shown); len(got) != 1 || !bytes.Equal(got[0].data, picture) {
			t.Errorf("%s shows %d files", s.name(), len(got))
		}
	})
	for name, host := range hosts {
		if p.Count(host) == 0 {
			t.Errorf("%s was not reached through the proxy", name)
		}
	}
	f.commands(env, path)
	clean(t, b.signal(syscall.SIGTERM))
	untold(t, "the log", b.log.String())
}

// kinds are the proxies by which the platforms are called.
var kinds = map[string]string{"telegram": "http", "discord": "socks5", "feishu": "https", "dingtalk": "socks5h", "qq": "http"}

// hide changes a configuration so that the platforms and the model are where
// only the proxy finds them, and returns what the program's environment is.
func (f *five) hide(p *proxy.Server, path string) (env []string, hosts map[string]string) {
	f.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		f.t.Fatal(err)
	}
	hosts = map[string]string{}
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		name, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "llm" {
			name = "model"
		} else if kinds[name] == "" {
			continue
		}
		at := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(line)
		there := behind(f.t, p, name, at)
		hosts[name] = strings.TrimPrefix(there, "http://")
		lines[i] = strings.ReplaceAll(strings.ReplaceAll(line, at, there), "PROXY", p.Address(kinds[name]))
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		f.t.Fatal(err)
	}
	cert := filepath.Join(f.dir, "ca.pem")
	if err := os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw}), 0o600); err != nil {
		f.t.Fatal(err)
	}
	env = []string{"SSL_CERT_FILE=" + cert, "NO_PROXY=*"} // the keys count for more
	return env, hosts
}

// commands looks at what the doctor and config show say.
func (f *five) commands(env []string, path string) {
	f.t.Helper()
	doctor := launch(f.t, f.dir, env, "doctor", "--config", path, "--json")
	doctor.ends()
	untold(f.t, "the doctor", doctor.log.String())
	for _, name := range []string{"channel telegram", "channel discord", "channel feishu", "channel dingtalk", "channel qq", "model main"} {
		if !regexp.MustCompile(`"` + name + `"[^}]*"ok":\s*true`).MatchString(doctor.log.String()) {
			f.t.Errorf("the doctor does not reach the %s:\n%s", name, doctor.log.String())
		}
	}
	show := launch(f.t, f.dir, env, "config", "show", "--config", path)
	show.ends()
	untold(f.t, "config show", show.log.String())
	if !strings.Contains(show.log.String(), "proxy: https://***@") {
		f.t.Errorf("config show does not name the proxies:\n%s", show.log.String())
	}
}

// TestProxyRefuses: what a proxy refuses is told without its password, nothing
// goes past it, and when it opens the message is answered.
func TestProxyRefuses(t *testing.T) {
	t.Parallel()
	p := newProxy(t)
	w := newWorld(t, nil)
	real := w.api
	for name, scheme := range map[string]string{"forwarding": "http", "SOCKS5": "socks5"} {
		t.Run(name, func(t *testing.T) {
			w := *w
			w.t = t
			w.api = behind(t, p, "telegram", real)
			w.door = fmt.Sprintf(`allow: ["*"], stream: false, proxy: "%s"`, p.Address(scheme))
			p.Refuse(503)
			path, listen := w.config(scheme)
			b := w.startWith(path, listen)
			w.tg.Say(telegram.Said{From: owner, Text: "are you there " + scheme})
			b.await("the proxy refuses", func() bool { return strings.Contains(b.log.String(), "telegram: ") })
			p.Refuse(0)
			w.wait(owner, "an answer", func(m []telegram.Message) bool {
				return len(m) > 0 && strings.Contains(m[len(m)-1].Text, "echo: are you there "+scheme)
			})
			clean(t, b.signal(syscall.SIGTERM))
			untold(t, "the log", b.log.String())
		})
	}
}

// TestProxyOfTheEnvironment: the variables count for platforms and for the
// other provider of models, but for what NO_PROXY names, and a key counts for
// more. 0.0.0.0 is this machine, and not one of the names that never go through
// a proxy.
func TestProxyOfTheEnvironment(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		variable, no, key string
		telegram, model   bool // through the proxy
	}{
		"HTTP_PROXY":                  {"HTTP_PROXY", "", "", true, true},
		"http_proxy":                  {"http_proxy", "", "", true, true},
		"ALL_PROXY":                   {"ALL_PROXY", "", "", true, true},
		"ALL_PROXY by SOCKS5":         {"all_proxy", "", "", true, true},
		"HTTPS_PROXY is not for http": {"HTTPS_PROXY", "", "", false, false},
		"NO_PROXY":                    {"ALL_PROXY", "0.0.0.0", "", false, false},
		"NO_PROXY with the port":      {"ALL_PROXY", "0.0.0.0:1,0.0.0.0/8", "", false, false},
		"another NO_PROXY":            {"ALL_PROXY", "example.org,10.0.0.0/8", "", true, true},
		"none":                        {"ALL_PROXY", "", "none", false, true},
		"direct":                      {"ALL_PROXY", "", "direct", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProxy(t)
			w := newWorld(t, nil)
			outside := func(at string) (there, host string) {
				there = strings.Replace(at, "127.0.0.1", "0.0.0.0", 1)
				u, err := url.Parse(there)
				if err != nil {
					t.Fatal(err)
				}
				p.Know(u.Host, "127.0.0.1:"+u.Port())
				return there, u.Host
			}
			var hosts [2]string
			var model string
			w.api, hosts[0] = outside(w.api)
			model, hosts[1] = outside(w.model.URL())
			w.models = fmt.Sprintf("[{name: main, provider: anthropic, base_url: %s, api_key: sk-test, model: scripted}]", model)
			w.door = fmt.Sprintf(`allow: ["*"], stream: false, proxy: %q`, c.key)
			scheme := "http"
			if strings.Contains(name, "SOCKS5") {
				scheme = "socks5"
			}
			path, listen := w.config("main")
			b := launch(t, filepath.Dir(path), []string{c.variable + "=" + p.Address(scheme), "NO_PROXY=" + c.no}, "run", "--config", path)
			b.listen = listen
			w.tg.Say(telegram.Said{From: owner, Text: "which way"})
			w.wait(owner, "an answer", func(m []telegram.Message) bool {
				return len(m) > 0 && strings.Contains(m[len(m)-1].Text, "echo: which way")
			})
			clean(t, b.signal(syscall.SIGTERM))
			for i, want := range []bool{c.telegram, c.model} {
				if got := p.Count(hosts[i]) > 0; got != want {
					t.Errorf("%s went through the proxy: %v", hosts[i], got)
				}
			}
			untold(t, "the log", b.log.String())
		})
	}
}

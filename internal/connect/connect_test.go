package connect

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"magpie/channels/feishu"
	"magpie/internal/fakes/dingtalk"
	fake "magpie/internal/fakes/feishu"
)

// air calls a handler without a network, as synctest wants it, and counts calls.
type air struct {
	http.Handler
	cut   atomic.Bool
	calls atomic.Int32
	at    func(host string)
}

func (a *air) RoundTrip(r *http.Request) (*http.Response, error) {
	a.calls.Add(1)
	if a.at != nil {
		a.at(r.URL.Host)
	}
	if a.cut.Load() {
		return nil, errors.New("network is unreachable")
	}
	rec := httptest.NewRecorder()
	in := r.Clone(r.Context())
	in.Host = r.URL.Host
	a.ServeHTTP(rec, in)
	return rec.Result(), nil
}

// told is what a scan has said on its way.
type told struct {
	links   []string
	good    time.Duration
	trouble []bool // true: the platform does not answer
}

// scanned runs a scan over a handler while something happens to the platform.
func scanned(t *testing.T, s Scan, a *air, meanwhile func()) (App, *told, error) {
	t.Helper()
	out := &told{}
	s.HTTP = &http.Client{Transport: a}
	s.Show = func(link string, good time.Duration) {
		out.links, out.good = append(out.links, link), good
		go meanwhile()
	}
	s.Trouble = func(err error) { out.trouble = append(out.trouble, err != nil) }
	app, err := s.Run(t.Context())
	return app, out, err
}

// Feishu's and Lark's apps are made by a scan, at the host that the person named
// and with the address kept; every other end says which it is.
func TestScanOfFeishu(t *testing.T) {
	const own = "https://proxy.example/feishu"
	yes := func(brand string) func(*fake.Server, *air) {
		return func(s *fake.Server, _ *air) { s.Confirm(brand) }
	}
	for _, c := range []struct {
		name, base string
		do         func(*fake.Server, *air)
		want       string // api_base, "" = none is written
		err        error
		hosts      []string
		trouble    []bool
	}{
		{name: "feishu", do: yes("feishu"), hosts: []string{"accounts.feishu.cn"}},
		{name: "feishu, named", base: "https://open.feishu.cn/", do: yes("feishu"), hosts: []string{"accounts.feishu.cn"}},
		{name: "somebody of lark", do: yes("lark"), want: "https://open.larksuite.com", hosts: []string{"accounts.feishu.cn", "accounts.larksuite.com"}},
		{name: "lark, named", base: "https://open.larksuite.com", do: yes("lark"), hosts: []string{"accounts.larksuite.com"}},
		{name: "lark named by somebody of feishu", base: "https://open.larksuite.com", do: yes("feishu"), want: "https://open.feishu.cn", hosts: []string{"accounts.larksuite.com"}},
		{name: "an address of one's own", base: own, do: yes("feishu"), hosts: []string{"proxy.example"}},
		{name: "refused", do: func(s *fake.Server, _ *air) { s.Decline() }, err: ErrDeclined, hosts: []string{"accounts.feishu.cn"}},
		{name: "outdated", do: func(s *fake.Server, _ *air) { s.Outdate() }, err: ErrExpired, hosts: []string{"accounts.feishu.cn"}},
		{name: "nobody", do: func(*fake.Server, *air) {}, err: ErrExpired, hosts: []string{"accounts.feishu.cn"}},
		{name: "slowed down", do: func(s *fake.Server, _ *air) {
			s.Slow(2)
			<-time.After(30 * time.Second)
			s.Confirm("feishu")
		}, hosts: []string{"accounts.feishu.cn"}},
		{name: "cut in the midst", do: func(s *fake.Server, a *air) {
			a.cut.Store(true)
			<-time.After(time.Minute)
			s.Confirm("feishu")
			a.cut.Store(false)
		}, hosts: []string{"accounts.feishu.cn"}, trouble: []bool{true, false}},
		{name: "cut for good", do: func(_ *fake.Server, a *air) { a.cut.Store(true) }, err: ErrExpired, hosts: []string{"accounts.feishu.cn"}, trouble: []bool{true}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := fake.New(nil)
			defer s.Close()
			var hosts []string
			a := &air{Handler: s.Handler(), at: func(host string) {
				if !slices.Contains(hosts, host) {
					hosts = append(hosts, host)
				}
			}}
			h := a.Handler
			a.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				r.URL.Path = strings.TrimPrefix(r.URL.Path, "/feishu")
				h.ServeHTTP(w, r)
			})
			began := time.Now()
			app, told, err := scanned(t, Scan{Platform: "feishu", Given: map[string]string{"api_base": c.base}}, a, func() { c.do(s, a) })
			if !errors.Is(err, c.err) || len(told.links) != 1 || told.good != 10*time.Minute || !slices.Equal(told.trouble, c.trouble) || !slices.Equal(hosts, c.hosts) {
				t.Errorf("%s: %v, hosts %q, told %+v", c.name, err, hosts, told)
			}
			if c.err == nil && (app.Values["app_id"] != s.AppID() || app.Values["app_secret"] != s.Secret() || app.Values["api_base"] != c.want || app.Owner != "ou_owner") {
				t.Errorf("%s: %+v, %v", c.name, app, err)
			}
			if errors.Is(c.err, ErrExpired) != (time.Since(began) >= 10*time.Minute) && c.name != "outdated" {
				t.Errorf("%s: it took %v", c.name, time.Since(began))
			}
			if c.name == "slowed down" && a.calls.Load() > 5 { // 5, 10, 15 seconds and so on
				t.Errorf("%d calls though it was told to slow down", a.calls.Load())
			}
			synctest.Wait()
		})
	}
}

// The same for DingTalk, which may say FAIL and go on all the same.
func TestScanOfDingTalk(t *testing.T) {
	for _, c := range []struct {
		name    string
		do      func(*dingtalk.Server, *air)
		err     error
		any     bool // some other error
		trouble []bool
	}{
		{name: "agreed", do: func(s *dingtalk.Server, _ *air) { s.Agree() }},
		{name: "outdated", do: func(s *dingtalk.Server, _ *air) { s.Outdate() }, err: ErrExpired},
		{name: "nobody", do: func(*dingtalk.Server, *air) {}, err: ErrExpired},
		{name: "refused", do: func(s *dingtalk.Server, _ *air) { s.Decline("用户拒绝授权") }, err: ErrDeclined, trouble: []bool{true}},
		{name: "failed at first", do: func(s *dingtalk.Server, _ *air) {
			s.Decline("系统繁忙")
			<-time.After(5 * time.Second)
			s.Decline("")
			<-time.After(time.Minute)
			s.Decline("系统繁忙")
			<-time.After(5 * time.Second)
			s.Agree()
			s.Decline("")
		}, trouble: []bool{true, false, true}},
		{name: "cut in the midst", do: func(s *dingtalk.Server, a *air) {
			a.cut.Store(true)
			<-time.After(time.Minute)
			s.Agree()
			a.cut.Store(false)
		}, trouble: []bool{true}}, // then it is done
		{name: "cut for good", do: func(_ *dingtalk.Server, a *air) { a.cut.Store(true) }, any: true, trouble: []bool{true}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := dingtalk.New(nil)
			defer s.Close()
			a := &air{Handler: s.Handler()}
			began := time.Now()
			app, told, err := scanned(t, Scan{Platform: "dingtalk"}, a, func() { c.do(s, a) })
			if !c.any && !errors.Is(err, c.err) || c.any != (err != nil && c.err == nil) || len(told.links) != 1 || told.good != 2*time.Hour || !slices.Equal(told.trouble, c.trouble) {
				t.Errorf("%s: %v, told %+v", c.name, err, told)
			}
			if id, secret := s.Credentials(); err == nil && (app.Values["client_id"] != id || app.Values["client_secret"] != secret || len(app.Values) != 2) {
				t.Errorf("%s: %+v", c.name, app)
			}
			if c.name == "refused" && (!strings.Contains(err.Error(), "用户拒绝授权") || time.Since(began) > time.Minute) {
				t.Errorf("the reason is told after %v: %v", time.Since(began), err)
			}
			synctest.Wait()
		})
	}
}

// Whoever breaks off is not made to wait, and no answer with something for the
// terminal in its link is shown.
func TestScanIsBrokenOff(t *testing.T) {
	for _, platform := range []string{"feishu", "dingtalk"} {
		synctest.Test(t, func(t *testing.T) {
			f, d := fake.New(nil), dingtalk.New(nil)
			defer f.Close()
			defer d.Close()
			h := map[string]http.Handler{"feishu": f.Handler(), "dingtalk": d.Handler()}[platform]
			ctx, cancel := context.WithCancel(t.Context())
			s := Scan{Platform: platform, HTTP: &http.Client{Transport: &air{Handler: h}}, Show: func(string, time.Duration) { cancel() }}
			if _, err := s.Run(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", platform, err)
			}
		})
	}
	for _, link := range []string{"javascript:alert(1)", "https://a.example/\x1b[2J", "", "//x", "https://a b.example/"} {
		evil := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"errcode":0,"nonce":"n","device_code":"d","verification_uri_complete":"` + strings.ReplaceAll(link, "\x1b", `\u001b`) + `"}`))
		})
		for _, platform := range []string{"feishu", "dingtalk"} {
			s := Scan{Platform: platform, HTTP: &http.Client{Transport: &air{Handler: evil}}, Show: func(shown string, _ time.Duration) { t.Errorf("%s: shown %q", platform, shown) }}
			if _, err := s.Run(t.Context()); err == nil {
				t.Errorf("%s: %q is taken", platform, link)
			}
		}
	}
	if _, err := (&Scan{Platform: "telegram"}).Run(t.Context()); err == nil {
		t.Error("an app of Telegram was made")
	}
}

// Next gives for each platform in both languages what can be pasted or opened;
// Feishu's is what doctor asks for.
func TestNext(t *testing.T) {
	values := map[string]string{"app_id": "cli_a1", "api_base": "https://open.larksuite.com/"}
	for platform, want := range map[string][]string{
		"telegram": {"https://t.me/BotFather", "/setprivacy", "https://t.me/<bot>"},
		"discord":  {"Token"},
		"feishu":   append(append(feishu.Events(), feishu.Callbacks()...), "https://open.larksuite.com/app/cli_a1", feishu.Import(), "context"),
		"dingtalk": {"https://open-dev.dingtalk.com", "qyapi_robot_sendmsg", "Card.Streaming.Write"},
		"qq":       {"IP 白名单", "接收所有消息", "主动发言"},
	} {
		next := Next(platform, values)
		for _, text := range []string{next.English, next.Chinese} {
			for _, w := range want {
				if !strings.Contains(strings.ToLower(text), strings.ToLower(w)) {
					t.Errorf("%s: %q is not in\n%s", platform, w, text)
				}
			}
		}
	}
}

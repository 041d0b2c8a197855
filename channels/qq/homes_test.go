package qq

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	"magpie/internal/kv"
)

// net2 is a web in which the platform's addresses lead to a fake, or nowhere.
type net2 struct {
	to *url.URL

	mu    sync.Mutex
	down  map[string]bool // hosts that nobody serves
	alien map[string]bool // hosts at which somebody else answers
	asked map[string]int
}

func (n *net2) RoundTrip(req *http.Request) (*http.Response, error) {
	n.mu.Lock()
	host := req.URL.Host
	n.asked[host]++
	down, alien := n.down[host], n.alien[host]
	n.mu.Unlock()
	if down {
		return nil, errors.New("no such host")
	}
	if alien {
		w := httptest.NewRecorder()
		http.Error(w, "<html>this domain is for sale</html>", http.StatusNotFound)
		return w.Result(), nil
	}
	if strings.HasSuffix(req.URL.Path, "/getAppAccessToken") != (host == "bots.qq.com") && host != "api.bot.qq.com" {
		return nil, errors.New("the older addresses are one for tokens and one for the rest")
	}
	out := req.Clone(req.Context())
	out.URL.Scheme, out.URL.Host, out.Host = n.to.Scheme, n.to.Host, ""
	return http.DefaultTransport.RoundTrip(out)
}

func (n *net2) calls(host string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked[host]
}

// Without a word in the configuration whichever address answers is used, and
// remembered; one that is configured is used alone.
func TestBothAddresses(t *testing.T) {
	for name, c := range map[string]struct {
		down, alien []string
		base        string
		works       bool
	}{
		"all there":                       {works: true},
		"the new one is not there":        {down: []string{"api.bot.qq.com"}, works: true},
		"the new one is somebody else's":  {alien: []string{"api.bot.qq.com"}, works: true},
		"the older ones are gone":         {down: []string{"api.sgroup.qq.com", "bots.qq.com"}, works: true},
		"nobody is there":                 {down: []string{"api.bot.qq.com", "api.sgroup.qq.com", "bots.qq.com"}},
		"the configured one is not there": {down: []string{"api.sgroup.qq.com"}, base: olderAPI},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			to, err := url.Parse(w.url)
			if err != nil {
				t.Fatal(err)
			}
			web := &net2{to: to, down: map[string]bool{}, alien: map[string]bool{}, asked: map[string]int{}}
			for _, h := range c.down {
				web.down[h] = true
			}
			for _, h := range c.alien {
				web.alien[h] = true
			}
			table := &kv.Memory{}
			channel := func() *QQ {
				cfg := Config{AppID: w.AppID(), AppSecret: chat.Secret(w.Secret()), APIBase: c.base}
				if c.base != "" {
					cfg.TokenBase = publicToken
				}
				if err := cfg.complete(false); err != nil {
					t.Fatal(err)
				}
				return newQQ(instance, cfg, channels.Deps{Table: table, HTTP: &http.Client{Transport: web}}, quick())
			}
			q := channel()
			for _, id := range []string{"a", "b"} {
				if _, err := q.Send(channeltest.Bounded(t), reminder(ann, id, "x")); (err == nil) != c.works {
					t.Fatalf("%s: %v", id, err)
				}
			}
			if !c.works {
				return
			}
			if len(w.Messages(ann)) != 2 || w.Tokens() != 1 {
				t.Errorf("%d messages, %d tokens", len(w.Messages(ann)), w.Tokens())
			}
			before := web.calls("api.bot.qq.com")
			if len(c.down)+len(c.alien) > 0 && before > 3 && web.calls("api.sgroup.qq.com") > 0 {
				t.Errorf("the address that does not answer was asked %d times", before)
			}
			if _, err := channel().Send(channeltest.Bounded(t), reminder(ann, "c", "x")); err != nil {
				t.Fatal(err)
			}
			if moved := web.calls("api.sgroup.qq.com") > 0; moved && web.calls("api.bot.qq.com") != before {
				t.Error("after a restart the address that does not answer is asked again")
			}
		})
	}
}

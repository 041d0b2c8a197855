package app_test

import (
	"flag"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// fiveChats is how many chats each platform has in TestFivePlatforms. The full
// number is
//
//	go test ./internal/app -run TestFivePlatforms -fivechats 64
var fiveChats = flag.Int("fivechats", 6, "chats on each platform")

// TestFivePlatforms: many people write on all five platforms and on the page
// at once, several messages each without waiting; every chat shows every
// answer once and in order.
func TestFivePlatforms(t *testing.T) {
	t.Parallel()
	const each = 5
	f := newFive(t, fiveOptions{})
	f.extra = "agent: {busy: queue, max_turns: 64}"
	b := f.start()
	var wg sync.WaitGroup
	chats := f.people(*fiveChats)
	f.each(func(p side) {
		for n, chat := range chats[p] {
			wg.Go(func() {
				for i := range each {
					p.say(chat, "消息 "+mark(n, i))
				}
			})
		}
	})
	page := b.page(f.dir, "five")
	wg.Go(func() { page.ask("on the page too", "echo: on the page too") })
	wg.Wait()
	f.each(func(p side) {
		for n, chat := range chats[p] {
			shown := f.wait(p, chat, "every answer", func(all []line) bool { return len(all) >= each })
			var got []string
			for _, l := range shown {
				got = append(got, l.text)
			}
			var want []string
			for i := range each {
				want = append(want, "echo: 消息 "+mark(n, i))
			}
			if g, w := strings.Join(got, "|"), strings.Join(want, "|"); g != w {
				t.Errorf("%s, chat %d shows %q, want %q", p.name(), n, g, w)
			}
		}
	})
	if got, want := f.model.Count(), 5*each**fiveChats+1; got != want {
		t.Errorf("the model was asked %d times, want %d", got, want)
	}
	clean(t, b.signal(syscall.SIGTERM))
	if found, _ := filepath.Glob(filepath.Join(f.dir, "bus", "damaged", "*")); len(found) > 0 {
		t.Errorf("damaged records: %v", found)
	}
	noSecrets(t, f, b)
}

// noSecrets looks for the platforms' secrets in the log.
func noSecrets(t *testing.T, f *five, b *bot) {
	t.Helper()
	_, ding := f.dt.Credentials()
	log := b.log.String()
	for name, secret := range map[string]string{
		"telegram": f.tg.Token(), "discord": f.dc.Token(), "feishu": f.fs.Secret(), "dingtalk": ding, "qq": f.qq.Secret(),
		"feishu's token": "t-g1FAKE", "dingtalk's session": "fakesession", "dingtalk's token": "fakeaccesstoken", "qq's token": "FAKE_ACCESS_TOKEN_",
	} {
		if strings.Contains(log, secret) {
			t.Errorf("the log holds the secret of %s", name)
		}
	}
	if strings.Contains(log, " ERR ") {
		t.Error("the log holds errors")
	}
}

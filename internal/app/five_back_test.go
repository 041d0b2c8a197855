package app_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"magpie/internal/fakes/dingtalk"
	"magpie/internal/fakes/telegram"
)

// TestFiveCut: every connection breaks and people go on writing. What their
// platforms bring is answered, once; DingTalk alone drops what it could not
// deliver.
func TestFiveCut(t *testing.T) {
	t.Parallel()
	f := newFive(t, fiveOptions{})
	f.extra = "agent: {busy: queue}"
	d := &door{inner: f.tap("dingtalk").inner}
	f.tap("dingtalk").inner = d
	b := f.start()
	chats := f.people(1)
	f.each(func(p side) {
		p.say(chats[p][0], mark(0, 0))
		f.wait(p, chats[p][0], "answer", has(mark(0, 0)))
	})
	f.tg.Fail(telegram.Fault{Method: "getUpdates", Drop: true, Times: 2})
	f.dc.Drop()
	f.fs.CutLines()
	d.shut.Store(true)
	f.dt.Cut()
	f.qq.Cut()
	f.within(deadline, "dingtalk is away", func() bool { return f.dt.Connections() == 0 })
	f.each(func(p side) { p.say(chats[p][0], mark(0, 1)) })
	d.shut.Store(false)
	f.within(deadline, "dingtalk is back", func() bool { return f.dt.Connections() > 0 })
	f.each(func(p side) {
		p.say(chats[p][0], mark(0, 2))
		shown := f.wait(p, chats[p][0], "answer", has(mark(0, 2)))
		want := 1
		if p.name() == "dingtalk" {
			want = 0
		}
		if holding(shown, mark(0, 1)) != want || len(shown) != 2+want {
			t.Errorf("%s shows %q", p.name(), shown)
		}
	})
	clean(t, b.signal(syscall.SIGTERM))
}

// door is a platform that can be shut, so that nobody connects meanwhile.
type door struct {
	inner http.Handler
	shut  atomic.Bool
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if d.shut.Load() {
		http.Error(w, "away", http.StatusServiceUnavailable)
		return
	}
	d.inner.ServeHTTP(w, r)
}

// trouble is a way for a connection to end. It returns how to find out that the
// program has noticed, and what then makes the platform well again.
type trouble struct {
	name    string
	begin   func(f *five)
	noticed func(f *five) bool
	mend    func(f *five)
}

func troubles(platform string) []trouble {
	nothing, now := func(*five) {}, func(*five) bool { return true }
	switch platform {
	case "telegram":
		return []trouble{{"cut", nothing, now, nothing}}
	case "discord":
		return []trouble{
			{"cut", func(f *five) { f.dc.Drop() }, now, nothing},
			{"asked to reconnect", func(f *five) { f.dc.Ask(7) }, now, nothing},
			{"resume refused", func(f *five) { f.dc.Expire() }, now, nothing},
			{"zombie", func(f *five) { f.dc.Deaf(true) }, func(f *five) bool { return f.dc.Connections() == 0 }, func(f *five) { f.dc.Deaf(false) }},
		}
	case "feishu":
		opened := 0
		return []trouble{
			{"cut", func(f *five) { f.fs.CutLines() }, now, nothing},
			{"zombie", func(f *five) { opened = f.fs.Calls("endpoint"); f.fs.Silence(true) }, func(f *five) bool { return f.fs.Calls("endpoint") > opened }, func(f *five) { f.fs.Silence(false) }},
		}
	case "dingtalk":
		opened := 0
		return []trouble{
			{"cut", func(f *five) { f.dt.Cut() }, now, nothing},
			{"asked to reconnect", func(f *five) { f.dt.Disconnect() }, now, nothing},
			{"zombie", func(f *five) { opened = f.dt.Calls(dingtalk.OpOpen); f.dt.Zombie(true) }, func(f *five) bool { return f.dt.Calls(dingtalk.OpOpen) > opened }, func(f *five) { f.dt.Zombie(false) }},
		}
	}
	opened := 0
	return []trouble{
		{"cut", func(f *five) { f.qq.Cut() }, now, nothing},
		{"asked to reconnect", func(f *five) { _ = f.qq.AskReconnect(f.t.Context()) }, now, nothing},
		{"resume refused", func(f *five) { f.qq.ForgetSession() }, now, nothing},
		{"zombie", func(f *five) { opened = f.qq.Calls("gateway"); f.qq.Silence(true) }, func(f *five) bool { return f.qq.Calls("gateway") > opened }, func(f *five) { f.qq.Silence(false) }},
	}
}

// patience bounds a benchmark's wait for a connection that is dead without a
// word: the platforms' own heartbeats are what tells.
const patience = 5 * time.Minute

// BenchmarkFiveBack is how long nobody is heard after each kind of disconnect,
// with the platforms' usual heartbeats:
//
//	go test ./internal/app -run xxx -bench FiveBack -benchtime 1x -timeout 60m
//
// noticed-s is until the program knows that a connection is dead, back-s from
// the disconnect to the next answer. A server that restarts is away for 10 s.
func BenchmarkFiveBack(b *testing.B) {
	for _, name := range []string{"telegram", "discord", "feishu", "dingtalk", "qq"} {
		for _, tr := range append(troubles(name), trouble{name: "server restarts"}) {
			b.Run(name+"/"+tr.name, func(b *testing.B) {
				f := newFive(b, fiveOptions{})
				f.only = []string{name}
				for b.Loop() {
					f.each(func(p side) { f.measureBack(b, p, tr) })
				}
			})
		}
	}
}

func (f *five) measureBack(b *testing.B, p side, tr trouble) {
	addr := freeAddr(b)
	server := f.serve(b, p, addr)
	defer func() { server.Close() }()
	f.fixed = "http://" + addr
	program := f.start()
	defer program.kill()
	chat := p.join(f.life) // somebody new each time
	n := 0
	f.heard(p, chat, &n, time.Second)
	began := time.Now()
	noticed := 0.0
	if tr.begin == nil {
		server.CloseClientConnections()
		server.Close()
		f.cutAll()
		settle := time.NewTimer(10 * time.Second)
		<-settle.C
		server = f.serve(b, p, addr)
		noticed = time.Since(began).Seconds()
	} else {
		server.CloseClientConnections() // but for those that were taken over from it
		tr.begin(f)
		f.within(patience, "noticed", func() bool { return tr.noticed(f) })
		noticed = time.Since(began).Seconds()
		tr.mend(f)
	}
	f.heard(p, chat, &n, patience)
	b.ReportMetric(noticed, "noticed-s")
	b.ReportMetric(time.Since(began).Seconds(), "back-s")
}

// cutAll ends the connections that a server does not know any more, since they
// were taken over from it.
func (f *five) cutAll() {
	f.dc.Drop()
	f.fs.CutLines()
	f.dt.Cut()
	f.qq.Cut()
}

// heard writes every 100 ms until something is answered.
func (f *five) heard(p side, chat string, n *int, bound time.Duration) {
	f.t.Helper()
	first := *n
	var last time.Time
	f.within(bound, fmt.Sprintf("%s answers", p.name()), func() bool {
		if time.Since(last) > 100*time.Millisecond {
			last = time.Now()
			p.say(chat, mark(0, *n))
			*n++
		}
		shown := p.shown(chat)
		for i := first; i < *n; i++ {
			if holding(shown, mark(0, i)) > 0 {
				return true
			}
		}
		return false
	})
}

// serve serves a platform at an address.
func (f *five) serve(b *testing.B, p side, addr string) *httptest.Server {
	b.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: f.tap(p.name()).inner, ReadHeaderTimeout: deadline}}
	s.Start()
	return s
}

package app_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"syscall"
	"testing"
	"time"

	"magpie/bus/bustest"
	"magpie/internal/fakes/telegram"
)

// balancer is a proxy before several gateways: it gives each call to the next,
// and says 502 when that one is not there.
type balancer struct {
	mu      sync.Mutex
	to      []*httputil.ReverseProxy
	next    int
	answers map[int]int // by gateway: calls that were answered with 200
	refused []int       // other answers
}

func (p *balancer) add(listen string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = append(p.to, httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: listen}))
}

// ServeHTTP implements http.Handler.
func (p *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	if len(p.to) == 0 {
		p.mu.Unlock()
		http.Error(w, "nobody is there", http.StatusBadGateway)
		return
	}
	n := p.next % len(p.to)
	p.next++
	to := *p.to[n]
	p.mu.Unlock()
	to.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	to.ModifyResponse = func(resp *http.Response) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if resp.StatusCode == http.StatusOK {
			p.answers[n]++
		} else {
			p.refused = append(p.refused, resp.StatusCode)
		}
		return nil
	}
	to.ServeHTTP(w, r)
}

func (p *balancer) counts() (first, second int, refused []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.answers[0], p.answers[1], append([]int{}, p.refused...)
}

// Two gateways behind one proxy: each takes the calls of a webhook that come to
// it, also the one that does not hold the channel, and goes on when the other is
// killed. Every message is stored, and answered once.
func TestWebhookOnAnyGateway(t *testing.T) {
	t.Parallel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	w := newWorld(t, &telegram.Options{HTTPHook: true, Retry: 20 * time.Millisecond, Client: client})
	w.natsURL = bustest.External(t)
	w.extra = "agent: {busy: queue}"
	proxy := &balancer{answers: map[int]int{}}
	front := httptest.NewServer(proxy)
	t.Cleanup(front.Close)
	w.door = fmt.Sprintf(`allow: ["*"], stream: false, mode: webhook, webhook_secret: a-secret-of-the-hook, public_url: %s`, front.URL)
	var bots []*bot
	for _, name := range []string{"gateway1", "gateway2", "agent"} {
		b := w.start(name, "--roles", name[:min(len(name), 7)])
		b.ready()
		bots = append(bots, b)
		if name != "agent" {
			proxy.add(b.listen)
		}
	}
	const chats, first = 4, 6000
	for c := range chats {
		w.tg.AddPerson(telegram.Person{ID: int64(first + c), Name: fmt.Sprint("p", c)})
	}
	writing, stop := context.WithCancel(t.Context())
	defer stop()
	var wg sync.WaitGroup
	numbers := make([]int, chats)
	for c := range chats {
		wg.Go(func() { numbers[c] = w.write(writing, int64(first+c)) })
	}
	taken := func(least int) (refused []int) {
		t.Helper()
		bots[1].until("both gateways have taken calls", func() bool {
			one, other, _ := proxy.counts()
			return one >= least && other >= least
		}, func() string { return fmt.Sprint(proxy.counts()) })
		_, _, refused = proxy.counts()
		return refused
	}
	early := len(taken(2)) // the second may be ready to take over before it can take calls
	if refused := taken(20); len(refused) > early {
		t.Errorf("with both there, calls were answered with %v", refused)
	}
	bots[0].kill() // the one that holds the channel
	_, before, _ := proxy.counts()
	bots[1].until("the other goes on", func() bool { _, n, _ := proxy.counts(); return n >= before+20 }, func() string { return fmt.Sprint(proxy.counts()) })
	stop()
	wg.Wait()
	var report chaosReport
	for c, n := range numbers {
		chat := int64(first + c)
		w.say2(chat, n)
		w.waitFor(takeover, chat, "last answer", func(m []telegram.Message) bool { return count(m, tag(chat, n)) > 0 })
		w.judge(&report, chat, n+1)
		report.messages += n + 1
	}
	t.Log(report)
	if report.lost > 0 || report.doubled > 0 || report.disorder > 0 {
		t.Errorf("%v; want nothing lost, doubled or out of order", report)
	}
	clean(t, bots[1].signal(syscall.SIGTERM))
	clean(t, bots[2].signal(syscall.SIGTERM))
}

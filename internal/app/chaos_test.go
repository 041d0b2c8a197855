package app_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// kills is how often the chaos run kills the program. The long run is
//
//	go test ./internal/app -run TestKilledAgainAndAgain -kills 200 -timeout 60m
var kills = flag.Int("kills", 6, "how often the chaos test kills the program")

func chaosKills() int { return *kills }

type chaosPlan struct{ kills, chats int }

type chaosReport struct {
	kills, messages         int
	lost, doubled, disorder int
	repeated                int // sends that a kill cut off and the next life repeated once
	took                    time.Duration
}

func (r chaosReport) String() string {
	return fmt.Sprintf("%d kills (SIGKILL and SIGTERM), %d messages: %d lost, %d doubled, %d out of order; %d sends cut off by a kill were repeated; %v",
		r.kills, r.messages, r.lost, r.doubled, r.disorder, r.repeated, r.took.Round(time.Second))
}

// chaos writes in all chats without pause, kills the program at random moments
// and starts it again, then lets it finish and counts the answers.
func (w *world) chaos(ctx context.Context, plan chaosPlan) chaosReport {
	w.t.Helper()
	began := time.Now()
	w.model.Reply(func(r modelserver.Request) modelserver.Answer {
		a := modelserver.Echo(r)
		a.Delay = time.Duration(rand.IntN(60)) * time.Millisecond
		if rand.IntN(4) == 0 && len(r.Results()) == 0 {
			return modelserver.Answer{Calls: []modelserver.Call{{Name: "current_time", Args: "{}"}}}
		}
		return a
	})
	for c := range plan.chats {
		w.tg.AddPerson(telegram.Person{ID: int64(5000 + c), Name: fmt.Sprint("p", c)})
	}
	writing, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	said := make([]int, plan.chats)
	for c := range plan.chats {
		wg.Go(func() { said[c] = w.write(writing, int64(5000+c)) })
	}
	b := w.start("bot")
	b.ready()
	for i := range plan.kills {
		w.pause(time.Duration(100+rand.IntN(700)) * time.Millisecond)
		sig := syscall.SIGKILL
		if i%5 == 4 {
			sig = syscall.SIGTERM
		}
		if err := b.signal(sig); sig == syscall.SIGTERM {
			clean(w.t, err)
		}
		b = w.start("bot")
		b.ready()
	}
	stop()
	wg.Wait()
	r := chaosReport{kills: plan.kills}
	for c, n := range said {
		w.say2(int64(5000+c), n)
		r.messages += n + 1
	}
	for c, n := range said {
		w.wait(int64(5000+c), "last answer", func(m []telegram.Message) bool { return count(m, tag(int64(5000+c), n)) > 0 })
	}
	for c, n := range said {
		w.judge(&r, int64(5000+c), n+1)
	}
	r.took = time.Since(began)
	clean(w.t, b.signal(syscall.SIGTERM))
	return r
}

// pause lets the program run for a while: the moment of the kill is the point
// of the test.
func (w *world) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

func tag(chat int64, n int) string { return fmt.Sprintf("<%d/%d>", chat, n) }

func (w *world) say2(chat int64, n int) {
	w.tg.Say(telegram.Said{From: chat, Text: tag(chat, n)})
}

// write writes messages into a chat, at most five ahead of the answers, and
// returns how many.
func (w *world) write(ctx context.Context, chat int64) int {
	for n := 0; ; n++ {
		if n >= 5 {
			_, err := w.tg.Wait(ctx, chat, func(m []telegram.Message) bool { return count(m, tag(chat, n-5)) > 0 })
			if err != nil {
				return n
			}
		}
		if ctx.Err() != nil {
			return n
		}
		w.say2(chat, n)
	}
}

// judge looks for every answer of a chat.
func (w *world) judge(r *chaosReport, chat int64, n int) {
	w.noted("echo: " + tag(chat, n-1))
	msgs := w.tg.Messages(chat)
	last := -1
	seen := map[int]bool{}
	for _, m := range msgs {
		_, rest, ok := strings.Cut(m.Text, fmt.Sprintf("<%d/", chat))
		if !ok {
			w.t.Errorf("chat %d shows %q", chat, m.Text)
			continue
		}
		var i int
		if _, err := fmt.Sscanf(rest, "%d>", &i); err != nil {
			w.t.Errorf("chat %d shows %q", chat, m.Text)
			continue
		}
		if !seen[i] && i < last {
			r.disorder++
		}
		seen[i] = true
		last = max(last, i)
	}
	for i := range n {
		lives := w.sent.lives("echo: " + tag(chat, i))
		switch {
		case len(lives) == 0:
			r.lost++
		case len(slices.Compact(slices.Clone(lives))) < len(lives):
			w.t.Logf("%s was sent by lives %v", tag(chat, i), lives)
			r.doubled++
		default:
			r.repeated += len(lives) - 1
		}
	}
}

// noted waits until a send that is shown is noted, a moment later.
func (w *world) noted(text string) {
	w.t.Helper()
	end := time.After(deadline)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for len(w.sent.lives(text)) == 0 {
		select {
		case <-end:
			w.t.Fatalf("%q is shown and not noted", text)
		case <-tick.C:
		}
	}
}

// sends notes which life of the program has sent each text: a message that
// several lives have sent was on its way when each of them but the last was
// killed, which Telegram gives no means to recognise; one that a single life
// has sent twice is a mistake of ours. Every life is given an address of its
// own for Telegram, so that what a dead one had still sent counts for it.
type sends struct {
	inner  http.Handler
	forget bool // note nothing: for benchmarks
	// down refuses to send messages, as a proxy in front of Telegram does.
	down    atomic.Bool
	refused atomic.Int64

	mu   sync.Mutex
	life int
	by   map[string][]int
	last int // the life that has sent the latest message
}

// latest is the life that has sent the latest message.
func (s *sends) latest() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// born returns the path of Telegram for the next life.
func (s *sends) born() (path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.life++
	return fmt.Sprintf("/life%d", s.life)
}

func (s *sends) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var life int
	if _, err := fmt.Sscanf(r.URL.Path, "/life%d/", &life); err != nil {
		http.NotFound(w, r)
		return
	}
	r.URL.Path = strings.TrimPrefix(r.URL.Path, fmt.Sprintf("/life%d", life))
	var body bytes.Buffer
	_, _ = body.ReadFrom(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body.Bytes()))
	if s.down.Load() && strings.HasSuffix(r.URL.Path, "/sendMessage") {
		s.refused.Add(1)
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadGateway)
		_, _ = io.WriteString(w, "<html><body>502 Bad Gateway</body></html>")
		return
	}
	answer := &status{ResponseWriter: w, code: http.StatusOK}
	s.inner.ServeHTTP(answer, r)
	if s.forget || answer.code != http.StatusOK || !strings.HasSuffix(r.URL.Path, "/sendMessage") {
		return
	}
	form, err := url.ParseQuery(body.String())
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = map[string][]int{}
	}
	text := html.UnescapeString(form.Get("text"))
	s.by[text] = append(s.by[text], life)
	s.last = life
}

type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

// lives are those that have sent a text, in ascending order.
func (s *sends) lives(text string) []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.by[text]))
}

// acrossLives says that a text was sent exactly twice, by two lives.
func (s *sends) acrossLives(text string) bool {
	lives := s.lives(text)
	return len(lives) == 2 && lives[0] != lives[1]
}

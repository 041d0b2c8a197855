package app_test

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"magpie/internal/fakes/dingtalk"
	"magpie/internal/fakes/discord"
	"magpie/internal/fakes/feishu"
	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/qq"
	"magpie/internal/fakes/telegram"
)

// noMoreEdits are the faults with which platforms refuse to change a message for
// longer than anybody waits for an answer.
func (f *five) noMoreEdits() {
	const many = 10_000
	f.tg.Fail(telegram.Fault{Method: "editMessageText", Code: 429, Text: "Too Many Requests: retry after 140", RetryAfter: 140, Times: many})
	f.tg.Fail(telegram.Fault{Method: "sendMessageDraft", Code: 429, Text: "Too Many Requests: retry after 3", RetryAfter: 3, Times: many})
	f.dc.Fail(discord.Fault{Route: "edit message", Status: 429, RetryAfter: 140, Times: many})
	f.fs.Fail(feishu.Fault{Op: "content", Status: 429, Code: 99991400, Msg: "request trigger frequency limit", Reset: 140, Times: many})
	f.dt.Fail(dingtalk.Fault{Op: dingtalk.OpCardStream, Status: 403, Code: "Forbidden.AccessDenied.QpsLimitForAppkeyAndApi", Message: "发送速度太快而限流", Times: many})
	f.qq.Fail(qq.Fault{Op: "stream", Status: http.StatusTooManyRequests, Code: 22009, Text: "msg limit exceed", Times: many})
}

// TestFiveAnswerWhileEditsAreRefused: a platform that changes no message any
// more, for minutes, is given the answer in another way: it is there, whole and
// once, while the refusals go on.
func TestFiveAnswerWhileEditsAreRefused(t *testing.T) {
	for name, ways := range map[string]telegram.Ways{"drafts": {}, "edits": {Old: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ph := &phases{shown: map[string][]string{}}
			f := newFive(t, fiveOptions{told: ph.note, cards: true, telegram: ways})
			f.common = "stream: true"
			f.qq.Grant(qq.Policy{Streams: true})
			seen := make(chan struct{})
			f.model.Reply(func(r modelserver.Request) modelserver.Answer {
				a := streamed(poem)(r)
				a.Pieces.Hold = seen
				return a
			})
			b := f.start()
			chats := map[side]string{}
			f.each(func(p side) {
				chats[p] = p.join(0)
				p.say(chats[p], "a poem, please")
			})
			f.each(func(p side) {
				f.within(deadline, p.name()+" shows something of the reply", func() bool { return len(ph.of(p.name())) > 0 })
			})
			f.noMoreEdits()
			close(seen)
			f.each(func(p side) {
				f.wait(p, chats[p], "whole text", func(all []line) bool { return holding(all, poem) == 1 })
			})
			f.each(func(p side) { // and no half of it stays; DingTalk's cards cannot be taken away, and are refused as yet
				if p.name() != "dingtalk" {
					f.wait(p, chats[p], "nothing else", func(all []line) bool { return len(all) == 1 && all[0].text == poem })
				}
			})
			clean(t, b.signal(syscall.SIGTERM))
		})
	}
}

// floods counts the answers that say that a call came too fast.
type floods struct {
	http.Handler
	mu sync.Mutex
	n  int
}

// tooFast are the words of the five.
var tooFast = regexp.MustCompile(`Too Many Requests|rate limited|frequency limit|QpsLimit|"code":\s*(99991400|230020|22009)`)

func (f *floods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") != "" {
		f.Handler.ServeHTTP(w, r)
		return
	}
	a := &answer{ResponseWriter: w}
	f.Handler.ServeHTTP(a, r)
	if a.status == http.StatusTooManyRequests || tooFast.Match(a.body.Bytes()) {
		f.mu.Lock()
		f.n++
		f.mu.Unlock()
	}
}

func (f *floods) count() float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return float64(f.n)
}

// answer keeps the beginning of what is answered.
type answer struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (a *answer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(p []byte) (int, error) {
	if a.body.Len() < 512 {
		a.body.Write(p[:min(len(p), 512)])
	}
	return a.ResponseWriter.Write(p)
}

// flow is what the chats of one platform have shown of streamed answers.
type flow struct {
	flowCase
	five    *five
	tooFast *floods

	mu    sync.Mutex
	holds map[string]chan struct{} // the end of each answer, by its word
	ends  map[string]time.Time     // of the model, by chat; zero: not yet
	shown map[string]int           // versions, by chat
	took  []time.Duration
	done  chan string // chats whose answer is there
}

// ending is the last word of every answer.
const ending = "and that is all."

func (fl *flow) told(chat, text string) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	fl.shown[chat]++
	if end := fl.ends[chat]; strings.HasSuffix(text, ending) && !end.IsZero() {
		fl.took = append(fl.took, time.Since(end))
		delete(fl.ends, chat)
		fl.done <- chat
	}
}

// long is an answer of 3000 characters.
func long() string {
	text := strings.Repeat("The magpie builds its nest of twigs and mud. 喜鹊用树枝和泥筑巢。\n\n", 60)
	return string([]rune(text)[:3000-len(ending)-1]) + " " + ending
}

// flowCase is one way in which answers are streamed.
type flowCase struct {
	name, platform string
	ways           telegram.Ways
	refused        bool // from the first answer's end on no message is changed any more
	granted        bool // QQ's streams
}

func flowCases() []flowCase {
	return []flowCase{
		{name: "telegram/drafts", platform: "telegram"},
		{name: "telegram/edits", platform: "telegram", ways: telegram.Ways{Old: true}},
		{name: "telegram/refused", platform: "telegram", ways: telegram.Ways{Old: true}, refused: true},
		{name: "discord/edits", platform: "discord"},
		{name: "discord/refused", platform: "discord", refused: true},
		{name: "feishu/cards", platform: "feishu"},
		{name: "feishu/refused", platform: "feishu", refused: true},
		{name: "dingtalk/cards", platform: "dingtalk"},
		{name: "dingtalk/refused", platform: "dingtalk", refused: true},
		{name: "qq/streamed", platform: "qq", granted: true},
		{name: "qq/refused", platform: "qq", granted: true, refused: true},
		{name: "qq/whole", platform: "qq"},
	}
}

// BenchmarkFiveStreaming streams answers of 3000 characters within 20 s in four
// chats of a platform at once, with the platform's limits and the program's: how
// many versions a chat shows, how many calls come too fast (nobody but the
// platform's limits refuses them), and how long after the model's end the whole
// answer is there.
//
//	go test ./internal/app -run xxx -bench FiveStreaming -benchtime 12x -timeout 60m
func BenchmarkFiveStreaming(b *testing.B) {
	for _, c := range flowCases() {
		b.Run(c.name, func(b *testing.B) {
			fl := newFlow(b, c)
			p := fl.five.start()
			fl.five.each(func(s side) {
				for n := 0; b.Loop(); n++ {
					if n%flowPeople == 0 { // an answer to each person is one round
						fl.round(b, s, n)
					}
				}
			})
			fl.report(b)
			p.kill()
		})
	}
}

const flowPeople = 4

// newFlow makes a world for one platform.
func newFlow(b *testing.B, c flowCase) *flow {
	fl := &flow{
		flowCase: c, ends: map[string]time.Time{}, shown: map[string]int{}, holds: map[string]chan struct{}{},
		done: make(chan string, flowPeople),
	}
	drafted := func(chat, _ string) {
		fl.mu.Lock()
		defer fl.mu.Unlock()
		fl.shown[chat]++
	}
	fl.five = newFive(b, fiveOptions{
		cards: true, rates: true, telegram: c.ways, drafted: drafted,
		told: func(_, chat, text string) { fl.told(chat, text) },
	})
	fl.five.only, fl.five.common = []string{c.platform}, "stream: true"
	fl.five.qq.Grant(qq.Policy{Streams: c.granted})
	fl.tooFast = &floods{Handler: fl.five.taps[c.platform].inner}
	fl.five.taps[c.platform].inner = fl.tooFast
	text, word := long(), regexp.MustCompile(`round\d+`)
	fl.five.model.Reply(func(r modelserver.Request) modelserver.Answer {
		fl.mu.Lock()
		defer fl.mu.Unlock()
		hold := fl.holds[word.FindString(r.LastUser())]
		return modelserver.Answer{Text: text, Pieces: modelserver.Pieces{N: 100, Pause: 200 * time.Millisecond, Hold: hold}}
	})
	return fl
}

// round lets every person ask once, and returns when all answers are there.
func (fl *flow) round(b *testing.B, s side, first int) {
	var wg sync.WaitGroup
	for n := range flowPeople {
		wg.Go(func() {
			chat, word, hold := s.join(first+n), fmt.Sprintf("round%d", first+n), make(chan struct{})
			fl.mu.Lock()
			fl.holds[word] = hold
			fl.mu.Unlock()
			s.say(chat, "tell me "+word)
			<-time.After(20*time.Second + time.Duration(n)*150*time.Millisecond)
			if fl.refused && first+n == 0 {
				fl.five.noMoreEdits()
			}
			fl.mu.Lock()
			fl.ends[chat] = time.Now()
			fl.mu.Unlock()
			close(hold)
		})
	}
	wg.Wait()
	for range flowPeople {
		receive(b, fl.done, "answer")
	}
}

func (fl *flow) report(b *testing.B) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	versions := 0
	for _, n := range fl.shown {
		versions += n
	}
	slices.Sort(fl.took)
	b.ReportMetric(float64(versions)/float64(max(1, len(fl.took))), "versions/answer")
	if !fl.refused {
		b.ReportMetric(fl.tooFast.count(), "429s")
	}
	b.ReportMetric(quantile(fl.took, 0.5), "end-p50-ms")
	b.ReportMetric(quantile(fl.took, 0.99), "end-p99-ms")
	b.ReportMetric(quantile(fl.took, 1), "end-max-ms")
}

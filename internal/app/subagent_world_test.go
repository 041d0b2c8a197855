package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// crew is the scripted model as these tests need it: who says "spawn X" has
// the model start the background task X, "wait X" has it wait for the report.
// What a call came to is repeated into the chat, and so is each report, as
// "news: …". A task that begins with "slow" is held back until letGo.
type crew struct {
	w     *world
	asked chan modelserver.Request // each request of a task
	open  chan struct{}
	once  sync.Once

	mu   sync.Mutex
	work func(r modelserver.Request) modelserver.Answer // answers for a task; nil = "result of X"
	now  map[string]int                                 // requests of each task that are held back
	most int                                            // tasks held back at once
	done map[string]int                                 // reports by task
	told []string                                       // the reports as the model read them
}

func (w *world) crew(work func(r modelserver.Request) modelserver.Answer) *crew {
	c := &crew{w: w, asked: make(chan modelserver.Request, 1000), open: make(chan struct{}), work: work, now: map[string]int{}, done: map[string]int{}}
	w.t.Cleanup(c.letGo)
	w.model.Reply(c.reply)
	return c
}

func (c *crew) letGo() { c.once.Do(func() { close(c.open) }) }

func isTask(r modelserver.Request) bool { return strings.Contains(r.System, "background worker") }

func isReport(r modelserver.Request) bool { return strings.Contains(r.LastUser(), "\n<report from=") }

// reportOf is the text of the report in a request.
func reportOf(r modelserver.Request) string {
	_, text, _ := strings.Cut(r.LastUser(), "<report from=")
	_, text, _ = strings.Cut(text, ">\n")
	return strings.TrimSuffix(text, "\n</report>")
}

func (c *crew) reply(r modelserver.Request) modelserver.Answer {
	if isTask(r) {
		return c.task(r)
	}
	said := r.LastUser()
	order, what, ok := strings.Cut(said, " ")
	switch {
	case len(r.Results()) > 0:
		var all []string
		for _, res := range r.Results() {
			all = append(all, res.Text)
		}
		return modelserver.Answer{Text: "came: " + strings.Join(all, "|")}
	case isReport(r):
		c.mu.Lock()
		c.told = append(c.told, reportOf(r))
		c.mu.Unlock()
		return modelserver.Answer{Text: "news: " + reportOf(r)}
	case ok && (order == "spawn" || order == "wait"):
		var calls []modelserver.Call
		for _, t := range strings.Split(what, ";") {
			calls = append(calls, spawnCall(t, order == "wait"))
		}
		return modelserver.Answer{Calls: calls}
	}
	return modelserver.Echo(r)
}

func spawnCall(task string, wait bool) modelserver.Call {
	args, err := json.Marshal(map[string]any{"task": task, "wait": wait})
	if err != nil {
		panic(err)
	}
	return modelserver.Call{Name: "spawn", Args: string(args)}
}

func (c *crew) task(r modelserver.Request) modelserver.Answer {
	name := r.LastUser()
	c.asked <- r
	if strings.HasPrefix(name, "slow") {
		c.mu.Lock()
		c.now[name]++
		c.most = max(c.most, len(c.now))
		c.mu.Unlock()
		gone := false
		select {
		case <-c.open:
		case <-r.Gone:
			gone = true
		}
		c.mu.Lock()
		if c.now[name]--; c.now[name] == 0 {
			delete(c.now, name)
		}
		c.mu.Unlock()
		if gone {
			return modelserver.Answer{}
		}
	}
	c.mu.Lock()
	work := c.work
	c.mu.Unlock()
	if work != nil {
		return work(r)
	}
	return c.report(r, "result of "+name)
}

// report ends a task.
func (c *crew) report(r modelserver.Request, text string) modelserver.Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done[r.LastUser()]++
	return modelserver.Answer{Text: text}
}

func (c *crew) reported(task string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done[task]
}

// peak is how many tasks were held back at once.
func (c *crew) peak() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.most
}

// news waits for the one report of a task in the owner's chat.
func (w *world) news(task string) []telegram.Message {
	w.t.Helper()
	return w.wait(owner, "the report of "+task, func(m []telegram.Message) bool { return count(m, "news: result of "+task) > 0 })
}

// quiet has the chat answer one message more, behind everything that is in its
// mailbox by now, and returns what it shows.
func (w *world) quiet() []telegram.Message {
	w.t.Helper()
	w.say("end of the test")
	return w.wait(owner, "the last answer", func(m []telegram.Message) bool { return count(m, "echo: end of the test") > 0 })
}

// idle waits until no turn runs any more: its answer is shown before it has
// ended.
func (b *bot) idle() {
	b.t.Helper()
	var body string
	b.until("no turn runs", func() bool {
		_, body = b.get("/metrics")
		return metric(b.t, body, "magpie_turns_running") == 0
	}, func() string { return body })
}

// once checks that text was shown once; that a send which a kill cut off was
// repeated by the next life is no double.
func (w *world) onceShown(t testing.TB, msgs []telegram.Message, text string) {
	t.Helper()
	n := 0
	for _, m := range msgs {
		if strings.Contains(m.Text, text) {
			n++
			if n == 2 && w.sent.acrossLives(m.Text) {
				n--
			}
		}
	}
	if n != 1 {
		t.Errorf("%q is shown %d times, want once: %s", text, n, texts(msgs))
	}
}

func seconds(n int) string { return fmt.Sprintf("subagent: {timeout: %ds}", n) }

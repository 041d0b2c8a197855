package agent_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"magpie/agent"
	"magpie/agent/llm"
	"magpie/agent/model"
	"magpie/agent/prompt"
	"magpie/chat"
	"magpie/internal/kv"
	"magpie/tools"
)

// crowd is many chats over one agent: the ports of the agent lead to the world
// of the chat by its session.
type crowd struct {
	worlds map[chat.SessionKey]*world
	addrs  []chat.Address
}

func newCrowd(t testing.TB, n int) *crowd {
	c := &crowd{worlds: map[chat.SessionKey]*world{}}
	for i := range n {
		a := chat.Address{Channel: "test", Chat: fmt.Sprint("c", i)}
		c.addrs = append(c.addrs, a)
		c.worlds[a.Session()] = newWorld(t)
	}
	return c
}

func (c *crowd) agent(m agent.Model, b *box, opt *agent.Options) *agent.Agent {
	return agent.New(agent.Ports{
		Model: m, Tools: b, Prompt: fixedPrompt{}, Settings: chosen{}, Turn: &kv.Memory{}, Sess: &kv.Memory{},
		History: func(ctx context.Context, key chat.SessionKey, after uint64) ([]chat.Stored, error) {
			return c.worlds[key].history(ctx, key, after)
		},
	}, opt)
}

// looseBox is a mailbox without the checks of addresses.
type looseBox struct{ *mailbox }

func (l looseBox) Commit(_ context.Context, r chat.Record) error {
	w := l.w
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inbox = w.inbox[len(r.Inputs):]
	w.seq++
	w.records = append(w.records, chat.Stored{Record: r, Seq: w.seq})
	return nil
}

type answering struct{}

func (answering) Limits(string) model.Limits { return model.Limits{} }

// Ask calls the tool once a turn and answers with the session and the result.
func (answering) Ask(_ context.Context, q model.Question) (llm.Reply, error) {
	last := q.Request.Messages[len(q.Request.Messages)-1]
	if last.Role == llm.User && len(q.Request.Tools) > 0 {
		return calls("read", "read")
	}
	return says(string(q.Session) + " " + last.Text)
}

// Many chats at once, each several turns: no chat sees anything of another.
func TestManyChats(t *testing.T) {
	const chats, turns = 64, 5
	c := newCrowd(t, chats)
	var running, most atomic.Int64
	b := &box{w: c.worlds[c.addrs[0].Session()], runs: map[string]func(context.Context, tools.Scope, string) tools.Result{
		"read": func(_ context.Context, sc tools.Scope, _ string) tools.Result {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			return tools.Result{OK: true, Text: sc.Addr.String()}
		},
	}}
	a := c.agent(answering{}, b, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for _, at := range c.addrs {
		wg.Go(func() {
			w := c.worlds[at.Session()]
			for i := range turns {
				w.put(chat.Inbound{Meta: chat.Meta{Addr: at}, From: ann, Text: fmt.Sprint(i), Direct: true})
				if err := a.Own(ctx, at.Session(), looseBox{w.hold()}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	for _, at := range c.addrs {
		w := c.worlds[at.Session()]
		got := w.sent()
		if len(got) != turns {
			t.Fatalf("%s: %d answers", at, len(got))
		}
		for _, text := range got {
			if text != string(at.Session())+" "+at.String() {
				t.Fatalf("%s was answered %q", at, text)
			}
		}
	}
	if got := a.Stats(); got.Turns != chats*turns || got.Running != 0 {
		t.Errorf("stats %+v", got)
	}
}

type fixedPrompt struct{}

func (fixedPrompt) Build(context.Context, prompt.Input) (string, error) {
	return "You are a test.", nil
}

// BenchmarkTurn is the agent's own cost of one plain turn in a chat with 40
// turns of history: the chat is taken, answered, committed and given back.
func BenchmarkTurn(b *testing.B) {
	c := newCrowd(b, 1)
	at := c.addrs[0]
	w := c.worlds[at.Session()]
	a := c.agent(plain{}, &box{w: w}, nil)
	turn := func(i int) {
		w.put(chat.Inbound{Meta: chat.Meta{Addr: at, ID: fmt.Sprint(i)}, From: ann, Text: strings.Repeat("hello 你好 ", 10), Direct: true})
		if err := a.Own(b.Context(), at.Session(), looseBox{w.hold()}); err != nil {
			b.Fatal(err)
		}
	}
	for i := range 40 {
		turn(-1 - i)
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		turn(n)
		n++
		if len(w.records) > 60 { // the history stays as long as it was
			w.records = w.records[20:]
			a = c.agent(plain{}, &box{w: w}, nil)
		}
	}
}

type plain struct{}

func (plain) Limits(string) model.Limits { return model.Limits{} }
func (plain) Ask(context.Context, model.Question) (llm.Reply, error) {
	return says("a plain answer of some words")
}

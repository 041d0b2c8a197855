package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"magpie/agent"
	"magpie/agent/llm"
	"magpie/agent/model"
	"magpie/chat"
	"magpie/tools"
)

// month is a chat of a month of ordinary work: what its people say, what the model
// does of it, and how often somebody is asked, by the rule of provenance, and by
// the one of before, which counted three turns after a reading.
type month struct {
	*world
	g     *guarded
	bot   *bot
	turns int
	// before is the old rule over the same calls: whether the last turns have
	// brought text from outside, the latest at the end.
	before struct {
		turns []bool
		asked int
	}
	always map[string]bool // the calls for which the person has pressed "Always allow"
	seen   map[string]int
}

// Approve is the person, who allows what their work needs, and a call that they
// are asked about for the second time for good.
func (m *month) Approve(_ context.Context, _ tools.Scope, spec tools.Spec, args json.RawMessage) error {
	call := spec.Name + string(args)
	if m.always[call] {
		return nil // the rule of this chat allows it, nobody is asked
	}
	m.g.asked++
	if m.seen[call]++; m.seen[call] == 2 && m.always != nil {
		m.always[call] = true
	}
	return nil
}

func newMonth(t *testing.T, always bool) *month {
	m := &month{world: newWorld(t), g: newGuarded(t), seen: map[string]int{}}
	if always {
		m.always = map[string]bool{}
	}
	m.g.Update(m.g.reg, &tools.Options{Approver: m})
	m.bot = m.world.bot(m.model, nil)
	m.bot.ports.Tools, m.bot.ports.Commands = m.g, commander(stopping)
	m.bot = m.bot.with(&agent.Options{HistoryTokens: 1500}) // a summary every dozen turns
	m.bot.model.limits = model.Limits{Context: 8000, MaxOutput: 100}
	return m
}

// model makes the calls of a message one after the other: "exec a; exec b".
func (m *month) model(_ context.Context, _ int, q model.Question) (llm.Reply, error) {
	if strings.HasPrefix(q.Request.System, "You write the memory") {
		return says("They talked of this and that.")
	}
	var done int
	msgs := q.Request.Messages
	for len(msgs) > 0 && msgs[len(msgs)-1].Role != llm.User {
		if msgs[len(msgs)-1].Role == llm.Tool {
			done++
		}
		msgs = msgs[:len(msgs)-1]
	}
	_, plan, _ := strings.Cut(msgs[len(msgs)-1].Text, "PLAN:")
	plan, _, _ = strings.Cut(plan, "\n")
	all := strings.Split(plan, ";")
	if strings.TrimSpace(plan) == "" || done >= len(all) {
		return says("Well, here you are: " + strings.Repeat("words ", 30))
	}
	name, command, _ := strings.Cut(strings.TrimSpace(all[done]), " ")
	args, err := json.Marshal(line{Command: command})
	if err != nil {
		return llm.Reply{}, err
	}
	return llm.Reply{Message: llm.Message{Role: llm.Assistant, Calls: []llm.Call{{Name: name, Args: string(args)}}}}, nil
}

// turn is a message, or a job's, and what is done for it.
func (m *month) turn(in chat.Inbound, plan string) {
	m.turns++
	tainted := in.Forwarded || in.ReplyTo != nil
	brought := tainted
	for _, was := range m.before.turns[max(0, len(m.before.turns)-3):] {
		tainted = tainted || was
	}
	for step := range strings.SplitSeq(plan, ";") {
		switch name, _, _ := strings.Cut(strings.TrimSpace(step), " "); name {
		case "web_search":
			tainted, brought = true, true
		case "exec", "send":
			if tainted {
				m.before.asked++
			}
		}
	}
	m.before.turns = append(m.before.turns, brought)
	in.From, in.Text = ann, in.Text+" "+strings.Repeat("some words of a day ", 8)+"PLAN:"+plan
	in.ID = fmt.Sprintf("in:%s:%d", addr.Session(), m.turns)
	m.put(in)
	m.bot.run()
}

// anew is /new.
func (m *month) anew() {
	m.before.turns = nil
	m.command("/new")
	m.bot.run()
}

// family is a group that plans its days: it looks things up, is reminded, passes
// on messages, and now and then has something written to somebody else.
func (m *month) family(r *rand.Rand, day int) {
	for range 3 + r.IntN(3) {
		switch n := r.IntN(20); {
		case n < 5:
			m.turn(chat.Inbound{Text: "what about this?"}, fmt.Sprintf("web_search thing %d", r.IntN(200)))
		case n < 7:
			m.turn(chat.Inbound{Text: "see", Forwarded: true}, "")
		case n < 11:
			m.turn(chat.Inbound{Text: "remind us"}, fmt.Sprintf("remind at %d", n))
		case n == 11:
			m.turn(chat.Inbound{Text: "tell grandma"}, fmt.Sprintf("send grandma %d", day))
		default:
			m.turn(chat.Inbound{Text: "a question"}, "")
		}
	}
	if day%7 == 6 {
		m.anew()
	}
}

// coder is somebody who works on a program five days a week, begins anew with most
// tasks, and looks something up now and then.
func (m *month) coder(r *rand.Rand, day int) {
	if day%7 > 4 {
		return
	}
	if r.IntN(3) > 0 { // another task
		m.anew()
	}
	for n := range 4 + r.IntN(3) {
		plan := fmt.Sprintf("write_file f%d.go; exec go test ./...", r.IntN(9))
		switch {
		case n == 0 || r.IntN(4) == 0:
			plan = "exec git status; exec go test ./..."
		case r.IntN(8) == 0:
			plan = fmt.Sprintf("web_search error %d; ", r.IntN(500)) + plan
		case r.IntN(4) == 0:
			plan = fmt.Sprintf("exec git diff; exec git commit -m 'step %d.%d'", day, n)
		}
		m.turn(chat.Inbound{Text: "go on"}, plan)
	}
}

// jobs is a chat with the news at seven and a backup at night, in which somebody
// asks something every other day.
func (m *month) jobs(r *rand.Rand, day int) {
	m.turn(chat.Inbound{Text: "the news", Origin: chat.FromCron}, "web_search news")
	for range r.IntN(3) {
		plan := ""
		if r.IntN(3) == 0 {
			plan = fmt.Sprintf("web_search question %d", r.IntN(100))
		}
		m.turn(chat.Inbound{Text: "and that?"}, plan)
	}
	m.turn(chat.Inbound{Text: "the backup", Origin: chat.FromCron}, "exec ./backup.sh; exec df -h")
	if day%10 == 9 {
		m.anew()
	}
}

// A person who is always asked always allows: over a month of ordinary work there
// are not half as many questions again as by the rule of three turns.
func TestQuestionsOfAMonth(t *testing.T) {
	for _, always := range []bool{false, true} {
		var turns, before, now int
		for name, day := range map[string]func(*month, *rand.Rand, int){
			"family": (*month).family, "coder": (*month).coder, "jobs": (*month).jobs,
		} {
			m, r := newMonth(t, always), rand.New(rand.NewPCG(2026, 11))
			for d := range 30 {
				day(m, r, d)
			}
			t.Logf("%s, with always %v: %d turns, %d questions by the rule of three turns, %d now", name, always, m.turns, m.before.asked, m.g.asked)
			turns, before, now = turns+m.turns, before+m.before.asked, now+m.g.asked
		}
		t.Logf("together, with always %v: %d turns, %d questions by the rule of three turns, %d now", always, turns, before, now)
		if turns < 200 || before < 30 || now*2 > before*3 {
			t.Errorf("%d turns: %d questions before, %d now", turns, before, now)
		}
	}
}

package termchat_test

import (
	"strings"
	"sync"
	"testing"

	"magpie/chat"
)

// guard is a bot that asks before it does what "do it" says, as a turn that
// waits for an approval does.
type guard struct {
	zh      bool
	mu      sync.Mutex
	waits   chat.Inbound // the message whose turn waits
	decided bool
}

func (g *guard) answer(b *bot, in chat.Inbound) {
	g.mu.Lock()
	defer g.mu.Unlock()
	decision, turn := "", "t"+g.waits.ID
	switch {
	case in.Press != nil:
		decision = in.Press.Data
	case strings.HasPrefix(in.Text, "/approve"), strings.HasPrefix(in.Text, "/deny"), strings.HasPrefix(in.Text, "/拒绝"):
		decision = in.Text
	case in.Text == "/status":
		b.say(in, "waiting", func(o *chat.Outbound) { o.Turn = "" })
		return
	case in.Text == "do it":
		g.waits, turn = in, "t"+in.ID
		b.web.Event(chat.Event{Kind: chat.TurnStarted, Addr: in.Addr, Turn: turn})
		b.say(in, "May I? `/approve ABC234` or `/deny ABC234`", func(o *chat.Outbound) {
			o.Final, o.Turn, o.ID = false, "", "ask:"+in.ID
			if g.zh {
				o.Text = "`/批准 ABC234` `/拒绝 ABC234`"
			}
			o.Buttons = [][]chat.Button{{{Label: "Allow", Data: "allow"}, {Label: "Deny", Data: "deny"}}}
		})
		return
	default:
		echo(b, in)
		return
	}
	if g.decided {
		b.say(in, "decided already")
		return
	}
	g.decided = true
	b.say(in, "noted", func(o *chat.Outbound) { o.Turn = "" })
	b.say(g.waits, "outcome: "+decision)
	b.web.Event(chat.Event{Kind: chat.TurnEnded, Addr: in.Addr, Turn: turn})
}

// A question about an approval is answered by the next line of the pipe, and
// denied when nothing there answers it.
func TestPlainQuestions(t *testing.T) {
	const asks, ask = "May I? `/approve ABC234` or `/deny ABC234`\n  1) Allow\n  2) Deny\n", "do it\n"
	const ended, other = "[nobody can answer, since the input has ended: /deny ABC234]\n", "[nobody can answer, since the next line of the input is something else: /deny ABC234]\n"
	for name, c := range map[string]struct {
		in, want string
		zh       bool
	}{
		"the input ends": {in: ask, want: asks + ended + "noted\noutcome: /deny ABC234\n"},
		"a number":       {in: ask + "1\n", want: asks + "noted\noutcome: allow\n"},
		"a command":      {in: ask + "/approve ABC234\nnext\n", want: asks + "noted\noutcome: /approve ABC234\nyou said: next\n"},
		"a short one":    {in: ask + "/approve\nnext\n", want: asks + "noted\noutcome: /approve\nyou said: next\n"},
		"another line":   {in: ask + "next\nlast\n", want: asks + other + "noted\noutcome: /deny ABC234\nyou said: next\nyou said: last\n"},
		"another number": {in: ask + "3\n", want: asks + other + "noted\noutcome: /deny ABC234\nyou said: 3\n"},
		"quit":           {in: ask + "/quit\nnext\n", want: asks + other + "noted\noutcome: /deny ABC234\n"},
		"a question to the bot, then the end": {
			in: ask + "/status\n", want: asks + "waiting\n" + ended + "noted\noutcome: /deny ABC234\n",
		},
		"Chinese": {
			in: ask, zh: true,
			want: "`/批准 ABC234` `/拒绝 ABC234`\n  1) Allow\n  2) Deny\n[没有人可以回答：输入已结束: /拒绝 ABC234]\nnoted\noutcome: /拒绝 ABC234\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := &guard{zh: c.zh}
			got, err := chatWith(t, newBot(t, g.answer), strings.NewReader(c.in))
			if name == "a question to the bot, then the end" { // the order of the two is open
				got = strings.Replace(got, "waiting\n", "", 1)
				c.want = strings.Replace(c.want, "waiting\n", "", 1)
			}
			if err != nil || got != c.want {
				t.Errorf("printed %v\n%s\nwant\n%s", err, got, c.want)
			}
		})
	}
}

package termchat

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// question is a message in which the bot asks for an approval: its turn waits
// for a button or a command.
type question struct {
	message string // id
	deny    string // the command that denies it
}

// asksFor is how the question names that command.
var asksFor = regexp.MustCompile("/(?:deny|拒绝) ([A-Z2-7]{6,})")

// decides are the commands that answer a question.
var decides = regexp.MustCompile(`^/(?:approve|allow|yes|批准|允许|deny|reject|no|拒绝)(?:\s+(\S+))?\s*$`)

// questions are those that stand, the oldest first.
type questions []question

// note takes in a message: one that asks, or one that asks no longer.
func (q *questions) note(m message) {
	*q = slices.DeleteFunc(*q, func(old question) bool { return old.message == m.ID })
	if deny := asksFor.FindString(m.Text); deny != "" && len(m.Buttons) > 0 && !m.Final {
		*q = append(*q, question{m.ID, deny})
	}
}

// answered takes out the question that a command answers: the one with its id,
// without an id the oldest.
func (q *questions) answered(id string) {
	i := max(0, slices.IndexFunc(*q, func(old question) bool { return id != "" && strings.HasSuffix(old.deny, " "+id) }))
	if len(*q) > 0 {
		*q = slices.Delete(*q, i, i+1)
	}
}

// answer reads the next line while a question stands. A number and a command
// are sent. Nobody but the input can answer: when it has ended, or goes on with
// something else, the question is denied, so that the turn does not wait for
// ever; that line is kept for afterwards.
func (p *plain) answer(ctx context.Context, line string, ok bool) error {
	word := strings.TrimSpace(line)
	if ok {
		if _, pressed := choice(p.last, word); pressed {
			p.asked.note(message{ID: p.last.ID})
			return p.delivery(line)(ctx)
		}
		if m := decides.FindStringSubmatch(word); m != nil {
			p.asked.answered(m[1])
			return p.client.send(ctx, line)
		}
		if strings.HasPrefix(word, "/") && !leaves(line) {
			return p.client.send(ctx, line)
		}
		p.ahead = &line
	}
	deny := p.asked[0].deny
	p.asked = p.asked[1:]
	if _, err := fmt.Fprintf(p.o.Out, "[%s: %s]\n", p.why(strings.Contains(deny, "拒绝")), deny); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return p.client.send(ctx, deny)
}

// why says for what reason a question is denied, in its language.
func (p *plain) why(chinese bool) string {
	switch {
	case chinese && p.ahead != nil:
		return "没有人可以回答：输入的下一行不是回答"
	case chinese:
		return "没有人可以回答：输入已结束"
	case p.ahead != nil:
		return "nobody can answer, since the next line of the input is something else"
	}
	return "nobody can answer, since the input has ended"
}

// wanted gives the lines of the input while a question stands and no line is
// kept already.
func (p *plain) wanted() <-chan string {
	if len(p.asked) == 0 {
		return nil
	}
	if p.ahead != nil {
		closed := make(chan string)
		close(closed)
		return closed
	}
	return p.lines
}

// leaves says whether a line ends the conversation.
func leaves(line string) bool { return line == "/quit" || line == "/exit" }

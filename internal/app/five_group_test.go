package app_test

import (
	"fmt"
	"strings"

	"magpie/internal/fakes/driver"
	"magpie/internal/fakes/modelserver"
)

// remark is what a person writes in a group.
type remark struct {
	who  int
	text string
	asks bool   // it mentions the bot
	to   string // id of the message that it replies to
	bare bool   // the platform tells of that as little as it may
	file *sentFile
}

// gather makes the group of a platform, with as many people in it.
func (f *five) gather(p side, people int) (group string) {
	f.t.Helper()
	for n := range people {
		p.join(n)
	}
	f.squares[p] = p.drive().Group(9, "square")
	return f.squares[p]
}

// remark lets somebody write in the group and returns the message's id.
func (f *five) remark(p side, r remark) (id string) {
	f.t.Helper()
	said := driver.Said{From: p.drive().Person(r.who).Chat, Chat: f.squares[p], Text: r.text, Mention: r.asks, ReplyTo: r.to, Bare: r.bare}
	if r.file != nil {
		said.Files = []driver.File{r.file.sent()}
	}
	return p.drive().Say(said)
}

// idOf is the id of person n, by which they are let in.
func idOf(p side, n int) string { return p.drive().Person(n).ID }

// two lets the first two people in.
func two(p side) string { return fmt.Sprintf("%q, %q", idOf(p, 0), idOf(p, 1)) }

// rewrite has person 1 change a message in the group, where the platform tells
// of that.
func (f *five) rewrite(p side, id, text string) {
	if e, ok := p.drive().(driver.Editor); ok {
		e.Edit(p.drive().Person(1).Chat, f.squares[p], id, text)
	}
}

// recall takes a message of the group back, where the platform tells of that.
func (f *five) recall(p side, id string) {
	if r, ok := p.drive().(driver.Recaller); ok {
		r.Recall(f.squares[p], id)
	}
}

// joins has person n come into the group.
func (f *five) joins(p side, n int) {
	if e, ok := p.drive().(driver.Entrance); ok {
		e.Enter(p.drive().Person(n).Chat, f.squares[p])
	}
}

// invited has person n add the bot to the group, where the platform tells of
// that. On Discord gather has done it.
func (f *five) invited(p side, n int) {
	if i, ok := p.drive().(driver.Inviter); ok {
		i.Invite(p.drive().Person(n).Chat, f.squares[p])
	}
}

// asked lets somebody ask the bot in the group and returns what the model was
// told, and how many pictures it was shown with that.
func (f *five) asked(p side, group string, r remark) (said string, pictures int) {
	f.t.Helper()
	r.asks = true
	f.remark(p, r)
	f.wait(p, group, "the answer to "+r.text, has("seen "+r.text))
	for _, q := range f.model.Requests() {
		last := q.Messages[len(q.Messages)-1]
		if strings.Contains(last.Text, r.text) {
			return last.Text, last.Images
		}
	}
	f.t.Fatalf("%s: the model was never asked %q", p.name(), r.text)
	return "", 0
}

// seen is an answer that repeats what the last person has said, and nothing of
// what stands around it.
func seen(r modelserver.Request) modelserver.Answer {
	said := r.LastUser()
	if i := strings.LastIndex(said, "<message"); i >= 0 {
		_, said, _ = strings.Cut(said[i:], "\n")
		said, _, _ = strings.Cut(said, "\n</message>")
	}
	return modelserver.Answer{Text: "seen " + said}
}

// hears says whether the platform brings the bot what a group says to others.
func hears(p side) bool { return p.name() != "dingtalk" }

// kept has the bot show what it keeps of the group, until that holds a text.
func (f *five) kept(p side, group, text string) (shown string) {
	f.t.Helper()
	f.within(deadline, p.name()+" keeps "+text, func() bool {
		before := len(p.shown(group))
		f.remark(p, remark{asks: true, text: "/context"})
		all := f.wait(p, group, "what is kept", func(all []line) bool { return len(all) > before })
		shown = all[len(all)-1].text
		return strings.Contains(shown, text)
	})
	return shown
}

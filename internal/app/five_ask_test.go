package app_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"magpie/internal/fakes/modelserver"
)

// press has the person of a private chat press a button.
func (f *five) press(p side, chat string, l line, data string) error {
	_, err := p.drive().Press(chat, chat, l.id, data)
	return err
}

var approveWords = regexp.MustCompile(`/approve ([A-Z2-7]{6})`)

// TestFiveApprovals: a tool that a person has to allow waits for the press of
// a native button, or for the command where the platform gives the bot none,
// also over a kill; it runs once, in each chat for itself.
func TestFiveApprovals(t *testing.T) {
	for name, native := range map[string]bool{"buttons": true, "commands": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFive(t, fiveOptions{cards: native, markdown: native})
			f.extra = askForWrites
			f.model.Reply(func(r modelserver.Request) modelserver.Answer {
				if res := r.Results(); len(res) > 0 {
					return modelserver.Answer{Text: "outcome: " + res[len(res)-1].Text}
				}
				_, name, _ := strings.Cut(r.LastUser(), "write ")
				return modelserver.Answer{Calls: []modelserver.Call{{Name: "write_file", Args: `{"path":"` + name + `.txt","content":"笔记"}`}}}
			})
			b := f.start()
			chats := map[side]string{}
			asked := map[side]line{}
			f.each(func(p side) {
				chats[p] = p.join(0)
				p.say(chats[p], "please write "+p.name())
			})
			f.each(func(p side) {
				shown := f.wait(p, chats[p], "the question", has(p.name()+".txt"))
				asked[p] = shown[slices.IndexFunc(shown, func(l line) bool { return strings.Contains(l.text, p.name()+".txt") })]
			})
			b.sent()
			b.kill()
			b = f.start()
			f.each(func(p side) {
				q := asked[p]
				if want := native || p.name() != "qq" && p.name() != "dingtalk"; want != (len(q.buttons) >= 2) {
					t.Errorf("%s asks with the buttons %q", p.name(), q.buttons)
				}
				if f.written(p.name()) {
					t.Errorf("%s: written without approval", p.name())
				}
				if len(q.buttons) > 0 {
					if err := f.press(p, chats[p], q, q.buttons[0]); err != nil {
						t.Fatalf("%s: %v", p.name(), err)
					}
				} else {
					id := approveWords.FindStringSubmatch(q.text)
					if id == nil {
						t.Fatalf("%s asks %q, without a command", p.name(), q.text)
					}
					p.say(chats[p], "/approve "+id[1])
				}
				f.wait(p, chats[p], "the outcome", has("outcome: created "+p.name()+".txt"))
				f.within(deadline, "buttons gone on "+p.name(), func() bool {
					return !slices.ContainsFunc(p.shown(chats[p]), func(l line) bool { return l.buttons != nil })
				})
				shown := f.decided(p, chats[p], p.name() != "qq" && (native || p.name() != "dingtalk"))
				if !f.written(p.name()) || holding(shown, "May I?") != 1 || holding(shown, "outcome:") != 1 {
					t.Errorf("%s shows %q", p.name(), shown)
				}
			})
			clean(t, b.signal(syscall.SIGTERM))
		})
	}
}

// decided waits for how a question ended: it stands under it where the platform
// can change messages, else in a message.
func (f *five) decided(p side, chat string, edits bool) []line {
	f.t.Helper()
	shown := f.wait(p, chat, "the decision", has("Allowed by"))
	if edits != slices.ContainsFunc(shown, func(l line) bool {
		return strings.Contains(l.text, "May I?") && strings.Contains(l.text, "Allowed by")
	}) {
		f.t.Errorf("%s shows %q", p.name(), shown)
	}
	return shown
}

func (f *five) written(name string) bool {
	data, err := os.ReadFile(filepath.Join(f.dir, "workspace", name+".txt"))
	return err == nil && string(data) == "笔记\n"
}

// TestFiveStopped: after /stop the question is over on every platform: it says
// so, its buttons go where the platform can take them away, and a press of one
// that is left decides nothing.
func TestFiveStopped(t *testing.T) {
	t.Parallel()
	f := newFive(t, fiveOptions{cards: true, markdown: true})
	f.extra = askForWrites
	f.model.Reply(func(r modelserver.Request) modelserver.Answer {
		if len(r.Results()) > 0 {
			return modelserver.Answer{Text: "outcome"}
		}
		_, name, _ := strings.Cut(r.LastUser(), "write ")
		return modelserver.Answer{Calls: []modelserver.Call{{Name: "write_file", Args: `{"path":"` + name + `.txt","content":"笔记"}`}}}
	})
	b := f.start()
	f.each(func(p side) {
		chat := p.join(0)
		p.say(chat, "please write "+p.name())
		shown := f.wait(p, chat, "the question", has(p.name()+".txt"))
		q := shown[slices.IndexFunc(shown, func(l line) bool { return len(l.buttons) > 0 })]
		p.say(chat, "/stop")
		f.wait(p, chat, "the end", has("the turn was stopped"))
		if p.name() == "qq" {
			if err := f.press(p, chat, q, q.buttons[0]); err != nil {
				t.Error(err)
			}
			f.wait(p, chat, "that it is over", has("This question is over"))
		} else {
			f.within(deadline, "buttons gone on "+p.name(), func() bool {
				return !slices.ContainsFunc(p.shown(chat), func(l line) bool { return l.buttons != nil })
			})
		}
		if f.written(p.name()) {
			t.Errorf("%s: written after /stop", p.name())
		}
	})
	clean(t, b.signal(syscall.SIGTERM))
}

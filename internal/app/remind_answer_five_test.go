package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"magpie/cron"
	"magpie/internal/fakes/driver"
	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/qq"
)

// calling is a model that calls cron with what stands behind "cron" in the
// person's words, and answers with the result.
func calling(r modelserver.Request) modelserver.Answer {
	if res := r.Results(); len(res) > 0 {
		a := modelserver.Answer{Text: "outcome: " + res[len(res)-1].Text, Pieces: modelserver.Pieces{N: 3}}
		return a
	}
	_, args, ok := strings.Cut(r.LastUser(), "cron {")
	if !ok {
		return modelserver.Echo(r)
	}
	args, _, _ = strings.Cut("{"+args, "\n")
	return modelserver.Answer{Calls: []modelserver.Call{{Name: "cron", Args: args}}}
}

// What the tool offers to press stands under the answer of the turn on every
// platform, streamed or not, over a kill too: a press takes the reminder back.
func TestFiveOfferedButtons(t *testing.T) {
	for _, streams := range []bool{false, true} {
		t.Run(fmt.Sprintf("streamed=%v", streams), func(t *testing.T) {
			t.Parallel()
			f := newFive(t, fiveOptions{cards: true, markdown: true})
			if streams {
				f.common = "stream: true"
				f.qq.Grant(qq.Policy{Streams: true})
			}
			f.model.Reply(calling)
			a := f.agenda()
			b := f.start()
			chats := map[side]string{}
			shown := map[side]line{}
			f.each(func(p side) {
				chats[p] = p.join(0)
				p.say(chats[p], `cron {"action":"add","schedule":"every day at 9am","message":"`+mark(1, 0)+`"}`)
			})
			f.each(func(p side) {
				f.wait(p, chats[p], "the answer with its buttons", func(all []line) bool {
					for _, l := range all {
						if strings.Contains(l.text, "outcome: OK") && strings.Contains(l.text, mark(1, 0)) && len(l.buttons) >= 2 {
							shown[p] = l
						}
					}
					return shown[p].id != ""
				})
			})
			if n := len(a.all()); n != 5 {
				t.Errorf("%d jobs", n)
			}
			b.sent()
			b.kill()
			b = f.start()
			f.each(func(p side) {
				if err := f.press(p, chats[p], shown[p], shown[p].buttons[0]); err != nil {
					t.Errorf("%s: %v", p.name(), err)
				}
				f.wait(p, chats[p], "that it is taken back", has("Cancelled"))
			})
			if left := a.all(); len(left) != 0 {
				t.Errorf("left are %+v", left)
			}
			f.each(func(p side) { // under what the press is answered there is undo
				all := p.shown(chats[p])
				last := all[len(all)-1]
				if len(last.buttons) != 1 {
					t.Errorf("%s answers the press with %+v", p.name(), last)
				} else if err := f.press(p, chats[p], last, last.buttons[0]); err != nil {
					t.Errorf("%s: %v", p.name(), err)
				}
			})
			f.within(deadline, "all are back", func() bool { return len(a.all()) == 5 })
			clean(t, b.signal(syscall.SIGTERM))
		})
	}
}

// Who replies to a confirmation, or to a reminder, means that one, whatever was
// spoken of since.
func TestFiveRepliesMeanAReminder(t *testing.T) {
	t.Parallel()
	f := newFive(t, fiveOptions{cards: true, markdown: true})
	f.model.Reply(calling)
	a := f.agenda()
	b := f.start()
	chats := map[side]string{}
	at := func(p side, text string) line {
		t.Helper()
		for _, l := range f.wait(p, chats[p], text, has(text)) {
			if strings.Contains(l.text, text) {
				return l
			}
		}
		return line{}
	}
	left := func(channel string) (all string) {
		for _, j := range a.all() {
			if j.Addr.Channel == channel {
				all += j.Message + " "
			}
		}
		return all
	}
	f.each(func(p side) {
		chats[p] = p.join(0)
		for n := range 4 {
			args, err := json.Marshal(map[string]string{"action": "add", "schedule": "every day at 9am", "message": mark(1, n)})
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 { // by command
				p.say(chats[p], "/remind every day at 9am "+mark(1, n))
			} else {
				p.say(chats[p], "cron "+string(args))
			}
			f.wait(p, chats[p], "confirmation", has(mark(1, n)))
		}
	})
	f.each(func(p side) {
		reply(p, chats[p], at(p, mark(1, 0)), `cron {"action":"remove"}`)
		at(p, "outcome: Cancelled (every day at 09:00): "+mark(1, 0))
		reply(p, chats[p], at(p, mark(1, 1)), `cron {"action":"remove"}`)
		at(p, "outcome: Cancelled (every day at 09:00): "+mark(1, 1))
	})
	for _, j := range a.all() {
		if j.Message == mark(1, 2) {
			a.fire(b, j, result(cron.Delivered))
		}
	}
	f.each(func(p side) {
		p.drive().Say(driver.Said{Chat: chats[p], Text: "/reminders remove", ReplyTo: at(p, "⏰ "+mark(1, 2)).id})
		at(p, "Cancelled (every day at 09:00): "+mark(1, 2))
		if got := left(p.name()); got != mark(1, 3)+" " {
			t.Errorf("%s: left are %s", p.name(), got)
		}
	})
	clean(t, b.signal(syscall.SIGTERM))
}

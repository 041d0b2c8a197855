package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

const (
	village = -100800
	friend  = 1002
)

// village is a world with a group in which the owner and a friend are let in,
// and Eve is not.
func newVillage(t *testing.T, door string) *world {
	w := newWorld(t, nil)
	w.door = `allow: ["1001", "1002"], stream: false, ` + door
	w.tg.AddPerson(telegram.Person{ID: friend, Name: "Bob"})
	w.tg.AddPerson(telegram.Person{ID: eve, Name: "Eve"})
	w.tg.AddGroup(telegram.Group{ID: village, Title: "village", Topics: []int{5}})
	return w
}

func (w *world) talk(from int64, text string) int {
	return w.tg.Say(telegram.Said{From: from, Chat: village, Text: text})
}

// told asks the bot in the group and returns what the model was given.
func (w *world) told(b *bot, text string) string {
	w.t.Helper()
	before := w.model.Count()
	w.talk(owner, "@magpie_test_bot "+text)
	w.wait(village, "the answer to "+text, func(m []telegram.Message) bool { return count(m, text) > 0 })
	if n := w.model.Count() - before; n != 1 {
		w.t.Errorf("the model was asked %d times for %q", n, text)
	}
	w.stored(b)
	return w.lastUser()
}

func (w *world) lastUser() string {
	all := w.model.Requests()
	return all[len(all)-1].LastUser()
}

func wantInOrder(t *testing.T, text string, want ...string) {
	t.Helper()
	rest := text
	for _, one := range want {
		i := strings.Index(rest, one)
		if i < 0 {
			t.Errorf("%q is missing, or not in its place, in\n%s", one, text)
			return
		}
		rest = rest[i+len(one):]
	}
}

// What is said in a group costs nothing until the bot is asked; then it is told
// once, over restarts and kills too.
func TestRoomIsRead(t *testing.T) {
	t.Parallel()
	w := newVillage(t, "group_context: 5")
	b := w.start("bot")
	b.ready()
	w.talk(friend, "the bridge is closed")
	w.talk(eve, "/停止")
	w.talk(friend, "/新对话")
	w.tg.Say(telegram.Said{From: eve, Chat: village, Thread: 5, Text: "in a topic"})
	wantInOrder(t, w.told(b, "which way?"), "<overheard", `from="Bob"`, "the bridge is closed", `from="Eve"`, "/停止", "/新对话", "<message", "which way?")
	if n := w.model.Count(); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	if text := w.told(b, "and back?"); strings.Contains(text, "overheard") || strings.Contains(text, "bridge") {
		t.Errorf("told twice:\n%s", text)
	}
	w.talk(friend, "the ferry runs")
	w.stored(b)
	_ = b.signal(syscall.SIGKILL)
	w.talk(friend, "每小时一班")
	b = w.start("bot")
	b.ready()
	wantInOrder(t, w.told(b, "again?"), "the ferry runs", "每小时一班", "<message")
	for i := range 8 {
		w.talk(friend, fmt.Sprint("number ", i))
	}
	text := w.told(b, "how many?")
	if strings.Contains(text, "number 2") {
		t.Errorf("more than five are told:\n%s", text)
	}
	wantInOrder(t, text, "number 3", "number 7", "how many?")
	if msgs := w.tg.Messages(village); count(msgs, "停止了") > 0 || count(msgs, "新对话。") > 0 || len(msgs) > 4 {
		t.Errorf("what was overheard was obeyed: %q", texts(msgs))
	}
}

// /context shows what is kept and forgets it, and takes nothing along itself.
func TestContextCommand(t *testing.T) {
	t.Parallel()
	w := newVillage(t, "pairing: true")
	b := w.start("bot")
	b.ready()
	w.talk(friend, "the bridge is closed")
	w.talk(eve, "pay me")
	w.talk(owner, "/context@magpie_test_bot")
	w.wait(village, "what is kept", func(m []telegram.Message) bool {
		return count(m, ": 2, since") == 1 && count(m, "bridge") == 1 && count(m, "pay me") == 1
	})
	wantInOrder(t, w.told(b, "well?"), "bridge", "pay me", "well?")
	w.talk(friend, "the ferry runs")
	w.talk(friend, "@magpie_test_bot /上下文 清空")
	w.wait(village, "cleared", func(m []telegram.Message) bool { return count(m, "已清除 1 条") == 1 })
	if text := w.told(b, "what now?"); strings.Contains(text, "ferry") {
		t.Errorf("told although it was cleared:\n%s", text)
	}
}

// Nothing is kept where that is switched off, and the model is told no more
// than before.
func TestNoContext(t *testing.T) {
	t.Parallel()
	w := newVillage(t, "group_context: 0")
	b := w.start("bot")
	b.ready()
	w.talk(friend, "the bridge is closed")
	if text := w.told(b, "which way?"); strings.Contains(text, "bridge") {
		t.Errorf("told:\n%s", text)
	}
}

// Where every message of those who are let in is for the bot, the others' talk
// goes along with it.
func TestOpenGroupIsRead(t *testing.T) {
	t.Parallel()
	w := newVillage(t, "group: open")
	b := w.start("bot")
	b.ready()
	w.talk(eve, "the bridge is closed")
	w.talk(owner, "which way?")
	w.wait(village, "the answer", func(m []telegram.Message) bool { return count(m, "which way?") > 0 })
	w.stored(b)
	wantInOrder(t, w.lastUser(), "<overheard", `from="Eve"`, "the bridge is closed", "<message", "which way?")
	if n := w.model.Count(); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}

// Words of whoever is not let in taint the turn that is told of them; words of
// those who are let in do not.
func TestOutsidersTaint(t *testing.T) {
	t.Parallel()
	w := newVillage(t, "pairing: false")
	w.extra = "agent: {max_turns: 1}"
	w.model.Reply(func(r modelserver.Request) modelserver.Answer {
		if res := r.Results(); len(res) > 0 {
			return modelserver.Answer{Text: "outcome: " + res[len(res)-1].Text}
		}
		return modelserver.Answer{Calls: []modelserver.Call{{Name: "exec", Args: `{"command":"touch done"}`}}}
	})
	b := w.start("bot")
	b.ready()
	done := func() bool {
		_, err := os.Stat(filepath.Join(w.dir, "bot", "workspace", "done"))
		return err == nil
	}
	w.talk(friend, "please tidy up")
	w.talk(owner, "@magpie_test_bot do it")
	w.wait(village, "the outcome", func(m []telegram.Message) bool { return count(m, "outcome:") == 1 })
	if !done() || count(w.tg.Messages(village), "text from outside") > 0 {
		t.Errorf("words of a friend: done %v, %q", done(), texts(w.tg.Messages(village)))
	}
	w.talk(eve, "please tidy up")
	w.talk(owner, "@magpie_test_bot do it")
	w.wait(village, "the question", func(m []telegram.Message) bool { return count(m, "text from outside") == 1 })
}

// A stranger who asks is told once how to be let in; what he asked is part of
// the talk.
func TestStrangerInAGroup(t *testing.T) {
	t.Parallel()
	w := newVillage(t, "pairing: true")
	b := w.start("bot")
	b.ready()
	w.talk(eve, "@magpie_test_bot where is the gold?")
	w.wait(village, "the answer", func(m []telegram.Message) bool { return count(m, "only answer people who were let in") == 1 })
	w.talk(eve, "@magpie_test_bot hello?")
	wantInOrder(t, w.told(b, "what does she want?"), `from="Eve"`, "where is the gold?", "hello?", "<message")
	if n := count(w.tg.Messages(village), "were let in"); n != 1 {
		t.Errorf("told %d times", n)
	}
	b.await("the log says how to let her in", func() bool {
		said := b.log.String()
		return strings.Contains(said, "sender=6666") && strings.Contains(said, "group=-100800") && strings.Contains(said, "allow")
	})
}

// Everybody in a group may be let in by its entry.
func TestMembersAreLetIn(t *testing.T) {
	t.Parallel()
	w := newVillage(t, `groups: [{id: "-100800", members: true}]`)
	w.start("bot").ready()
	w.talk(eve, "@magpie_test_bot where is the gold?")
	w.wait(village, "the answer", func(m []telegram.Message) bool { return count(m, "where is the gold?") == 1 })
}

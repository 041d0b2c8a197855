package app_test

import (
	"strings"
	"syscall"
	"testing"

	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// What is remembered for a person is in their next prompts, in nobody else's,
// and a person at the shell can read and change it while the bot runs and
// while it does not.
func TestMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.tg.AddPerson(telegram.Person{ID: 7, Name: "Bea"})
	w.model.Reply(func(r modelserver.Request) modelserver.Answer {
		if len(r.Results()) == 0 && strings.Contains(r.LastUser(), "remember") {
			return modelserver.Answer{Calls: []modelserver.Call{{Name: "memory_write", Args: `{"content":"对花生过敏"}`}}}
		}
		system := r.System
		switch {
		case strings.Contains(system, "花生") && strings.Contains(system, "likes tea"):
			return modelserver.Answer{Text: "knows both"}
		case strings.Contains(system, "花生"):
			return modelserver.Answer{Text: "knows peanuts"}
		}
		return modelserver.Answer{Text: "knows nothing"}
	})
	path, listen := w.config("bot")
	b := w.startWith(path, listen)
	b.ready()
	w.say("remember this")
	w.wait(owner, "the note", func(m []telegram.Message) bool { return len(m) == 1 })
	w.say("what do you know?")
	w.wait(owner, "the note in the prompt", func(m []telegram.Message) bool { return count(m, "knows peanuts") == 1 })
	w.tg.Say(telegram.Said{From: 7, Text: "what do you know?"})
	w.wait(7, "nothing for others", func(m []telegram.Message) bool { return count(m, "knows nothing") == 1 })
	w.command(path, 0, "telegram:person:1001\t1 notes", "memory", "list")
	w.command(path, 0, "对花生过敏", "memory", "list", "telegram:person:1001")
	clean(t, b.signal(syscall.SIGTERM))
	w.command(path, 0, "added as number 2", "memory", "add", "telegram:person:1001", "likes", "tea")
	w.command(path, 1, "there is no such note", "memory", "remove", "telegram:person:1001", "9")
	w.command(path, 1, "want <channel>:person", "memory", "add", "ann", "x")
	w.command(path, 2, "no number", "memory", "remove", "telegram:person:1001", "x")
	w.startWith(path, listen).ready()
	w.say("and now?")
	w.wait(owner, "both notes", func(m []telegram.Message) bool { return count(m, "knows both") == 1 })
	// What may be somebody else's words is named, and read by who needs it.
	w.tg.Say(telegram.Said{From: owner, Text: "please remember this", Fields: map[string]any{
		"reply_to_message": map[string]any{
			"message_id": 4000, "date": 1790000000, "text": "boil peanuts", "chat": map[string]any{"id": owner, "type": "private"},
			"from": map[string]any{"id": 7, "is_bot": false, "first_name": "Bea"},
		},
	}})
	w.wait(owner, "another note", func(m []telegram.Message) bool { return count(m, "knows both") == 2 })
	w.say("and then?")
	w.wait(owner, "a third answer", func(m []telegram.Message) bool { return count(m, "knows both") == 3 })
	reqs := w.model.Requests()
	prompt := reqs[len(reqs)-1].System
	if n := strings.Count(prompt, "花生"); n != 1 || !strings.Contains(prompt, "3 notes; ") || !strings.Contains(prompt, "after reading text from outside: 3 (memory_read") {
		t.Errorf("%d notes in the prompt, want 1, and another one named:\n%s", n, prompt)
	}
	// By the slash command everybody sees what is theirs.
	w.say("/memory")
	w.wait(owner, "the list", func(m []telegram.Message) bool { return count(m, "likes tea") == 1 })
	w.tg.Say(telegram.Said{From: 7, Text: "/memory search tea"})
	w.wait(7, "nothing found", func(m []telegram.Message) bool { return count(m, "No note has") == 1 })
	w.tg.Say(telegram.Said{From: 7, Text: "/memory remove 1"})
	w.wait(7, "nothing to remove", func(m []telegram.Message) bool { return count(m, "There is no note 1") == 1 })
	w.command(path, 0, "removed: 对花生过敏", "memory", "remove", "telegram:person:1001", "1")
}

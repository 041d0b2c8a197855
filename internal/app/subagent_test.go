package app_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// spawn: the answer comes at once, the chat stays free, and the report of the
// task comes later as a message of its own with exactly one answer. The task
// sees nothing of the chat and gets tools for files, commands and the web only.
func TestTaskReports(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	c := w.crew(nil)
	b := w.start("bot")
	b.ready()
	w.say("my secret is 42")
	w.wait(owner, "an answer", func(m []telegram.Message) bool { return len(m) == 1 })
	w.say("spawn slow dig")
	r := receive(t, c.asked, "the task's model")
	w.wait(owner, "the answer at once", func(m []telegram.Message) bool { return count(m, "works in the background") == 1 })
	w.say("are you free?")
	w.wait(owner, "the chat is free", func(m []telegram.Message) bool { return count(m, "echo: are you free?") == 1 })
	c.letGo()
	w.news("slow dig")
	w.onceShown(t, w.quiet(), "news: result of slow dig")
	if len(r.Messages) != 1 || r.LastUser() != "slow dig" {
		t.Errorf("the task was shown %+v", r.Messages)
	}
	var names []string
	for _, tool := range r.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	want := "delete_file edit_file exec file_search get_file_info http_get http_post http_request list_dir list_files move_file read_file undo_edit web_fetch web_search write_file"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("a task has the tools %s", got)
	}
	if len(r.System) > 2500 {
		t.Errorf("its prompt is %d bytes long, want a short one", len(r.System))
	}
	for _, r := range w.model.Requests() {
		if isReport(r) && !strings.Contains(r.LastUser(), "<report from=\"slow dig\">\nresult of slow dig\n</report>") {
			t.Errorf("the model reads the report as %q", r.LastUser())
		}
	}
	clean(t, b.signal(syscall.SIGTERM))
}

// The report goes to the thread that asked.
func TestTaskReportsIntoItsThread(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.tg.AddGroup(telegram.Group{ID: -100500, Title: "G", Topics: []int{5, 6}})
	w.door = `allow: ["*"], stream: false, group: open`
	c := w.crew(nil)
	c.letGo()
	w.start("bot").ready()
	// In a group what people write stands in a fence.
	w.model.Reply(func(r modelserver.Request) modelserver.Answer {
		if len(r.Results()) == 0 && strings.Contains(r.LastUser(), "please dig") {
			return modelserver.Answer{Calls: []modelserver.Call{spawnCall("dig", false)}}
		}
		return c.reply(r)
	})
	w.tg.Say(telegram.Said{From: owner, Chat: -100500, Thread: 6, Text: "please dig"})
	msgs := w.wait(-100500, "the report", func(m []telegram.Message) bool { return count(m, "news: result of dig") == 1 })
	for _, m := range msgs {
		if m.Thread != 6 {
			t.Errorf("%q stands in thread %d, want 6", m.Text, m.Thread)
		}
	}
}

// At most max_concurrent tasks run at once, the others wait; /status shows all
// of them and what they do.
func TestTaskLimitAndStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.extra = "agent: {busy: queue}"
	c := w.crew(nil)
	b := w.start("bot")
	b.ready()
	w.say("spawn slow 1;slow 2;slow 3;slow 4;slow 5")
	for range 4 {
		receive(t, c.asked, "four tasks")
	}
	w.wait(owner, "the answer", func(m []telegram.Message) bool { return count(m, "works in the background") == 1 })
	b.idle()
	w.say("/status")
	msgs := w.wait(owner, "status", func(m []telegram.Message) bool { return count(m, "Idle") == 1 })
	shown := msgs[len(msgs)-1].Text
	if strings.Count(shown, "Background task slow ") != 5 || strings.Count(shown, "thinks, tool calls so far: 0") != 4 || strings.Count(shown, "waits for a free place") != 1 {
		t.Errorf("/status says %q", shown)
	}
	if len(c.asked) != 0 {
		t.Error("a fifth task has begun")
	}
	c.letGo()
	for i := range 5 {
		w.news(fmt.Sprint("slow ", i+1))
	}
	msgs = w.quiet()
	for i := range 5 {
		w.onceShown(t, msgs, fmt.Sprint("news: result of slow ", i+1))
	}
	if n := c.peak(); n != 4 {
		t.Errorf("%d tasks ran at once, want 4", n)
	}
	b.idle()
	w.say("/status")
	msgs = w.wait(owner, "status", func(m []telegram.Message) bool { return count(m, "Idle") == 2 })
	if shown := msgs[len(msgs)-1].Text; strings.Contains(shown, "Background") {
		t.Errorf("/status says %q", shown)
	}
}

// /stop in the chat of origin ends its tasks, also those that wait, says so,
// and leaves those of others alone.
func TestStopEndsTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.extra = "subagent: {max_concurrent: 2}"
	w.tg.AddPerson(telegram.Person{ID: 7, Name: "Bea"})
	c := w.crew(nil)
	b := w.start("bot")
	b.ready()
	w.tg.Say(telegram.Said{From: 7, Text: "spawn slow other"})
	receive(t, c.asked, "the other's task")
	w.say("spawn slow one;slow two;slow three")
	r := receive(t, c.asked, "a task")
	w.wait(owner, "the answer", func(m []telegram.Message) bool { return count(m, "works in the background") == 1 })
	b.idle()
	w.say("/stop")
	w.wait(owner, "confirmation", func(m []telegram.Message) bool {
		return count(m, "Ended 3 background tasks: slow ") == 1 && count(m, "slow one")+count(m, "slow two")+count(m, "slow three") == 6
	})
	receive(t, r.Gone, "the request given up")
	w.say("/stop")
	w.wait(owner, "nothing to stop", func(m []telegram.Message) bool { return count(m, "Nothing is running") == 1 })
	c.letGo()
	w.tg.Say(telegram.Said{From: 7, Text: "spawn slow last"}) // runs after whatever waits
	w.wait(7, "the others' reports", func(m []telegram.Message) bool {
		return count(m, "news: result of slow other") == 1 && count(m, "news: result of slow last") == 1
	})
	if msgs := w.quiet(); count(msgs, "news:") != 0 {
		t.Errorf("a stopped task has reported: %s", texts(msgs))
	}
	if c.reported("slow two")+c.reported("slow three") != 0 {
		t.Error("a stopped task that waited has run")
	}
}

// A task that takes too long is stopped, its command too, and that is told.
func TestTaskOutOfTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.extra = seconds(10)
	w.crew(func(modelserver.Request) modelserver.Answer {
		return modelserver.Answer{Calls: []modelserver.Call{{Name: "exec", Args: `{"command":"sleep 60"}`}}}
	})
	w.start("bot").ready()
	w.say("spawn endless")
	w.wait(owner, "the report", func(m []telegram.Message) bool {
		return count(m, "news: The task failed: it was stopped because it did not end within 10s. The tool it used last: exec.") == 1
	})
	w.onceShown(t, w.quiet(), "news:")
}

// A task has 15 model calls, and is offered no tools in the last.
func TestTaskCallsAModelSoOftenAtMost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.extra = "subagent: {max_iterations: 3}"
	var c *crew
	c = w.crew(func(r modelserver.Request) modelserver.Answer {
		if len(r.Tools) == 0 {
			return c.report(r, "result of "+r.LastUser())
		}
		return modelserver.Answer{Calls: []modelserver.Call{{Name: "list_dir", Args: `{"path":"."}`}}}
	})
	w.start("bot").ready()
	w.say("spawn look")
	w.news("look")
	if n := len(c.asked); n != 3 {
		t.Errorf("the model was asked %d times for the task, want 3", n)
	}
}

// What a task uses counts for the chat and the person that asked; when the
// budget is used up the report is shown all the same.
func TestTaskBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	var c *crew
	c = w.crew(func(r modelserver.Request) modelserver.Answer {
		<-c.open
		a := c.report(r, "result of "+r.LastUser())
		a.Usage = modelserver.Usage{Input: 900_000, Output: 100_000}
		return a
	})
	path, listen := w.config("bot")
	replaceIn(t, path, "security: {", "security: {budget: {per_sender_tokens_per_day: 200000}, ")
	b := w.startWith(path, listen)
	b.ready()
	w.say("spawn dear")
	w.wait(owner, "the answer, before the task uses up the budget", func(m []telegram.Message) bool { return count(m, "came: ") == 1 })
	c.letGo()
	w.wait(owner, "the report", func(m []telegram.Message) bool {
		return count(m, `The background task "dear" has ended. Its report, as it is:`) == 1 && count(m, "result of dear") == 1
	})
	w.say("/usage")
	w.wait(owner, "the account", func(m []telegram.Message) bool {
		return regexp.MustCompile(`you: 3 calls, 9\d{5} tokens in, 100\d{3} out`).MatchString(texts(m))
	})
	w.say("hello")
	w.wait(owner, "the refusal", func(m []telegram.Message) bool { return count(m, "I did not ask the model") == 2 })
}

// An empty task, one whose model cannot be reached and one without an end all
// say so.
func TestTaskFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.crew(func(r modelserver.Request) modelserver.Answer {
		if r.LastUser() == "refused" {
			return modelserver.Answer{Fault: modelserver.NoBalance}
		}
		return modelserver.Answer{}
	})
	w.extra = "agent: {busy: queue}"
	w.start("bot").ready()
	w.say("spawn nothing")
	w.wait(owner, "the report", func(m []telegram.Message) bool {
		return count(m, "news: The task failed: it ended without a report.") == 1
	})
	w.say("spawn refused")
	w.wait(owner, "the report", func(m []telegram.Message) bool { return count(m, "news: The task failed: ") == 2 })
	w.onceShown(t, w.quiet(), "it ended without a report")
}

// Long Chinese text goes both ways unharmed.
func TestTaskLongChinese(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	long, deep := strings.Repeat("查资料。", 2000), strings.Repeat("喜鹊登枝，", 8000)
	var c *crew
	c = w.crew(func(r modelserver.Request) modelserver.Answer { return c.report(r, deep+"完") })
	w.model.Reply(func(r modelserver.Request) modelserver.Answer {
		switch {
		case isTask(r) && r.LastUser() != long:
			t.Errorf("the task is %d bytes, want %d", len(r.LastUser()), len(long))
		case isReport(r):
			if reportOf(r) != deep+"完" {
				t.Errorf("the report is %d bytes, want %d", len(reportOf(r)), len(deep)+3)
			}
			return modelserver.Answer{Text: "news"}
		case r.LastUser() == "去查" && len(r.Results()) == 0:
			return modelserver.Answer{Calls: []modelserver.Call{spawnCall(long, false)}}
		}
		return c.reply(r)
	})
	w.start("bot").ready()
	w.say("去查")
	w.wait(owner, "the report", func(m []telegram.Message) bool { return count(m, "news") == 1 })
	msgs := w.quiet()
	if len([]rune(msgs[0].Text)) > 1000 {
		t.Errorf("the label is too long: %q", msgs[0].Text)
	}
}

package app_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"magpie/cron"
	"magpie/internal/app"
	"magpie/internal/fakes/telegram"
)

// From the shell jobs are listed, made, changed and delivered, by the running
// bot and without it; what is made while it is down comes when it runs.
func TestRemindFromTheShell(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.extra = "timezone: Asia/Shanghai"
	path, listen := w.config("bot")
	w.command(path, 0, "there are no jobs", "cron", "list")
	w.command(path, 0, "every day at 09:00", "cron", "add", "telegram:1001", "every day at 09:00", "take", "the", "pills", "--sender", "1001", "--direct")
	w.command(path, 0, "吃药", "cron", "add", "telegram:1001", "每天早上9点提醒我吃药", "--tz", "Europe/Berlin", "--name", "到")
	for says, args := range map[string][]string{
		"want CHANNEL:CHAT":         {"cron", "add", "1001", "in 1 hour", "x"},
		`there is no channel "irc"`: {"cron", "add", "irc:1", "in 1 hour", "x"},
		"no time found":             {"cron", "add", "telegram:1001", "blah", "x"},
		"passed":                    {"cron", "add", "telegram:1001", "2020-01-01 10:00", "x"},
		"2. ":                       {"cron", "add", "telegram:1001", "tomorrow at 8", "x"},
		"unknown time zone":         {"cron", "add", "telegram:1001", "in 1 hour", "x", "--tz", "Mars/X"},
		"notify or agent":           {"cron", "add", "telegram:1001", "in 1 hour", "x", "--mode", "loud"},
		"give the sender too":       {"cron", "add", "telegram:1001", "in 1 hour", "x", "--direct"},
		"bot cron list shows them":  {"cron", "remove", "aaaaaaaaaa"},
	} {
		w.command(path, 1, says, args...)
	}
	w.command(path, 2, "want bot cron add CHAT SCHEDULE", "cron", "add", "telegram:1001")
	w.command(path, 2, "want bot cron remove ID", "cron", "remove")
	jobs := w.listed(path)
	if len(jobs) != 2 || jobs[0].Message != "take the pills" || !jobs[0].Direct || jobs[0].Maker.ID != "1001" || jobs[1].Message != "吃药" || jobs[1].Maker.ID != "" || jobs[1].Chat != "telegram:1001" {
		t.Fatalf("jobs %+v", jobs)
	}
	pills := jobs[0].ID
	w.command(path, 0, "this is done when it starts", "cron", "run", pills)
	b := w.startWith(path, listen)
	b.ready()
	w.wait(owner, "the delivery", func(m []telegram.Message) bool { return count(m, "⏰ take the pills") == 1 })
	b.until("the history of the first run", func() bool {
		runs := w.listed(path)
		return len(runs) == 2 && len(runs[0].Runs) == 1 && runs[0].Runs[0].Receipt != nil
	}, func() string { return "no receipt" })
	w.want("/reminders", "1. ", "2. ", "pills", "吃药")
	w.want("/reminders remove 到", "只有本人或管理员") // the operator's
	w.command(path, 0, "Paused", "cron", "pause", pills)
	w.command(path, 0, "paused", "cron", "list", "telegram:1001")
	w.command(path, 0, "take the pills", "cron", "resume", pills)
	w.command(path, 0, "10:30", "cron", "update", pills, "--schedule", "every day at 10:30", "--message", "take two pills")
	if j := w.listed(path)[0]; j.Schedule.Cron != "30 10 * * *" || j.Message != "take two pills" {
		t.Errorf("job %+v", j)
	}
	w.command(path, 0, "take the pills", "cron", "undo", "telegram:1001")
	w.command(path, 0, "09:00", "cron", "undo", "telegram:1001")
	w.command(path, 0, "take the pills", "cron", "skip", pills)
	w.command(path, 0, "take the pills", "cron", "undo", "telegram:1001")
	w.command(path, 1, "nothing to change", "cron", "update", pills)
	w.command(path, 1, "undo", "cron", "undo", "telegram:1002")
	if j := w.listed(path)[0]; j.Schedule.Cron != "0 9 * * *" || j.Message != "take the pills" {
		t.Errorf("job %+v", j)
	}
	w.command(path, 0, "there are no jobs", "cron", "list", "telegram:1002")
	w.command(path, 0, "take the pills", "cron", "run", pills)
	w.wait(owner, "the second delivery", func(m []telegram.Message) bool { return strings.Count("|"+texts(m)+"|", "|⏰ take the pills|") == 2 })
	b.until("the history of the job", func() bool {
		runs := w.listed(path)[0].Runs
		return len(runs) == 2 && runs[1].Result == cron.Delivered && runs[1].Receipt != nil
	}, func() string { return "no receipt" })
	w.command(path, 0, "(last: delivered ", "cron", "list")
	w.command(path, 0, "tea", "cron", "add", "telegram:1001", "in 1 second", "tea")
	w.wait(owner, "tea", func(m []telegram.Message) bool { return count(m, "⏰ tea") == 1 })
	w.command(path, 0, "Cancelled", "cron", "remove", pills)
	clean(t, b.signal(syscall.SIGTERM))
	if jobs := w.listed(path); len(jobs) == 0 || jobs[0].Name != "到" {
		t.Errorf("jobs %+v", jobs)
	}
}

// The shell moves, renames and exports without the bot; what would have to be
// asked is an error.
func TestChangesFromTheShell(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	path, _ := w.config("bot")
	w.command(path, 0, "every day at 09:00", "cron", "add", "telegram:1001", "every day at 09:00", "take", "the", "pills")
	pills := w.listed(path)[0].ID
	w.command(path, 0, "20:15", "cron", "move", pills, "every", "day", "at", "20:15")
	w.command(path, 0, "Evening", "cron", "rename", pills, "Evening", "pills")
	for range 2 {
		w.command(path, 0, "take the pills", "cron", "undo", "telegram:1001")
	}
	w.command(path, 0, "SUMMARY:take the pills", "cron", "export", "telegram:1001")
	w.command(path, 1, "there are no jobs", "cron", "export", "telegram:1002")
	w.command(path, 1, "morning or in the evening?", "cron", "move", pills, "at 8") // nobody is asked in the chat
}

// listed is what bot cron list --json prints.
func (w *world) listed(config string) []app.CronJob {
	w.t.Helper()
	exe, err := program()
	if err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(exe, "--config", config, "cron", "list", "--json")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir}
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	var all app.CronJobs
	if err == nil {
		err = json.Unmarshal(out, &all)
	}
	if err != nil {
		w.t.Fatalf("bot cron list --json: %v: %s%s", err, out, &said)
	}
	return all.Jobs
}

package app_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"magpie/internal/fakes/telegram"
)

// A calendar file is offered as reminders, in every language and without the
// model; what is said with it may be for the model.
func TestCalendarFiles(t *testing.T) {
	t.Parallel()
	a := newAgenda(t)
	path, listen := a.config("bot")
	b := a.startWith(path, listen)
	b.ready()
	send := func(text string, lines ...string) string {
		t.Helper()
		n := len(a.tg.Messages(owner))
		data := strings.Join(append(append([]string{"BEGIN:VCALENDAR", "VERSION:2.0"}, lines...), "END:VCALENDAR", ""), "\r\n")
		a.tg.Say(telegram.Said{From: owner, Text: text, Files: []telegram.File{{Name: "work.ics", MIME: "text/calendar", Data: []byte(data)}}})
		return a.wait(owner, "an answer to the file", func(m []telegram.Message) bool { return len(m) > n })[n].Text
	}
	event := func(title, start string, more ...string) []string {
		return append(append([]string{"BEGIN:VEVENT", "UID:" + title, "SUMMARY:" + title, "DTSTART:" + start}, more...), "END:VEVENT")
	}
	both := append(event("Dentist", "20990105T090000Z"), event("站会", "20990101T013000Z", "RRULE:FREQ=WEEKLY")...)
	holds(t, "a calendar", send("", append(both, event("Old party", "20010101T100000Z")...)...),
		"Shall I remind you of these 2?", "Dentist", "站会", "Left out: Old party (it has passed)")
	if jobs := a.all(); len(jobs) != 1 || !jobs[0].Hidden { // the end of the question
		t.Errorf("before the answer there are %+v", jobs)
	}
	clean(t, b.signal(syscall.SIGTERM))
	b = a.startWith(path, listen)
	b.ready()
	a.want("yes", "2 reminders", "Dentist", "站会")
	if got := a.named("Dentist").Schedule.At.UTC().Format(time.RFC3339); got != "2099-01-05T09:00:00Z" {
		t.Errorf("it comes at %s", got)
	}
	if j := a.named("站会"); !j.Schedule.At.IsZero() || !j.Direct || j.Maker.ID != fmt.Sprint(owner) {
		t.Errorf("it is %+v", j)
	}
	holds(t, "the same calendar", send("", both...), "这些都已经设置过了")
	holds(t, "a calendar with more", send("", append(both, event("Party", "20990201T090000Z")...)...), "其中 2 个（共 3 个）已经设置过了。要提醒你这件事吗", "Party")
	a.want("no", "I leave it as it is")
	a.want("/reminders undo", "2")
	if n := len(a.all()); n != 0 {
		t.Errorf("%d reminders are left", n)
	}
	a.want("/lang zh", "中文")
	holds(t, "a calendar", send("导入", event("Dentist", "20990105T090000Z")...), "要提醒你这件事吗", "Dentist")
	a.want("不用", "不改")
	holds(t, "an old calendar", send("", event("Old party", "20010101T100000Z")...), "没有可以提醒的", "Old party（已经过去）")
	if n := a.model.Count(); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
	holds(t, "a question about it", send("who made this file?", both...), "echo: ")
	clean(t, b.signal(syscall.SIGTERM))
}

// The page says from which time zone somebody writes: five o'clock is theirs,
// on any server, until they choose another.
func TestZoneOfThePage(t *testing.T) {
	t.Parallel()
	a := newAgenda(t)
	a.extra = "timezone: UTC"
	b := a.start("bot")
	b.ready()
	p := b.page(filepath.Join(a.dir, "bot"), "main")
	post := func(id, text, want string) {
		t.Helper()
		body := fmt.Sprintf(`{"id":%q,"text":%q,"zone":"America/New_York"}`, id, text)
		if status, answer := p.post("/messages", []byte(body)); status != http.StatusOK {
			t.Fatal(status, answer)
		}
		p.wait(want, func(m shown) bool { return strings.Contains(m.Text, want) })
	}
	post("z1", "/remind tomorrow at 5pm tea", "tea")
	if got := a.named("tea").Schedule; got.Zone != "America/New_York" || got.At.In(zoneNamed(t, got.Zone)).Format("15:04") != "17:00" {
		t.Errorf("it comes %+v", got)
	}
	post("z2", "/tz Asia/Tokyo", "Asia/Tokyo")
	post("z3", "/remind tomorrow at 5pm coffee", "coffee")
	if got := a.named("coffee").Schedule.Zone; got != "Asia/Tokyo" {
		t.Errorf("a chosen zone: %s", got)
	}
	clean(t, b.signal(syscall.SIGTERM))
}

func zoneNamed(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// What is said when nobody has answered a question is no reminder: it has no
// bell and no buttons, and comes over a restart.
func TestQuestionEndsAloud(t *testing.T) {
	t.Parallel()
	a := newAgenda(t)
	path, listen := a.config("bot")
	b := a.startWith(path, listen)
	b.ready()
	end := asked("I made no reminder.", in(2*time.Second))
	end.Hidden = true
	add(t, a.jobs, end)
	clean(t, b.signal(syscall.SIGTERM))
	b = a.startWith(path, listen)
	b.ready()
	msgs := a.wait(owner, "the end of the question", func(m []telegram.Message) bool { return count(m, "I made no reminder.") == 1 })
	if shown := msgs[len(msgs)-1]; shown.Text != "I made no reminder." || len(shown.Keyboard) != 0 {
		t.Errorf("it says %q with %v", shown.Text, shown.Keyboard)
	}
	clean(t, b.signal(syscall.SIGTERM))
}

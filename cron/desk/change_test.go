package desk_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"magpie/chat"
	"magpie/cron"
	"magpie/cron/desk"
	"magpie/cron/intent"
)

func (f *fixture) list(t testing.TB, w desk.Who) string {
	t.Helper()
	said, err := f.Do(t.Context(), w, intent.Intent{Kind: intent.Query, What: intent.AskList}, desk.Message{})
	if err != nil {
		t.Fatal(err)
	}
	return said.Text
}

// change does what is said as "pause 1"; a kind below 0 means that it is done.
func (f *fixture) change(t testing.TB, w desk.Who, said string, kind desk.Kind, want string) {
	t.Helper()
	action, ref, _ := strings.Cut(said, " ")
	in := intent.Intent{Kind: intent.Change, Op: intent.Op(action), Ref: desk.RefOf(ref)}
	if ref == "all" {
		in.Ref = intent.Ref{All: true}
	}
	answer, err := f.Do(t.Context(), w, in, desk.Message{})
	text := answer.Text
	var r *desk.Refusal
	switch {
	case kind < 0 && err != nil:
		t.Errorf("%s: %v", said, err)
	case kind >= 0 && (!errors.As(err, &r) || r.Kind != kind):
		t.Errorf("%s: %v, want kind %d", said, err, kind)
	case kind >= 0:
		text = r.Text
	}
	if !strings.Contains(text, want) {
		t.Errorf("%s says %q, want %q", said, text, want)
	}
}

const done desk.Kind = -1

func TestListAndChange(t *testing.T) {
	f := newFixture(t)
	zh := f.ann
	zh.Lang = "zh"
	if en, cn := f.list(t, f.ann), f.list(t, zh); !strings.Contains(en, "no reminders") || !strings.Contains(cn, "没有提醒") {
		t.Errorf("an empty list says %q, %q", en, cn)
	}
	pills := f.add(t, f.ann, desk.Ask{Schedule: "every day at 9am", Message: "take\npills"})
	f.now = f.now.Add(time.Second) // the order of the list is that of the seconds
	call := f.add(t, f.ann, desk.Ask{At: "2026-11-24T15:00", Message: "call mum", Name: "Mum", Zone: "Europe/Berlin"})
	f.now = f.now.Add(time.Second)
	dad := f.add(t, f.ann, desk.Ask{Schedule: "every 2 hours", Message: "call dad", Mode: "agent"})
	for _, c := range []struct {
		w    desk.Who
		want string
	}{
		{f.ann, "1. {dad} – ⚙️ call dad (every 2 hours)\n2. {pills} – take pills (every day at 09:00)\n3. {call} – Mum: call mum"},
		{zh, "1. {dad}：⚙️ call dad（每2小时）\n2. {pills}：take pills（每天 09:00）\n3. {call}：Mum: call mum"},
	} {
		for name, j := range map[string]cron.Job{"{dad}": dad, "{pills}": pills, "{call}": call} {
			c.want = strings.ReplaceAll(c.want, name, f.filled("{next}", j, c.w.Lang))
		}
		if got := f.list(t, c.w); got != c.want {
			t.Errorf("the list says\n%s\nwant\n%s", got, c.want)
		}
	}
	f.change(t, f.ann, "pause 2", done, "Paused (every day at 09:00): take pills.")
	if got := f.list(t, f.ann); !strings.Contains(got, "3. paused – take pills (every day at 09:00)") {
		t.Errorf("the list does not show the pause: %s", got)
	}
	f.change(t, zh, "resume #3", done, f.filled("已恢复，每天 09:00：take pills。下次：{next}", pills, "zh"))
	f.change(t, f.ann, "remove call", done, "Which one?")
	f.change(t, f.ann, "remove MUM", done, "Mum: call mum.")
	f.change(t, f.ann, "run dad", done, "It comes now: ⚙️ call dad.")
	f.change(t, f.ann, "run dad", desk.Wrong, "right now")
	f.change(t, f.ann, "remove 9", done, "Number 9 is not there. Which one?\n1. ")
	f.change(t, f.ann, "remove dentist", desk.Unknown, "no reminder “dentist”")
	f.change(t, zh, "remove 爸爸", desk.Unknown, "没有“爸爸”这个提醒，现有的是：\n- call dad")
	f.change(t, f.ann, "remove "+strings.ToUpper(pills.ID), done, "Cancelled (every day at 09:00): take pills.")
	if got := f.count(t); got != 1 {
		t.Errorf("%d jobs are left", got)
	}
	// An interval counts from when it was made, whenever it is looked at.
	f.now = f.now.Add(3 * time.Hour)
	if text := f.list(t, f.ann); !strings.Contains(text, f.filled("{next} – ⚙️ call dad", dad, "en")) {
		t.Errorf("three hours later the list says %s", text)
	}
	f.add(t, f.ann, desk.Ask{Schedule: "in 1 hour", Message: "call"})
	f.change(t, f.ann, "pause call", done, "): call.") // the whole text comes before a part
}

// Only who made a job, or an admin, changes it; another chat does not see it.
func TestOwners(t *testing.T) {
	f := newFixture(t)
	group := f.ann
	group.Addr.Chat, group.Direct = "-100", false
	j := f.add(t, group, desk.Ask{Schedule: "every day at 9am", Message: "stand-up"})
	bob := group
	bob.Sender = chat.Sender{ID: "bob"}
	if text := f.list(t, bob); !strings.Contains(text, "for Ann") {
		t.Errorf("the list does not say who made it: %s", text)
	}
	if text := f.list(t, group); strings.Contains(text, "for Ann") {
		t.Errorf("the list tells Ann of herself: %s", text)
	}
	for _, action := range []intent.Op{intent.Remove, intent.Pause, intent.Resume, intent.Run} {
		f.change(t, bob, string(action)+" "+j.ID, desk.Forbidden, "reminder of Ann")
	}
	stranger := bob
	stranger.Home, stranger.Sender.ID = "discord", "ann" // the same id, somewhere else
	f.change(t, stranger, "remove "+j.ID, desk.Forbidden, "reminder of Ann")
	f.change(t, f.ann, "remove "+j.ID, desk.Unknown, "no reminder") // from another chat
	mine := f.add(t, bob, desk.Ask{Schedule: "every day at 9am", Message: "mine"})
	f.change(t, bob, "pause all", done, "Paused (every day at 09:00): mine.")
	f.change(t, bob, "remove all", done, "Cancelled (every day at 09:00): mine.")
	if _, err := f.jobs.Get(t.Context(), mine.Addr, mine.ID); !errors.Is(err, cron.ErrNotFound) {
		t.Errorf("Bob's own is still there: %v", err)
	}
	boss := bob
	boss.Admin = true
	f.change(t, boss, "pause "+j.ID, done, "Paused")
	f.change(t, boss, "remove "+j.ID, done, "Cancelled")
}

func TestLastResult(t *testing.T) {
	f := newFixture(t)
	j := f.add(t, f.ann, desk.Ask{Schedule: "every 1 hour", Message: "x"})
	f.change(t, f.ann, "run "+j.ID, done, "now")
	got, err := f.jobs.Get(t.Context(), j.Addr, j.ID)
	if err != nil {
		t.Fatal(err)
	}
	slot := got.Pending.Slot
	zh := f.ann
	zh.Lang = "zh"
	if err := f.jobs.Report(t.Context(), j.Addr, j.ID, slot, chat.Receipt{Err: "the bot was\nblocked"}); err != nil {
		t.Fatal(err)
	}
	if en, cn := f.list(t, f.ann), f.list(t, zh); !strings.Contains(en, "(last: failed 2026-11-23 10:30 (the bot was blocked))") || !strings.Contains(cn, "（上次：失败 2026-11-23 10:30（the bot was blocked））") {
		t.Errorf("what failed: %s\n%s", en, cn)
	}
	if err := f.jobs.Report(t.Context(), j.Addr, j.ID, slot, chat.Receipt{}); err != nil {
		t.Fatal(err)
	}
	got, err = f.jobs.Get(t.Context(), j.Addr, j.ID)
	if err != nil {
		t.Fatal(err)
	}
	if en, cn := f.Show(f.ann, got), f.Show(zh, got); en.Last != "delivered 2026-11-23 10:30" || cn.Last != "已送达 2026-11-23 10:30" || en.Title != "⏰ x" || !strings.HasPrefix(en.When, "every hour; next: ") {
		t.Errorf("it is shown as %+v, %+v", en, cn)
	}
	if en := f.list(t, f.ann); strings.Contains(en, "last") {
		t.Errorf("what went well is told: %s", en)
	}
}

// A damaged entry is told of, others are listed, and only an admin removes it.
func TestDamagedEntry(t *testing.T) {
	f := newFixture(t)
	f.add(t, f.ann, desk.Ask{Schedule: "in 1 hour", Message: "one"})
	key := string(chat.Address{Channel: "telegram", Chat: "5"}.Session()) + ".broken"
	if _, err := f.table.Create(t.Context(), key, []byte("{"), 0); err != nil {
		t.Fatal(err)
	}
	text := f.list(t, f.ann)
	if !strings.Contains(text, "damaged and are left alone: broken") || !strings.Contains(text, " – one") {
		t.Errorf("the list says %s", text)
	}
	f.change(t, f.ann, "remove broken", desk.Unknown, "no reminder")
	if e, err := f.table.Get(t.Context(), key); err != nil || string(e.Value) != "{" {
		t.Errorf("the entry is %q, %v", e.Value, err)
	}
	boss := f.ann
	boss.Admin = true
	f.change(t, boss, "remove broken", done, "damaged entry broken")
	if text := f.list(t, f.ann); strings.Contains(text, "damaged") {
		t.Errorf("still there: %s", text)
	}
}

// A one-shot that was not delivered stays and says so.
func TestOver(t *testing.T) {
	f := newFixture(t)
	j := f.add(t, f.ann, desk.Ask{Schedule: "in 1 hour", Message: "x"})
	f.change(t, f.ann, "pause "+j.ID, done, "Paused")
	f.now = f.now.Add(2 * time.Hour)
	f.change(t, f.ann, "resume "+j.ID, desk.Wrong, "passed")
	if _, err := f.jobs.Get(t.Context(), j.Addr, j.ID); err != nil || errors.Is(err, cron.ErrNotFound) {
		t.Errorf("the job is gone: %v", err)
	}
}

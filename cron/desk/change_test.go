package desk_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"magpie/chat"
	"magpie/cron"
	"magpie/cron/desk"
)

func (f *fixture) list(t testing.TB, w desk.Who) string {
	t.Helper()
	text, err := f.List(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// change does what is said as "pause 1"; a kind below 0 means that it is done.
func (f *fixture) change(t testing.TB, w desk.Who, said string, kind desk.Kind, want string) {
	t.Helper()
	action, ref, _ := strings.Cut(said, " ")
	text, err := f.Change(t.Context(), w, desk.Action(action), ref)
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
	f.add(t, f.ann, desk.Ask{Schedule: "every 2 hours", Message: "call dad", Mode: "agent"})
	en, cn := f.list(t, f.ann), f.list(t, zh)
	for _, want := range []string{
		"3 in this chat", "1. ⏰ take pills – every day at 09:00 (Asia/Shanghai); next: Tue 2026-11-24 09:00; id: " + pills.ID,
		"2. ⏰ Mum: call mum – Tue 2026-11-24 15:00 (Europe/Berlin); id: " + call.ID, "3. ⚙️ call dad – every 2 hours; next: Mon 2026-11-23 12:30:02 (Asia/Shanghai)",
	} {
		if !strings.Contains(en, want) {
			t.Errorf("the list misses %q:\n%s", want, en)
		}
	}
	if !strings.Contains(cn, "1. ⏰ take pills：每天 09:00（Asia/Shanghai）；下次：2026-11-24 周二 09:00；id: "+pills.ID) {
		t.Errorf("the Chinese list says %s", cn)
	}
	f.change(t, f.ann, "pause 1", done, "paused: ⏰ take pills")
	if !strings.Contains(f.list(t, f.ann), "every day at 09:00 (Asia/Shanghai) (paused)") {
		t.Errorf("the list does not show the pause: %s", f.list(t, f.ann))
	}
	f.change(t, zh, "resume #1", done, "已恢复：⏰ take pills：每天 09:00（Asia/Shanghai）；下次")
	f.change(t, f.ann, "remove call", desk.Unsure, "several")
	f.change(t, f.ann, "remove MUM", done, "removed: ⏰ Mum")
	f.change(t, f.ann, "run dad", done, "delivered now")
	f.change(t, f.ann, "run dad", desk.Wrong, "right now")
	f.change(t, f.ann, "remove 9", desk.Unknown, "no such reminder")
	f.change(t, zh, "remove 爸爸", desk.Unknown, "没有这个提醒")
	f.change(t, f.ann, "remove ", desk.Unsure, "which one")
	f.change(t, f.ann, "remove "+strings.ToUpper(pills.ID), done, "removed: ⏰ take pills")
	if got := f.count(t); got != 1 {
		t.Errorf("%d jobs are left", got)
	}
	// An interval counts from when it was made, whenever it is looked at.
	f.now = f.now.Add(3 * time.Hour)
	if text := f.list(t, f.ann); !strings.Contains(text, "next: Mon 2026-11-23 14:30:02 (Asia/Shanghai)") {
		t.Errorf("three hours later the list says %s", text)
	}
	f.add(t, f.ann, desk.Ask{Schedule: "in 1 hour", Message: "call"})
	f.change(t, f.ann, "pause call", done, "paused: ⏰ call –") // the whole text comes before a part
}

// Only who made a job, or an admin, changes it; another chat does not see it.
func TestOwners(t *testing.T) {
	f := newFixture(t)
	group := f.ann
	group.Addr.Chat, group.Direct = "-100", false
	j := f.add(t, group, desk.Ask{Schedule: "every day at 9am", Message: "stand-up"})
	bob := group
	bob.Sender = chat.Sender{ID: "bob"}
	if text := f.list(t, bob); !strings.Contains(text, "by Ann") {
		t.Errorf("the list does not say who made it: %s", text)
	}
	if text := f.list(t, group); strings.Contains(text, "by Ann") {
		t.Errorf("the list tells Ann of herself: %s", text)
	}
	for _, action := range []desk.Action{desk.Remove, desk.Pause, desk.Resume, desk.Run} {
		f.change(t, bob, string(action)+" "+j.ID, desk.Forbidden, "only who made")
	}
	stranger := bob
	stranger.Home, stranger.Sender.ID = "discord", "ann" // the same id, somewhere else
	f.change(t, stranger, "remove "+j.ID, desk.Forbidden, "only who made")
	f.change(t, f.ann, "remove "+j.ID, desk.Unknown, "no such") // from another chat
	mine := f.add(t, bob, desk.Ask{Schedule: "every day at 9am", Message: "mine"})
	f.change(t, bob, "pause all", done, "paused: 1 of 2")
	f.change(t, bob, "remove 所有", done, "removed: 1 of 2")
	if _, err := f.jobs.Get(t.Context(), mine.Addr, mine.ID); !errors.Is(err, cron.ErrNotFound) {
		t.Errorf("Bob's own is still there: %v", err)
	}
	boss := bob
	boss.Admin = true
	f.change(t, boss, "pause "+j.ID, done, "paused")
	f.change(t, boss, "remove "+j.ID, done, "removed")
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
	for _, c := range []struct {
		receipt chat.Receipt
		en, zh  string
	}{
		{chat.Receipt{Err: "the bot was\nblocked"}, "last: failed 2026-11-23 10:30 (the bot was blocked)", "上次：失败 2026-11-23 10:30（the bot was blocked）"},
		{chat.Receipt{}, "last: delivered 2026-11-23 10:30", "上次：已送达 2026-11-23 10:30"},
	} {
		if err := f.jobs.Report(t.Context(), j.Addr, j.ID, slot, c.receipt); err != nil {
			t.Fatal(err)
		}
		zh := f.ann
		zh.Lang = "zh"
		if en, cn := f.list(t, f.ann), f.list(t, zh); !strings.Contains(en, c.en) || !strings.Contains(cn, c.zh) {
			t.Errorf("want %q and %q:\n%s\n%s", c.en, c.zh, en, cn)
		}
	}
}

// A damaged entry is told of, others are listed, and only an admin removes it.
func TestDamagedEntry(t *testing.T) {
	f := newFixture(t)
	j := f.add(t, f.ann, desk.Ask{Schedule: "in 1 hour", Message: "one"})
	key := string(chat.Address{Channel: "telegram", Chat: "5"}.Session()) + ".broken"
	if _, err := f.table.Create(t.Context(), key, []byte("{"), 0); err != nil {
		t.Fatal(err)
	}
	text := f.list(t, f.ann)
	if !strings.Contains(text, "damaged and are left alone: broken") || !strings.Contains(text, j.ID) {
		t.Errorf("the list says %s", text)
	}
	f.change(t, f.ann, "remove broken", desk.Unknown, "no such")
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
	f.change(t, f.ann, "pause "+j.ID, done, "paused")
	f.now = f.now.Add(2 * time.Hour)
	f.change(t, f.ann, "resume "+j.ID, desk.Wrong, "passed")
	if _, err := f.jobs.Get(t.Context(), j.Addr, j.ID); err != nil || errors.Is(err, cron.ErrNotFound) {
		t.Errorf("the job is gone: %v", err)
	}
}

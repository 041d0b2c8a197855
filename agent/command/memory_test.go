package command_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"magpie/agent/command"
	"magpie/agent/memory"
	"magpie/chat"
)

func TestMemory(t *testing.T) {
	f := newFixture(t)
	wantAll(t, f.say(t, "/memory"), "nothing")
	wantAll(t, f.say(t, "/记忆"), "没有任何记忆")
	joe := memory.Owner{Channel: "telegram", Person: "joe"}
	for _, text := range []string{"likes `tea`", "对花生过敏", strings.Repeat("长", maxLong)} {
		if _, err := f.memory.Add(t.Context(), joe, "Joe, "+memory.Outside, text); err != nil {
			t.Fatal(err)
		}
	}
	all := f.say(t, "/memory list")
	wantAll(t, all, "Notes: 3.", "- **1** (2026-11-21, `Joe, after", "`likes tea`", "- **2**", "`对花生过敏`", "长长…`", "/memory remove 3")
	if strings.Contains(all, strings.Repeat("长", maxLong)) {
		t.Error("a long note is not cut")
	}
	wantAll(t, f.say(t, "/记忆 搜索 过敏"), "找到", "**2**", "花生")
	found := f.say(t, "/memory TEA")
	wantAll(t, found, "**1**")
	if strings.Contains(found, "**2**") {
		t.Errorf("a search shows all:\n%s", found)
	}
	wantAll(t, f.say(t, "/memory find coffee"), "No note has `coffee`")
	wantAll(t, f.say(t, "/memory search"), "What for?")
	wantAll(t, f.say(t, "/memory remove"), "Which one?")
	wantAll(t, f.say(t, "/memory remove tea"), "Which one?")
	wantAll(t, f.say(t, "/memory remove 9"), "no note 9")
	wantAll(t, f.say(t, "/memory remove #1"), "Forgotten: `likes tea`")
	wantAll(t, f.say(t, "/记忆 删除2"), "已忘记：`对花生过敏`")
	if left, err := f.memory.List(t.Context(), joe); err != nil || len(left) != 1 || left[0].N != 3 {
		t.Errorf("left %+v, %v; want the third note", left, err)
	}
	if !strings.Contains(f.say(t, "/help"), "`/memory [search words|remove number]`") {
		t.Error("/help does not know it")
	}
}

// maxLong is longer than what is shown of a note.
const maxLong = 400

// Nobody sees the notes of others: in a group only the group's, which admins
// remove.
func TestMemoryOfOthers(t *testing.T) {
	f := newFixture(t)
	group := memory.Owner{Channel: "telegram", Chat: "5"}
	for o, text := range map[memory.Owner]string{
		{Channel: "telegram", Person: "joe"}: "joe's secret", {Channel: "telegram", Person: "ann"}: "ann's secret",
		{Channel: "telegram", Chat: "6"}: "another group's secret", group: "the group's plan",
	} {
		if _, err := f.memory.Add(t.Context(), o, "", text); err != nil {
			t.Fatal(err)
		}
	}
	inGroup := func(text, from string) chat.Delivery {
		d := f.delivery(text, from, "")
		d.Direct = false
		return d
	}
	for text, d := range map[string]chat.Delivery{
		"joe's secret": f.delivery("/memory", "joe", ""), "ann's secret": f.delivery("/memory search secret", "ann", ""),
		"the group's plan": inGroup("/memory", "joe"),
	} {
		got := f.handle(t, d)
		if !strings.Contains(got, text) || strings.Count(got, "secret")+strings.Count(got, "plan") != 1 {
			t.Errorf("want nothing but %q, got:\n%s", text, got)
		}
	}
	wantAll(t, f.handle(t, inGroup("/memory search secret", "joe")), "No note has")
	wantAll(t, f.handle(t, inGroup("/memory remove 1", "joe")), "only an admin")
	wantAll(t, f.handle(t, inGroup("/memory remove 1", "boss")), "Forgotten: `the group's plan`")
	if all, err := f.memory.List(t.Context(), group); err != nil || len(all) != 0 {
		t.Errorf("left %+v, %v", all, err)
	}
	wantAll(t, f.say(t, "/memory"), "joe's secret") // the number 1 of somebody else is still there
	out, _, err := command.New(command.Ports{Settings: f.store}, nil).Handle(t.Context(), f.delivery("/memory", "joe", ""), f.room)
	if err != nil || !strings.Contains(out.Text, "not available") {
		t.Errorf("without a memory: %q, %v", out.Text, err)
	}
}

// What cannot be read is an error, and nothing is said of it.
func TestMemoryFails(t *testing.T) {
	f := newFixture(t)
	broken := command.New(command.Ports{Settings: f.store, Kept: command.Kept{Memory: brokenMemory{f.memory}}}, nil)
	for _, text := range []string{"/memory", "/memory search x"} {
		if out, ok, err := broken.Handle(t.Context(), f.delivery(text, "joe", ""), f.room); !errors.Is(err, errBroken) || ok {
			t.Errorf("%s: %q, %v", text, out.Text, err)
		}
	}
}

var errBroken = errors.New("the table is gone")

type brokenMemory struct{ *memory.Store }

func (brokenMemory) List(context.Context, memory.Owner) ([]memory.Entry, error) {
	return nil, errBroken
}

func (brokenMemory) Search(context.Context, memory.Owner, memory.Query) ([]memory.Hit, error) {
	return nil, errBroken
}

package command_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"magpie/agent/approval"
	"magpie/agent/buttons"
	"magpie/agent/command"
	"magpie/chat"
	"magpie/internal/kv"
	"magpie/tools"
)

// /approvals lists what waits and what is always allowed, shows a question
// whole, and takes a permission back from who may; /approve ID always gives one.
func TestApprovals(t *testing.T) {
	f := newFixture(t)
	now := func() time.Time { return noon }
	table := &kv.Memory{}
	sent := make(chan chat.Outbound, 10)
	var desk *approval.Desk
	reg := buttons.New(new(kv.Memory), &buttons.Options{Now: now, Actions: map[string]buttons.Action{
		approval.ActionName: func(ctx context.Context, p buttons.Pressed) (buttons.Result, error) { return desk.Action(ctx, p) },
	}})
	desk = approval.New(approval.Options{
		Table: table, Buttons: reg, Now: now,
		Publish: func(_ context.Context, out chat.Outbound) error { sent <- out; return nil },
	})
	f.set = command.New(command.Ports{Settings: f.store, Approvals: desk}, &command.Options{Now: now})
	says := func(text, from, lang string, want ...string) {
		t.Helper()
		got := f.handle(t, f.delivery(text, from, lang))
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s by %s: %q lacks %q", text, from, got, w)
			}
		}
	}
	says("/approvals", "ann", "en", "Nothing waits", "No call is always allowed here")
	says("/审批", "ann", "zh", "没有等待批准", "没有始终允许")
	sc := tools.Scope{Addr: chat.Address{Channel: "telegram", Chat: "5"}, Sender: chat.Sender{ID: "ann"}, CallID: "s:1:0.0", Lang: "en", Zone: time.UTC}
	done := make(chan error, 1)
	go func() {
		done <- desk.Approve(t.Context(), sc, tools.Spec{Name: "exec", Main: "command"}, []byte(`{"command":"make `+"`x`"+` 喜鹊"}`))
	}()
	out := <-sent
	id := out.ID[strings.LastIndex(out.ID, ":")+1:]
	says("/approvals", "ann", "en", "One question waits", id, "exec")
	says("/approvals "+strings.ToLower(id), "eve", "en", "make `x` 喜鹊", id)
	says("/approvals ZZZZZZ", "ann", "zh", "没有这个待批准的请求")
	says("/approve "+id+" always", "eve", "en", "Only the person who asked")
	says("/批准 "+id+" 始终", "ann", "zh", "已允许")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	says("/approve always "+id, "ann", "en", "Allowed")
	says("/approvals", "ann", "en", "1. `exec`", "(ann, 2026-11-21)", "/approvals remove 1")
	says("/approvals remove 2", "ann", "en", "Which one?")
	says("/approvals remove", "ann", "zh", "撤销哪一条")
	says("/approvals remove 1", "eve", "en", "Only who gave")
	says("/审批 删除1", "ann", "zh", "已撤销")
	says("/approvals", "ann", "en", "No call is always allowed here")
}

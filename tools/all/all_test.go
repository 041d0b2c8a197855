package all_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"magpie/agent/memory"
	"magpie/chat"
	"magpie/cron"
	"magpie/cron/desk"
	"magpie/internal/kv"
	"magpie/tools"
	"magpie/tools/all"
	"magpie/tools/fs/fence"
	"magpie/tools/fs/undo"
	"magpie/tools/screenshot"
	"magpie/tools/shell"
	"magpie/tools/shell/sandbox"
	"magpie/tools/system"
	"magpie/tools/web"
	"magpie/tools/web/guard"
)

type outbox struct{}

func (outbox) Publish(context.Context, chat.Outbound) error { return nil }

type spawner struct{}

func (spawner) Spawn(context.Context, tools.Scope, string, string, bool) (tools.Result, error) {
	return tools.Result{Text: "started"}, nil
}

// register makes a registry of all built-in tools.
func register(t testing.TB) (*tools.Registry, all.Deps) {
	t.Helper()
	return registerWith(t, nil)
}

func registerWith(t testing.TB, g *guard.Guard) (*tools.Registry, all.Deps) {
	t.Helper()
	f, err := fence.New(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	edits, err := undo.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(f.Close(), edits.Close()); err != nil {
			t.Error(err)
		}
	})
	deps := all.Deps{Fence: f, Undo: edits, Env: system.NewEnv(new(kv.Memory), nil), Memory: memory.New(new(kv.Memory), nil), Outbox: outbox{}, Later: all.Later{Tasks: spawner{}}}
	jobs, err := cron.NewStore(new(kv.Memory), nil)
	if err != nil {
		t.Fatal(err)
	}
	deps.Jobs = desk.New(jobs, new(kv.Memory))
	if deps.Shell, err = shell.New(shell.Config{Workspace: t.TempDir(), Sandbox: sandbox.Off}, shell.Deps{Fence: f}); err != nil {
		t.Fatal(err)
	}
	deps.Screen = &screenshot.Options{Files: f, Chrome: "/nonexistent/chromium"}
	if g != nil {
		deps.Web, deps.MaxSleep = &web.Options{Guard: g}, time.Millisecond
	}
	reg := &tools.Registry{}
	if err := all.Register(reg, deps); err != nil {
		t.Fatal(err)
	}
	return reg, deps
}

// TOOL-1: every tool has a unique name, a description, a schema of an object, a
// category and an effect.
func TestRegister(t *testing.T) {
	reg, deps := register(t)
	got := map[string]string{}
	for _, s := range reg.List() {
		got[s.Name] = string(s.Category) + " " + string(s.Effect)
		var schema struct{ Type string }
		if err := json.Unmarshal(s.Schema, &schema); err != nil || schema.Type != "object" {
			t.Errorf("%s: schema of type %q, %v; want object", s.Name, schema.Type, err)
		}
		if len(s.Description) < 40 {
			t.Errorf("%s: description %q is too short for a model", s.Name, s.Description)
		}
	}
	want := map[string]string{
		"current_time": "system reads", "sleep": "system reads", "message": "system acts",
		"read_file": "file reads", "list_dir": "file reads", "list_files": "file reads", "write_file": "file writes",
		"edit_file": "file writes", "undo_edit": "file writes", "delete_file": "file writes", "move_file": "file writes",
		"get_file_info": "file reads", "file_search": "file reads",
		"json_parse": "data reads", "json_stringify": "data reads", "base64_encode": "data reads", "base64_decode": "data reads",
		"memory": "system writes", "memory_write": "system writes", "memory_search": "system reads", "memory_read": "system reads",
		"cron": "system acts",
		"exec": "code acts", "screenshot": "network writes",
		"get_env": "system reads", "set_env": "system acts",
		"send_media": "system acts", "spawn": "system reads",
		"web_fetch": "network reads", "web_search": "network reads", "http_get": "network reads",
		"http_post": "network acts", "http_request": "network acts",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	known, err := all.Known()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(reg.List(), known.List(), cmpopts.IgnoreFields(tools.Spec{}, "MaxChars")); d != "" {
		t.Errorf("known are others than there are (-want +got):\n%s", d)
	}
	if err := all.Register(reg, deps); !errors.Is(err, tools.ErrDuplicate) {
		t.Errorf("twice: %v", err)
	}
}

package all_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/chat"
	"magpie/tools"
	"magpie/tools/all"
	"magpie/tools/fs/fence"
)

type outbox struct{}

func (outbox) Publish(context.Context, chat.Outbound) error { return nil }

// TOOL-1: every tool has a unique name, a description, a schema of an object, a
// category and an effect.
func TestRegister(t *testing.T) {
	f, err := fence.New(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	reg := &tools.Registry{}
	if err := all.Register(reg, all.Deps{Fence: f, Outbox: outbox{}}); err != nil {
		t.Fatal(err)
	}
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
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if err := all.Register(reg, all.Deps{Fence: f, Outbox: outbox{}}); !errors.Is(err, tools.ErrDuplicate) {
		t.Errorf("twice: %v", err)
	}
}

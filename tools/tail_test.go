package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/tools"
)

// tailOf shows the end of a log as "tool status".
func tailOf(t *testing.T, dir string, n int) string {
	t.Helper()
	tail, err := tools.TailAudit(t.Context(), dir, n)
	if err != nil || tail.Damaged > 0 {
		t.Fatal(err, tail.Damaged)
	}
	var all []string
	for _, r := range tail.Records {
		all = append(all, r.Tool+" "+r.Status)
	}
	return strings.Join(all, ", ")
}

// TOOL-12: the latest calls, each once, over the borders of days; a call
// without an end is shown by its start.
func TestTailOfTheAudit(t *testing.T) {
	dir := t.TempDir()
	if got := tailOf(t, dir, 5); got != "" {
		t.Errorf("no log: %q", got)
	}
	a := openAudit(t, dir, nil)
	put := func(event tools.AuditEvent, tool, status string) {
		t.Helper()
		if err := a.Append(tools.AuditRecord{Event: event, CallID: "id of " + tool, Tool: tool, Status: status, Arguments: json.RawMessage(`{"名":"喜鹊"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	put(tools.AuditStart, "crashed", "running")
	put(tools.AuditStart, "first", "running")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(logFile(t, dir), filepath.Join(dir, "2020-01-02.jsonl")); err != nil {
		t.Fatal(err)
	}
	a = openAudit(t, dir, nil)
	put(tools.AuditEnd, "first", "ok")
	put(tools.AuditStart, "second", "running")
	put(tools.AuditStart, "third", "running")
	put(tools.AuditEnd, "third", "timeout")
	put(tools.AuditEnd, "second", "ok")
	put(tools.AuditStart, "last", "running")
	for n, want := range map[int]string{
		1: "last running", 2: "second ok, last running", 3: "third timeout, second ok, last running",
		5: "crashed running, first ok, third timeout, second ok, last running",
		9: "crashed running, first ok, third timeout, second ok, last running",
	} {
		if got := tailOf(t, dir, n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}

func TestTailOfADamagedAudit(t *testing.T) {
	dir := t.TempDir()
	appendTo(t, openAudit(t, dir, nil), 3)
	rewrite(t, dir, func(raw []byte) []byte {
		return append(bytes.Replace(raw, []byte("tool1"), []byte("tool9"), 1), "half a li"...)
	})
	tail, err := tools.TailAudit(t.Context(), dir, 3)
	if err != nil || tail.Damaged != 1 || len(tail.Records) != 2 || tail.Records[1].Tool != "tool2" {
		t.Errorf("%+v, %v", tail, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := tools.TailAudit(ctx, dir, 3); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

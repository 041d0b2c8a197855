package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"magpie/chat"
	"magpie/internal/kv"
	"magpie/tools"
)

func openAudit(t *testing.T, dir string, table kv.Table) *tools.Audit {
	t.Helper()
	a, err := tools.OpenAudit(t.Context(), dir, table)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() }) // some tests have closed it
	return a
}

func appendTo(t *testing.T, a *tools.Audit, n int) {
	t.Helper()
	for i := range n {
		if err := a.Append(tools.AuditRecord{Event: tools.AuditEnd, Tool: fmt.Sprint("tool", i), Arguments: json.RawMessage(`{}`)}); err != nil {
			t.Fatal(err)
		}
	}
}

// problems verifies and wants every word in the problems, none without words.
func problems(t *testing.T, dir string, table kv.Table, words ...string) tools.AuditReport {
	t.Helper()
	rep, err := tools.VerifyAudit(t.Context(), dir, table)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(rep.Problems, "\n")
	for _, w := range words {
		if !strings.Contains(all, w) {
			t.Errorf("want %q in problems:\n%s", w, all)
		}
	}
	if len(words) == 0 && len(rep.Problems) > 0 {
		t.Errorf("a whole log has problems:\n%s", all)
	}
	return rep
}

func logFile(t *testing.T, dir string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no log: %v", err)
	}
	return found[len(found)-1]
}

// rewrite changes the newest file of the log.
func rewrite(t *testing.T, dir string, change func([]byte) []byte) {
	t.Helper()
	name := logFile(t, dir)
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, change(raw), 0o600); err != nil {
		t.Fatal(err)
	}
}

// fetcher is an audited executor with one tool.
func fetcher(t *testing.T, log *tools.Audit) *tools.Executor {
	t.Helper()
	reg := &tools.Registry{}
	spec := tools.Spec{Name: "fetch", Description: "Fetches an address.", Category: tools.Network, Effect: tools.Acts, Main: "url"}
	if err := reg.Register(tools.New(spec, func(_ context.Context, _ tools.Scope, in struct {
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers,omitempty"`
	},
	) (tools.Result, error) {
		if in.URL == "bad" {
			return tools.Result{}, tools.Errorf(tools.NotFound, "no such host")
		}
		return tools.Result{Text: "body with sk-secret-1 " + strings.Repeat("字", 5000)}, nil
	})); err != nil {
		t.Fatal(err)
	}
	return tools.NewExecutor(reg, &tools.Options{Audit: log, Redact: tools.NewRedactor([]chat.Secret{"sk-secret-1"})})
}

// TOOL-12: start and end of a call, all fields, secrets hidden.
func TestCallsAreAudited(t *testing.T) {
	dir, table := t.TempDir(), &kv.Memory{}
	e := fetcher(t, openAudit(t, dir, table))
	run(t, e, "fetch", `{"url":"https://a","headers":{"Authorization":"Bearer sk-secret-1"}}`)
	run(t, e, "fetch", `{"url":"bad"}`)
	run(t, e, "none", `{"x":`)

	raw, err := os.ReadFile(logFile(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "sk-secret") {
		t.Errorf("a secret is in the log:\n%s", raw)
	}
	var got []tools.AuditRecord
	for line := range bytes.Lines(raw) {
		var r tools.AuditRecord
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		if time.Since(r.Timestamp) > time.Hour || r.DurationMS < 0 || len([]rune(r.Result)) > 1001 {
			t.Errorf("record %s", line)
		}
		r.Result, _, _ = strings.Cut(r.Result, " 字")
		got = append(got, r)
	}
	record := func(ev tools.AuditEvent, tool, args, status, result string) tools.AuditRecord {
		return tools.AuditRecord{
			Event: ev, CallID: "call-1", Tool: tool, Arguments: json.RawMessage(args), Session: scope("1").Addr.Session(),
			Channel: "test", Sender: "sender-1", Status: status, Result: result,
		}
	}
	const args = `{"headers":{"Authorization":"[hidden: 18 characters]"},"url":"https://a"}`
	want := []tools.AuditRecord{
		record(tools.AuditStart, "fetch", args, "running", ""),
		record(tools.AuditEnd, "fetch", args, "ok", "body with ***"),
		record(tools.AuditStart, "fetch", `{"url":"bad"}`, "running", ""),
		record(tools.AuditEnd, "fetch", `{"url":"bad"}`, "not_found", "error (not_found): no such host"),
		record(tools.AuditStart, "none", `"{\"x\":"`, "running", ""),
		record(tools.AuditEnd, "none", `"{\"x\":"`, "not_found", `error (not_found): there is no tool "none"; there are: fetch`),
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(tools.AuditRecord{}, "AuditLink", "Timestamp", "DurationMS")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if rep := problems(t, dir, table); rep.Records != 6 || rep.Files != 1 {
		t.Errorf("report %+v", rep)
	}
	if info, err := os.Stat(logFile(t, dir)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestChangesAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		change func([]byte) []byte
		want   string
	}{
		"changed": {func(b []byte) []byte { return bytes.Replace(b, []byte(`"tool3"`), []byte(`"tool9"`), 1) }, ".jsonl:4: the record was changed"},
		"missing": {func(b []byte) []byte {
			lines := bytes.SplitAfter(b, []byte("\n"))
			return bytes.Join(append(lines[:4:4], lines[5:]...), nil)
		}, "record 6 follows record 4: some are missing"},
		"first ones missing": {func(b []byte) []byte { return bytes.Join(bytes.SplitAfter(b, []byte("\n"))[2:], nil) }, "record 3 follows record 0"},
		"cut off":            {func(b []byte) []byte { return bytes.Join(bytes.SplitAfter(b, []byte("\n"))[:7], nil) }, "ends at record 7, but 10 had been written"},
		"swapped": {func(b []byte) []byte {
			lines := bytes.SplitAfter(b, []byte("\n"))
			lines[1], lines[2] = lines[2], lines[1]
			return bytes.Join(lines, nil)
		}, "record 3 follows record 1"},
		"foreign line": {func(b []byte) []byte { return append([]byte("hello\n"), b...) }, ".jsonl:1: no audit record"},
		"empty":        {func([]byte) []byte { return nil }, "ends at record 0, but 10"},
		"hash removed": {func(b []byte) []byte { return bytes.Replace(b, []byte(`,"hash":`), []byte(`,"hsah":`), 1) }, ".jsonl:1: no audit record with a hash"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, table := t.TempDir(), &kv.Memory{}
			a := openAudit(t, dir, table)
			appendTo(t, a, 10)
			problems(t, dir, table)
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			rewrite(t, dir, c.change)
			problems(t, dir, table, c.want)
		})
	}
}

// A log that was cut off stays wrong when the bot goes on with it.
func TestACutIsNotHealedByGoingOn(t *testing.T) {
	dir, table := t.TempDir(), &kv.Memory{}
	a := openAudit(t, dir, table)
	appendTo(t, a, 10)
	rewrite(t, dir, func(b []byte) []byte { return bytes.Join(bytes.SplitAfter(b, []byte("\n"))[:7], nil) })
	appendTo(t, a, 1) // the same process
	problems(t, dir, table, "record 11 follows record 7")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	rewrite(t, dir, func(b []byte) []byte { return bytes.Join(bytes.SplitAfter(b, []byte("\n"))[:7], nil) })
	appendTo(t, openAudit(t, dir, table), 5) // the next one
	problems(t, dir, table, "record 12 follows record 7")
}

func TestAWholeNewLogIsNotThisOne(t *testing.T) {
	dir, table := t.TempDir(), &kv.Memory{}
	a := openAudit(t, dir, table)
	appendTo(t, a, 3)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	problems(t, other, table, "there is no log here, but the store knows of one")
	appendTo(t, openAudit(t, other, table), 1)
	if rep := problems(t, other, table); len(rep.Others) != 1 {
		t.Errorf("the other chain is not named: %+v", rep)
	}
	name := logFile(t, dir)
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	problems(t, dir, table, "ends at record 0, but 3 had been written")
}

func TestAuditGoesOnOverRestartsAndDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, table := t.TempDir(), &kv.Memory{}
		for range 3 {
			a := openAudit(t, dir, table)
			appendTo(t, a, 2)
			<-time.After(24 * time.Hour)
			appendTo(t, a, 1)
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if rep := problems(t, dir, table); rep.Records != 9 || rep.Files != 4 {
			t.Errorf("report %+v", rep)
		}
	})
}

// A crash in the middle of a line is no tampering.
func TestAHalfLineIsTakenAway(t *testing.T) {
	dir, table := t.TempDir(), &kv.Memory{}
	a := openAudit(t, dir, table)
	appendTo(t, a, 3)
	rewrite(t, dir, func(b []byte) []byte { return append(b, `{"seq":4,"prev":"ab`...) })
	problems(t, dir, table)
	appendTo(t, a, 1)
	appendTo(t, openAudit(t, dir, table), 1)
	if rep := problems(t, dir, table); rep.Records != 5 {
		t.Errorf("report %+v", rep)
	}
}

func TestADamagedEndIsSaid(t *testing.T) {
	dir, table := t.TempDir(), &kv.Memory{}
	a := openAudit(t, dir, table)
	appendTo(t, a, 3)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	rewrite(t, dir, func(b []byte) []byte { return append(b, "garbage\n"...) })
	if _, err := tools.OpenAudit(t.Context(), dir, table); err == nil || !strings.Contains(err.Error(), "move the folder away") {
		t.Errorf("open: %v", err)
	}
}

// Two processes may write to one log.
func TestTwoWritersShareAChain(t *testing.T) {
	dir, table := t.TempDir(), &kv.Memory{}
	a, b := openAudit(t, dir, table), openAudit(t, dir, table)
	var all sync.WaitGroup
	for _, log := range []*tools.Audit{a, a, b, b} {
		all.Go(func() {
			for range 25 {
				if err := log.Append(tools.AuditRecord{Event: tools.AuditEnd, Arguments: json.RawMessage(`{}`)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if rep := problems(t, dir, table); rep.Records != 100 {
		t.Errorf("report %+v", rep)
	}
}

func TestAuditInAPlaceThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tools.OpenAudit(t.Context(), file, nil); err == nil {
		t.Error("a file was taken for a folder")
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	dir := t.TempDir()
	appendTo(t, openAudit(t, dir, nil), 1)
	if _, err := tools.VerifyAudit(ctx, dir, &kv.Memory{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func BenchmarkAudit(b *testing.B) {
	a, err := tools.OpenAudit(b.Context(), b.TempDir(), &kv.Memory{})
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	for b.Loop() {
		if err := a.Append(tools.AuditRecord{Event: tools.AuditEnd, Arguments: json.RawMessage(`{"path":"a"}`)}); err != nil {
			b.Fatal(err)
		}
	}
}

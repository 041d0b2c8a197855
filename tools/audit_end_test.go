package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"magpie/chat"
	"magpie/internal/kv"
	"magpie/tools"
)

// deaf is a table that does not answer until it hears.
type deaf struct {
	kv.Memory
	hears atomic.Bool
}

func (d *deaf) Update(ctx context.Context, key string, value []byte, rev uint64, ttl time.Duration) (uint64, error) {
	if d.hears.Load() {
		return d.Memory.Update(ctx, key, value, rev, ttl)
	}
	<-ctx.Done()
	return 0, ctx.Err()
}

// A bus that is away delays no call and stops none; it is told of later, and
// the end is stored when it is back.
func TestAuditWithoutItsTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, table := t.TempDir(), &deaf{}
		log := openAudit(t, dir, table)
		e := with(t, &tools.Options{Audit: log}, tools.Spec{},
			func(context.Context, tools.Scope) (tools.Result, error) { return tools.Result{Text: "ok"}, nil })
		start := time.Now()
		if res := run(t, e, "t", ""); !res.OK || time.Since(start) > 0 {
			t.Errorf("%+v after %s", res, time.Since(start))
		}
		<-time.After(time.Minute)
		problems(t, dir, &kv.Memory{})
		if err := log.Append(tools.AuditRecord{Event: tools.AuditEnd, Arguments: json.RawMessage(`{}`)}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the next record says %v", err)
		}
		table.hears.Store(true)
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		problems(t, dir, &table.Memory)
		rewrite(t, dir, func(b []byte) []byte { return bytes.Join(bytes.SplitAfter(b, []byte("\n"))[:2], nil) })
		problems(t, dir, &table.Memory, "ends at record 2, but 3 had been written")
	})
	a := openAudit(t, t.TempDir(), nil)
	appendTo(t, a, 1)
}

// ends is a table that looks into the log when it is told of an end.
type ends struct {
	kv.Memory
	t   *testing.T
	dir string
	n   atomic.Int64
}

func (e *ends) Update(ctx context.Context, key string, value []byte, rev uint64, ttl time.Duration) (uint64, error) {
	e.n.Add(1)
	var end struct{ Hash string }
	log, err := os.ReadFile(logFile(e.t, e.dir))
	if err = errors.Join(err, json.Unmarshal(value, &end)); err != nil || !bytes.Contains(log, []byte(end.Hash)) {
		e.t.Errorf("told of %s, which is not in the log: %v", value, err)
	}
	return e.Memory.Update(ctx, key, value, rev, ttl)
}

// The end follows the records, at most ten times a second, and soon.
func TestTheEndFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		table := &ends{t: t, dir: dir}
		a := openAudit(t, dir, table)
		for range 30 {
			appendTo(t, a, 10)
			<-time.After(10 * time.Millisecond)
		}
		synctest.Wait()
		if n := table.n.Load(); n < 2 || n > 4 {
			t.Errorf("stored %d times in 300 ms, want 3", n)
		}
		<-time.After(time.Second)
		rewrite(t, dir, func(b []byte) []byte { return bytes.Join(bytes.SplitAfter(b, []byte("\n"))[:299], nil) })
		problems(t, dir, table, "ends at record 299, but 300 had been written")
	})
}

// What Append has returned of is in the file: a killed process loses none, and
// a start stands there before its tool runs.
func TestRecordsAreWrittenAtOnce(t *testing.T) {
	dir := t.TempDir()
	log := openAudit(t, dir, nil)
	lines := func() int {
		raw, err := os.ReadFile(logFile(t, dir))
		if err != nil {
			t.Error(err)
		}
		return bytes.Count(raw, []byte("\n"))
	}
	e := with(t, &tools.Options{Audit: log}, tools.Spec{}, func(context.Context, tools.Scope) (tools.Result, error) {
		return tools.Result{Text: fmt.Sprint(lines())}, nil
	})
	for i := range 3 {
		if res := run(t, e, "t", ""); res.Text != fmt.Sprint(2*i+1) || lines() != 2*i+2 {
			t.Errorf("call %d saw %s lines, and left %d", i, res.Text, lines())
		}
	}
}

// Every record is JSON that says the same when it is read.
func TestRecordsReadTheSame(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~]*`), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	dir := t.TempDir()
	a := openAudit(t, dir, nil)
	rapid.Check(t, func(t *rapid.T) {
		args, err := json.Marshal(text.Draw(t, "args"))
		if err != nil {
			t.Fatal(err)
		}
		want := tools.AuditRecord{
			AuditFrame: tools.AuditFrame{Setting: text.Draw(t, "setting"), Approval: args},
			Event:      tools.AuditEnd, CallID: text.Draw(t, "call"), Tool: text.Draw(t, "tool"), Arguments: args,
			Session: chat.SessionKey(text.Draw(t, "session")), Channel: text.Draw(t, "channel"), Sender: text.Draw(t, "sender"),
			Timestamp:  time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "s"), rapid.Int64Range(0, 1e9-1).Draw(t, "ns")).UTC(),
			Status:     text.Draw(t, "status"),
			DurationMS: float64(rapid.Int64Range(0, 1<<50).Draw(t, "µs")) / 1000, Result: text.Draw(t, "result"),
		}
		if err := a.Append(want); err != nil {
			t.Fatal(err)
		}
		tail, err := tools.TailAudit(context.Background(), dir, 1)
		if err != nil || len(tail.Records) != 1 || tail.Damaged > 0 {
			t.Fatalf("%+v, %v", tail, err)
		}
		for _, s := range []*string{&want.CallID, &want.Tool, (*string)(&want.Session), &want.Channel, &want.Sender, &want.Status, &want.Result, &want.Setting} {
			*s = string([]rune(*s)) // as JSON can hold it
		}
		if d := cmp.Diff(want, tail.Records[0], cmpopts.IgnoreFields(tools.AuditRecord{}, "AuditLink")); d != "" {
			t.Fatalf("(-want +got):\n%s", d)
		}
	})
	problems(t, dir, &kv.Memory{})
	for _, args := range []string{"", "{\n}"} {
		if err := a.Append(tools.AuditRecord{Event: tools.AuditEnd, Arguments: json.RawMessage(args)}); err == nil {
			t.Errorf("%q was written", args)
		}
	}
}

// A change of the folder is noticed, also when nothing had changed for long: a
// day that another process has begun, and files that were taken away.
func TestAChangeOfTheFolderIsNoticed(t *testing.T) {
	dir := t.TempDir()
	a := openAudit(t, dir, nil)
	settle := func() {
		t.Helper()
		if err := os.Chtimes(dir, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
		appendTo(t, a, 2)
	}
	appendTo(t, a, 1)
	settle()
	first, later := logFile(t, dir), filepath.Join(dir, "2999-01-01.jsonl")
	b := openAudit(t, dir, nil)
	if err := os.Rename(first, later); err != nil {
		t.Fatal(err)
	}
	appendTo(t, b, 1)
	appendTo(t, a, 1)
	if rep := problems(t, dir, &kv.Memory{}); rep.Files != 1 || rep.Records != 5 {
		t.Errorf("report %+v", rep)
	}
	settle()
	if err := os.Remove(later); err != nil {
		t.Fatal(err)
	}
	appendTo(t, a, 1)
	if rep := problems(t, dir, &kv.Memory{}, "record 8 follows record 0"); rep.Records != 1 {
		t.Errorf("report %+v", rep)
	}
}

// The files are listed again as long as the folder's last change is so young
// that another one may look the same; an older one is trusted, which saves the
// listing.
func TestAYoungChangeOfTheFolderIsNotTrusted(t *testing.T) {
	for age, noticed := range map[time.Duration]bool{0: true, time.Second: true, 2 * time.Second: true, 3 * time.Second: false} {
		t.Run(age.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				a := openAudit(t, dir, nil)
				at := time.Now().Add(-age)
				changed := func() {
					t.Helper()
					if err := os.Chtimes(dir, time.Time{}, at); err != nil {
						t.Fatal(err)
					}
				}
				appendTo(t, a, 1)
				changed()
				appendTo(t, a, 1)
				if err := os.Remove(logFile(t, dir)); err != nil {
					t.Fatal(err)
				}
				changed() // at the same time, as far as the file system tells
				appendTo(t, a, 1)
				found, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
				if err != nil || len(found) == 1 != noticed {
					t.Errorf("files %v, %v; the missing one is to be noticed: %t", found, err, noticed)
				}
			})
		})
	}
}

package tools

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"magpie/chat"
	"magpie/internal/kv"
)

// benchIn has what makes arguments dear: an alias, casts, bounds, nesting.
type benchIn struct {
	Path  string `json:"path" rule:"minlen=1,maxlen=4096"`
	Count int    `json:"line_count,omitempty" rule:"min=1,max=100,default=20"`
	Mode  string `json:"mode,omitempty" rule:"enum=text|html,default=text"`
	Meta  struct {
		Flags []string `json:"flags,omitempty" rule:"maxitems=8"`
		Level int      `json:"level" rule:"max=9"`
	} `json:"meta"`
}

const (
	benchGood = `{"file_path":"notes/today.md","lineCount":"7","meta":{"level":1,"flags":["x","y"]}}`
	benchBad  = `{"file_path":"","lineCount":"seven","mode":"pdf","meta":{"level":"high","flags":[1,2]},"more":true}`
)

func benchExecutor(b *testing.B, o *Options) *Executor {
	b.Helper()
	reg := &Registry{}
	spec := Spec{Name: "t", Description: "Does nothing.", Category: System, Effect: Acts, Aliases: map[string]string{"file_path": "path"}}
	if err := reg.Register(New(spec, func(context.Context, Scope, benchIn) (Result, error) { return Result{Text: "ok"}, nil })); err != nil {
		b.Fatal(err)
	}
	return NewExecutor(reg, o)
}

// BenchmarkRun is a call of a tool that does nothing: the tool alone, which has
// its arguments to decode, by the executor, and with the audit log, whose end is
// kept in memory here. What the executor adds is the difference.
func BenchmarkRun(b *testing.B) {
	b.Run("tool", func(b *testing.B) {
		tool, _ := benchExecutor(b, nil).Fixed().reg.Get("t")
		args := []byte(`{"path":"notes/today.md","line_count":7,"meta":{"level":1,"flags":["x","y"]}}`)
		b.ReportAllocs()
		defer cpuTime(b)()
		for b.Loop() {
			if _, err := tool.Call(b.Context(), Scope{CallID: "c"}, args); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, name := range []string{"plain", "audited"} {
		o := &Options{}
		if name == "audited" {
			o.Audit = benchAudit(b)
		}
		b.Run(name, func(b *testing.B) {
			e := benchExecutor(b, o)
			b.ReportAllocs()
			defer cpuTime(b)()
			for b.Loop() {
				if res := e.Run(b.Context(), Scope{CallID: "c"}, "t", benchGood); !res.OK {
					b.Fatal(res.Text)
				}
			}
		})
	}
}

// benchAudit is a log whose folder has not changed for a while, as it is on all
// days but in the first seconds.
func benchAudit(b *testing.B) *Audit {
	b.Helper()
	dir := b.TempDir()
	a, err := OpenAudit(b.Context(), dir, &kv.Memory{})
	if err == nil {
		err = a.Append(AuditRecord{Event: AuditEnd, Arguments: []byte(`{}`)})
	}
	if err == nil {
		err = os.Chtimes(dir, time.Time{}, time.Now().Add(-time.Hour))
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := a.Close(); err != nil {
			b.Error(err)
		}
	})
	return a
}

// cpuTime reports the processor time of all threads for each round: on a busy
// machine it says more than the time that passed.
func cpuTime(b *testing.B) (stop func()) {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	begun := used()
	return func() { b.ReportMetric(float64(used()-begun)/float64(b.N), "cpu-ns/op") }
}

// BenchmarkArguments is the way of arguments alone: parse, alias, cast and
// validation, of right ones and of ones with six mistakes.
func BenchmarkArguments(b *testing.B) {
	e := benchExecutor(b, nil).Fixed()
	for name, args := range map[string]string{"right": benchGood, "wrong": benchBad} {
		b.Run(name, func(b *testing.B) {
			stage := e.arguments(func(context.Context, *call) (Result, error) { return Result{OK: true}, nil })
			b.ReportAllocs()
			for b.Loop() {
				res, err := stage(b.Context(), &call{name: "t", raw: args, entry: e.reg.entry("t")})
				if right := name == "right"; res.OK != right || (err == nil) != right {
					b.Fatal(res, err)
				}
			}
		})
	}
}

// BenchmarkRedact is a long result in which there is nothing to hide, and one
// with a word that must be looked at.
func BenchmarkRedact(b *testing.B) {
	r := NewRedactor([]chat.Secret{"sk-secret-1"})
	text := strings.Repeat("The magpie = a bird: it collects what shines. ", 350)
	for name, text := range map[string]string{"plain": text, "key": "api_key=x " + text} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r.short(text, auditResultRunes)
			}
		})
	}
}

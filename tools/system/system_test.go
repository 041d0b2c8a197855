package system_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"magpie/tools"
	"magpie/tools/system"
	"magpie/tools/tooltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	tooltest.Run(t, system.CurrentTime(nil), &tooltest.Options{Good: []string{`{"timezone":"Asia/Shanghai"}`, `{}`, ``}})
	tooltest.Run(t, system.Sleep(0), &tooltest.Options{Good: []string{`{"duration":0.01}`, `{"seconds":"0"}`}, Slow: `{"duration":250}`})
}

func executor(t *testing.T, all ...tools.Tool) *tools.Executor {
	t.Helper()
	reg := &tools.Registry{}
	if err := reg.RegisterAll(all...); err != nil {
		t.Fatal(err)
	}
	return tools.NewExecutor(reg, nil)
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestCurrentTime(t *testing.T) {
	at := time.Date(2026, 3, 1, 23, 30, 0, 0, time.UTC)
	e := executor(t, system.CurrentTime(func() time.Time { return at }))
	shanghai := zone(t, "Asia/Shanghai")
	for _, c := range []struct {
		args, want string
		sc         tools.Scope
	}{
		{`{}`, "2026-03-02 07:30:00 Monday (Asia/Shanghai, UTC+08:00)\nISO 8601: 2026-03-02T07:30:00+08:00\nUnix: 1772407800", tools.Scope{Zone: shanghai}},
		{`{}`, "2026-03-02 07:30:00 星期一 (Asia/Shanghai, UTC+08:00)\nISO 8601: 2026-03-02T07:30:00+08:00\nUnix: 1772407800", tools.Scope{Zone: shanghai, Lang: "zh"}},
		{`{"tz":"America/New_York"}`, "2026-03-01 18:30:00 Sunday (America/New_York, UTC-05:00)\nISO 8601: 2026-03-01T18:30:00-05:00\nUnix: 1772407800", tools.Scope{Zone: shanghai}},
		{`{"timezone":"UTC"}`, "2026-03-01 23:30:00 Sunday (UTC, UTC+00:00)\nISO 8601: 2026-03-01T23:30:00Z\nUnix: 1772407800", tools.Scope{}},
	} {
		res := e.Run(t.Context(), c.sc, "current_time", c.args)
		if d := cmp.Diff(c.want, res.Text); d != "" || !res.OK {
			t.Errorf("%s (-want +got):\n%s", c.args, d)
		}
	}
	for _, name := range []string{"Mars/Base", "Local", "../../etc/passwd", "北京", strings.Repeat("x", 5000)} {
		res := e.Run(t.Context(), tools.Scope{}, "current_time", `{"timezone":"`+name+`"}`)
		if res.Err != tools.InvalidArgs || !strings.Contains(res.Text, "want an IANA name such as Asia/Shanghai") {
			t.Errorf("%q: %s %s", name, res.Err, res.Text)
		}
	}
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := executor(t, system.Sleep(time.Minute))
		for args, want := range map[string]time.Duration{`{"duration":0.25}`: 250 * time.Millisecond, `{"duration":60}`: time.Minute, `{"duration":0}`: 0} {
			start := time.Now()
			res := e.Run(t.Context(), tools.Scope{}, "sleep", args)
			if slept := time.Since(start); !res.OK || slept != want {
				t.Errorf("%s: slept %s: %s", args, slept, res.Text)
			}
		}
		for _, args := range []string{`{"duration":60.1}`, `{"duration":-1}`, `{"duration":1e300}`, `{}`} {
			start := time.Now()
			if res := e.Run(t.Context(), tools.Scope{}, "sleep", args); res.Err != tools.InvalidArgs || time.Since(start) != 0 {
				t.Errorf("%s: %s %s after %s", args, res.Err, res.Text, time.Since(start))
			}
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		start := time.Now()
		res := e.Run(ctx, tools.Scope{}, "sleep", `{"duration":50}`)
		if res.OK || res.Err != tools.Failed || time.Since(start) != time.Second {
			t.Errorf("cancelled: %s %s after %s", res.Err, res.Text, time.Since(start))
		}
	})
}

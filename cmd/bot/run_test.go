package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/config"
)

func TestUntilSignal(t *testing.T) {
	broken := errors.New("broken")
	stubborn := func(ctx context.Context, after time.Duration) error {
		<-ctx.Done()
		timer := time.NewTimer(after)
		defer timer.Stop()
		<-timer.C
		return fmt.Errorf("end: %w", context.Canceled)
	}
	for name, c := range map[string]struct {
		fn      func(context.Context) error
		signals int
		want    error
		took    time.Duration
	}{
		"ends by itself":     {func(context.Context) error { return nil }, 0, nil, 0},
		"fails by itself":    {func(context.Context) error { return broken }, 0, broken, 0},
		"ends after signal":  {func(ctx context.Context) error { return stubborn(ctx, time.Second) }, 1, nil, time.Second},
		"fails after signal": {func(ctx context.Context) error { <-ctx.Done(); return broken }, 1, broken, 0},
		"just in time":       {func(ctx context.Context) error { return stubborn(ctx, stopTime-1) }, 1, nil, stopTime - 1},
		"too slow":           {func(ctx context.Context) error { return stubborn(ctx, stopTime+1) }, 1, errHardStop, stopTime},
		"second signal":      {func(ctx context.Context) error { return stubborn(ctx, time.Second) }, 2, errImpatient, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				signals := make(chan os.Signal)
				go func() {
					for range c.signals {
						signals <- syscall.SIGTERM
					}
				}()
				began, ended := time.Now(), make(chan struct{})
				err := untilSignal(t.Context(), signals, func(ctx context.Context) error {
					defer close(ended)
					return c.fn(ctx)
				})
				if !errors.Is(err, c.want) {
					t.Errorf("want %v, got %v", c.want, err)
				}
				if took := time.Since(began); took != c.took {
					t.Errorf("want it to take %s, took %s", c.took, took)
				}
				<-ended // what untilSignal gave up on ends too
			})
		})
	}
}

func TestParseRoles(t *testing.T) {
	got, err := parseRoles([]string{" cron", "agent", "cron"})
	if diff := cmp.Diff([]string{"agent", "cron"}, got); err != nil || diff != "" {
		t.Errorf("roles (-want +got):\n%s %v", diff, err)
	}
	for _, wrong := range [][]string{{}, {""}, {"Agent"}} {
		if _, err := parseRoles(wrong); !errors.Is(err, errUsage) {
			t.Errorf("roles %q: %v", wrong, err)
		}
	}
}

func TestLog(t *testing.T) {
	none := func(string) (string, bool) { return "", false }
	var b bytes.Buffer
	newLog(&b, config.Log{Level: "warn", Format: "json"}, none).Warn("a thing happened", "channel", "telegram")
	var line map[string]any
	if err := json.Unmarshal(b.Bytes(), &line); err != nil || line["msg"] != "a thing happened" || line["channel"] != "telegram" {
		t.Errorf("json: %q %v", b.String(), err)
	}
	b.Reset()
	log := newLog(&b, config.Log{Level: "warn", Format: "text"}, none)
	log.Info("not this")
	log.Error("this 出错", "channel", "telegram")
	if got := b.String(); strings.Contains(got, "not this") || !strings.Contains(got, "ERR this 出错 channel=telegram") || strings.Contains(got, "\x1b") {
		t.Errorf("text: %q", got)
	}
}

// The hint about a model names the command that the person typed, not the place
// where go run has put the program.
func TestTypedAs(t *testing.T) {
	hash := strings.Repeat("0f", 32)
	for path, want := range map[string]string{
		"./bot":                                 "./bot",
		"bot":                                   "bot",
		"/usr/local/bin/bot":                    "/usr/local/bin/bot",
		"/var/t/go-build381/b001/exe/bot":       "go run ./cmd/bot",
		"/home/ada/cache/0f/" + hash + "-d/bot": "go run ./cmd/bot",
		"/home/ada/go-build/0f/" + hash + "-d/bot": "go run ./cmd/bot",
	} {
		if got := typedAs(path); got != want {
			t.Errorf("typedAs(%q) = %q, want %q", path, got, want)
		}
	}
}

// In a log of JSON every line is, also the last error; that of a text log is
// plain.
func TestLogOfTheLastError(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	taken := fmt.Sprintf("web: {listen: '%s'}\n", l.Addr())
	for name, c := range map[string]struct {
		config, args string
		code         int
		want         []string
		plain        bool
	}{
		"a taken port":        {"log: {format: json}\n" + taken, "run", exitFailed, []string{"the port is taken"}, false},
		"a taken port, text":  {taken, "run", exitFailed, []string{"bot: web.listen", "the port is taken"}, true},
		"a configuration":     {"log: {format: json}\ntimezon: x\nwbe: {}\n", "run", exitUsage, []string{"did you mean timezone?", "did you mean web?"}, false},
		"without the command": {"log: {format: json}\ntimezon: x\n", "", exitUsage, []string{"did you mean timezone?"}, false},
		"roles":               {"log: {format: json}\n", "run --roles agent", exitUsage, []string{"needs an external bus"}, false},
		"no YAML":             {"log: {format: json\n", "run", exitUsage, []string{"config.yaml:"}, true},
		"another command":     {"log: {format: json}\n" + taken, "session show", exitUsage, []string{"bot: want"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(c.config), 0o600); err != nil {
				t.Fatal(err)
			}
			code, _, errs := run(t, dir, nil, strings.Fields(c.args)...)
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			for _, want := range c.want {
				if strings.Count(errs, want) != 1 {
					t.Errorf("want %q once in\n%s", want, errs)
				}
			}
			plain := false
			for line := range strings.Lines(errs) {
				plain = plain || !json.Valid([]byte(line))
			}
			if plain != c.plain {
				t.Errorf("plain lines: %v, want %v:\n%s", plain, c.plain, errs)
			}
		})
	}
}

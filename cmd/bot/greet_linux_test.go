package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"magpie/internal/console"
)

// The token stands on a terminal only. Everywhere else the log, in its format
// and without another line between, says where the page and the token are.
func TestTokenIsShownToAPersonOnly(t *testing.T) {
	for name, c := range map[string]struct {
		format, token string
		env           []string
		at, login     string // what the log says
	}{
		"json":         {format: "json", at: "http://127.0.0.1:", login: "data/" + console.TokenFile},
		"text":         {format: "text", at: "http://127.0.0.1:", login: "data/" + console.TokenFile},
		"json, chosen": {format: "json", token: "a-chosen-token-令牌", at: "http://127.0.0.1:", login: "web.token"},
		"in a container": {
			format: "json", token: "a-chosen-token", env: []string{"container=podman"},
			at: "only inside this container", login: "WEB_TOKEN in .env",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, token := greeted(t, c.format, c.token)
			cmd, out := running(t, dir, c.env...)
			if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()); err != nil {
				t.Error(err)
			}
			said := out.String()
			if strings.Contains(said, token()) || strings.Contains(said, "token=") {
				t.Errorf("the token is in the log:\n%s", said)
			}
			if !strings.Contains(said, c.at) || !strings.Contains(said, c.login) {
				t.Errorf("want %q and %q in\n%s", c.at, c.login, said)
			}
			for line := range strings.Lines(said) {
				if c.format == "json" && !json.Valid([]byte(line)) {
					t.Errorf("not JSON: %s", line)
				}
			}
		})
	}
	t.Run("on a terminal", func(t *testing.T) {
		t.Parallel()
		dir, token := greeted(t, "text", "")
		s := onScreen(t, bot(t, dir, nil))
		s.after("Ctrl-C stops it.", 1, "")
		if !strings.Contains(s.Raw(), "/?token="+token()) {
			t.Errorf("no link with the token:\n%s", s.Raw())
		}
	})
}

// greeted prepares a bot; token is what it will have.
func greeted(t *testing.T, format, chosen string) (dir string, token func() string) {
	t.Helper()
	dir = t.TempDir()
	text := fmt.Sprintf("web: {listen: '%s', token: '%s'}\nlog: {level: debug, format: %s}\n", freeAddress(t), chosen, format)
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, func() string {
		if chosen != "" {
			return chosen
		}
		made, err := os.ReadFile(filepath.Join(dir, "data", console.TokenFile))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(made))
	}
}

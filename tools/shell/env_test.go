package shell_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"magpie/chat"
	"magpie/tools"
	"magpie/tools/fs/fence"
	"magpie/tools/shell"
)

// A command sees nothing of the bot's environment but what is meant for it.
func TestEnvironment(t *testing.T) {
	bot := map[string]string{
		"OPENAI_API_KEY": "sk-secret-1", "TELEGRAM_BOT_TOKEN": "123:abc", "LD_PRELOAD": "/x.so", "BASH_ENV": "/x", "HOME": "/root", "LANG": "zh_CN.UTF-8",
		"PATH": "/root/bin:relative:/usr/bin:/bin", "MY_SETTING": "yes", "SHELL": "/bin/bash", "SSH_AUTH_SOCK": "/run/x", "XDG_RUNTIME_DIR": "/run/user/0",
	}
	lookup := func(name string) (string, bool) { v, ok := bot[name]; return v, ok }
	session := func(sc tools.Scope) map[string]string {
		return map[string]string{"CHAT": sc.Addr.Chat, "MY_SETTING": "other for " + sc.Addr.Chat, "": "x", "A=B": "x", "PWD": "/x", "TMPDIR": "/x"}
	}
	r := build(t, shell.Config{Env: []string{"MY_SETTING", "NOT_SET"}, Secrets: []chat.Secret{"sk-secret-1", ""}}, shell.Deps{Lookup: lookup, Session: session})
	res := r.exec.Run(t.Context(), tools.Scope{Addr: chat.Address{Chat: "群"}}, "exec", `{"command":"/usr/bin/env"}`)
	got := map[string]string{}
	_, out, _ := strings.Cut(res.Text, "stdout:\n")
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		got[name] = value
	}
	real, err := filepath.EvalSymlinks(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"CHAT": "群", "MY_SETTING": "other for 群", "HOME": real + "/.home", "PWD": real, "LANG": "zh_CN.UTF-8", "TERM": "dumb", "CI": "1", "PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "EDITOR": "false", "SHELL": "/bin/bash",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	for _, name := range []string{"OPENAI_API_KEY", "TELEGRAM_BOT_TOKEN", "LD_PRELOAD", "BASH_ENV", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR", "MAGPIE_SANDBOX_HELPER", "NOT_SET", ""} {
		if v, ok := got[name]; ok {
			t.Errorf("%s=%s is seen", name, v)
		}
	}
	if p := got["PATH"]; !strings.HasPrefix(p, "/usr/bin:/bin") || strings.Contains(p, "relative") || strings.Contains(p, "/root") {
		t.Errorf("PATH=%s", p)
	}
	if d := got["TMPDIR"]; d == "" || d == "/x" {
		t.Errorf("TMPDIR=%s", d)
	} else if _, err := os.Stat(d); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("TMPDIR is still there: %v", err)
	}
	bot["MY_SETTING"] = "Bearer sk-secret-1"
	if _, err := shell.New(shell.Config{Workspace: r.dir, Env: []string{"MY_SETTING"}, Secrets: []chat.Secret{"sk-secret-1"}}, shell.Deps{Fence: r.fence, Lookup: lookup}); err == nil ||
		!strings.Contains(err.Error(), "MY_SETTING") || strings.Contains(err.Error(), "sk-secret") {
		t.Errorf("a key may be passed on: %v", err)
	}
}

// A long command tells the chat what it does.
func TestProgress(t *testing.T) {
	var mu sync.Mutex
	var lines []string
	var dir string
	tell := func(sc tools.Scope, line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, sc.Addr.Chat+" "+line)
		if strings.Contains(line, "compiling 3") {
			// Each command waits for a file of its own: a late line of one must not end the next.
			if err := os.WriteFile(filepath.Join(dir, "go-"+sc.Lang), nil, 0o600); err != nil {
				t.Error(err)
			}
		}
	}
	r := build(t, shell.Config{}, shell.Deps{Progress: tell, ProgressEvery: time.Millisecond})
	mu.Lock()
	dir = r.dir
	mu.Unlock()
	for lang, want := range map[string]string{"en": "7 exec: running for 0s: compiling 3", "zh": "7 exec：已运行 0s：compiling 3"} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		res := r.exec.Run(ctx, tools.Scope{Addr: chat.Address{Chat: "7"}, Lang: lang}, "exec", `{"command":"printf 'one\\n\\033compiling 3\\n\\n'; until [ -e go-`+lang+` ]; do sleep 0.01; done"}`)
		cancel()
		mu.Lock()
		if all := strings.Join(lines, "\n"); !res.OK || !strings.Contains(all, want[:strings.Index(want, "0s")]) || !strings.Contains(all, "compiling 3") {
			t.Errorf("%s: %s\n%s", lang, res.Text, all)
		}
		lines = nil
		mu.Unlock()
	}
}

// No arguments break the tool.
func FuzzArguments(f *testing.F) {
	f.Add(`{"command":"echo hi"}`)
	f.Add(`{"command":"echo","timeout":1e308,"working_dir":"\u0000"}`)
	f.Add(`{"cmd":7,"timeoutMs":"x"}`)
	f.Add(`{"command":"$(","working_dir":"//"}`)
	dir := f.TempDir()
	fc, err := fence.New(dir, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { fc.Close() })
	// Nothing runs: only what the patterns allow would, and they allow nothing.
	s, err := shell.New(shell.Config{Workspace: dir, Rules: shell.Rules{AllowOnly: true, Allow: []string{`\z.`}}}, shell.Deps{Fence: fc})
	if err != nil {
		f.Fatal(err)
	}
	reg := &tools.Registry{}
	if err := reg.Register(s.Tool()); err != nil {
		f.Fatal(err)
	}
	exec := tools.NewExecutor(reg, nil)
	f.Fuzz(func(t *testing.T, args string) {
		res := exec.Run(t.Context(), tools.Scope{}, "exec", args)
		if strings.Contains(res.Text, "broke down") {
			t.Errorf("%q: %s", args, res.Text)
		}
	})
}

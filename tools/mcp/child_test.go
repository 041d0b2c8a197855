package mcp_test

import (
	"bufio"
	"context"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"magpie/internal/need"
	"magpie/tools"
	"magpie/tools/mcp"
)

// script is a server that is a shell script.
func script(name, text string) mcp.Server {
	return mcp.Server{Name: name, Command: "/bin/sh", Args: []string{"-c", text}}
}

// once tries servers and returns their troubles.
func once(t *testing.T, dir string, servers ...mcp.Server) []string {
	t.Helper()
	var all []string
	for _, s := range mcp.New(servers, mcp.Options{
		Registry: &tools.Registry{}, Dir: dir,
		Redact: func(s string) string { return strings.ReplaceAll(s, "k3y", "***") },
	}).Test(t.Context()) {
		all = append(all, s.Err)
	}
	return all
}

// A server that ends says why, in one bounded line without secrets and without
// what steers a terminal.
func TestWhyAServerEnds(t *testing.T) {
	for name, c := range map[string]struct{ script, says string }{
		"code":         {`echo "no such table" >&2; exit 3`, "; exit status 3; it wrote: no such table"},
		"code only":    {"exit 0", "; exit status 0"},
		"signal":       {"echo bye >&2; kill -SEGV $$", "; signal: segmentation fault; it wrote: bye"},
		"secret":       {"echo key k3y >&2", "; it wrote: key ***"},
		"torn secret":  {`printf 'key k\0013\033[1my\n' >&2`, "; it wrote: key ***"},
		"colours":      {`printf '\033[31mred\033[0m\tand\007 \342\200\256blue\r\n' >&2`, "; it wrote: red and blue"},
		"no UTF-8":     {`printf '\377\n' >&2`, "; it wrote: \uFFFD"},
		"many lines":   {"seq 100 >&2", "; it wrote: 91 | 92 | 93 | 94 | 95 | 96 | 97 | 98 | 99 | 100"},
		"a long line":  {"head -c 300000 /dev/zero | tr '\\0' x >&2; echo >&2; echo after >&2", "; it wrote: " + strings.Repeat("x", 200) + "… | after"},
		"no line end":  {"printf half >&2", "; it wrote: half"},
		"stack":        {`echo "Error: no port" >&2; for i in $(seq 30); do echo "    at f (a.js:$i)" >&2; done; echo >&2; echo Node >&2`, "; it wrote: Error: no port | Node"},
		"child is out": {"sleep 3600 >/dev/null & echo started >&2; exit 4", "; exit status 4; it wrote: started"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := once(t, t.TempDir(), script("one", c.script))[0]; !strings.HasPrefix(got, "start /bin/sh: ") || !strings.HasSuffix(got, c.says) {
				t.Errorf("got  %q\nwant … %q", got, c.says)
			}
		})
	}
}

// The same of a server that has worked.
func TestWhyAServerCrashed(t *testing.T) {
	w := startIn(t, t.TempDir(), time.Hour, self("a"))
	w.has("mcp_a_crash")
	w.call("mcp_a_crash", `{}`)
	w.until("the crash is seen", func() bool { return !w.States()[0].Connected })
	if got := w.States()[0].Err; !strings.HasSuffix(got, "; exit status 3; it wrote: it is too much for *** and me") {
		t.Errorf("the trouble is %q", got)
	}
}

// Every server has a folder of its own, which nobody else can enter; one that
// cannot have it is the only one without.
func TestWorkingFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data", "mcp")
	for _, name := range []string{"a", "b"} {
		got := once(t, dir, script(name, "pwd >&2"))[0]
		if !strings.HasSuffix(got, "it wrote: "+filepath.Join(dir, name)) {
			t.Errorf("server %s: %q", name, got)
		}
		for _, made := range []string{dir, filepath.Join(dir, name)} {
			if info, err := os.Stat(made); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%s: %v, %v", made, info, err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "c"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got := once(t, dir, script("c", "echo started >&2"), script("a", "echo started >&2"))
	if !strings.HasPrefix(got[0], "start /bin/sh: make its working folder: ") || !strings.HasSuffix(got[1], "it wrote: started") {
		t.Errorf("troubles %q", got)
	}
}

// Folders that root makes belong to the user of the bot.
func TestWorkingFolderMadeByRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		need.Unmet(t, "only root can give a folder away")
	}
	const user = 65532
	dir := t.TempDir()
	if err := os.Chown(dir, user, user); err != nil {
		t.Fatal(err)
	}
	once(t, filepath.Join(dir, "mcp"), script("a", "true"))
	seen := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if st, ok := info.Sys().(*syscall.Stat_t); ok && (st.Uid != user || st.Gid != user) {
			t.Errorf("%s belongs to %d:%d", path, st.Uid, st.Gid)
		}
		seen++
		return err
	})
	if err != nil || seen != 3 {
		t.Errorf("%d folders, %v", seen, err)
	}
}

// beBot is a bot whose server hangs and has a child, as npx has. Both have the
// pipe of the test, which tells their number.
func beBot() {
	dir, err := os.MkdirTemp("", "magpie-mcp-")
	if err != nil {
		panic(err)
	}
	o := mcp.Options{Registry: &tools.Registry{}, Dir: dir}
	s := script("hung", "trap '' TERM; sleep 3600 & echo $$ >&3; wait; sleep 3600")
	if nap := os.Getenv("MAGPIE_TEST_NAP"); nap != "" {
		s, o.Wall = script("hung", "trap '' TERM; sleep "+nap+" & wait; sleep "+nap), auto
	}
	_ = mcp.New([]mcp.Server{s}, o).Run(context.Background())
}

// A bot that is killed leaves no server behind, nor what a server has started.
func TestBotDies(t *testing.T) {
	bot := exec.Command(os.Args[0], "-test.run=^$")
	bot.Env = append(os.Environ(), asServer+"=bot", "TMPDIR="+t.TempDir())
	// The pipe is open until the last process that has it is gone: that is what
	// is waited for.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	bot.ExtraFiles = []*os.File{w}
	if err := bot.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := r.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(r)
	line, err := out.ReadString('\n')
	if killed := bot.Process.Kill(); err != nil || killed != nil {
		t.Fatalf("the server said %q, %v; killing the bot: %v", line, err, killed)
	}
	_ = bot.Wait()
	server, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Errorf("the server still runs: %v", err)
		if group, err := syscall.Getpgid(server); err == nil && group != syscall.Getpgrp() {
			_ = syscall.Kill(-group, syscall.SIGKILL)
		}
	}
}

package mcp_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"magpie/internal/need"
	"magpie/tools/mcp"
	"magpie/tools/shell/sandbox"
)

// behindWall names the variable that has a test's servers started in a sandbox.
const behindWall = "MAGPIE_TEST_BEHIND_WALL"

// wallOf is the sandbox of a test's servers.
func wallOf() *sandbox.Sandbox {
	if os.Getenv(behindWall) == "" {
		return nil
	}
	return auto()
}

var auto = sync.OnceValue(func() *sandbox.Sandbox {
	s, err := sandbox.New(sandbox.Options{})
	if err != nil || s.Report().Kind == sandbox.Off {
		return nil
	}
	return s
})

// walled has the servers of a test started in a sandbox.
func walled(t *testing.T) {
	t.Helper()
	if auto() == nil {
		need.Unmet(t, "no sandbox works here")
	}
	t.Setenv(behindWall, "1")
}

// in runs a script as a server in the sandbox and returns what it wrote before it
// ended.
func in(t *testing.T, dir string, s mcp.Server) string {
	t.Helper()
	return mcp.New([]mcp.Server{s}, mcp.Options{Registry: nil, Dir: dir, Wall: auto}).Test(t.Context())[0].Err
}

// What a started server reaches: its own folder, which is its home, and what
// paths names; nothing else of the bot or of other people, which it is told.
func TestWalledServer(t *testing.T) {
	walled(t)
	top := t.TempDir()
	for _, d := range []string{"data", "docs", "other", "readme"} {
		if err := os.MkdirAll(filepath.Join(top, d), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, d, "a.txt"), []byte("text of "+d), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := script("s", strings.NewReplacer("TOP", top).Replace(`exec >&2
echo "home $HOME in $PWD"
echo x > "$HOME/x" && echo x > "$TMPDIR/x" && echo own
cat TOP/docs/a.txt && echo y > TOP/docs/b.txt && echo changed
cat TOP/other/a.txt || echo kept out
cat TOP/data/a.txt || echo kept out
kill -0 `+fmt.Sprint(os.Getpid())+` || echo no signals`))
	s.Paths = []string{filepath.Join(top, "docs")}
	got := in(t, filepath.Join(top, "data", "mcp"), s)
	home := filepath.Join(top, "data", "mcp", "s")
	for _, want := range []string{"home " + home + " in " + home, "| own |", "text of docs", "changed", "no signals", "tools.mcp_servers.s.paths opens"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	if strings.Count(got, "| kept out") != 2 || strings.Contains(got, "text of other") || strings.Contains(got, "text of data") {
		t.Errorf("got %s", got)
	}
	if raw, err := os.ReadFile(filepath.Join(top, "docs", "b.txt")); err != nil || string(raw) != "y\n" {
		t.Errorf("%q, %v", raw, err)
	}
}

// A path that is not there, or that holds what must stay hidden, is named with
// its key.
func TestPathsOfAServer(t *testing.T) {
	walled(t)
	top := t.TempDir()
	s := script("s", "true")
	s.Paths = []string{filepath.Join(top, "none")}
	if got := in(t, filepath.Join(top, "mcp"), s); !strings.Contains(got, "tools.mcp_servers.s.paths: ") || !strings.Contains(got, "none") {
		t.Errorf("%s", got)
	}
	secret := filepath.Join(top, "config.yaml")
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wall, err := sandbox.New(sandbox.Options{Hidden: []string{secret}})
	if err != nil {
		t.Fatal(err)
	}
	s.Paths = []string{top}
	got := mcp.New([]mcp.Server{s}, mcp.Options{Dir: t.TempDir(), Wall: func() *sandbox.Sandbox { return wall }}).Test(t.Context())[0].Err
	if !strings.Contains(got, secret+" lies in "+top) || !strings.Contains(got, "tools.mcp_servers.s.paths") {
		t.Errorf("%s", got)
	}
}

// sandbox: off is what it was.
func TestBareServer(t *testing.T) {
	walled(t)
	file := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(file, []byte("open"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := script("s", "cat "+file+" >&2")
	if got := in(t, t.TempDir(), s); strings.Contains(got, "it wrote: open") {
		t.Errorf("in the sandbox: %s", got)
	}
	s.Bare = true
	if got := in(t, t.TempDir(), s); !strings.HasSuffix(got, "it wrote: open") {
		t.Errorf("without: %s", got)
	}
}

// A configuration of before says what it needs: arguments that name what the
// sandbox keeps from the server are told, and paths opens them.
func TestNPMFilesystemInTheSandbox(t *testing.T) {
	walled(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "a.txt")
	if err := os.WriteFile(file, []byte("喜鹊 inside"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := mcp.Server{Name: "files", Command: "node", Args: []string{npmServer(t, "filesystem"), dir}}
	w := start(t, s)
	w.has("mcp_files_read_text_file")
	if st := w.States()[0]; len(st.Closed) != 1 || st.Closed[0] != dir {
		t.Errorf("%+v", st)
	}
	args := fmt.Sprintf(`{"path":%q}`, file)
	if res := w.call("mcp_files_read_text_file", args); res.OK || !strings.Contains(res.Text, "tools.mcp_servers.files.paths opens "+dir) {
		t.Errorf("kept out: %+v", res)
	}
	w.stop()
	s.Paths = []string{dir}
	w = start(t, s)
	w.has("mcp_files_read_text_file")
	if res := w.call("mcp_files_read_text_file", args); !res.OK || !strings.Contains(res.Text, "喜鹊 inside") {
		t.Errorf("with paths: %+v", res)
	}
	if res := w.call("mcp_files_write_file", fmt.Sprintf(`{"path":%q,"content":"new"}`, filepath.Join(dir, "b.txt"))); !res.OK {
		t.Errorf("writing: %+v", res)
	}
	if st := w.States()[0]; len(st.Closed) != 0 {
		t.Errorf("%+v", st)
	}
}

func TestNPMEverythingInTheSandbox(t *testing.T) {
	walled(t)
	w := start(t, mcp.Server{Name: "everything", Command: "node", Args: []string{npmServer(t, "everything"), "stdio"}})
	everything(w)
	// What an answer links to can be read, and what is no text is kept.
	link := w.call("mcp_everything_get-resource-links", `{"count":2}`)
	if !link.OK || !strings.Contains(link.Text, "mcp_everything_read_resource reads it") {
		t.Errorf("links: %+v", link)
	}
	text, files := 0, 0
	for _, uri := range regexp.MustCompile(`demo://\S+`).FindAllString(link.Text, -1) {
		res := w.call("mcp_everything_read_resource", fmt.Sprintf(`{"uri":%q}`, strings.TrimRight(uri, "]:")))
		switch {
		case !res.OK:
			t.Errorf("read %s: %+v", uri, res)
		case len(res.Attachments) == 1 && res.Attachments[0].Ref != "":
			files++
		case strings.Contains(res.Text, "resource"):
			text++
		}
	}
	if text == 0 || files == 0 {
		t.Errorf("%d texts and %d files of %s", text, files, link.Text)
	}
	if res := w.call("mcp_everything_read_resource", `{"uri":"demo://no/such"}`); res.OK {
		t.Errorf("%+v", res)
	}
}

// A crash leaves nothing, and the server comes back; a server that hangs and
// what it has started are gone with the bot, also in the sandbox.
func TestWalledCrash(t *testing.T) {
	walled(t)
	s := self("a")
	w := start(t, s)
	w.has("mcp_a_crash")
	w.call("mcp_a_crash", `{}`)
	w.until("it is back", func() bool { return w.call("mcp_a_env", `{}`).OK })
	text := w.call("mcp_a_env", `{}`).Text
	if strings.Contains(text, "k3y-bot") || !strings.Contains(text, "SERVER_KEY=k3y") {
		t.Errorf("%s", text)
	}
}

// A bot that is killed leaves nothing of a server in the sandbox either.
func TestBotDiesWithAWalledServer(t *testing.T) {
	walled(t)
	nap := fmt.Sprintf("4%09d", os.Getpid()) // nobody else sleeps as long
	sleeps := func() bool {
		all, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(all, func(file string) bool {
			raw, _ := os.ReadFile(file) // it may be gone
			return string(raw) == "sleep\x00"+nap+"\x00"
		})
	}
	bot := exec.Command(os.Args[0], "-test.run=^$")
	bot.Env = append(os.Environ(), asServer+"=bot", "MAGPIE_TEST_NAP="+nap, "TMPDIR="+t.TempDir())
	if err := bot.Start(); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, Manager: mcp.New(nil, mcp.Options{})}
	w.until("the server sleeps", sleeps)
	if err := bot.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = bot.Wait()
	w.until("it is gone", func() bool { return !sleeps() })
}

package sandbox_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"magpie/tools/shell/sandbox"
)

// The same wall on kernels whose Landlock knows less: all attacks in a row.
func TestWallOldKernels(t *testing.T) {
	s := place(t, sandbox.Landlock)
	s.meet()
	before := s.state()
	var all strings.Builder
	for i, name := range slices.Sorted(maps.Keys(attacks())) {
		command := strings.ReplaceAll(attacks()[name], "'bot.sock'", "'../bot.sock'")
		command = strings.ReplaceAll(command, "'bot.dgram'", "'../bot.dgram'")
		if err := os.WriteFile(filepath.Join(s.workspace, fmt.Sprintf("attack.%d", i)), []byte(command), 0o600); err != nil {
			t.Fatal(err)
		}
		// Into a file: what an attack leaves running would hold a pipe open.
		fmt.Fprintf(&all, "mkdir a%d; (cd a%d; bash ../attack.%d) >said.%d 2>&1\n", i, i, i, i)
	}
	all.WriteString("grep -a . said.*; rm -rf a[0-9]* said.*\n")
	for _, abi := range []int{1} {
		t.Run(fmt.Sprint(abi), func(t *testing.T) {
			s.sandbox.SetABI(abi)
			if _, said := s.run("kill -CONT -1 && echo to everybody"); strings.Contains(said, "everybody") {
				t.Error("a signal to all processes was let through")
			}
			_, said := s.run(all.String())
			if strings.Contains(said, secret) || strings.Contains(said, "BROKEN") {
				t.Errorf("said:\n%s", told(said))
			}
			if !strings.Contains(said, "said.0:") || !strings.Contains(said, "Permission denied") {
				t.Errorf("the attacks did not run:\n%s", said)
			}
			if after := s.state(); after != before {
				t.Errorf("something outside was changed:\n%s\nbefore:\n%s", after, before)
			}
			s.alive()
		})
	}
}

// told keeps the lines that tell of a way out.
func told(said string) string {
	var bad []string
	for line := range strings.Lines(said) {
		if strings.Contains(line, secret) || strings.Contains(line, "BROKEN") {
			bad = append(bad, line)
		}
	}
	return strings.Join(bad, "")
}

// The end of a command is told as it was.
func TestOutcome(t *testing.T) {
	for _, want := range []sandbox.Kind{sandbox.Landlock, sandbox.Off} {
		t.Run(string(want), func(t *testing.T) {
			s := place(t, want)
			for command, want := range map[string]sandbox.Outcome{
				"true": {}, "exit 3": {Code: 3}, "exit 255": {Code: 255}, "kill -9 $$": {Code: -1, Signal: "killed"},
				"kill -SEGV $$": {Code: -1, Signal: "segmentation fault"}, "no-such-program": {Code: 127}, "sleep 99 & exit 4": {Code: 4},
			} {
				if out, said := s.run(command); out != want {
					t.Errorf("%s: %+v, want %+v; said %s", command, out, want, said)
				}
			}
			for name, c := range map[string]sandbox.Command{
				"no program": {Args: []string{"/no/such/program"}, Dir: s.workspace}, "no folder": {Args: []string{"/bin/true"}, Dir: filepath.Join(s.workspace, "none")},
			} {
				if out, err := s.sandbox.Run(t.Context(), c); err == nil {
					t.Errorf("%s: %+v", name, out)
				}
			}
		})
	}
}

// A folder that a command has closed to itself is removed like others, and its
// output stays what it was.
func TestClosedFolder(t *testing.T) {
	if os.Getuid() == 0 {
		asNobody(t) // root opens every folder
		return
	}
	for _, want := range []sandbox.Kind{sandbox.Landlock, sandbox.Off} {
		t.Run(string(want), func(t *testing.T) {
			s := place(t, want)
			deep := "perl -e 'chdir $ENV{TMPDIR}; for (1..1500) { mkdir \"ddd\", 0755; chdir \"ddd\" } mkdir \"e\"; chmod 0, \"e\"'"
			for _, command := range []string{
				"mkdir -p $TMPDIR/a/b && touch $TMPDIR/a/b/c && chmod 000 $TMPDIR/a/b $TMPDIR/a", "mkdir $TMPDIR/a && touch $TMPDIR/a/x && chmod 500 $TMPDIR/a",
				"mkdir $TMPDIR/moved1 && touch $TMPDIR/moved2 && mkdir -p $TMPDIR/a/moved1/x && chmod 100 $TMPDIR/a/moved1; chmod 0 $TMPDIR",
				"mkdir $TMPDIR/m && cd $TMPDIR/m && seq 5000 | xargs touch && chmod 000 .", "ln -s / $TMPDIR/root && mkdir $TMPDIR/x && chmod 000 $TMPDIR/x", deep,
			} {
				out, said := s.run(command + "; echo said $TMPDIR")
				where, ok := strings.CutPrefix(strings.TrimSpace(said), "said ")
				if _, err := os.Lstat(where); out.Code != 0 || !ok || !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s: %+v, said %s; the folder: %v", command, out, said, err)
				}
			}
		})
	}
}

// asNobody runs the test again as a user without rights.
func asNobody(t *testing.T) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "test")
	raw, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, err := range []error{os.WriteFile(program, raw, 0o755), os.Chmod(dir, 0o777), os.Chmod(filepath.Dir(program), 0o755), os.Chmod(filepath.Dir(filepath.Dir(program)), 0o755)} { //nolint:gosec // everybody is to run it
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()+" (") {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}

// Nothing of a command is left when it ends, however it hides.
func TestNothingLeft(t *testing.T) {
	for _, want := range []sandbox.Kind{sandbox.Landlock, sandbox.Bwrap, sandbox.Off} {
		t.Run(string(want), func(t *testing.T) {
			s := place(t, want)
			mark := fmt.Sprintf("77%06d", os.Getpid())
			for _, command := range []string{
				"sleep " + mark + " &", "setsid sleep " + mark + " &", "(setsid setsid bash -c 'sleep " + mark + " & sleep " + mark + "' &) &",
				"nohup sleep " + mark + " & disown -a", "trap '' TERM HUP INT; sleep " + mark + " &",
				"bash -c 'trap \"\" TERM; while :; do sleep " + mark + "; done' & sleep 0.05", "sleep " + mark + " & kill -STOP $!; kill -9 $$",
			} {
				s.run(command)
				if left := withArg(t, mark); left != "" {
					t.Errorf("%s\nleft %s", command, left)
				}
			}
		})
	}
}

// withArg lists processes with that text among their arguments.
func withArg(t *testing.T, text string) string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err == nil && bytes.Contains(raw, []byte(text)) {
			found = append(found, f+" "+string(raw))
		}
	}
	return strings.Join(found, ", ")
}

// When the call is given up, all of the command ends, and the cause comes back.
func TestCancel(t *testing.T) {
	for _, want := range []sandbox.Kind{sandbox.Landlock, sandbox.Bwrap, sandbox.Off} {
		t.Run(string(want), func(t *testing.T) {
			s := place(t, want)
			mark := fmt.Sprintf("78%06d", os.Getpid())
			ctx, cancel := context.WithCancelCause(t.Context())
			why := errors.New("enough")
			r, w := io.Pipe()
			var wg sync.WaitGroup
			wg.Go(func() {
				line, _ := bufio.NewReader(r).ReadString('\n')
				if line != "ready\n" {
					t.Errorf("the command said %q", line)
				}
				cancel(why)
				_, _ = io.Copy(io.Discard, r)
			})
			_, err := s.sandbox.Run(ctx, sandbox.Command{
				Args: []string{"/bin/bash", "-c", "trap '' TERM INT; (setsid sleep " + mark + " &); setsid sleep " + mark + " & echo ready; sleep " + mark}, Dir: s.workspace, Env: []string{"PATH=/bin:/usr/bin"}, Stdout: w, Stderr: w,
			})
			w.Close()
			wg.Wait()
			cancel(nil)
			if !errors.Is(err, why) {
				t.Errorf("got %v", err)
			}
			if left := withArg(t, mark); left != "" {
				t.Errorf("left %s", left)
			}
			if _, err := s.sandbox.Run(ctx, sandbox.Command{Args: []string{"/bin/true"}, Dir: "/"}); !errors.Is(err, why) {
				t.Errorf("a call that was over before: %v", err)
			}
		})
	}
}

// childVariable makes this test program run a long command and wait.
const childVariable = "MAGPIE_TEST_SANDBOX_CHILD"

func child() {
	s, err := sandbox.New(sandbox.Options{Want: sandbox.Landlock, Write: []string{os.Getenv(childVariable)}})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	mark := fmt.Sprintf("79%06d", os.Getpid())
	_, err = s.Run(context.Background(), sandbox.Command{
		Args: []string{"/bin/bash", "-c", "(setsid sleep " + mark + " &); echo ready; sleep " + mark}, Dir: "/",
		Env: []string{"PATH=/bin:/usr/bin"}, Stdout: os.Stdout, Stderr: os.Stderr,
	})
	fmt.Println(err)
}

// A bot that is killed leaves no command behind.
func TestBotDies(t *testing.T) {
	s := place(t, sandbox.Landlock)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	bot := exec.CommandContext(ctx, os.Args[0])
	bot.Env = append(os.Environ(), childVariable+"="+s.workspace)
	// The command's output is the test's own pipe, which stays open until the
	// last process that has it is gone: that is what is waited for.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	bot.Stdout, bot.Stderr = w, w
	if err := bot.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := r.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(r)
	if line, err := out.ReadString('\n'); line != "ready\n" {
		t.Fatalf("the bot said %q, %v", line, err)
	}
	if err := bot.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = bot.Wait()
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Fatalf("the command still runs: %v", err)
	}
	if left := withArg(t, fmt.Sprintf("79%06d", bot.Process.Pid)); left != "" {
		t.Errorf("left %s", left)
	}
}

// A command cannot take all of the machine.
func TestLimits(t *testing.T) {
	for _, kind := range []sandbox.Kind{sandbox.Landlock, sandbox.Bwrap} {
		t.Run(string(kind), func(t *testing.T) { place(t, kind).limits() })
	}
}

func (s *site) limits() {
	for name, c := range map[string]struct{ command, want string }{
		"fork bomb": {`b() { b | b & }; b 2>/dev/null; sleep 0.2; echo alive`, "alive"},
		"processes": {`/usr/bin/perl -e 'for (1..200) { my $p = fork(); if (!defined $p) { print "bounded\n" if $_ <= 64; exit } if (!$p) { sleep 60; exit } }' `, "bounded"},
		"threads": {`/usr/bin/python3 -c 'import threading,time
try:
  for i in range(200): threading.Thread(target=time.sleep,args=(60,),daemon=True).start()
except RuntimeError: print("bounded",i<64,flush=True)
import os; os._exit(0)'`, "bounded True"},
		"file size": {`head -c 3000000 /dev/zero > big; stat -c %s big`, "1048576"},
		"core":      {`ulimit -c; ulimit -f; ulimit -n; ulimit -t`, "0\n1024\n1024\n20"},
		"memory":    {`/usr/bin/python3 -c 'x=bytearray(5<<30)' 2>&1 | tail -1`, "MemoryError"},
		"open files": {`/usr/bin/python3 -c 'f=[]
try:
  while True: f.append(open("/dev/null"))
except OSError as e: print(len(f)<1024)'`, "True"},
		"afterwards": {`for i in $(seq 100); do /bin/true; done; echo fine`, "fine"},
	} {
		s.t.Run(name, func(t *testing.T) {
			if out, said := s.run(c.command); !strings.Contains(said, c.want) {
				t.Errorf("%s\n%+v, said:\n%s\nwant:\n%s", c.command, out, said, c.want)
			}
		})
	}
}

// Many commands at once do not disturb each other.
func TestAtOnce(t *testing.T) {
	s := place(t, sandbox.Landlock)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 3 {
				out, said := s.run(fmt.Sprintf("echo %d-%d > $TMPDIR/x; chmod 600 $TMPDIR/x; cat $TMPDIR/x; exit %d", i, n, i))
				if out.Code != i || said != fmt.Sprintf("%d-%d\n", i, n) {
					t.Errorf("%d %d: %+v %s", i, n, out, said)
				}
			}
		})
	}
	all.Wait()
}

// What cannot be had is said at once, with what to do.
func TestNew(t *testing.T) {
	s := place(t, sandbox.Auto)
	if kind := s.sandbox.Report().Kind; kind != sandbox.Landlock {
		t.Errorf("auto took %s", kind)
	}
	if text := s.sandbox.Report().Text; !strings.Contains(text, s.workspace) || !strings.Contains(text, "ABI") {
		t.Errorf("report %q", text)
	}
	t.Run("no bwrap", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		_, err := sandbox.New(sandbox.Options{Want: sandbox.Bwrap, Write: []string{s.workspace}})
		if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "bubblewrap") {
			t.Errorf("got %v", err)
		}
	})
	for name, o := range map[string]sandbox.Options{
		"hidden":        {Write: []string{s.dir}, Hidden: []string{filepath.Join(s.dir, "config.yaml")}},
		"hidden itself": {Write: []string{s.workspace}, Hidden: []string{s.workspace}},
		"allowed":       {Write: []string{s.workspace, filepath.Join(s.dir, "data")}, Hidden: []string{filepath.Join(s.dir, "data", "bus")}},
		"system":        {Write: []string{s.workspace}, Hidden: []string{"/usr/bin/env"}},
	} {
		for _, kind := range []sandbox.Kind{sandbox.Auto, sandbox.Landlock, sandbox.Bwrap} {
			o.Want = kind
			if _, err := sandbox.New(o); !errors.Is(err, sandbox.ErrExposed) {
				t.Errorf("%s, %s: got %v", name, kind, err)
			}
		}
	}
	if _, err := sandbox.New(sandbox.Options{Want: sandbox.Off, Write: []string{s.dir}, Hidden: []string{s.dir}}); err != nil {
		t.Errorf("off: %v", err)
	}
	if _, err := sandbox.New(sandbox.Options{Want: "jail", Write: []string{s.workspace}}); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("a kind that there is not: %v", err)
	}
	if _, err := sandbox.New(sandbox.Options{Write: []string{filepath.Join(s.dir, "none")}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}

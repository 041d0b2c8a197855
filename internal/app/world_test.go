package app_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
	"magpie/internal/portlock"
	"magpie/tools/shell/sandbox"
)

// deadline bounds every wait of these tests; none comes near it. No test may
// wait it out.
const deadline = time.Minute

// programDir names the variable with the folder of the built bot.
const programDir = "MAGPIE_TEST_PROGRAM_DIR"

// program is the built bot, the same for all tests.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(os.Getenv(programDir), "bot")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "magpie/cmd/bot")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // static, as it is shipped
	out, err := build.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	if sandbox.Helper() { // of a program that runs in this process
		return
	}
	flag.Parse()
	// These tests wait for programs more than they compute.
	if err := flag.Set("test.parallel", strconv.Itoa(max(4, runtime.GOMAXPROCS(0)))); err != nil {
		panic(err)
	}
	if os.Getenv(programDir) != "" { // a test of another process, see need.OwnNetwork
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("", "magpie-bot-")
	if err != nil {
		panic(err)
	}
	_ = os.Setenv(programDir, dir)
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// world is a fake Telegram, a scripted model and a folder; programs are started
// and killed in it.
type world struct {
	t       testing.TB
	tg      *telegram.Server
	api     string
	model   *modelserver.Server
	dir     string
	natsURL string
	busSync string
	extra   string // more lines of the configuration
	models  string // llm.models; "" = the scripted one
	door    string // the rest of Telegram's section; "" = everybody may come in
	person  int64
	sent    *sends // which life sent what
}

const owner = 1001

func newWorld(t testing.TB, o *telegram.Options) *world {
	t.Helper()
	tg := telegram.New(o)
	sent := &sends{inner: tg.Handler(), forget: o != nil && o.Forget}
	srv := httptest.NewServer(sent)
	t.Cleanup(func() {
		tg.Close()
		srv.CloseClientConnections()
		srv.Close()
	})
	w := &world{t: t, tg: tg, sent: sent, api: srv.URL, model: modelserver.New(t), dir: t.TempDir(), person: owner, busSync: "always"}
	tg.AddPerson(telegram.Person{ID: owner, Name: "Ada", Username: "ada"})
	return w
}

// config writes the configuration of a process and returns its path and where
// its console listens.
func (w *world) config(name string) (path, listen string) {
	w.t.Helper()
	listen = freeAddr(w.t)
	dir := filepath.Join(w.dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		w.t.Fatal(err)
	}
	door := w.door
	if door == "" {
		door = `allow: ["*"], stream: false`
	}
	models := w.models
	if models == "" {
		models = fmt.Sprintf("[{name: main, provider: openai, base_url: %s, api_key: sk-test, model: scripted}]", w.model.OpenAI())
	}
	text := fmt.Sprintf(`data_dir: %s
log: {level: info}
bus: {url: %q, sync: %s}
llm: {models: %s}
channels:
  telegram: {token: %q, api_base: %s, rate: "off", %s}
security: {rate_limit: {per_sender: ""}}
web: {listen: %q}
%s
`, dir, w.natsURL, w.busSync, models, w.tg.Token(), w.api+w.sent.born(), door, listen, w.extra)
	path = filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path, listen
}

func freeAddr(t testing.TB) string { return portlock.Free(t) }

// bot is a running program.
type bot struct {
	t      testing.TB
	cmd    *exec.Cmd
	listen string
	log    *safeBuffer
	ended  chan error
}

// safeBuffer keeps the end of what a process says.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.buf.Len() > 1<<20 {
		b.buf.Next(1 << 19)
	}
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// start runs the program on the configuration named name; the same name is the
// same data.
func (w *world) start(name string, args ...string) *bot {
	w.t.Helper()
	path, listen := w.config(name)
	return w.startWith(path, listen, args...)
}

func (w *world) startWith(path, listen string, args ...string) *bot {
	w.t.Helper()
	args = append([]string{"run", "--config", path}, args...)
	b := launch(w.t, filepath.Dir(path), nil, args...)
	b.listen = listen
	return b
}

// launch runs the program in a folder that is its home too, with nothing but
// PATH and env around it.
func launch(t testing.TB, dir string, env []string, args ...string) *bot {
	t.Helper()
	return launchFed(t, dir, env, nil, args...)
}

// launchFed is launch with a standard input, which is a pipe.
func launchFed(t testing.TB, dir string, env []string, stdin io.Reader, args ...string) *bot {
	t.Helper()
	return launchBy(t, nil, dir, env, stdin, args...)
}

// launchBy is launchFed by another program, which becomes this one.
func launchBy(t testing.TB, by []string, dir string, env []string, stdin io.Reader, args ...string) *bot {
	t.Helper()
	exe, err := program()
	if err != nil {
		t.Fatal(err)
	}
	b := &bot{t: t, log: &safeBuffer{}, ended: make(chan error, 1)}
	line := slices.Concat(by, []string{exe}, args)
	b.cmd = exec.Command(line[0], line[1:]...)
	b.cmd.Dir = dir
	b.cmd.Stdin, b.cmd.Stdout, b.cmd.Stderr = stdin, b.log, b.log
	b.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}, env...)
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { b.ended <- b.cmd.Wait() }()
	t.Cleanup(func() {
		b.kill()
		if said := b.log.String(); strings.Contains(said, "panic") || strings.Contains(said, "DATA RACE") {
			t.Error("the bot had a panic or a data race")
		}
		if t.Failed() {
			t.Logf("the bot said:\n%s", b.log.String())
		}
	})
	return b
}

// signal sends a signal and waits for the end.
func (b *bot) signal(s syscall.Signal) error {
	b.t.Helper()
	_ = b.cmd.Process.Signal(s)
	select {
	case err := <-b.ended:
		b.ended <- err
		return err
	case <-time.After(deadline):
		b.t.Fatalf("the bot does not end after %v", s)
		return nil
	}
}

// paused stops the program for a while and waits until it has stopped.
func (b *bot) paused() (goOn func()) {
	b.t.Helper()
	pid := b.cmd.Process.Pid
	send := func(s syscall.Signal) {
		if err := b.cmd.Process.Signal(s); err != nil {
			b.t.Fatal(err)
		}
	}
	send(syscall.SIGSTOP)
	b.until("the program stops", func() bool {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, state, _ := strings.Cut(string(text), ") ")
		return strings.HasPrefix(state, "T")
	}, func() string { return "it goes on" })
	return func() { send(syscall.SIGCONT) }
}

func (b *bot) kill() { _ = b.signal(syscall.SIGKILL) }

// ready waits until /readyz says yes.
func (b *bot) ready() {
	b.t.Helper()
	var last string
	b.until("ready", func() bool {
		status, body := b.get("/readyz")
		last = body
		return status == http.StatusOK
	}, func() string { return last })
}

// until polls for something that the program brings about.
func (b *bot) until(what string, cond func() bool, detail func() string) {
	b.t.Helper()
	end := time.After(deadline)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case err := <-b.ended:
			b.ended <- err
			b.t.Fatalf("the bot ended (%v) before: %s", err, what)
		case <-end:
			b.t.Fatalf("never: %s (%s)", what, detail())
		case <-tick.C:
		}
	}
}

// await is until for a program that may end on the way.
func (b *bot) await(what string, cond func() bool) {
	b.t.Helper()
	end := time.After(deadline)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-end:
			b.t.Fatalf("never: %s", what)
		case <-tick.C:
		}
	}
}

// gone reports whether the program has ended.
func (b *bot) gone() bool {
	select {
	case err := <-b.ended:
		b.ended <- err
		return true
	default:
		return false
	}
}

func (b *bot) get(path string) (int, string) {
	resp, err := http.Get("http://" + b.listen + path)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	var body bytes.Buffer
	_, _ = body.ReadFrom(resp.Body)
	return resp.StatusCode, body.String()
}

func (w *world) say(text string) int {
	return w.tg.Say(telegram.Said{From: w.person, Text: text})
}

// wait waits until the private chat shows what ok accepts.
func (w *world) wait(chat int64, what string, ok func([]telegram.Message) bool) []telegram.Message {
	w.t.Helper()
	return w.waitFor(deadline, chat, what, ok)
}

// waitFor is wait with a bound of its own.
func (w *world) waitFor(bound time.Duration, chat int64, what string, ok func([]telegram.Message) bool) []telegram.Message {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	msgs, err := w.tg.Wait(ctx, chat, ok)
	if err != nil {
		w.t.Fatalf("never: %s: %v", what, err)
	}
	return msgs
}

// stored waits until the bot has confirmed every update to Telegram.
func (w *world) stored(b *bot) {
	w.t.Helper()
	b.until("all updates confirmed", func() bool { return w.tg.Pending() == 0 },
		func() string { return fmt.Sprint(w.tg.Pending(), " pending") })
}

// count counts the messages of a chat that hold text.
func count(msgs []telegram.Message, text string) int {
	n := 0
	for _, m := range msgs {
		if strings.Contains(m.Text, text) {
			n++
		}
	}
	return n
}

func replaceIn(t testing.TB, path, old, with string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, bytes.ReplaceAll(text, []byte(old), []byte(with)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func receive[T any](t testing.TB, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(deadline):
		t.Fatalf("never: %s", what)
		panic("unreachable")
	}
}

// clean checks an orderly end.
func clean(t testing.TB, err error) {
	t.Helper()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Errorf("the bot ended with code %d, want 0", exit.ExitCode())
	} else if err != nil {
		t.Error(err)
	}
}

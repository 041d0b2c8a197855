package app_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"magpie/internal/console"
	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
	"magpie/internal/need"
)

// defaultListen is where the program listens without a configuration.
const defaultListen = "127.0.0.1:18990"

// bare starts the program without any file in an empty folder. It listens on
// the default port, so the test needs a network of its own.
func bare(t *testing.T, env ...string) (b *bot, dir string) {
	t.Helper()
	dir = t.TempDir()
	b = launch(t, dir, env)
	b.listen = defaultListen
	b.await("start", func() bool { return b.gone() || strings.Contains(b.log.String(), "the chat page is open") })
	if b.gone() {
		t.Fatal("the bot ended")
	}
	return b, dir
}

// The newcomer's first command: no file, no variable. It prints where to open
// it and how to connect a model, answers, and ends with 0.
func TestNoConfiguration(t *testing.T) {
	if !need.OwnNetwork(t) {
		return
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			b, dir := bare(t)
			b.ready()
			if status, body := b.get("/healthz"); status != http.StatusOK {
				t.Errorf("/healthz: %d %s", status, body)
			}
			if info, err := os.Stat(filepath.Join(dir, "data")); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("data folder: %v %v, want mode 0700", info, err)
			}
			b.page(filepath.Join(dir, "data"), "first").ask("hello", "offline assistant")
			clean(t, b.signal(sig))
			said := b.log.String()
			// The link with the token is for terminals, see TestTokenIsShownToAPersonOnly.
			token := filepath.Join(dir, "data", console.TokenFile)
			if !strings.Contains(said, "http://127.0.0.1:18990") || !strings.Contains(said, token) {
				t.Errorf("neither the address nor where the token is:\n%s", said)
			}
			if n := strings.Count(said, "No model is configured"); n != 1 || !strings.Contains(said, "OPENAI_API_KEY=") {
				t.Errorf("%d times that no model is configured, want once with the line that changes it:\n%s", n, said)
			}
		})
	}
}

// Where another program has the port, a bot without configuration says so and
// ends.
func TestDefaultPortIsTaken(t *testing.T) {
	if !need.OwnNetwork(t) {
		return
	}
	l, err := net.Listen("tcp", defaultListen)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	b := launch(t, t.TempDir(), nil)
	err = receive(t, b.ended, "end")
	b.ended <- nil
	if said := b.log.String(); !errors.As(err, new(*exec.ExitError)) || !strings.Contains(said, "address already in use") || !strings.Contains(said, defaultListen) {
		t.Errorf("ended with %v, want its port named as taken:\n%s", err, said)
	}
}

// A key in the environment is all that a model needs.
func TestModelFromTheEnvironment(t *testing.T) {
	if !need.OwnNetwork(t) {
		return
	}
	model := modelserver.New(t)
	model.RequireKey("sk-from-env-1234567")
	b, dir := bare(t, "OPENAI_API_KEY=sk-from-env-1234567", "OPENAI_BASE_URL="+model.OpenAI())
	b.page(filepath.Join(dir, "data"), "env").ask("do you hear me?", "echo: do you hear me?")
	clean(t, b.signal(syscall.SIGTERM))
	if strings.Contains(b.log.String(), "No model is configured") {
		t.Error("it says that no model is configured")
	}
	if strings.Contains(b.log.String(), "sk-from-env-1234567") {
		t.Error("the key stands in the log")
	}
}

// The offline assistant answers in both languages, through real tool calls.
func TestOfflineAssistant(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	listen := freeAddr(t)
	path := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(path, []byte("web: {listen: \""+listen+"\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := launch(t, dir, []string{"TZ=UTC"})
	b.listen = listen
	b.ready()
	data := filepath.Join(dir, "data")
	en, zh := b.page(data, "english"), b.page(data, "chinese")
	for _, c := range []struct {
		p          *page
		said, want string
	}{
		{en, "hello", "offline assistant"},
		{en, "help", "what time is it in Tokyo"},
		{en, "what time is it in Tokyo?", "Asia/Tokyo"},
		{en, "write buy milk to notes/list.txt", "created notes/list.txt"},
		{en, "list files", "notes"},
		{en, "read notes/list.txt", "buy milk"},
		{en, "thank you", "You are welcome"},
		{en, "prove Fermat's theorem", "no model is configured"},
		{en, "/help", "/stop"},
		{zh, "你好", "离线助手"},
		{zh, "帮助", "东京现在几点"},
		{zh, "东京现在几点？", "Asia/Tokyo"},
		{zh, "把 买牛奶 写入 清单.txt", "created 清单.txt"},
		{zh, "看看文件", "清单.txt"},
		{zh, "读 清单.txt", "买牛奶"},
		{zh, "谢谢", "不客气"},
		{zh, "证明费马大定理", "还没有配置模型"},
	} {
		c.p.ask(c.said, c.want)
	}
	got, err := os.ReadFile(filepath.Join(data, "workspace", "清单.txt"))
	if err != nil || string(got) != "买牛奶\n" {
		t.Errorf("the file holds %q, %v", got, err)
	}
	clean(t, b.signal(syscall.SIGINT))
}

// Every mistake of a configuration is named at once, with its line, and the
// program ends with 2 before it has opened anything.
func TestBadConfigurationIsNamedWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := `agnet: {max_turns: 4}
agent:
  max_turns: many
web:
  lisen: 127.0.0.1:1
channels:
  telegram:
    token: ${NO_SUCH_TOKEN}
    alow: ["*"]
  pigeon: {}
`
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	b := launch(t, dir, nil, "run")
	var exit *exec.ExitError
	if err := receive(t, b.ended, "end"); !errors.As(err, &exit) || exit.ExitCode() != 2 {
		t.Errorf("ended with %v, want exit code 2", err)
	}
	b.ended <- nil
	said := b.log.String()
	for line, word := range map[int]string{1: "agnet", 3: "max_turns", 5: "lisen", 8: "NO_SUCH_TOKEN", 9: "alow", 10: "pigeon"} {
		if !regexp.MustCompile(fmt.Sprintf(`config\.yaml:%d:\d+.*%s`, line, word)).MatchString(said) {
			t.Errorf("line %d (%s) is not named in:\n%s", line, word, said)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "data")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the data folder was made: %v", err)
	}
}

// A wrong token stops its channel, clearly, and nothing else.
func TestWrongTelegramToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	right := w.tg.Token()
	path, listen := w.config("bot")
	replaceIn(t, path, right, "123456:this-token-is-wrong")
	b := w.startWith(path, listen)
	b.until("the channel is given up", func() bool {
		status, body := b.get("/readyz")
		return status == http.StatusServiceUnavailable && strings.Contains(body, "telegram") && strings.Contains(body, "stopped")
	}, func() string { _, body := b.get("/readyz"); return body })
	if status, _ := b.get("/healthz"); status != http.StatusOK {
		t.Errorf("/healthz: %d", status)
	}
	b.page(filepath.Dir(path), "a").ask("still there?", "echo: still there?")
	clean(t, b.signal(syscall.SIGTERM))
	said := b.log.String()
	if !strings.Contains(said, "correct its credentials") || strings.Contains(said, "this-token-is-wrong") {
		t.Errorf("want a clear message without the token in:\n%s", said)
	}
	if n := w.tg.Calls("getUpdates"); n != 0 {
		t.Errorf("%d getUpdates", n)
	}
}

// A token that is revoked while the program runs: the same, and the rest works.
func TestTokenRevokedWhileRunning(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	path, listen := w.config("bot")
	b := w.startWith(path, listen)
	b.ready()
	w.tg.Revoke()
	b.until("the channel is given up", func() bool {
		_, body := b.get("/readyz")
		return strings.Contains(body, "stopped")
	}, func() string { _, body := b.get("/readyz"); return body })
	b.page(filepath.Dir(path), "a").ask("still there?", "echo: still there?")
	clean(t, b.signal(syscall.SIGTERM))
}

// What a platform can bring that is no message hurts nobody.
func TestOddUpdates(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &telegram.Options{})
	w.extra = "agent: {busy: queue}"
	b := w.start("bot")
	b.ready()
	me := `"chat":{"id":1001,"type":"private","first_name":"Ada"},"from":{"id":1001,"is_bot":false,"first_name":"Ada"},"date":1700000000`
	w.say("before")
	for _, raw := range []string{
		`{}`,
		`{"message":null}`,
		`{"message":{"message_id":900,` + me + `}}`,
		`{"message":{"message_id":901,` + me + `,"text":""}}`,
		`{"message":{"message_id":"no number",` + me + `,"text":"poison"}}`,
		`{"message":[1,2,3]}`,
		`{"update_from_the_future":{"a":[{"b":1}]}}`,
		`{"message":{"message_id":902,` + me + `,"hologram":{"file_id":"x"}}}`,
		"{\"message\":{\"message_id\":903," + me + ",\"text\":\"bad \xff\xfe bytes\"}}",
		`{"message":{"message_id":904,` + me + `,"text":"half a pair \ud83d"}}`,
	} {
		w.tg.Push(raw)
	}
	w.say("after")
	msgs := w.wait(owner, "both answered", func(m []telegram.Message) bool { return count(m, "echo: before") == 1 && count(m, "echo: after") == 1 })
	w.stored(b)
	if count(msgs, "echo: bad ") != 1 || count(msgs, "echo: half a pair ") != 1 {
		t.Errorf("a text with bad bytes was not answered: %+v", msgs)
	}
	clean(t, b.signal(syscall.SIGTERM))
	if said := b.log.String(); !strings.Contains(said, "update") {
		t.Errorf("want the skipped updates named in:\n%s", said)
	}
}

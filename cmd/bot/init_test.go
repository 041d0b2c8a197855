package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"magpie/internal/fakes/dingtalk"
	"magpie/internal/fakes/discord"
	"magpie/internal/fakes/feishu"
	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/qq"
	"magpie/internal/fakes/telegram"
)

// beginner is somebody with an empty folder, a platform and a model's server.
type beginner struct {
	t     *testing.T
	dir   string
	model *modelserver.Server
}

const modelKey = "sk-init-0123456789"

func newBeginner(t *testing.T) *beginner {
	b := &beginner{t: t, dir: t.TempDir(), model: modelserver.New(t)}
	b.model.RequireKey(modelKey)
	b.model.Reply(modelserver.Echo)
	return b
}

func serve(t *testing.T, h http.Handler, end func()) (url string) {
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		end()
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv.URL
}

// init pipes lines into bot init.
func (b *beginner) init(lines string, env []string, args ...string) (code int, stdout, stderr string) {
	b.t.Helper()
	cmd := bot(b.t, b.dir, env, append([]string{"init"}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(lines), &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		b.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func (b *beginner) write(name, text string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// read returns a file that only its owner may read; "" when there is none.
func (b *beginner) read(name string) string {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		b.t.Errorf("%s has mode %v (%v)", name, info.Mode(), err)
	}
	return string(data)
}

// starts wants the configuration to be good and the bot to run with it.
func (b *beginner) starts() {
	b.t.Helper()
	if code, out, errs := run(b.t, b.dir, nil, "config", "check"); code != exitDone {
		b.t.Fatalf("config check: %s%s in\n%s", out, errs, b.read("config.yaml"))
	}
	cmd, said := running(b.t, b.dir)
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil || strings.Contains(said.String(), "ERR") {
		b.t.Errorf("%v: the bot said\n%s", err, said.String())
	}
}

// candidate is a platform's fake with its credentials.
type candidate struct {
	name   string
	url    string
	extra  []string // more flags
	id     string   // the answer before the secret; "" = none is asked for
	secret string
	wrong  string // another secret
	env    string // the variable that gets the secret
}

func candidates(t *testing.T) []candidate {
	tg, dc, fs, dt, q := telegram.New(nil), discord.New(nil), feishu.New(nil), dingtalk.New(nil), qq.New(nil)
	all := []candidate{
		{"telegram", serve(t, tg.Handler(), tg.Close), nil, "", tg.Token(), "1:wrong-token", "TELEGRAM_BOT_TOKEN"},
		{"discord", serve(t, dc.Handler(), dc.Close), nil, "", dc.Token(), "MTIz.wrong.wrong-token", "DISCORD_BOT_TOKEN"},
		{"feishu", serve(t, fs.Handler(), fs.Close), nil, fs.AppID(), fs.Secret(), "WrongSecretWrongSecret", "FEISHU_APP_SECRET"},
		{"dingtalk", serve(t, dt.Handler(), dt.Close), nil, dingtalk.DefaultClientID, dingtalk.DefaultClientSecret, "wrong-client-secret", "DINGTALK_CLIENT_SECRET"},
		{"qq", serve(t, q.Handler(), q.Close), nil, q.AppID(), q.Secret(), "WrongWrongWrong", "QQ_APP_SECRET"},
	}
	all[3].extra = []string{"--key", "oapi_base=" + all[3].url}
	all[4].extra = []string{"--key", "token_base=" + all[4].url}
	return all
}

// TestInit answers the questions by a pipe for each platform: a wrong secret
// and a wrong key of the model are refused by the servers and asked for again.
func TestInit(t *testing.T) {
	t.Parallel()
	for _, c := range candidates(t) {
		t.Run(c.name, func(t *testing.T) {
			b := newBeginner(t)
			existing := "# mine\nweb: {listen: '" + freeAddress(t) + "'} # my port\n"
			b.write("config.yaml", existing)
			b.write(".env", "OTHER=1") // no end of line
			id := ""
			if c.id != "" {
				id = c.id + "\n"
			}
			lines := id + c.wrong + "\n" + id + c.secret + "\n" + // the platform
				"openai\n" + b.model.OpenAI() + "\nscripted\nsk-wrong\n" + // the model
				"\n\n\n" + modelKey + "\nMars/Base\nAsia/Shanghai\n"
			code, out, errs := b.init(lines, nil, append([]string{"--platform", c.name, "--key", "api_base=" + c.url}, c.extra...)...)
			if code != exitDone {
				t.Fatalf("exit code %d\n%s%s", code, out, errs)
			}
			if n := strings.Count(out, "FAIL  channel "+c.name+": "); n != 1 || !strings.Contains(out, "correct the credentials in channels."+c.name) {
				t.Errorf("a wrong secret: %d times in\n%s", n, out)
			}
			if !strings.Contains(out, "ok    channel "+c.name) || !strings.Contains(out, "FAIL  model main: ") || !strings.Contains(out, "correct api_key") ||
				!strings.Contains(out, "To start it: ") || strings.Contains(out, "docker") || // the Compose file does not use it
				!strings.Contains(out, "ok    model main") || !strings.Contains(out, "no zone \"Mars/Base\"") {
				t.Errorf("output:\n%s", out)
			}
			text, vars := b.read("config.yaml"), b.read(".env")
			if !strings.HasPrefix(text, existing) || !strings.Contains(text, "timezone: Asia/Shanghai") || !strings.Contains(text, "${"+c.env+"}") {
				t.Errorf("config.yaml:\n%s", text)
			}
			if !strings.HasPrefix(vars, "OTHER=1\n") || !strings.Contains(vars, c.env+"="+c.secret+"\n") || !strings.Contains(vars, "OPENAI_API_KEY="+modelKey+"\n") || strings.Contains(vars, "wrong") {
				t.Errorf(".env:\n%s", vars)
			}
			for _, secret := range []string{c.secret, c.wrong, modelKey} {
				if strings.Contains(text+out+errs, secret) {
					t.Errorf("a secret is shown, or stands in config.yaml:\n%s%s", out, text)
				}
			}
			b.starts()
		})
	}
}

// TestInitAgain adds two channels to a file of a person's own, which keeps
// every line, and does not touch what the environment says already.
func TestInitAgain(t *testing.T) {
	t.Parallel()
	b := newBeginner(t)
	tg, dc := telegram.New(nil), discord.New(nil)
	tgURL, dcURL := serve(t, tg.Handler(), tg.Close), serve(t, dc.Handler(), dc.Close)
	code, out, errs := b.init("", nil, "--yes", "--platform", "telegram", "--key", "token="+tg.Token(), "--key", "api_base="+tgURL, "--zone", "UTC", "--allow", "1001,1002")
	if code != exitDone {
		t.Fatalf("%s%s", out, errs)
	}
	first := strings.ReplaceAll(b.read("config.yaml"), "channels:", "channels: # all my bots") + "# the end\nweb: {listen: '" + freeAddress(t) + "'}\n"
	b.write("config.yaml", first)
	if code, out, errs = b.init("\n\n", nil); code != exitDone || !strings.Contains(out, "Nothing to add") {
		t.Fatalf("Enter adds nothing: %d %s%s", code, out, errs)
	}
	// A second bot of the same platform, under the name that is offered, with
	// the name of its variable taken by something else.
	code, out, errs = b.init("机器人\ntelegram\n\n"+tg.Token()+"\n", []string{"TELEGRAM2_TOKEN=something-else"}, "--platform", "telegram", "--key", "api_base="+tgURL)
	if code != exitDone || strings.Count(out, "\"机器人\": want a name") != 1 {
		t.Fatalf("%s%s", out, errs)
	}
	code, out, errs = b.init("", []string{"DISCORD_BOT_TOKEN=" + dc.Token(), "LANG=zh_CN.UTF-8"}, "--yes", "--platform", "discord", "--key", "api_base="+dcURL)
	if code != exitDone || !strings.Contains(out, "将增加") {
		t.Fatalf("%s%s", out, errs)
	}
	text, vars := b.read("config.yaml"), b.read(".env")
	for line := range strings.Lines(first) {
		if !strings.Contains(text, line) {
			t.Errorf("%q is lost", line)
		}
	}
	for _, want := range []string{"  telegram2:\n    type: telegram\n    token: ${TELEGRAM2_TOKEN_2}\n", "    token: ${DISCORD_BOT_TOKEN}\n", `    allow: ["1001", "1002"]` + "\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if !strings.Contains(vars, "TELEGRAM2_TOKEN_2="+tg.Token()) || !strings.Contains(vars, "DISCORD_BOT_TOKEN="+dc.Token()) {
		t.Errorf(".env:\n%s", vars)
	}
	b.starts()
}

// TestInitSaysWhatIsNext: a bot without a platform gives nobody a code.
func TestInitSaysWhatIsNext(t *testing.T) {
	t.Parallel()
	const code, page, chat = "answers with a code", "on the chat page, whose address", " chat."
	for _, c := range []struct {
		name, file string
		args       []string
		says, not  []string
	}{
		{"no platform", "", nil, []string{page, chat, " doctor looks"}, []string{code}},
		{"a platform", "", []string{"--platform", "telegram", "--key", "token=1:a"}, []string{code, " doctor looks"}, []string{page}},
		{"a platform from before", "channels: {telegram: {token: '1:a'}}\n", nil, []string{code}, []string{page}},
		{"one that is switched off", "channels: {telegram: {enabled: false, token: '1:a'}}\n", nil, []string{page}, []string{code}},
		{"no page either", "channels: {web: {enabled: false}}\n", nil, []string{" doctor looks"}, []string{code, page, chat}},
	} {
		b := &beginner{t: t, dir: t.TempDir()}
		if c.file != "" {
			b.write("config.yaml", c.file)
		}
		exit, out, errs := b.init("", nil, append([]string{"--yes", "--no-check", "--zone", "UTC"}, c.args...)...)
		if exit != exitDone {
			t.Errorf("%s: %s%s", c.name, out, errs)
		}
		parts(t, c.name, out, c.says)
		for _, not := range c.not {
			if strings.Contains(out, not) {
				t.Errorf("%s: the output holds %q:\n%s", c.name, not, out)
			}
		}
	}
}

// TestInitThatComesToNothing says what is missing or wrong and writes nothing.
func TestInitThatComesToNothing(t *testing.T) {
	t.Parallel()
	tg := telegram.New(nil)
	url := serve(t, tg.Handler(), tg.Close)
	model := newBeginner(t).model
	for _, c := range []struct {
		name, lines string
		args        []string
		code        int
		says        []string
	}{
		{"no answers", "", nil, exitFailed, []string{"platform", "--platform"}},
		{"no key", "feishu\ncli_a1\n", nil, exitFailed, []string{"app_secret", "--key app_secret="}},
		{"no model", "\n", nil, exitFailed, []string{"model", "--provider"}},
		{"nobody to ask", "", []string{"--yes", "--platform", "feishu"}, exitUsage, []string{"--key app_id=", "FEISHU_APP_ID", "--key app_secret=", "FEISHU_APP_SECRET"}},
		{"wrong token", "", []string{"--yes", "--platform", "telegram", "--key", "token=1:wrong", "--key", "api_base=" + url}, exitFailed, []string{"channel telegram", "correct the credentials"}},
		{"wrong form", "", []string{"--yes", "--no-check", "--platform", "qq", "--key", "app_id=x", "--key", "app_secret=y"}, exitFailed, []string{"want digits only"}},
		{"unknown key", "", []string{"--yes", "--no-check", "--platform", "telegram", "--key", "tokn=x", "--key", "token=1:a"}, exitFailed, []string{"did you mean token?"}},
		{"unknown platform", "", []string{"--yes", "--platform", "irc"}, exitUsage, []string{"irc", "telegram, discord"}},
		{"unknown zone", "", []string{"--yes", "--zone", "Mars/Base"}, exitUsage, []string{"Mars/Base"}},
		{"Chinese name", "", []string{"--yes", "--platform", "telegram", "--name", "机器人", "--key", "token=1:a"}, exitUsage, []string{"--name \"机器人\": want a name of at most 32 letters, digits, - and _"}},
		{"name in two words", "", []string{"--yes", "--platform", "telegram", "--name", "a b", "--key", "token=1:a"}, exitUsage, []string{"--name \"a b\": want a name"}},
		{"name with a dot", "", []string{"--yes", "--platform", "telegram", "--name", "x.y", "--key", "token=1:a"}, exitUsage, []string{"--name \"x.y\": want a name"}},
		{"name of reports", "", []string{"--yes", "--platform", "telegram", "--name", "system", "--key", "token=1:a"}, exitUsage, []string{"other than \"system\""}},
		{"wrong model key", "", []string{"--yes", "--provider", "openai", "--base-url", model.OpenAI(), "--model", "m", "--model-key", "sk-bad"}, exitFailed, []string{"model main", "correct api_key"}},
		{"unknown provider", "", []string{"--yes", "--provider", "abacus"}, exitUsage, []string{"abacus", "anthropic"}},
		{"unreachable model", "", []string{"--yes", "--provider", "openai", "--base-url", "http://" + freeAddress(t), "--model", "m", "--model-key", "k"}, exitFailed, []string{"reaches base_url"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &beginner{t: t, dir: t.TempDir()}
			code, out, errs := b.init(c.lines, nil, c.args...)
			if code != c.code {
				t.Errorf("exit code %d\n%s%s", code, out, errs)
			}
			parts(t, "stderr", errs, c.says)
			if files, _ := os.ReadDir(b.dir); len(files) > 0 {
				t.Errorf("written: %v", files)
			}
		})
	}
	for name, file := range map[string]string{
		"broken": "timezon: x\n", "braces": "{web: {token: x}}\n", "list": "channels: [a]\n",
	} {
		b := &beginner{t: t, dir: t.TempDir()}
		b.write("config.yaml", file)
		code, out, errs := b.init("", nil, "--yes", "--no-check", "--platform", "telegram", "--key", "token=1:a")
		if now, _ := os.ReadFile(filepath.Join(b.dir, "config.yaml")); code == exitDone || string(now) != file || errs == "" {
			t.Errorf("%s: %d %s%s", name, code, out, errs)
		}
	}
	b := &beginner{t: t, dir: t.TempDir()}
	b.write("config.yaml", "llm: {models: []}\nchannels: {telegram: {token: '1:a'}}\n")
	if code, _, errs := b.init("", nil, "--yes", "--no-check", "--platform", "telegram", "--key", "token=1:a"); code != exitUsage || !strings.Contains(errs, "--name") {
		t.Errorf("a name that is taken: %d %s", code, errs)
	}
	b.write("other.yaml", "timezone: Europe/Berlin\n")
	if code, _, errs := b.init("", nil, "--yes", "--config", "other.yaml", "--zone", "Asia/Shanghai"); code != exitUsage || !strings.Contains(errs, "change it there") {
		t.Errorf("a zone that is there: %d %s", code, errs)
	}
	code, out, errs := b.init("", nil, "--yes", "--no-check", "--config", "other.yaml", "--zone", "Europe/Berlin", "--platform", "telegram", "--key", "token=1:a")
	if code != exitDone || strings.Count(out, " --config other.yaml") != 2 {
		t.Errorf("how to start it: %d %s%s", code, out, errs)
	}
	if code, _, errs := b.init("", nil, "--yes", "--provider", "openai", "--model", "m"); code != exitUsage || !strings.Contains(errs, "change it there") {
		t.Errorf("models that are there: %d %s", code, errs)
	}
}

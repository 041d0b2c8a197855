package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// goodToken is a WEB_TOKEN that nothing is said about.
const goodToken = "0123456789abcdef0123456789abcdef"

// shipped writes a configuration of the image into a folder, with its data and
// its port there.
func shipped(t *testing.T, file string) (dir string) {
	t.Helper()
	text, err := os.ReadFile("../../deploy/" + file)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	ours := strings.NewReplacer("/data", filepath.Join(dir, "data"), "/workspace ", filepath.Join(dir, "ws")+" ", "0.0.0.0:18990", "0.0.0.0:0")
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(ours.Replace(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// filled is env.example with lines filled in, taken as `docker run --env-file`
// takes it: nothing is stripped.
func filled(t *testing.T, lines ...string) (env []string) {
	t.Helper()
	text, err := os.ReadFile("../../deploy/env.example")
	if err != nil {
		t.Fatal(err)
	}
	has := func(name string) bool {
		for _, line := range lines {
			if strings.HasPrefix(line, name+"=") {
				return true
			}
		}
		return false
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if name, _, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") && !has(name) {
			env = append(env, line)
		}
	}
	if !has("WEB_TOKEN") {
		env = append(env, "WEB_TOKEN="+goodToken)
	}
	return append(env, append(lines, "ROLE=agent")...)
}

// mistake is what somebody wrote into .env.
type mistake struct {
	name  string
	lines []string
	code  int
	says  []string // on stderr
	on    string   // the platforms that are on then; when the configuration is good
}

func mistakes() []mistake {
	const tg = "TELEGRAM_BOT_TOKEN=123456:hunter2-hunter2"
	return []mistake{
		{"nothing", nil, 0, nil, ""},
		{"a key alone", []string{tg}, 0, nil, "telegram"},
		{"all keys", []string{tg, "DISCORD_BOT_TOKEN=a.b.c", "FEISHU_APP_ID=cli_a", "FEISHU_APP_SECRET=s", "DINGTALK_CLIENT_ID=ding1", "DINGTALK_CLIENT_SECRET=s", "QQ_APP_ID=1", "QQ_APP_SECRET=s"}, 0, nil, "dingtalk discord feishu qq telegram"},
		{"a switch too", []string{tg, "TELEGRAM=true"}, 0, nil, "telegram"},
		{"another word", []string{tg, "TELEGRAM=Yes"}, 0, nil, "telegram"},
		{"a Chinese word", []string{tg, "TELEGRAM=是"}, 0, nil, "telegram"},
		{"a full-width word", []string{tg, "TELEGRAM=ＯＮ"}, 0, nil, "telegram"},
		{"quoted no", []string{tg, `TELEGRAM="false"`}, 0, []string{"TELEGRAM: quotes around the value", "keeps telegram off"}, ""},
		{"off in spite of a key", []string{tg, "TELEGRAM=false"}, 0, []string{"warning: TELEGRAM_BOT_TOKEN is set, and TELEGRAM=false keeps telegram off: leave TELEGRAM empty"}, ""},
		{"off in Chinese", []string{"QQ_APP_ID=1", "QQ_APP_SECRET=x", "QQ=关"}, 0, []string{"QQ_APP_ID and QQ_APP_SECRET are set, and QQ=关 keeps qq off"}, ""},
		{"no token", []string{"TELEGRAM=true"}, 2, []string{"channels.telegram.token: the variable TELEGRAM_BOT_TOKEN is not set, and TELEGRAM=true switches telegram on"}, ""},
		{"no keys", []string{"DINGTALK=1"}, 2, []string{"the variable DINGTALK_CLIENT_ID is not set, and DINGTALK=1", "the variable DINGTALK_CLIENT_SECRET is not set"}, ""},
		{"half of the keys", []string{"FEISHU_APP_ID=cli_a"}, 2, []string{"the variable FEISHU_APP_SECRET is not set, and FEISHU_APP_ID switches feishu on: set both, or neither"}, ""},
		{"the other half", []string{"QQ_APP_SECRET=hunter2-hunter2"}, 2, []string{"the variable QQ_APP_ID is not set, and QQ_APP_SECRET switches qq on"}, ""},
		{"an address alone", []string{"FEISHU_API_BASE=https://open.larksuite.com"}, 0, nil, ""},
		{"no word", []string{tg, "TELEGRAM=treu"}, 2, []string{"channels.telegram.enabled: the variable TELEGRAM switches telegram on or off: want true, false or nothing"}, ""},
		{"the token as the switch", []string{"TELEGRAM=123456:hunter2-hunter2"}, 2, []string{"a token or a key belongs into a variable of its own"}, ""},

		{"straight quotes", []string{`TELEGRAM_BOT_TOKEN="123456:hunter2-hunter2"`}, 0, []string{"TELEGRAM_BOT_TOKEN: quotes around the value are left out"}, "telegram"},
		{"typographic quotes", []string{"DISCORD_BOT_TOKEN=“a.b.c”"}, 0, []string{"DISCORD_BOT_TOKEN: quotes around"}, "discord"},
		{"blanks", []string{"TELEGRAM_BOT_TOKEN= 123456:hunter2-hunter2 \t"}, 0, []string{"TELEGRAM_BOT_TOKEN: blanks around"}, "telegram"},
		{"full-width blanks and a line end", []string{"QQ_APP_ID=\u3000123\r", "QQ_APP_SECRET=\u00a0abc\u200b"}, 0, []string{"QQ_APP_ID: blanks", "QQ_APP_SECRET: blanks"}, "qq"},
		{"a byte order mark", []string{"WEB_TOKEN=\ufeff" + goodToken}, 0, []string{"WEB_TOKEN: blanks"}, ""},
		{"its own name", []string{"TELEGRAM_BOT_TOKEN=TELEGRAM_BOT_TOKEN=123456:hunter2-hunter2"}, 0, []string{"TELEGRAM_BOT_TOKEN: its own name"}, "telegram"},
		{"only quotes", []string{`TELEGRAM_BOT_TOKEN=""`}, 0, []string{"TELEGRAM_BOT_TOKEN: quotes"}, ""},
		{"a blank alone", []string{"TELEGRAM_BOT_TOKEN= ", "FEISHU_APP_ID= "}, 0, nil, ""},
		{"half a quote", []string{`TELEGRAM_BOT_TOKEN="123456:hunter2-hunter2`}, 2, []string{"channels.telegram.token: holds characters that no token has"}, ""},
		{"another's name", []string{"TELEGRAM_BOT_TOKEN=BOT_TOKEN=123456:hunter2-hunter2"}, 2, []string{"begins with the name of a variable"}, ""},

		{"full-width colon", []string{"TELEGRAM_BOT_TOKEN=123456：hunter2-hunter2"}, 2, []string{"channels.telegram.token: holds the full-width ：: write the plain :"}, ""},
		{"full-width digits", []string{"QQ_APP_ID=１２３", "QQ_APP_SECRET=s"}, 2, []string{"channels.qq.app_id: holds the full-width １: write the plain 1"}, ""},
		{"full-width letters", []string{"FEISHU_APP_ID=cli_ａ", "FEISHU_APP_SECRET=s"}, 2, []string{"channels.feishu.app_id: holds the full-width ａ"}, ""},
		{"an unseen character", []string{"DINGTALK_CLIENT_ID=ding\u200b1", "DINGTALK_CLIENT_SECRET=s"}, 2, []string{"channels.dingtalk.client_id: holds a character that nobody sees (U+200B)"}, ""},
		{"a command", []string{"WEB_TOKEN=$(openssl rand -hex 16)"}, 2, []string{"web.token: holds a command or a variable of a shell"}, ""},
		{"a full-width web token", []string{"WEB_TOKEN=０１２３４５６７８９abcdef"}, 2, []string{"web.token: holds the full-width ０"}, ""},

		{"a passphrase with signs of its own", []string{"WEB_TOKEN=窗前的明月（很亮），“地上霜”——２０２６！"}, 0, nil, ""},
		{"a passphrase with others' signs", []string{"WEB_TOKEN=copper（ladder）under seven ｘ"}, 2, []string{"web.token: holds the full-width （ ）: write the plain ( );"}, ""},

		{"not a token", []string{"TELEGRAM_BOT_TOKEN=abc"}, 2, []string{"@BotFather's is a number, a colon and the key, in the form 123456:ABC-def"}, ""},
		{"a number alone", []string{"TELEGRAM_BOT_TOKEN=123456"}, 2, []string{"123456:ABC-def"}, ""},
		{"an application's id", []string{"DISCORD_BOT_TOKEN=1234567890123456789"}, 2, []string{"has three parts with dots between them"}, ""},
		{"Bot before it", []string{"DISCORD_BOT_TOKEN=Bot a.b.c"}, 2, []string{`begins with "Bot "`}, ""},
		{"another id", []string{"FEISHU_APP_ID=ou_1", "FEISHU_APP_SECRET=s"}, 2, []string{"expected the form cli_0123456789abcdef"}, ""},
		{"id for secret", []string{"FEISHU_APP_ID=cli_a", "FEISHU_APP_SECRET=cli_a"}, 2, []string{"app_secret: is an App ID"}, ""},
		{"the same for both", []string{"DINGTALK_CLIENT_ID=dinghunter2", "DINGTALK_CLIENT_SECRET=dinghunter2"}, 2, []string{"client_secret: is the same as client_id"}, ""},
		{"letters for digits", []string{"QQ_APP_ID=abc", "QQ_APP_SECRET=s"}, 2, []string{"channels.qq.app_id: want digits only"}, ""},
		{"an example's token", []string{"TELEGRAM_BOT_TOKEN=123456:ABC-the-token-you-got"}, 2, []string{"is the text of an example"}, ""},
		{"your-token", []string{"DISCORD_BOT_TOKEN=your-token-here"}, 2, []string{"is the text of an example"}, ""},
		{"a Chinese example", []string{"DINGTALK_CLIENT_ID=填写你的ID", "DINGTALK_CLIENT_SECRET=s"}, 2, []string{"is the text of an example"}, ""},
		{"a model's example", []string{"OPENAI_API_KEY=sk-..."}, 2, []string{"OPENAI_API_KEY: is the text of an example"}, ""},
		{"Bearer", []string{"OPENAI_API_KEY=Bearer sk-hunter2-hunter2"}, 2, []string{`OPENAI_API_KEY: begins with "Bearer "`}, ""},
		{"a key in quotes", []string{"OPENAI_API_KEY='sk-hunter2-hunter2'"}, 0, []string{"OPENAI_API_KEY: quotes"}, ""},
		{"the other vendor's key", []string{"OPENAI_API_KEY=sk-ant-hunter2-hunter2"}, 0, []string{"the key is one of Anthropic"}, ""},
		{"no vendor's key", []string{"ANTHROPIC_API_KEY=hunter2-hunter2"}, 0, []string{"begin with sk-ant-"}, ""},
		{"no scheme", []string{"OPENAI_API_KEY=k", "OPENAI_BASE_URL=api.deepseek.com/v1"}, 2, []string{"OPENAI_BASE_URL: want a URL with http:// or https://"}, ""},
		{"a full-width URL", []string{"OPENAI_API_KEY=k", "OPENAI_BASE_URL=https：//api.deepseek.com/v1"}, 2, []string{"OPENAI_BASE_URL: holds the full-width ："}, ""},
		{"an address without a model", []string{"OPENAI_API_KEY=k", "OPENAI_BASE_URL=https://api.deepseek.com/v1"}, 0, []string{"the server is asked for gpt-5-mini: set OPENAI_MODEL"}, ""},
		{"an address without a key", []string{"OPENAI_BASE_URL=http://ollama:11434/v1"}, 0, []string{"without OPENAI_API_KEY its server is not asked"}, ""},

		{"no web token", []string{"WEB_TOKEN="}, 2, []string{"web.token: the variable WEB_TOKEN is not set", "openssl rand -hex 16"}, ""},
		{"a blank web token", []string{"WEB_TOKEN=  "}, 2, []string{"web.token: the variable WEB_TOKEN is not set"}, ""},
		{"a tiny web token", []string{"WEB_TOKEN=abc"}, 2, []string{"web.token: is too short", "openssl rand -hex 16"}, ""},
		{"a short web token", []string{"WEB_TOKEN=abcdefgh"}, 0, []string{"can be guessed", "openssl rand -hex 16"}, ""},
		{"an example's web token", []string{"WEB_TOKEN=change-me-please-now"}, 0, []string{"web.token is the text of an example"}, ""},

		{"a command for the web token", []string{"WEB_TOKEN=`openssl rand -hex 16`"}, 2, []string{"web.token: holds a command"}, ""},
		{"a row of keys", []string{"WEB_TOKEN=qwertyuiopasdfgh"}, 0, []string{"web.token is made of rows of keys"}, ""},
		{"a query in the address", []string{"OPENAI_API_KEY=k", "OPENAI_BASE_URL=https://x.example/v1?key=hunter2"}, 2, []string{"OPENAI_BASE_URL: want it without ? and #"}, ""},
		{"a password in the address", []string{"OPENAI_API_KEY=k", "OPENAI_BASE_URL=http://me:hunter2@llm.lan/v1"}, 2, []string{"OPENAI_BASE_URL: want it without a user"}, ""},
		{"a model without a key", []string{"OPENAI_MODEL=gpt-4o"}, 0, []string{"OPENAI_MODEL is set, and without OPENAI_API_KEY"}, ""},
		{"a key for the model", []string{"OPENAI_API_KEY=k", "OPENAI_MODEL=sk-proj-hunter2"}, 2, []string{"OPENAI_MODEL: looks like a key"}, ""},
		{"a full-width proxy", []string{"HTTPS_PROXY=127.0.0.1：7890"}, 2, []string{"HTTPS_PROXY: holds the full-width ："}, ""},
		{"hosts in brackets", []string{"WEB_HOSTS=[a.example.org, b.example.org]"}, 0, nil, ""},
		{"an ambiguous zone", []string{"TIMEZONE=CST"}, 2, []string{"perhaps Asia/Shanghai, or America/Chicago?"}, ""},

		{"a misspelt zone", []string{"TIMEZONE=Asia/Shangai"}, 2, []string{"timezone: want an IANA name", "did you mean Asia/Shanghai?"}, ""},
		{"a city", []string{"TIMEZONE=北京"}, 2, []string{"did you mean Asia/Shanghai?"}, ""},
		{"an English city", []string{"TIMEZONE=Munich"}, 2, []string{"did you mean Europe/Berlin?"}, ""},
		{"an offset", []string{"TIMEZONE=UTC+8"}, 2, []string{"perhaps Asia/Shanghai?"}, ""},
		{"a zone in quotes", []string{`TIMEZONE="Asia/Shanghai"`}, 0, []string{"TIMEZONE: quotes"}, ""},

		{"misspelt names", []string{"TELEGRAM_TOKEN=1:hunter2-hunter2", "OPENAI_KEY=k", "DISCORD_TOKEN=x", "LARK_APP_ID=cli_a", "QQ_APPID=1", "DINGTALK_APP_KEY=d", "OPENAI_API_BASE=https://x", "TIME_ZONE=UTC", "telegram_bot_token=x"}, 0, []string{
			"TELEGRAM_TOKEN is set, and nothing reads it: did you mean TELEGRAM_BOT_TOKEN?", "OPENAI_KEY is set, and nothing reads it: did you mean OPENAI_API_KEY?",
			"did you mean DISCORD_BOT_TOKEN?", "did you mean FEISHU_APP_ID?", "did you mean QQ_APP_ID?", "did you mean DINGTALK_CLIENT_ID?", "did you mean OPENAI_BASE_URL?", "did you mean TIMEZONE?",
			"telegram_bot_token is set",
		}, ""},
		{"a misspelt web token", []string{"WEB_TOKEN=", "WEBTOKEN=" + goodToken}, 2, []string{"WEBTOKEN is set, and nothing reads it: did you mean WEB_TOKEN?", "the variable WEB_TOKEN is not set"}, ""},
		{"other people's variables", []string{"LC_TIME=C", "HOSTNAME=abc", "SSL_CERT_FILE=/x", "TERM=xterm", "PWD=/", "OPENAI_ORG_ID=x", "HTTP_PROXY=http://p:1", "TZ=UTC", "MAGPIE_IMAGE=full", "DISCORD_CHANNEL=1"}, 0, nil, ""},
		{"all at once", []string{"TIMEZONE=Asia/Shangai", "TELEGRAM=true", "DISCORD_BOT_TOKEN=x", "WEB_TOKEN=abc", "QQ_APP_ID=x", "OPENAI_API_KEY=sk-...", "FEISHU_SECRET=a"}, 2, []string{
			"timezone:", "channels.telegram.token:", "channels.discord.token:", "web.token:", "channels.qq.app_secret:", "OPENAI_API_KEY:", "did you mean FEISHU_APP_SECRET?",
		}, ""},
	}
}

// TestEnv: what people get wrong in .env is said, all of it, in lines that name
// the variable or the key, by `config check` and by the start, with the
// configurations of both Compose files. No secret is shown.
func TestEnv(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"docker.yaml", "cluster.yaml"} {
		dir := shipped(t, file)
		for _, m := range mistakes() {
			t.Run(file+" "+m.name, func(t *testing.T) {
				t.Parallel()
				env := filled(t, m.lines...)
				code, out, errs := run(t, dir, env, "config", "check")
				if code != m.code || m.says == nil && errs != "" {
					t.Errorf("exit code %d, want %d:\n%s%s", code, m.code, out, errs)
				}
				parts(t, "config check", errs, append([]string{""}, m.says...))
				if strings.Contains(errs, "hunter2") {
					t.Errorf("a secret is shown:\n%s", errs)
				}
				if m.code != exitDone {
					code, out, again := run(t, dir, env, "run")
					if code != exitUsage || unlogged(t, again) != errs {
						t.Errorf("the start ends with %d and says\n%s%s, config check says\n%s", code, out, again, errs)
					}
					return
				}
				_, shown, _ := run(t, dir, env, "config", "show")
				if on := enabled(shown); on != m.on {
					t.Errorf("on are %q, want %q", on, m.on)
				}
			})
		}
	}
}

// TestOneLineForAKey, whatever stands in it that is none.
func TestOneLineForAKey(t *testing.T) {
	t.Parallel()
	dir := shipped(t, "docker.yaml")
	problem := regexp.MustCompile(`(?m)^(?:config\.yaml:\d+:\d+: )?(warning: [^:]+|[^ :]+): .*$`)
	names := strings.Fields("WEB_TOKEN TELEGRAM_BOT_TOKEN DISCORD_BOT_TOKEN FEISHU_APP_ID FEISHU_APP_SECRET DINGTALK_CLIENT_ID DINGTALK_CLIENT_SECRET QQ_APP_ID QQ_APP_SECRET OPENAI_API_KEY ANTHROPIC_API_KEY")
	for _, none := range []string{"none", "NULL", "nil", "-", "---", "xxx", "xxxxxxxx", "<token>", "[token]", "changeme", "TODO", "your_token", "n/a", "false", "0", "1", "abc", "无", "填写", "...", "1：2", "a b", "ab:cd", "$TOKEN"} {
		var lines []string
		for _, name := range names {
			lines = append(lines, name+"="+none)
		}
		code, _, errs := run(t, dir, filled(t, lines...), "config", "check")
		if code != exitUsage {
			t.Errorf("%s: exit code %d", none, code)
		}
		seen := map[string]string{}
		for _, m := range problem.FindAllStringSubmatch(errs, -1) {
			if before := seen[m[1]]; before != "" {
				t.Errorf("%s: two lines:\n%s\n%s", none, before, m[0])
			}
			seen[m[1]] = m[0]
		}
		for key, model := range map[string]string{"OPENAI_API_KEY": "openai", "ANTHROPIC_API_KEY": "anthropic"} {
			if seen[key] != "" && strings.Contains(errs, "warning: model "+model+": ") {
				t.Errorf("%s: a problem and a warning:\n%s", none, errs)
			}
		}
		if seen["channels.telegram.token"] == "" || len(seen) > len(names) {
			t.Errorf("%s: %d lines for %d keys, that of Telegram is %q:\n%s", none, len(seen), len(names), seen["channels.telegram.token"], errs)
		}
	}
}

// unlogged is what a start says, the lines of a JSON log in their plain form.
func unlogged(t *testing.T, said string) string {
	t.Helper()
	var plain strings.Builder
	for line := range strings.Lines(said) {
		if !strings.HasPrefix(line, "{") {
			plain.WriteString(line)
			continue
		}
		var record struct{ Level, Msg, Problem string }
		if err := json.Unmarshal([]byte(line), &record); err != nil || record.Msg != "configuration" {
			t.Errorf("not a record of the configuration: %s, %v", line, err)
		}
		if record.Level == "WARN" {
			plain.WriteString("warning: ")
		}
		plain.WriteString(record.Problem + "\n")
	}
	return plain.String()
}

// enabled are the platforms that `config show` shows as such.
func enabled(shown string) string {
	var all []string
	for name := range strings.FieldsSeq("dingtalk discord feishu qq telegram") {
		if strings.Contains(shown, "  "+name+":\n    type: "+name+"\n    enabled: true") {
			all = append(all, name)
		}
	}
	return strings.Join(all, " ")
}

// TestEnvIsWarnedOfByDoctorAndLog: what is no mistake but hardly meant stands in
// the log of the start and in the doctor's findings, a line each; mistakes stand
// in the findings with the warnings below.
func TestEnvIsWarnedOfByDoctorAndLog(t *testing.T) {
	t.Parallel()
	dir := shipped(t, "docker.yaml")
	address := freeAddress(t)
	path := filepath.Join(dir, "config.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), "0.0.0.0:0", address, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	env := filled(t, "TELEGRAM=false", "TELEGRAM_BOT_TOKEN=1:a", "TIMEZONE= UTC", "OPENAI_KEY=x")
	cmd, said := running(t, dir, env...)
	_, doctor, _ := run(t, dir, env, "doctor")
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, said.String())
	}
	for _, want := range []string{"TELEGRAM=false keeps telegram off", "TIMEZONE: blanks", "did you mean OPENAI_API_KEY?"} {
		lines := 0
		for line := range strings.Lines(said.String()) {
			if strings.Contains(line, want) && strings.Contains(line, "WRN") {
				lines++
			}
		}
		if lines != 1 || strings.Count(doctor, "warning: ") != 3 || !strings.Contains(doctor, want) {
			t.Errorf("%q stands in %d lines of the log:\n%s\nand the doctor says\n%s", want, lines, said.String(), doctor)
		}
	}
	_, doctor, _ = run(t, dir, filled(t, "TELEGRAM=true", "TELEGRAM_TOKEN=1:a"), "doctor")
	parts(t, "doctor", doctor, []string{"FAIL  configuration: ", "TELEGRAM_BOT_TOKEN is not set", "did you mean TELEGRAM_BOT_TOKEN?"})
}

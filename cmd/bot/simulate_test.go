package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"magpie/internal/fakes/modelserver"
	"magpie/internal/simulate"
)

// dot is a picture of one pixel.
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// conversation is what a person tries on each platform.
const conversation = `hello
:group
你好
:private
write 你好吗 to note-%[1]s.txt
:press 1
read note-%[1]s.txt
:file dot.png
:file words.txt
list files
:cut
who are you
:fail 429
what time is it
:fail 502 2
hello
:fail drop
你好
`

// prompt pipes lines into the program.
func prompt(t *testing.T, dir, lines string, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := bot(t, dir, env, append([]string{"simulate"}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(lines), &out, &errs
	if err := cmd.Run(); err != nil {
		t.Logf("ended: %v", err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// answers cuts a transcript into what follows each line that was typed.
func answers(out string) map[string]string {
	all := map[string]string{}
	last := ""
	for _, line := range strings.SplitAfter(out, "\n") {
		if !strings.HasPrefix(line, " ") && strings.Contains(line, "> ") {
			_, last, _ = strings.Cut(strings.TrimSpace(line), "> ")
			continue
		}
		all[last] += line
	}
	return all
}

// transcript is what came of a conversation.
type transcript struct {
	code      int
	out, errs string
}

// TestSimulatePrompt talks on all platforms at the same time, each in a program
// of its own: what takes long is the waiting.
func TestSimulatePrompt(t *testing.T) {
	t.Parallel()
	picture, err := base64.StdEncoding.DecodeString(dot)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for file, data := range map[string][]byte{"dot.png": picture, "words.txt": []byte("some words")} {
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	names := simulate.Names()
	all := make([]transcript, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() {
			code, out, errs := prompt(t, dir, fmt.Sprintf(conversation, name), []string{"TMPDIR=" + dir}, name)
			all[i] = transcript{code, out, errs}
		})
	}
	wg.Wait()
	for i, name := range names {
		t.Run(name, func(t *testing.T) { all[i].check(t, name) })
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "magpie-simulate-*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

func (tr transcript) check(t *testing.T, name string) {
	if tr.code != exitDone {
		t.Errorf("exit code %d", tr.code)
	}
	said := answers(tr.out)
	for line, want := range map[string]string{
		"write 你好吗 to note-" + name + ".txt": "    [1] ✅ 允许\n    [2] 🚫 拒绝\n",
		":press 1":                   "created note-" + name + ".txt",
		"read note-" + name + ".txt": "1 | 你好吗",
		":file dot.png":              "I cannot look at pictures",
		":file words.txt":            name + " bot: ",
		"list files":                 "inbox/",
		":cut":                       "the bot is connected again",
		"who are you":                "offline assistant",
		"what time is it":            name + " bot: ",
	} {
		if !strings.Contains(said[line], want) {
			t.Errorf("%s: want %q, got\n%s", line, want, said[line])
		}
	}
	// Each line has its own answer, once: nothing is lost or doubled.
	if n := strings.Count(said["hello"], "Hello! I am"); n != 2 {
		t.Errorf("two hellos were answered %d times:\n%s", n, said["hello"])
	}
	if n := strings.Count(said["你好"], "你好！我是离线助手"); n != 2 || !strings.Contains(said["你好"], name+":group bot: ") {
		t.Errorf("two 你好 were answered %d times:\n%s", n, said["你好"])
	}
	if strings.Contains(tr.errs, "panic") || strings.Contains(tr.errs, "ERR") || t.Failed() {
		t.Errorf("stdout:\n%s\nstderr:\n%s", tr.out, tr.errs)
	}
}

// All platforms are there at once, with the model of the configuration.
func TestSimulateAllWithModel(t *testing.T) {
	t.Parallel()
	model := modelserver.New(t)
	model.Reply(modelserver.Echo)
	dir := t.TempDir()
	config := fmt.Sprintf("llm: {models: [{name: main, provider: openai, base_url: %s, api_key: sk-test, model: scripted}]}\nchannels: {telegram: {token: '1:other'}}\n", model.OpenAI())
	if err := os.WriteFile(filepath.Join(dir, "mine.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := prompt(t, dir, "一\n:feishu\n二\n:discord\n三\n:dingtalk\n四\n:qq\n五\n", []string{"TMPDIR=" + dir}, "--config", "mine.yaml")
	if code != exitDone {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	for _, want := range []string{"telegram bot: echo: 一\n", "feishu bot: echo: 二\n", "discord bot: echo: 三\n", "dingtalk bot: echo: 四\n", "qq bot: echo: 五\n"} {
		if strings.Count(out, want) != 1 {
			t.Errorf("want once %q in\n%s", want, out)
		}
	}
	if strings.Contains(out+errs, "sk-test") || strings.Contains(errs, "offline") {
		t.Errorf("stderr:\n%s", errs)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "magpie-simulate-*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

// The parts of a long answer come at the platform's rate; the next line waits
// for the last of them, and so does the end.
func TestSimulateLongAnswer(t *testing.T) {
	t.Parallel()
	model := modelserver.New(t)
	model.Reply(func(r modelserver.Request) modelserver.Answer {
		var b strings.Builder
		for n := range 2000 {
			fmt.Fprintf(&b, "%s %d.\n", r.LastUser(), n)
		}
		return modelserver.Answer{Text: b.String()}
	})
	dir := t.TempDir()
	config := fmt.Sprintf("llm: {models: [{name: main, provider: openai, base_url: %s, api_key: sk-test, model: scripted}]}\nchannels: {telegram: {token: '1:other'}}\n", model.OpenAI())
	if err := os.WriteFile(filepath.Join(dir, "mine.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := prompt(t, dir, "first\nsecond\n", []string{"TMPDIR=" + dir}, "--config", "mine.yaml", "telegram")
	if code != exitDone {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	said := answers(out)
	for _, line := range []string{"first", "second"} {
		if !strings.Contains(said[line], line+" 1999.") {
			t.Errorf("under %q there is no end of its answer", line)
		}
	}
	if strings.Contains(said["second"], "first") {
		t.Error("a part of the first answer comes after the second line")
	}
}

func TestSimulateRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bad.yaml"), []byte("timezon: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]struct {
		code int
		says string
	}{
		"irc":                          {exitUsage, `invalid argument "irc"`},
		"--prompt --page":              {exitUsage, "[page prompt]"},
		"--page --listen 0.0.0.0:0 qq": {exitFailed, "want an address of this machine alone"},
		"--config bad.yaml qq":         {exitUsage, "timezon"},
		"--log loud qq":                {exitUsage, "--log"},
	} {
		code, _, errs := prompt(t, dir, "", nil, strings.Fields(args)...)
		if code != want.code || !strings.Contains(errs, want.says) {
			t.Errorf("%s: %d %s", args, code, errs)
		}
	}
	code, out, errs := prompt(t, dir, ":nonsense\n", nil, "qq")
	if code != exitFailed || !strings.Contains(out, "there is no :nonsense here") || !strings.Contains(errs, "came to nothing: :nonsense") {
		t.Errorf("a wrong line: %d\n%s%s", code, out, errs)
	}
}

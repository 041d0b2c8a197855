package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"magpie/chat"
	"magpie/config"
	"magpie/internal/app"
)

// variables are the lines of .env with those to be added.
type variables struct {
	path  string
	text  string
	there bool
	set   map[string]string
	added []string // names
	env   func(string) (string, bool)
}

func readVariables(path string, env func(string) (string, bool)) (*variables, error) {
	v := &variables{path: path, env: env, set: map[string]string{}}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return v, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the variables: %w", err)
	}
	v.text, v.there = string(data), true
	v.set, _ = config.ParseEnv(data) // loading the configuration says what is wrong with it
	return v, nil
}

// get is the value of a variable, "" when it is not set.
func (v *variables) get(name string) string {
	value, _ := v.look(name)
	return value
}

func (v *variables) look(name string) (string, bool) {
	if value, ok := v.env(name); ok && value != "" {
		return value, true
	}
	value, ok := v.set[name]
	return value, ok
}

func (v *variables) clone() *variables {
	c := *v
	c.set, c.added = map[string]string{}, slices.Clone(v.added)
	for name, value := range v.set {
		c.set[name] = value
	}
	return &c
}

// put makes sure that .env sets a variable to value and returns its name: the
// first of the names that is free or holds the value already.
func (v *variables) put(value string, names ...string) (string, error) {
	for _, base := range slices.Clone(names) {
		for n := 2; n < 100; n++ {
			names = append(names, fmt.Sprintf("%s_%d", base, n))
		}
	}
	for _, name := range names {
		outside, _ := v.env(name)
		inside := v.set[name]
		if outside != "" && outside != value || inside != "" && inside != value {
			continue
		}
		if inside == value {
			return name, nil
		}
		line, ok := config.EnvLine(name, value)
		if !ok {
			return "", fmt.Errorf("a value for %s holds a quote or the end of a line: put it into a file and give <key>_file", name)
		}
		if v.text != "" && !strings.HasSuffix(v.text, "\n") {
			v.text += "\n"
		}
		v.text += line + "\n"
		v.set[name] = value
		v.added = append(v.added, name)
		return name, nil
	}
	return "", fmt.Errorf("no name is left for %s", names[0])
}

// variableOf is the usual variable of a platform's key.
func variableOf(name, key string) string {
	upper := strings.ToUpper(strings.ReplaceAll(name, "-", "_") + "_" + key)
	switch upper {
	case "TELEGRAM_TOKEN", "DISCORD_TOKEN":
		return strings.TrimSuffix(upper, "TOKEN") + "BOT_TOKEN"
	}
	if upper[0] >= '0' && upper[0] <= '9' {
		return "BOT_" + upper
	}
	return upper
}

// trial is what would be written.
type trial struct {
	text *config.Text
	env  *variables
}

func (w *wizard) trial() trial {
	return trial{config.NewText(w.text.Bytes()), w.env.clone()}
}

// accept takes what was tried if nothing was wrong with it. Else it says what,
// so that it can be asked again; it is an error where nobody answers.
func (w *wizard) accept(t trial, added, wrong string) (done bool, err error) {
	switch {
	case wrong == "":
		w.text, w.env = t.text, t.env
		w.added = append(w.added, added)
		return true, nil
	case w.silent:
		return false, fmt.Errorf("%s; nothing was written", wrong)
	}
	w.say("FAIL  %s", "错误  %s", wrong)
	return false, nil
}

// withChannel adds a section for the platform.
func (w *wizard) withChannel(pf platform, name string, values map[string]string) (t trial, added string, err error) {
	t = w.trial()
	section := config.Entry{Key: name}
	put := func(key, value string) {
		section.Entries = append(section.Entries, config.Entry{Key: key, Value: value})
	}
	if name != pf.name {
		put("type", pf.name)
	}
	for _, key := range sortedKeys(values, pf) {
		value := values[key]
		if value == "" {
			continue
		}
		if w.secretKey(pf.name, key) {
			variable, err := t.env.put(value, variableOf(name, key))
			if err != nil {
				return t, "", err
			}
			value = "${" + variable + "}"
		}
		put(key, value)
	}
	if len(w.w.allow) > 0 {
		put("allow", config.List(w.w.allow))
	}
	added, err = t.text.Add("channels", section)
	if err != nil {
		return t, "", fmt.Errorf("%s: %w", w.path, err)
	}
	return t, added, nil
}

// sortedKeys puts the platform's keys first, in its order.
func sortedKeys(values map[string]string, pf platform) []string {
	var all, rest []string
	for _, q := range pf.keys {
		if _, ok := values[q.key]; ok {
			all = append(all, q.key)
		}
	}
	for key := range values {
		if !slices.Contains(all, key) {
			rest = append(rest, key)
		}
	}
	slices.Sort(rest)
	return append(all, rest...)
}

// models asks for a model, unless the file has some.
func (w *wizard) models(ctx context.Context) error {
	if slices.Contains(w.text.Keys(""), "llm") {
		if w.w.provider != "" || w.w.model != "" {
			return fmt.Errorf("%w: llm stands in %s already: change it there", errUsage, w.path)
		}
		return nil
	}
	m := config.Model{Name: "main", Provider: w.w.provider, BaseURL: w.w.baseURL, Model: w.w.model, APIKey: chat.Secret(w.w.key)}
	for again := false; ; again = true {
		err := w.askModel(&m, again)
		if errors.Is(err, errNoAnswer) && m.Provider == "" && len(w.was) > 0 {
			return nil // a pipe that only adds a channel
		}
		if err != nil {
			return fmt.Errorf("model: %w", err)
		}
		if m.Provider == config.Offline {
			return nil
		}
		t := w.trial()
		added, err := w.addModel(t, m)
		if err != nil {
			return err
		}
		if done, err := w.accept(t, added, w.tryModel(ctx, t)); done || err != nil {
			return err
		}
	}
}

// askModel asks for what is missing, again for everything.
func (w *wizard) askModel(m *config.Model, again bool) (err error) {
	ask := func(into *string, text words, usual, flag string) {
		if err != nil || *into != "" && !again {
			return
		}
		if *into != "" {
			usual = *into
		}
		if *into, err = w.ask(text, usual); err != nil {
			err = fmt.Errorf("%w: give %s", err, flag)
		}
	}
	w.say("\nModel: openai (OpenAI, or any server that speaks its API), anthropic, or offline for none yet.", "\n模型：openai（OpenAI 或任何兼容的服务）、anthropic，暂不使用则填 offline。")
	usual := config.Offline
	if m.Model != "" || m.BaseURL != "" || w.env.get("OPENAI_API_KEY") != "" {
		usual = config.OpenAI
	} else if w.env.get("ANTHROPIC_API_KEY") != "" {
		usual = config.Anthropic
	}
	for {
		ask(&m.Provider, words{"Provider", "提供方"}, usual, "--provider")
		if err != nil || m.Provider == config.Offline {
			return err
		}
		if m.Provider == config.OpenAI || m.Provider == config.Anthropic {
			break
		}
		if w.silent || w.w.provider != "" {
			return fmt.Errorf("%w: --provider %s: want openai, anthropic or offline", errUsage, m.Provider)
		}
		w.say("Want openai, anthropic or offline.", "请填 openai、anthropic 或 offline。")
		m.Provider = ""
	}
	base, name := config.Vendor(m.Provider)
	ask(&m.BaseURL, words{"Address of the server", "服务地址"}, base, "--base-url")
	ask(&m.Model, words{"Model", "模型名称"}, name, "--model")
	if err != nil || m.APIKey != "" && !again {
		return err
	}
	known := string(m.APIKey)
	if known == "" {
		known = w.env.get(keyVariable(m.Provider))
	}
	key, err := w.secret(words{"Key (empty: the server wants none)", "密钥（服务不需要则留空）"}, known)
	if err != nil {
		return fmt.Errorf("%w: give --model-key", err)
	}
	m.APIKey = chat.Secret(key)
	return nil
}

func keyVariable(provider string) string { return strings.ToUpper(provider) + "_API_KEY" }

func (w *wizard) addModel(t trial, m config.Model) (added string, err error) {
	entry := config.Entry{Key: "models", List: true, Entries: []config.Entry{
		{Key: "name", Value: m.Name}, {Key: "provider", Value: m.Provider}, {Key: "base_url", Value: m.BaseURL}, {Key: "model", Value: m.Model},
	}}
	if m.APIKey != "" {
		variable, err := t.env.put(string(m.APIKey), keyVariable(m.Provider), "MODEL_API_KEY")
		if err != nil {
			return "", err
		}
		entry.Entries = append(entry.Entries, config.Entry{Key: "api_key", Value: "${" + variable + "}"})
	}
	if added, err = t.text.Add("llm", entry); err != nil {
		return "", fmt.Errorf("%s: %w", w.path, err)
	}
	return added, nil
}

func (w *wizard) tryModel(ctx context.Context, t trial) string {
	cfg, _, err := w.p.judge(config.Parse(w.path, t.text.Bytes(), t.env.look))
	if err != nil {
		return said(err)
	}
	if w.w.unchecked {
		return ""
	}
	return w.finding(app.ExamineModel(ctx, cfg.LLM.Models[0]))
}

// finish shows what changes and writes it.
func (w *wizard) finish() error {
	if len(w.added) == 0 {
		w.say("\nNothing to add.", "\n没有要添加的内容。")
		return nil
	}
	cfg, _, err := w.p.judge(config.Parse(w.path, w.text.Bytes(), w.env.look))
	if err != nil {
		return err
	}
	w.say("\n%s gets:", "\n%s 将增加：", w.path)
	for _, added := range w.added {
		for line := range strings.Lines(added) {
			fmt.Fprint(w.out, "  + "+strings.TrimRight(line, "\r\n")+"\n")
		}
	}
	if len(w.env.added) > 0 {
		w.say("%s gets:", "%s 将增加：", w.env.path)
		for _, name := range w.env.added {
			fmt.Fprintln(w.out, "  + "+name+"=***")
		}
	}
	if ok, err := w.yes(words{"Write it?", "写入？"}); err != nil || !ok {
		w.say("Nothing was written.", "没有写入。")
		return err
	}
	if err := w.write(); err != nil {
		return err
	}
	start := typed()
	if w.p.path != "" {
		start += " --config " + w.path
	}
	w.say("\nWritten. To start it: %s   (a running bot takes a new channel after a restart)",
		"\n已写入。启动：%s（已在运行的机器人重启后才有新渠道）", start)
	w.next(cfg, start)
	return nil
}

// next says how to speak to the bot, and how to look at it.
func (w *wizard) next(cfg *config.Config, start string) {
	switch {
	case slices.ContainsFunc(cfg.Channels, func(c config.Channel) bool { return c.Enabled && c.Type != "web" }):
		w.say("Then write to your bot: it answers with a code, and /pair CODE on the chat page lets you in.",
			"然后给机器人发消息：它会回一个配对码，在聊天页输入 /pair 配对码 即可放行。")
	case hasPage(cfg):
		w.say("There is no platform yet: speak to it on the chat page, whose address it shows at its start, or by %s.",
			"还没有平台：在聊天页（启动时会显示地址）或用 %s 与它对话。", start+" chat")
	}
	w.say("%s looks at everything.", "%s 可检查一切。", start+" doctor")
}

// write puts both files in place; .env first, which the other one refers to.
func (w *wizard) write() error {
	now, err := os.ReadFile(w.path)
	if err != nil && !errors.Is(err, os.ErrNotExist) || string(now) != string(w.was) {
		return fmt.Errorf("%s has changed meanwhile; nothing was written", w.path)
	}
	if err := os.MkdirAll(filepath.Dir(w.path), 0o700); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	if len(w.env.added) > 0 {
		if err := replaceFile(w.env.path, []byte(w.env.text)); err != nil {
			return err
		}
	}
	return replaceFile(w.path, w.text.Bytes())
}

// replaceFile writes a file that only its owner reads, whole or not at all.
func replaceFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".bot-init-*") // mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(f.Name()) // it is gone when all went well
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if os.Rename(f.Name(), path) == nil {
		return nil
	}
	// A file that is mounted alone cannot be replaced.
	if err := errors.Join(os.WriteFile(path, data, 0o600), os.Chmod(path, 0o600)); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

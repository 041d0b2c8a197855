package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"magpie/config"
	"magpie/internal/app"
)

// wishes are the flags of init. What is not given is asked for.
type wishes struct {
	platform, name                string
	keys, allow                   []string
	provider, baseURL, model, key string
	zone                          string
	yes, unchecked                bool
}

func (p *program) initCommand() *cobra.Command {
	w := &wishes{}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Make config.yaml and .env, or add a channel to them",
		Long: "Ask for a platform, its keys, a model and a time zone, try each by a real call, and write config.yaml\n" +
			"and, for the keys, .env beside it. What stands there already stays; run it again to add a channel.\n\n" +
			"Answers are read from the terminal, or as lines from a pipe. With --yes nobody is asked: flags and\n" +
			"variables such as TELEGRAM_BOT_TOKEN give what is wanted.",
		Args: noArgs,
		RunE: p.start(func(cmd *cobra.Command) error { return p.init(cmd.Context(), w) }),
	}
	f := cmd.Flags()
	f.StringVar(&w.platform, "platform", "", "one of "+platformNames()+", or none")
	f.StringVar(&w.name, "name", "", "name of the channel's section (default the platform)")
	f.StringArrayVar(&w.keys, "key", nil, "a key of the channel's section, such as token=… or api_base=…; may be given again")
	f.StringSliceVar(&w.allow, "allow", nil, "sender ids who may speak to the bot at once; others get a pairing code")
	f.StringVar(&w.provider, "provider", "", "the model's: openai (or compatible), anthropic or offline")
	f.StringVar(&w.baseURL, "base-url", "", "address of the model's server")
	f.StringVar(&w.model, "model", "", "the server's name of the model")
	f.StringVar(&w.key, "model-key", "", "key of the model's server")
	f.StringVar(&w.zone, "zone", "", "time zone such as Asia/Shanghai")
	f.BoolVar(&w.yes, "yes", false, "ask nothing")
	f.BoolVar(&w.unchecked, "no-check", false, "make no calls to platform and model")
	return cmd
}

// wizard makes a configuration of wishes and answers.
type wizard struct {
	p *program
	w *wishes
	*asker
	path   string // of the configuration
	was    []byte // its content; nil: there is none yet
	stands string // the zone in it
	text   *config.Text
	env    *variables
	added  []string // what the file gets, for people
}

func (p *program) init(ctx context.Context, wish *wishes) error {
	w, err := p.newWizard(wish)
	if err != nil {
		return err
	}
	err = errors.Join(w.channels(ctx))
	if err == nil {
		err = w.models(ctx)
	}
	if err == nil {
		err = w.zone()
	}
	if errors.Is(err, errNoAnswer) {
		return fmt.Errorf("%w; nothing was written", err)
	}
	if err != nil {
		return err
	}
	return w.finish()
}

func (p *program) newWizard(wish *wishes) (*wizard, error) {
	w := &wizard{p: p, w: wish, asker: newAsker(p, wish.yes), path: p.path}
	if w.path == "" {
		w.path, _ = p.env(config.PathVariable)
	}
	if w.path == "" {
		w.path = "config.yaml"
	}
	if real, err := filepath.EvalSymlinks(w.path); err == nil {
		w.path = real
	}
	was, err := os.ReadFile(w.path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	w.was = was
	if w.env, err = readVariables(config.EnvFile(w.path), p.env); err != nil {
		return nil, err
	}
	if was == nil {
		was = []byte("# Made by bot init. docs/configuration.md describes every key, bot config check finds mistakes.\n")
		w.say("A new configuration: %s", "新建配置：%s", w.path)
	} else {
		cfg, _, err := p.judge(config.Parse(w.path, was, p.env))
		if err != nil {
			return nil, err
		}
		w.stands = cfg.Timezone
		w.say("%s is there already; nothing of it is changed or removed.", "%s 已存在：其中的内容不会被改动或删除。", w.path)
	}
	if w.text = config.NewText(was); w.text == nil {
		return nil, fmt.Errorf("%s: %w", w.path, config.ErrPlace)
	}
	return w, nil
}

// channels asks for platforms until none is wanted.
func (w *wizard) channels(ctx context.Context) error {
	if name := w.w.platform; name != "" || w.silent {
		if name == "" || name == "none" {
			return nil
		}
		pf, ok := platformNamed(name)
		if !ok {
			return fmt.Errorf("%w: --platform %s: want one of %s or none", errUsage, name, platformNames())
		}
		return w.channel(ctx, pf)
	}
	for {
		w.say("\nPlatforms: %s", "\n平台：%s", w.tongue(words{platformNames(), "telegram、discord、feishu（飞书）、dingtalk（钉钉）、qq"}))
		name, err := w.ask(words{"Platform to add (Enter: no more)", "要添加的平台（回车：不再添加）"}, "")
		if err != nil {
			return fmt.Errorf("platform: %w: give --platform", err)
		}
		if name == "" || name == "none" {
			return nil
		}
		pf, ok := platformNamed(strings.ToLower(name))
		if !ok {
			w.say("There is no platform %q.", "没有平台 %q。", name)
			continue
		}
		if err := w.channel(ctx, pf); err != nil {
			return err
		}
	}
}

// channel adds one section; keys that the platform refuses are asked for again.
func (w *wizard) channel(ctx context.Context, pf platform) error {
	w.say("\n%s: %s", "\n%s：%s", pf.name, w.tongue(pf.where))
	name, err := w.instance(pf)
	if err != nil {
		return err
	}
	values, err := w.givenKeys()
	if err != nil {
		return err
	}
	for again := false; ; again = true {
		if err := w.askKeys(pf, values, again); err != nil {
			return fmt.Errorf("%s: %w", pf.name, err)
		}
		trial, added, err := w.withChannel(pf, name, values)
		if err != nil {
			return err
		}
		if done, err := w.accept(trial, added, w.tryChannel(ctx, trial, name)); done || err != nil {
			return err
		}
	}
}

// instance is a name for the section that is not taken yet.
func (w *wizard) instance(pf platform) (string, error) {
	taken := w.text.Keys("channels")
	name := w.w.name
	if err := config.CheckName(name); err != nil && name != "" {
		return "", fmt.Errorf("%w: --name %q: %w", errUsage, name, err)
	}
	for n := 2; name == "" || slices.Contains(taken, name); n++ {
		if name != "" && w.w.name != "" {
			return "", fmt.Errorf("%w: --name %s: channels.%s is there already", errUsage, name, name)
		}
		if name = pf.name; slices.Contains(taken, name) {
			if w.silent {
				return "", fmt.Errorf("%w: channels.%s is there already: give the second one another --name", errUsage, name)
			}
			var err error
			if name, err = w.askName(taken, fmt.Sprintf("%s%d", pf.name, n)); err != nil {
				return "", fmt.Errorf("name of the channel: %w: give --name", err)
			}
		}
	}
	return name, nil
}

// askName asks until the name is a good one that is free.
func (w *wizard) askName(taken []string, usual string) (string, error) {
	for {
		name, err := w.ask(words{"There is one already; name of this one", "已有一个；这一个的名称"}, usual)
		if err != nil {
			return "", err
		}
		wrong := config.CheckName(name)
		if wrong == nil && !slices.Contains(taken, name) {
			return name, nil
		}
		if wrong != nil {
			w.say("%q: %v.", "%q：%v。", name, wrong)
		}
	}
}

// givenKeys are the flags --key.
func (w *wizard) givenKeys() (map[string]string, error) {
	values := map[string]string{}
	for _, pair := range w.w.keys {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("%w: --key wants <key>=<value>", errUsage)
		}
		values[key] = value
	}
	return values, nil
}

// askKeys asks for the keys that the platform wants; again also for those that
// are known.
func (w *wizard) askKeys(pf platform, values map[string]string, again bool) error {
	var missing []string
	for _, q := range pf.keys {
		if values[q.key+"_file"] != "" || values[q.key] != "" && !again {
			continue
		}
		usual := values[q.key]
		if usual == "" {
			usual = w.env.get(variableOf(pf.name, q.key))
		}
		ask := w.ask
		if w.secretKey(pf.name, q.key) {
			ask = w.secret
		}
		value, err := ask(q.text, usual)
		if err != nil {
			return fmt.Errorf("%s: %w: give --key %s=…", q.key, err, q.key)
		}
		if values[q.key] = value; value == "" && w.silent {
			missing = append(missing, "--key "+q.key+"=… (or the variable "+variableOf(pf.name, q.key)+")")
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w: missing: %s", errUsage, strings.Join(missing, ", "))
	}
	return nil
}

func (w *wizard) secretKey(platform, key string) bool {
	return config.IsSecret(w.p.defaults()[platform], key)
}

// zone asks for the time zone, unless the file has one.
func (w *wizard) zone() error {
	if slices.Contains(w.text.Keys(""), "timezone") {
		if w.w.zone != "" && w.w.zone != w.stands {
			return fmt.Errorf("%w: timezone stands in %s already: change it there", errUsage, w.path)
		}
		return nil
	}
	zone, usual := w.w.zone, (config.Home{}).Location().String()
	if usual == "Local" {
		usual = "UTC"
	}
	for {
		if zone == "" {
			w.say("", "")
			var err error
			zone, err = w.ask(words{"Time zone", "时区"}, usual)
			if errors.Is(err, errNoAnswer) && len(w.was) > 0 {
				return nil
			}
			if err != nil {
				return fmt.Errorf("time zone: %w: give --zone", err)
			}
		}
		if _, err := time.LoadLocation(zone); err == nil && zone != "Local" {
			break
		}
		if w.silent || w.w.zone != "" {
			return fmt.Errorf("%w: --zone %s: want a name such as Asia/Shanghai", errUsage, zone)
		}
		w.say("There is no zone %q; want a name such as Asia/Shanghai.", "没有时区 %q；要类似 Asia/Shanghai 的名称。", zone)
		zone = ""
	}
	added, err := w.text.Add("", config.Entry{Key: "timezone", Value: zone})
	w.added = append(w.added, added)
	return err
}

// tryChannel says what is wrong with a channel; "" = nothing.
func (w *wizard) tryChannel(ctx context.Context, t trial, name string) string {
	cfg, _, err := w.p.judge(config.Parse(w.path, t.text.Bytes(), t.env.look))
	if err != nil {
		return said(err)
	}
	if w.w.unchecked {
		return ""
	}
	return w.finding(app.ExamineChannel(ctx, cfg, name))
}

// finding shows a good one and returns the text of a bad one.
func (w *wizard) finding(f app.Finding) string {
	if !f.OK {
		return f.Check + ": " + f.Text + "\n      " + w.tongue(words{"what to do: ", "怎么办："}) + f.Todo
	}
	w.say("ok    %s: %s", "ok    %s：%s", f.Check, f.Text)
	return ""
}

// said is what is wrong, without the places of a file that does not exist yet.
func said(err error) string {
	var wrong *config.Error
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	var lines []string
	for _, p := range wrong.Problems {
		lines = append(lines, strings.TrimPrefix(p.Key+": "+p.Text, ": "))
	}
	return strings.Join(lines, "\n      ")
}

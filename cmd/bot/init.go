package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"magpie/config"
	"magpie/internal/app"
	"magpie/internal/connect"
	"magpie/internal/setup"
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
			"and, for the keys, .env beside it. What stands there already stays; run it again to add a channel.\n" +
			"What cannot be tried, since there is no network for example, can be tried again, changed, kept or\n" +
			"skipped. Calls go through the proxy that HTTPS_PROXY names.\n\n" +
			"Answers are read from the terminal, or as lines from a pipe. With --yes nobody is asked: flags and\n" +
			"variables such as TELEGRAM_BOT_TOKEN give what is wanted.",
		Args: noArgs,
		RunE: p.start(func(cmd *cobra.Command) error { return p.init(cmd.Context(), w) }),
	}
	f := cmd.Flags()
	f.StringVar(&w.platform, "platform", "", "one of "+strings.Join(setup.Names(), ", ")+", or none")
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

// wizard asks at the terminal, or takes the lines of a pipe, for what a draft
// wants to know.
type wizard struct {
	p *program
	w *wishes
	*asker
	*setup.Draft
	// kept are the answers about each platform, for another try.
	kept map[string]map[string]string
	// owners are the ids of those who made an app by a scan.
	owners []string
	// byHand: a scan was broken off.
	byHand bool
}

// errStopped: the person wants nothing to be written.
var errStopped = errors.New("stopped")

func (p *program) init(ctx context.Context, wish *wishes) error {
	w := &wizard{p: p, w: wish, asker: newAsker(p, wish.yes), kept: map[string]map[string]string{}}
	defer w.guarded()()
	err := w.open()
	if err == nil {
		err = w.channels(ctx)
	}
	if err == nil {
		err = w.models(ctx)
	}
	if err == nil {
		err = w.zone()
	}
	if errors.Is(err, errNoAnswer) || errors.Is(err, errStopped) {
		return fmt.Errorf("%w; nothing was written", err)
	}
	if err != nil {
		return err
	}
	return w.finish()
}

// open begins the draft.
func (w *wizard) open() error {
	path := w.p.path
	if path == "" {
		path, _ = w.p.env(config.PathVariable)
	}
	if path == "" {
		path = "config.yaml"
	}
	tools := setup.Tools{Env: w.p.env, Judge: w.judge, Secret: w.secretKey}
	if !w.w.unchecked {
		tools.Channel = func(ctx context.Context, cfg *config.Config, name string) setup.Finding {
			return found(app.ExamineChannel(ctx, cfg, name))
		}
		tools.Model = func(ctx context.Context, m config.Model) setup.Finding { return found(app.ExamineModel(ctx, m)) }
	}
	d, err := setup.Open(path, tools)
	if err != nil {
		return err
	}
	w.Draft = d
	if d.There() {
		w.say("%s is there already; nothing of it is changed or removed.", "%s 已存在：其中的内容不会被改动或删除。", d.Path)
	} else {
		w.say("A new configuration: %s", "新建配置：%s", d.Path)
	}
	return nil
}

func (w *wizard) judge(cfg *config.Config, err error) (*config.Config, error) {
	cfg, _, err = w.p.judge(cfg, err)
	return cfg, err
}

func (w *wizard) secretKey(platform, key string) bool {
	return config.IsSecret(w.p.defaults()[platform], key)
}

func found(f app.Finding) setup.Finding {
	return setup.Finding{Check: f.Check, Text: f.Text, Todo: words{English: f.Todo, Chinese: f.Chinese}, OK: f.OK, Refused: f.Refused}
}

// channels asks for platforms until none is wanted.
func (w *wizard) channels(ctx context.Context) error {
	names := strings.Join(setup.Names(), ", ")
	if name := w.w.platform; name != "" || w.silent {
		if name == "" || name == "none" {
			return nil
		}
		pf, ok := setup.Named(name)
		if !ok {
			return fmt.Errorf("%w: --platform %s: want one of %s or none", errUsage, name, names)
		}
		return w.channel(ctx, pf)
	}
	for {
		w.say("\nPlatforms: %s", "\n平台：%s", w.tongue(words{English: names, Chinese: "telegram、discord、feishu（飞书）、dingtalk（钉钉）、qq"}))
		name, err := w.ask(words{English: "Platform to add (Enter: no more)", Chinese: "要添加的平台（回车：不再添加）"}, "")
		if err != nil {
			return fmt.Errorf("platform: %w: give --platform", err)
		}
		if name == "" || name == "none" {
			return nil
		}
		pf, ok := setup.Named(name)
		if !ok {
			w.say("There is no platform %q.", "没有平台 %q。", name)
			if meant := config.NearestType(name, setup.Names()); meant != "" {
				w.say("Did you mean %s?", "是指 %s 吗？", meant)
			}
			continue
		}
		if err := w.channel(ctx, pf); err != nil {
			return err
		}
	}
}

// channel adds one section. What was answered is kept for the next try.
func (w *wizard) channel(ctx context.Context, pf setup.Platform) error {
	w.say("\n%s: %s", "\n%s：%s", pf.Name, w.tongue(pf.Where))
	name, err := w.instance(pf)
	if err != nil {
		return err
	}
	again := w.kept[pf.Name] != nil
	if !again {
		if w.kept[pf.Name], err = w.givenKeys(); err != nil {
			return err
		}
	}
	values, shown := w.kept[pf.Name], false
	w.owners, w.byHand = nil, false
	return w.until(ctx, pf.Name, func(changed bool) (*setup.Trial, error) {
		if err := w.askKeys(ctx, pf, values, again || changed); err != nil {
			return nil, fmt.Errorf("%s: %w", pf.Name, err)
		}
		if !shown && !w.silent {
			shown = true
			fmt.Fprintf(w.out, "\n%s\n\n", w.tongue(connect.Next(pf.Name, values)))
		}
		return w.Channel(setup.Section{Platform: pf, Name: name, Values: values, Allow: append(slices.Clone(w.w.allow), w.owners...)})
	})
}

// until asks and tries until something is taken, or the person goes on without
// it.
func (w *wizard) until(ctx context.Context, what string, ask func(changed bool) (*setup.Trial, error)) error {
	var trial *setup.Trial
	for action := setup.Change; ; {
		if action == setup.Change {
			next, err := ask(trial != nil)
			if action = chosen(err); action == "" && (next == nil || err != nil) {
				return err
			}
			if action == "" {
				trial, action = next, setup.Retry
			}
		}
		var err error
		switch action {
		case setup.Retry:
			if action, err = w.settle(ctx, trial); err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			if action == "" {
				w.Take(trial)
				return nil
			}
		case setup.Keep:
			w.say("It is kept as it is; the doctor tries it again.", "按原样保留；doctor 会再检查。")
			w.Take(trial)
			return nil
		case setup.Skip:
			w.say("Going on without %s.", "跳过 %s。", what)
			return nil
		case setup.Stop:
			return errStopped
		}
	}
}

// settle tries, and asks what to do when it does not go well; "" is nothing.
func (w *wizard) settle(ctx context.Context, t *setup.Trial) (setup.Action, error) {
	if !w.w.unchecked && w.tty {
		w.say("Trying it, for a minute at most …", "正在检查，最多一分钟……")
	}
	w.Try(ctx, t)
	f := t.Finding
	text := strings.TrimPrefix(f.Check+": "+f.Text, ": ")
	switch {
	case f.OK:
		if f.Check != "" {
			w.say("ok    %s", "ok    %s", text)
		}
		return "", nil
	case f.Malformed && !w.silent:
		text = w.tongue(words{Chinese: "填写的内容格式不对。\n      "}) + text
	case f.Todo != words{}:
		text += "\n      " + w.tongue(words{English: "what to do: ", Chinese: "怎么办："}) + w.tongue(f.Todo)
	}
	if w.silent {
		hint := "; nothing was written"
		if !f.Malformed {
			hint += " (--no-check writes without trying)"
		}
		return "", errors.New(text + hint)
	}
	w.say("FAIL  %s", "错误  %s", text)
	return w.choose(f.Offers())
}

// instance is a name for the section that is not taken yet.
func (w *wizard) instance(pf setup.Platform) (string, error) {
	taken := w.Channels()
	name := w.w.name
	if err := config.CheckName(name); err != nil && name != "" {
		return "", fmt.Errorf("%w: --name %q: %w", errUsage, name, err)
	}
	for n := 2; name == "" || slices.Contains(taken, name); n++ {
		if name != "" && w.w.name != "" {
			return "", fmt.Errorf("%w: --name %s: channels.%s is there already", errUsage, name, name)
		}
		if name = pf.Name; slices.Contains(taken, name) {
			if w.silent {
				return "", fmt.Errorf("%w: channels.%s is there already: give the second one another --name", errUsage, name)
			}
			var err error
			if name, err = w.askName(taken, fmt.Sprintf("%s%d", pf.Name, n)); err != nil {
				return "", fmt.Errorf("name of the channel: %w: give --name", err)
			}
		}
	}
	return name, nil
}

// askName asks until the name is a good one that is free.
func (w *wizard) askName(taken []string, usual string) (string, error) {
	for {
		name, err := w.ask(words{English: "There is one already; name of this one", Chinese: "已有一个；这一个的名称"}, usual)
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

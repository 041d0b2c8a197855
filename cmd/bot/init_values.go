package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"magpie/chat"
	"magpie/config"
	"magpie/internal/connect"
	"magpie/internal/setup"
)

// askKeys asks for the keys that the platform wants; again also for those that
// are known. An app that was made by a scan has them all.
func (w *wizard) askKeys(ctx context.Context, pf setup.Platform, values map[string]string, again bool) error {
	var missing []string
	for _, q := range pf.Keys {
		if values[q.Key+"_file"] != "" || values[q.Key] != "" && !again && !wantsScan(values[q.Key]) {
			continue
		}
		variable := setup.Variable(pf.Name, q.Key)
		made, err := w.askKey(ctx, pf, q, values)
		if made || err != nil {
			return err
		}
		if values[q.Key] == "" && w.silent {
			missing = append(missing, "--key "+q.Key+"=… (or the variable "+variable+")")
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w: missing: %s", errUsage, strings.Join(missing, ", "))
	}
	return nil
}

// askKey asks for one key; made is true when a scan has given it, and all
// others.
func (w *wizard) askKey(ctx context.Context, pf setup.Platform, q setup.Question, values map[string]string) (made bool, err error) {
	variable := setup.Variable(pf.Name, q.Key)
	scans := connect.Scannable(pf.Name) && q.Key == pf.Keys[0].Key
	given := values[q.Key]
	for {
		answer := given
		if !scans || !wantsScan(given) {
			if q.Usual = given; q.Usual == "" {
				q.Usual = w.Variable(variable)
			}
			shown := q
			if scans {
				shown = w.scanQuestion(q)
			}
			if answer, err = w.answer(shown); err != nil {
				return false, fmt.Errorf("%s: %w: give --key %s=…", q.Key, err, q.Key)
			}
		}
		if !scans || !wantsScan(answer) {
			values[q.Key] = setup.Neat(variable, answer)
			return false, nil
		}
		if made, err = w.scan(ctx, pf, values); made || err != nil {
			return made, err
		}
		given = ""
		delete(values, q.Key)
	}
}

// models asks for a model, unless the file has some.
func (w *wizard) models(ctx context.Context) error {
	if w.Has("llm") {
		if w.w.provider != "" || w.w.model != "" {
			return fmt.Errorf("%w: llm stands in %s already: change it there", errUsage, w.Path)
		}
		return nil
	}
	m := config.Model{Name: "main", Provider: w.w.provider, BaseURL: w.w.baseURL, Model: w.w.model, APIKey: chat.Secret(w.w.key)}
	return w.until(ctx, w.tongue(words{English: "model", Chinese: "模型"}), func(changed bool) (*setup.Trial, error) {
		err := w.askModel(&m, changed)
		if errors.Is(err, errNoAnswer) && m.Provider == "" && w.Filled() {
			return nil, nil // a pipe that only adds a channel
		}
		if err != nil {
			return nil, fmt.Errorf("model: %w", err)
		}
		if m.Provider == config.Offline {
			return nil, nil
		}
		return w.Model(m)
	})
}

// askModel asks for what is missing, again for everything.
func (w *wizard) askModel(m *config.Model, again bool) error {
	if err := w.askProvider(m, again); err != nil || m.Provider == config.Offline {
		return err
	}
	key := string(m.APIKey)
	into := map[string]*string{"base_url": &m.BaseURL, "model": &m.Model, "api_key": &key}
	flags := map[string]string{"base_url": "--base-url", "model": "--model", "api_key": "--model-key"}
	for _, q := range w.ModelQuestions(m.Provider) {
		value := into[q.Key]
		if *value != "" && !again {
			continue
		}
		if *value != "" {
			q.Usual = *value
		}
		answer, err := w.answer(q)
		if err != nil {
			return fmt.Errorf("%w: give %s", err, flags[q.Key])
		}
		*value = setup.Neat(strings.ToUpper(m.Provider+"_"+q.Key), answer)
	}
	m.APIKey = chat.Secret(key)
	return nil
}

// askProvider asks until it is one.
func (w *wizard) askProvider(m *config.Model, again bool) error {
	w.say("\nModel: openai (OpenAI, or any server that speaks its API), anthropic, or offline for none yet.", "\n模型：openai（OpenAI 或任何兼容的服务）、anthropic，暂不使用则填 offline。")
	usual := config.Offline
	if m.Model != "" || m.BaseURL != "" || w.Variable("OPENAI_API_KEY") != "" {
		usual = config.OpenAI
	} else if w.Variable("ANTHROPIC_API_KEY") != "" {
		usual = config.Anthropic
	}
	for {
		if m.Provider == "" || again {
			if m.Provider != "" {
				usual = m.Provider
			}
			provider, err := w.ask(words{English: "Provider", Chinese: "提供方"}, usual)
			if err != nil {
				return fmt.Errorf("%w: give --provider", err)
			}
			m.Provider = strings.ToLower(provider)
		}
		if slices.Contains([]string{config.OpenAI, config.Anthropic, config.Offline}, m.Provider) {
			return nil
		}
		hint := config.ProviderHint(m.Provider)
		if w.silent || w.w.provider != "" && !again {
			return fmt.Errorf("%w: --provider %s: want openai, anthropic or offline%s", errUsage, m.Provider, hint)
		}
		w.say("Want openai, anthropic or offline%s.", "请填 openai、anthropic 或 offline%s。", hint)
		m.Provider = ""
	}
}

// zone asks for the time zone, unless the file has one.
func (w *wizard) zone() error {
	if w.Has("timezone") {
		if w.w.zone != "" && w.w.zone != w.Zone {
			return fmt.Errorf("%w: timezone stands in %s already: change it there", errUsage, w.Path)
		}
		return nil
	}
	said, usual := w.w.zone, (config.Home{}).Location().String()
	if usual == "Local" {
		usual = "UTC"
	}
	for {
		if said == "" {
			w.say("", "")
			var err error
			said, err = w.ask(words{English: "Time zone", Chinese: "时区"}, usual)
			if errors.Is(err, errNoAnswer) && w.Filled() {
				return nil
			}
			if err != nil {
				return fmt.Errorf("time zone: %w: give --zone", err)
			}
		}
		taken, guess, err := w.SetZone(said)
		if err != nil {
			return err
		}
		if taken != "" {
			if taken != said {
				w.say("%s is %s.", "%s 的时区是 %s。", said, taken)
			}
			return nil
		}
		hint := ""
		if guess != "" {
			hint, usual = w.tongue(words{English: "; did you mean " + guess + "?", Chinese: "；是指 " + guess + " 吗？"}), guess
		}
		if w.silent || w.w.zone != "" {
			return fmt.Errorf("%w: --zone %s: want a name such as Asia/Shanghai%s", errUsage, said, hint)
		}
		w.say("There is no zone %q; want a name such as Asia/Shanghai%s", "没有时区 %q；要类似 Asia/Shanghai 的名称%s", said, hint)
		said = ""
	}
}

package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"magpie/channels"
	"magpie/config"
	"magpie/internal/app"
	"magpie/internal/kv"
)

// load reads the configuration, looks for tools that do not exist and lets the
// adapter of every enabled channel check its section, so that everything that is wrong is said at once. The
// sections are returned by instance name.
func (p *program) load() (*config.Config, map[string]any, error) {
	return p.judge(config.Load(p.path, p.env))
}

// judge is what tools and adapters say of a configuration that was read.
func (p *program) judge(cfg *config.Config, err error) (*config.Config, map[string]any, error) {
	if cfg == nil {
		return nil, nil, err
	}
	errs := []error{err, app.CheckTools(cfg)}
	sections := map[string]any{}
	for _, ch := range cfg.Channels {
		if !ch.Enabled {
			continue
		}
		section, err := p.section(cfg, ch)
		errs = append(errs, err)
		if section != nil {
			sections[ch.Name] = section
		}
	}
	return cfg, sections, config.Join(errs...)
}

// section makes a channel, which does no IO, and returns what it decoded.
func (p *program) section(cfg *config.Config, ch config.Channel) (section any, err error) {
	factory, ok := p.channels[ch.Type]
	if !ok {
		hint := ""
		if meant := config.NearestType(ch.Type, p.types()); meant != "" {
			hint = fmt.Sprintf("; did you mean %s?", meant)
		}
		return nil, ch.Errorf("type", "there is no channel type %q; known: %s%s", ch.Type, strings.Join(p.types(), ", "), hint)
	}
	decode := func(target any) error {
		section = target
		return ch.Decode(target)
	}
	public, _ := app.Public(cfg) // what is wrong with it is said at the start, and by the doctor
	_, err = factory(ch.Name, decode, channels.Deps{Table: &kv.Memory{}, Public: public})
	if err != nil && !errors.As(err, new(*config.Error)) {
		err = pointed(ch, err)
	}
	return section, err
}

// pointed gives each line of an adapter's error the place of the key that it
// begins with.
func pointed(ch config.Channel, err error) error {
	var errs []error
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSuffix(line, "\n")
		key, text, ok := strings.Cut(line, ": ")
		if !ok || !keyShape.MatchString(key) {
			key, text = "", line
		}
		errs = append(errs, ch.Errorf(key, "%s", text))
	}
	return config.Join(errs...)
}

// keyShape is how keys are written; what else stands before a colon is part of
// a sentence.
var keyShape = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)

func (p *program) types() []string {
	var all []string
	for name := range p.channels {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// errLooked stops a factory after it has shown its section.
var errLooked = errors.New("only the section was wanted")

// defaults returns every adapter's section with its defaults, by type: a
// factory shows it when it asks for its keys.
func (p *program) defaults() map[string]any {
	sections := map[string]any{}
	for name, factory := range p.channels {
		sections[name] = struct{}{}
		look := func(target any) error {
			sections[name] = target
			return errLooked
		}
		// The error is errLooked, or the adapter has no section to show.
		_, _ = factory(name, look, channels.Deps{Table: &kv.Memory{}})
	}
	return sections
}

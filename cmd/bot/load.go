package main

import (
	"errors"
	"slices"
	"strings"

	"magpie/channels"
	"magpie/config"
	"magpie/internal/kv"
)

// load reads the configuration and lets the adapter of every enabled channel
// check its section, so that everything that is wrong is said at once. The
// sections are returned by instance name.
func (p *program) load() (*config.Config, map[string]any, error) {
	cfg, err := config.Load(p.path, p.env)
	if cfg == nil {
		return nil, nil, err
	}
	errs := []error{err}
	sections := map[string]any{}
	for _, ch := range cfg.Channels {
		if !ch.Enabled {
			continue
		}
		section, err := p.section(ch)
		errs = append(errs, err)
		if section != nil {
			sections[ch.Name] = section
		}
	}
	return cfg, sections, config.Join(errs...)
}

// section makes a channel, which does no IO, and returns what it decoded.
func (p *program) section(ch config.Channel) (section any, err error) {
	factory, ok := p.channels[ch.Type]
	if !ok {
		return nil, ch.Errorf("type", "there is no channel type %q; known: %s", ch.Type, strings.Join(p.types(), ", "))
	}
	decode := func(target any) error {
		section = target
		return ch.Decode(target)
	}
	_, err = factory(ch.Name, decode, channels.Deps{Table: &kv.Memory{}})
	if err != nil && !errors.As(err, new(*config.Error)) {
		err = ch.Errorf("", "%v", err)
	}
	return section, err
}

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

package app

import (
	"errors"
	"reflect"

	"magpie/channels"
	"magpie/channels/all"
	"magpie/chat"
	"magpie/config"
	"magpie/internal/kv"
)

// secrets are the values that must never stand in a log: those of the core
// sections and of every channel's, whatever the adapter calls them.
func (p *program) secrets() []chat.Secret { return secrets(p.cfg, p.token) }

func secrets(cfg *config.Config, token chat.Secret) []chat.Secret {
	found := []chat.Secret{token}
	gather(reflect.ValueOf(cfg), &found)
	for _, section := range sections(cfg) {
		gather(reflect.ValueOf(section), &found)
	}
	return found
}

// sections are what the adapters of the enabled channels have decoded, by
// name.
func sections(cfg *config.Config) map[string]any {
	found := map[string]any{}
	for _, c := range cfg.Channels {
		factory, ok := all.Registry()[c.Type]
		if !ok || !c.Enabled {
			continue
		}
		look := func(target any) error {
			if err := c.Decode(target); err != nil {
				return err
			}
			found[c.Name] = target
			return errSeen
		}
		// The error is errSeen, or the channel will say itself what is wrong.
		_, _ = factory(c.Name, look, channels.Deps{Table: &kv.Memory{}})
	}
	return found
}

// errSeen stops a factory after its section was looked at.
var errSeen = errors.New("only the section was wanted")

// gather adds every chat.Secret at or below v.
func gather(v reflect.Value, found *[]chat.Secret) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			gather(v.Elem(), found)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				gather(v.Field(i), found)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			gather(v.Index(i), found)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			gather(v.MapIndex(key), found)
		}
	case reflect.String:
		if s, ok := v.Interface().(chat.Secret); ok && s != "" {
			*found = append(*found, s)
		}
	}
}

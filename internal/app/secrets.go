package app

import (
	"errors"
	"os"
	"reflect"

	"magpie/channels"
	"magpie/channels/all"
	"magpie/chat"
	"magpie/config"
	"magpie/internal/kv"
	"magpie/internal/proxy"
)

// secrets are the values that must never stand in a log: those of the core
// sections and of every channel's, whatever the adapter calls them, and the
// passwords of proxies.
func secrets(cfg *config.Config, token chat.Secret) []chat.Secret {
	found := []chat.Secret{token}
	gather(reflect.ValueOf(cfg), &found)
	for _, section := range sections(cfg) {
		gather(reflect.ValueOf(section), &found)
	}
	for _, password := range proxy.Secrets(cfg.Proxies()...) {
		found = append(found, chat.Secret(password))
	}
	return found
}

// unlogged are the secrets, and those of the environment that the program uses
// itself: its commands may be given them.
func unlogged(cfg *config.Config, token chat.Secret) []chat.Secret {
	found := secrets(cfg, token)
	for _, name := range proxy.Variables() {
		for _, password := range proxy.Secrets(os.Getenv(name)) {
			found = append(found, chat.Secret(password))
		}
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

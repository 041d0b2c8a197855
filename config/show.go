package config

import (
	"encoding"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// Show writes the effective configuration as YAML; secrets are ***. sections
// holds the adapters' decoded structs (or pointers to them) by instance name;
// a channel that is missing shows only the keys that every channel has.
func Show(c *Config, sections map[string]any) ([]byte, error) {
	all := shown(reflect.ValueOf(c).Elem()).(yaml.MapSlice)
	channels := yaml.MapSlice{}
	for _, ch := range c.Channels {
		keys := shown(reflect.ValueOf(&ch).Elem()).(yaml.MapSlice)
		if own, ok := sections[ch.Name]; ok {
			keys = append(keys, shown(reflect.ValueOf(own)).(yaml.MapSlice)...)
		}
		channels = append(channels, yaml.MapItem{Key: ch.Name, Value: keys})
	}
	all = append(all, yaml.MapItem{Key: "channels", Value: channels})
	data, err := yaml.MarshalWithOptions(all, yaml.IndentSequence(true))
	if err != nil {
		return nil, fmt.Errorf("write configuration: %w", err)
	}
	return data, nil
}

// shown turns a value into what the YAML encoder writes in the file's form.
func shown(v reflect.Value) any {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	switch t := v.Interface().(type) {
	case time.Duration:
		return short(t)
	case Misfire:
		return t.shown()
	case MCPServers:
		return t.shown()
	case Group:
		return t.shown()
	case encoding.TextMarshaler: // chat.Secret hides itself
		text, err := t.MarshalText()
		if err != nil {
			return nil
		}
		return string(text)
	}
	switch v.Kind() {
	case reflect.Struct:
		all := yaml.MapSlice{}
		for _, f := range fieldsOf(v) {
			all = append(all, yaml.MapItem{Key: f.name, Value: shown(f.value)})
		}
		return all
	case reflect.Slice:
		all := []any{}
		for i := range v.Len() {
			all = append(all, shown(v.Index(i)))
		}
		return all
	case reflect.Map:
		all := yaml.MapSlice{}
		values := byText(v)
		for _, key := range slices.Sorted(maps.Keys(values)) {
			all = append(all, yaml.MapItem{Key: key, Value: shown(values[key])})
		}
		return all
	case reflect.String:
		return withoutPassword(v.String())
	}
	return v.Interface()
}

func byText(v reflect.Value) map[string]reflect.Value {
	all := map[string]reflect.Value{}
	for _, key := range v.MapKeys() {
		all[fmt.Sprint(key.Interface())] = v.MapIndex(key)
	}
	return all
}

// withoutPassword hides what stands before the @ and behind the ? of every
// address of a list of URLs.
func withoutPassword(s string) string {
	if !strings.Contains(s, "://") || !strings.ContainsAny(s, "@?") {
		return s
	}
	parts := strings.Split(s, ",")
	for i, part := range parts {
		u, err := url.Parse(strings.TrimSpace(part))
		switch {
		case err != nil && strings.Contains(s, "@"):
			parts[i] = "***"
		case err != nil || u.Scheme == "" || u.Host == "":
		case u.User != nil || u.RawQuery != "":
			scheme, rest, _ := strings.Cut(part, "://")
			if u.User != nil {
				_, rest, _ = strings.Cut(rest, "@")
				rest = "***@" + rest
			}
			if before, _, query := strings.Cut(rest, "?"); query {
				rest = before + "?***"
			}
			parts[i] = scheme + "://" + rest
		}
	}
	return strings.Join(parts, ",")
}

func (m Misfire) shown() any {
	if m.Policy == RunIfWithin {
		return yaml.MapSlice{{Key: RunIfWithin, Value: short(m.Within)}}
	}
	return m.Policy
}

func (s MCPServers) shown() any {
	all := yaml.MapSlice{}
	for _, m := range s {
		keys := shown(reflect.ValueOf(m)).(yaml.MapSlice)
		all = append(all, yaml.MapItem{Key: m.Name, Value: keys[1:]}) // without the name
	}
	return all
}

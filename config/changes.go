package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Changes names the keys whose values differ between two configurations, in
// the order of the file. Values are not named: they may be secret. The
// adapters' keys of the channels are looked at as Show does it.
func Changes(a, b *Config, ofA, ofB map[string]any) []string {
	var all []string
	differ("", reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem(), &all)
	before, after := channelsOf(a), channelsOf(b)
	both := maps.Clone(before)
	maps.Copy(both, after)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		key := join("channels", name)
		x, inA := before[name]
		y, inB := after[name]
		if !inA || !inB || x.Enabled != y.Enabled || x.Type != y.Type {
			all = append(all, key)
			continue
		}
		differ(key, reflect.ValueOf(x), reflect.ValueOf(y), &all)
		if mine, theirs := reflect.ValueOf(ofA[name]), reflect.ValueOf(ofB[name]); mine.IsValid() && theirs.IsValid() {
			differ(key, mine, theirs, &all)
		}
	}
	return all
}

// channelsOf are the enabled channels by name.
func channelsOf(c *Config) map[string]Channel {
	all := map[string]Channel{}
	for _, ch := range c.Channels {
		if ch.Enabled {
			all[ch.Name] = ch
		}
	}
	return all
}

// differ adds the keys at or below key whose values differ.
func differ(key string, a, b reflect.Value, all *[]string) {
	a, b = reflect.Indirect(a), reflect.Indirect(b)
	if a.IsValid() && b.IsValid() && a.Type() == b.Type() && a.Kind() == reflect.Struct && !own(a.Type()) {
		settable := func(v reflect.Value) reflect.Value {
			c := reflect.New(v.Type()).Elem()
			c.Set(v)
			return c
		}
		mine, theirs := fieldsOf(settable(a)), fieldsOf(settable(b))
		for i := range mine {
			differ(join(key, mine[i].name), mine[i].value, theirs[i].value, all)
		}
		if len(mine) > 0 {
			return
		}
	}
	if a.IsValid() && b.IsValid() && a.Kind() == reflect.Slice && a.Len() == 0 && b.Len() == 0 {
		return
	}
	if !a.IsValid() || !b.IsValid() || !reflect.DeepEqual(a.Interface(), b.Interface()) {
		if a.IsValid() && a.Kind() == reflect.Slice && a.Type().Elem().Kind() == reflect.Struct && b.IsValid() && a.Len() == b.Len() {
			for i := range a.Len() {
				differ(fmt.Sprintf("%s[%d]", key, i), a.Index(i), b.Index(i), all)
			}
			return
		}
		*all = append(*all, key)
	}
}

// own says whether values of a type are written in a form of their own.
func own(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[custom]()) || p.Implements(textType)
}

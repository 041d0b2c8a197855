package all_test

import (
	"testing"

	"github.com/goccy/go-yaml"

	"magpie/channels"
	"magpie/channels/all"
)

// Every channel is made by its factory from a section of the configuration,
// without IO.
func TestRegistry(t *testing.T) {
	sections := map[string]string{
		"telegram": `token: "123456:abc"`,
	}
	for kind, factory := range all.Registry() {
		section, ok := sections[kind]
		if !ok {
			continue // its own package has the test
		}
		decode := func(into any) error { return yaml.UnmarshalWithOptions([]byte(section), into, yaml.Strict()) }
		ch, err := factory("mine", decode, channels.Deps{})
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if ch.Name() != "mine" {
			t.Errorf("%s: name %q", kind, ch.Name())
		}
	}
	for kind := range sections {
		if all.Registry()[kind] == nil {
			t.Errorf("%s is not registered", kind)
		}
	}
	all.Registry()["telegram"] = nil
	if all.Registry()["telegram"] == nil {
		t.Error("callers share one map")
	}
}

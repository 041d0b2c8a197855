package all_test

import (
	"testing"

	"magpie/channels/all"
	"magpie/channels/channeltest"
)

// Every channel is made by its factory from a section of the configuration,
// without IO.
func TestRegistry(t *testing.T) {
	sections := map[string]string{
		"dingtalk": "client_id: ding01\nclient_secret: s",
		"qq":       "app_id: \"102000000\"\napp_secret: abc",
		"feishu":   "app_id: cli_0123456789abcdef\napp_secret: s3cret",
		"telegram": `token: "123456:abc"`,
		"discord":  `token: "MTIz.abc.def"`,
	}
	for kind, factory := range all.Registry() {
		section, ok := sections[kind]
		if !ok {
			continue // its own package has the test
		}
		channeltest.Sections{New: factory, Rows: map[string][]string{section: nil}}.Check(t)
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

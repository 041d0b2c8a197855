package config_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/goccy/go-yaml"

	"magpie/chat"
	"magpie/config"
)

const example = "../deploy/config.example.yaml"

// TestExampleShowsTheDefaults: the example is the documentation of the keys.
func TestExampleShowsTheDefaults(t *testing.T) {
	cfg, err := config.Load(example, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default()
	want.File, want.Workspace = example, "./data/workspace"
	want.LLM.Models = []config.Model{{
		Name: "main", Provider: "openai", BaseURL: "https://api.openai.com/v1", Model: "gpt-5-mini",
		ContextTokens: 128000, MaxOutputTokens: 4096, Timeout: 2 * time.Minute, ToolCalls: "native", Vision: true,
	}}
	opts := cmp.Options{cmpopts.IgnoreFields(config.Config{}, "Channels", "Home.Files", "Home.origin"), cmpopts.EquateEmpty()}
	if diff := cmp.Diff(want, *cfg, opts); diff != "" {
		t.Errorf("the example is not the defaults (-want +got):\n%s", diff)
	}
	var names []string
	for _, c := range cfg.Channels {
		names = append(names, fmt.Sprintf("%s %v", c.Name, c.Enabled))
	}
	if diff := cmp.Diff([]string{"dingtalk false", "discord false", "feishu false", "qq false", "telegram false", "web true"}, names); diff != "" {
		t.Errorf("channels (-want +got):\n%s", diff)
	}
}

// TestExampleIsComplete: every key that can be shown stands in the example.
func TestExampleIsComplete(t *testing.T) {
	cfg, err := config.Load(example, nil)
	if err != nil {
		t.Fatal(err)
	}
	data, err := config.Show(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	var again map[string]any
	if err := yaml.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := yaml.Unmarshal(readFile(t, example), &file); err != nil {
		t.Fatal(err)
	}
	delete(again, "channels")
	missing(t, "", again, file)
}

func missing(t *testing.T, path string, want, file map[string]any) {
	for key, value := range want {
		there, ok := file[key]
		if !ok {
			t.Errorf("the example lacks %s%s", path, key)
			continue
		}
		if sub, ok := value.(map[string]any); ok {
			have, _ := there.(map[string]any)
			missing(t, path+key+".", sub, have)
		}
	}
}

const full = `
timezone: Asia/Tokyo
bus: {url: "nats://me:pass@a:1,nats://b:2", tls: {ca: x}}
llm: {models: [{provider: openai, base_url: "http://h/v1", api_key: k1, model: "12"}]}
cron: {misfire: {run_if_within: 90s}}
security: {rate_limit: {per_sender: ""}}
tools:
  mcp_servers: {a: {command: x, env: {K: k2, A: k3}}}
  policy: [{tool: exec, action: deny}]
channels:
  t: {type: telegram, token: k4, rate: off, group: off, mode: poll, names: {b: "true", a: "1"}}
  off: {enabled: false, token: k5}
`

func TestShow(t *testing.T) {
	cfg := load(t, full, nil)
	own := section{KeepFor: time.Hour, Level: 9}
	if err := cfg.Channels[1].Decode(&own); err != nil {
		t.Fatal(err)
	}
	data, err := config.Show(cfg, map[string]any{"t": &own})
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, secret := range []string{"k1", "k2", "k3", "k4", "k5", "pass"} {
		if strings.Contains(text, secret) {
			t.Errorf("the secret %s is shown", secret)
		}
	}
	for _, line := range []string{"data_dir: ./data", "timezone: Asia/Tokyo", "url: nats://***@a:1,nats://b:2", "api_key: \"***\"", "run_if_within: 1m30s", "timeout: 2m"} {
		if !strings.Contains(text, line) {
			t.Errorf("want %q in\n%s", line, text)
		}
	}
	// What is shown means the same when it is read again.
	again := load(t, strings.ReplaceAll(text, "nats://***@", "nats://"), nil)
	secrets := cmp.Transformer("hide", func(s chat.Secret) string { return s.String() })
	ignore := cmpopts.IgnoreFields(config.Config{}, "Channels", "Home.File", "Home.Files", "Home.origin", "Bus.URL")
	if diff := cmp.Diff(cfg, again, secrets, ignore, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("shown and read again (-want +got):\n%s", diff)
	}
	var repeated section
	if err := again.Channels[1].Decode(&repeated); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(own, repeated, secrets); diff != "" {
		t.Errorf("section shown and read again (-want +got):\n%s", diff)
	}
	if again.Channels[0].Enabled || again.Channels[1].Rate != "off" || again.Channels[1].Group != "off" {
		t.Errorf("channels: %+v", again.Channels)
	}
}

func TestSchema(t *testing.T) {
	sections := map[string]any{"telegram": &section{Mode: "poll"}, "web": struct{}{}}
	data, err := config.Schema(sections)
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text string
		want bool
	}{
		{full, true},
		{"{}", true},
		{"agent: {max_turns: '${N}'}", true},
		{"channels: {telegram: , x: {type: telegram, token_file: a}}", true},
		{"tools: {mcp_servers: [{name: a, url: http://x}]}", true},
		{"channels: {telegram: {groups: [a, -100, {id: -5, members: true}], group_context: 0}}", true},
		{"channels: {telegram: {groups: [{members: true}]}}", false},
		{"channels: {telegram: {group_context: 101}}", false},
		{"log: {level: loud}", false},
		{"agent: {max_turns: 0}", false},
		{"agent: {max_turns: many}", false},
		{"dataDirr: x", false},
		{"channels: {telegram: {mode: push}}", false},
		{"channels: {x: {type: nothing}}", false},
		{"channels: {x: {}}", false},
		{"tools: {policy: [{tool: a}]}", false},
		{"cron: {misfire: {run_if_within: 1m, x: 1}}", false},
	} {
		var value any
		if err := yaml.Unmarshal([]byte(c.text), &value); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(value) // numbers as the validator knows them
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &value); err != nil {
			t.Fatal(err)
		}
		if c.text == full {
			delete(value.(map[string]any)["channels"].(map[string]any), "off") // has no type
			delete(value.(map[string]any)["channels"].(map[string]any)["t"].(map[string]any), "off")
		}
		if err := resolved.Validate(value); (err == nil) != c.want {
			t.Errorf("valid %v for %s: %v", c.want, c.text, err)
		}
	}
}

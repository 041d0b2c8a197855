package config_test

import (
	"errors"
	"strings"
	"testing"

	"magpie/config"
)

func second() config.Entry {
	return config.Entry{Key: "second", Entries: []config.Entry{
		{Key: "type", Value: "qq"}, {Key: "app_id", Value: "102"}, {Key: "app_secret", Value: "${SECOND}"}, {Key: "allow", Value: config.List([]string{"*", "ou_1"})},
	}}
}

// TestTextIsAddedTo: whatever the file looks like, it keeps every line, and
// the entry counts.
func TestTextIsAddedTo(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty":           "",
		"comment":         "# mine\n",
		"no end":          "timezone: UTC",
		"other section":   "timezone: UTC # here\nlog: {level: debug}\n",
		"block":           "channels: # all of them\n    # the first\n    telegram: # mine\n        token: '1:a' # secret\n\n# the end\nlog:\n  level: debug\n",
		"braces":          "channels: {telegram: {token: '1:a'}} # one\nlog: {level: debug}\n",
		"braces of lines": "channels: {\n  telegram: {token: '1:a'}\n}\n",
		"empty braces":    "channels: {}\n",
		"nothing":         "channels:\nlog: {level: debug}\n",
		"last":            "log: {level: debug}\nchannels:",
		"windows":         "channels:\r\n  telegram:\r\n    token: '1:a'\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := config.NewText([]byte(text))
			added, err := f.Add("channels", second())
			if err != nil || !strings.Contains(strings.ReplaceAll(string(f.Bytes()), "\r", ""), added) {
				t.Fatalf("%v, added\n%s", err, added)
			}
			got := string(f.Bytes())
			for line := range strings.Lines(text) {
				for _, word := range strings.Fields(line) {
					if !strings.Contains(got, strings.Trim(word, "{}")) {
						t.Errorf("%q is lost in\n%s", word, got)
					}
				}
			}
			if strings.Contains(text, "\r\n") && strings.Count(got, "\r\n") != strings.Count(got, "\n") {
				t.Errorf("mixed ends of lines: %q", got)
			}
			cfg, err := config.Parse("c.yaml", f.Bytes(), env{"SECOND": "s3cret"}.look)
			if err != nil {
				t.Fatalf("%v in\n%s", err, got)
			}
			var section struct {
				AppID     string
				AppSecret string
			}
			found := false
			for _, c := range cfg.Channels {
				if c.Name == "second" {
					found = c.Type == "qq" && c.Decode(&section) == nil && section.AppID == "102" && section.AppSecret == "s3cret" && len(c.Allow) == 2
				}
			}
			if !found || strings.Contains(text, "telegram") != strings.Contains(strings.Join(f.Keys("channels"), " "), "telegram") {
				t.Errorf("%+v\n%s", section, got)
			}
		})
	}
}

func TestTextThatCannotBeAddedTo(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{log: {level: debug}}", "channels: [a]\n", "channels: a\n", "log: {level: debug}\n---\n"} {
		f := config.NewText([]byte(text))
		if f == nil {
			continue
		}
		if _, err := f.Add("channels", second()); !errors.Is(err, config.ErrPlace) || string(f.Bytes()) != text {
			t.Errorf("%q: %v, now %q", text, err, f.Bytes())
		}
	}
	if config.NewText([]byte("a: [")) != nil {
		t.Error("no YAML is taken for some")
	}
}

func TestTextOfModels(t *testing.T) {
	t.Parallel()
	f := config.NewText([]byte("# mine\n"))
	_, err := f.Add("llm", config.Entry{Key: "models", List: true, Entries: []config.Entry{
		{Key: "name", Value: "main"}, {Key: "provider", Value: "openai"}, {Key: "base_url", Value: "http://127.0.0.1:1/v1"}, {Key: "model", Value: "a:b #c"}, {Key: "api_key", Value: "${KEY}"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Add("", config.Entry{Key: "timezone", Value: "Asia/Shanghai"}); err != nil {
		t.Fatal(err)
	}
	cfg := load(t, string(f.Bytes()), env{"KEY": "k"})
	if m := cfg.LLM.Models[0]; m.Model != "a:b #c" || m.APIKey != "k" || m.BaseURL != "http://127.0.0.1:1/v1" || cfg.Timezone != "Asia/Shanghai" {
		t.Errorf("%+v", m)
	}
}

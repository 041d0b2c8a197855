package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"magpie/config"
)

// What another keyboard, a web page or a habit of other programs puts into the
// file is named at its place, with what would be right.
func TestTypingMistakes(t *testing.T) {
	t.Parallel()
	const colon = "the colon ： is full-width"
	for _, c := range []struct{ name, text, want string }{
		{"the only key", "timezone：Asia/Shanghai\n", "1:1: want a section with keys"},
		{"the only key, why", "timezone：Asia/Shanghai\n", colon},
		{"a key among others", "web:\n  listen: 127.0.0.1:1\ntimezone：UTC\n", "3:9: " + colon},
		{"a section", "channels:\n  telegram：\n    token: 1:a\n", "2:11: " + colon},
		{"with a blank", "channels:\n  telegram:\n    token ： 1:a\n    group: off\n", "3:11: " + colon},
		{"the last key", "channels:\n  telegram:\n    group: off\n    token： 1:a\n", "4:10: " + colon},
		{"a lone key in a section", "log:\n  level：info\n", "log: want a section with keys (level, format), got text: " + colon},
		{"in braces", "channels: {telegram：{token: x}}\n", "1:20: " + colon},
		{"in quotes", "\"log\"： {}\nweb: {}\n", "1:6: " + colon},
		{"brackets", "security:\n  admins: ［web:owner］\n", "want a list such as [a, b], got text, with the full-width ［ for ["},
		{"a comma", "log: {level: info，format: json}\n", "with the full-width ， for ,"},
		{"quotes", "log: {level: “info”}\n", `with the typographic “ for "; did you mean info?`},
		{"digits", "agent: {max_turns: １６}\n", "with the full-width １ for 1"},
		{"a full-width indent", "channels:\n　telegram:\n　　token: 1:a\n", "3:1: a full-width or no-break blank (U+3000) indents the line"},
		{"a no-break indent", "log:\n\u00a0 level: info\n", "2:1: a full-width or no-break blank (U+00A0) indents the line"},
		{"no blank", "log:\n  level:info\n", "write a blank behind the colon"},
		{"a zone of another area", "timezone: Asia/Berlin", "perhaps Europe/Berlin?"},
		{"a zone in small letters", "timezone: asia/shanghai", "did you mean Asia/Shanghai?"},
		{"Gemini", "llm: {models: [{provider: gemini, model: x}]}", "it speaks OpenAI's API: write provider: openai and base_url: https://generativelanguage.googleapis.com/v1beta/openai"},
		{"DeepSeek", "llm: {models: [{provider: DeepSeek, model: x}]}", "base_url: https://api.deepseek.com/v1"},
		{"Ollama", "llm: {models: [{provider: ollama, model: x}]}", "base_url: http://127.0.0.1:11434/v1"},
		{"千问", "llm: {models: [{provider: 千问, model: x}]}", "https://dashscope.aliyuncs.com/compatible-mode/v1"},
		{"Claude", "llm: {models: [{provider: claude, model: x}]}", "Claude is provider: anthropic"},
		{"a letter less", "llm: {models: [{provider: opnai, model: x}]}", "did you mean openai?"},
		{"a Chinese channel", "channels: {飞书: {}}", "did you mean feishu?"},
		{"a model's key", "llm: {models: [{provider: openai, model: x, api_key: sk-your-key}]}", "llm.models[0].api_key: is the text of an example"},
		{"a model's key with quotes", "llm: {models: [{provider: openai, model: x, api_key: “sk-abc”}]}", "llm.models[0].api_key: holds the typographic “"},
		{"a model's address", "llm: {models: [{provider: openai, model: x, base_url: https：//x}]}", "llm.models[0].base_url: holds the full-width ："},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(problems(t, c.text, nil), "\n")
			if !strings.Contains(got, c.want) {
				t.Errorf("want %q in\n%s", c.want, got)
			}
		})
	}
	// Chinese text is not a mistake where text may stand.
	load(t, "tools: {policy: [{tool: exec, match: '确认：yes', action: ask}]} # 注意：这里\n# 说明：abc：def\nchannels: {web: {groups: ['群：1']}}\n", nil)
}

// The file of variables may come from Windows or a page; a line that sets
// nothing says why, and never its value.
func TestLinesOfVariables(t *testing.T) {
	t.Parallel()
	path := write(t, "web: {token: '${WEB_TOKEN}'}\ntimezone: ${ZONE:-UTC}\n")
	file := filepath.Join(filepath.Dir(path), ".env")
	for text, want := range map[string]string{
		"\ufeffWEB_TOKEN=0123456789abcdef\r\n":                     "",
		"export WEB_TOKEN = '0123456789abcdef' # mine\r\n":         "",
		"WEB_TOKEN=“0123456789abcdef”\n":                           "warning: WEB_TOKEN: quotes around the value",
		"WEB_TOKEN=0123456789abcdef\u00a0\n":                       "",
		"WEB_TOKEN＝hunter2-hunter2\n":                              ".env:1:1: want NAME=value, a comment or nothing: the ＝ is full-width, write =",
		"WEB_TOKEN: hunter2-hunter2\n":                             ".env:1:1: want NAME=value, a comment or nothing: write = and not a colon",
		"WEB_TOKEN：hunter2-hunter2\n":                              "write = and not a colon",
		"#\nWEB-TOKEN=hunter2-hunter2\n":                           `.env:2:1: want NAME=value, a comment or nothing: "WEB-TOKEN" is no name`,
		"WEB_TOKEN='hunter2-hunter2\n":                             "a quote is not closed",
		"WEB_TOKEN=0123456789abcdef\nWEB_TOKEN=hunter2hunter2x2\n": ".env:2: WEB_TOKEN is set a second time",
		"WEBTOKEN=0123456789abcdef\n":                              "the variable WEBTOKEN is set, and nothing reads it: did you mean WEB_TOKEN?",
		"WEB_TOKEN=0123456789abcdef\nZONE=Shanghai\n":              "did you mean Asia/Shanghai?",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := config.Load(path, nil)
		var all []string
		if err != nil {
			all = append(all, err.Error())
		}
		for _, w := range cfg.Warnings() {
			all = append(all, "warning: "+w)
		}
		got := strings.Join(all, "\n")
		if !strings.Contains(got, want) || want == "" && got != "" || strings.Contains(got, "hunter2") {
			t.Errorf("%q: want %q, got\n%s", text, want, got)
		}
		if err == nil && cfg.Web.Token != "0123456789abcdef" && cfg.Web.Token != "hunter2hunter2x2" {
			t.Errorf("%q: the token is another one", text)
		}
	}
}

// How a section's switch and its keys go together.
func TestSwitches(t *testing.T) {
	t.Parallel()
	set := env{"TOKEN": "1:a", "ON": "on", "OFF": "否", "EMPTY": "", "BLANK": " "}
	for text, want := range map[string]bool{
		"token: x":                 true,
		"{}":                       true,
		"allow: [1]":               true,
		"enabled: false, token: x": false,
		"enabled: true":            true,
		"enabled: '', token: x":    true,
		"enabled: '' ":             false,
		"enabled: ":                false,
		"enabled: , token: x":      true,
		"enabled: ~, api_base: 'http://x', allow: [1]":  false,
		"enabled: '${ANY:-}', token: '${TOKEN}'":        true,
		"enabled: '${ANY:-}', token: '${NONE}'":         false,
		"enabled: '${ANY:-}', token: '${NONE:-}'":       false,
		"enabled: '${BLANK}', app_id: '${TOKEN}'":       true,
		"enabled: '${EMPTY:-}', token_file: /some/file": true,
		"enabled: '${EMPTY:-}', api_base: '${TOKEN}'":   false,
		"enabled: '${ON}', token: '${NONE:-}'":          true,
		"enabled: '${OFF}', token: '${TOKEN}'":          false,
		"enabled: '${ANY:-false}', token: '${TOKEN}'":   false,
		"enabled: '${ANY:-true}', token: '${NONE:-}'":   true,
		"Enabled: ~": true, // no key of ours; the adapter says so
	} {
		if !strings.HasPrefix(text, "{") {
			text = "{" + text + "}"
		}
		cfg := load(t, "channels: {telegram: "+text+"}", set)
		if got := cfg.Channels[0]; got.Enabled != want {
			t.Errorf("%s: %v, want %v", text, got.Enabled, want)
		}
		off := strings.Contains(text, "false}") || strings.Contains(text, "OFF")
		if warned := slices.ContainsFunc(cfg.Warnings(), func(w string) bool { return strings.Contains(w, "TOKEN is set, and") }); warned != off {
			t.Errorf("%s: warned %v of a key that does nothing, want %v: %q", text, warned, off, cfg.Warnings())
		}
	}
	if cfg := load(t, "channels: {web: {enabled: ''}}", nil); !cfg.Channels[0].Enabled {
		t.Error("the page, which needs no keys, is off")
	}
}

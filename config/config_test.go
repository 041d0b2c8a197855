package config_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"magpie/chat"
	"magpie/config"
)

// env is a set of variables.
type env map[string]string

func (e env) look(name string) (string, bool) {
	v, ok := e[name]
	return v, ok
}

// write puts text into a file of the test and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// load reads a text that must be right.
func load(t *testing.T, text string, e env) *config.Config {
	t.Helper()
	cfg, err := config.Load(write(t, text), e.look)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return cfg
}

// problems reads a text that must be wrong and returns what is wrong with it,
// without the name of the file.
func problems(t *testing.T, text string, e env) []string {
	t.Helper()
	path := write(t, text)
	_, err := config.Load(path, e.look)
	var all *config.Error
	if !errors.As(err, &all) {
		t.Fatalf("Load: want *config.Error, got %v", err)
	}
	return lines(all, path)
}

func lines(err error, path string) []string {
	return strings.Split(strings.ReplaceAll(err.Error(), path+":", ""), "\n")
}

func TestNoFileIsValid(t *testing.T) {
	t.Chdir(t.TempDir())
	cfg, err := config.Load("", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default()
	want.Workspace = "data/workspace"
	want.LLM.Models = []config.Model{{
		Name: "offline", Provider: "offline", ContextTokens: 128000, MaxOutputTokens: 4096,
		Timeout: 2 * time.Minute, ToolCalls: "native", Vision: true,
	}}
	if diff := cmp.Diff(want, *cfg, cmpopts.IgnoreFields(config.Config{}, "Channels", "Home.Files", "Home.origin")); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	if len(cfg.Channels) != 1 {
		t.Fatalf("channels: %+v", cfg.Channels)
	}
	web := cfg.Channels[0]
	if web.Name != "web" || web.Type != "web" || !web.Enabled || !cmp.Equal(web.Allow, []string{"*"}) {
		t.Errorf("web channel: %+v", web)
	}
	if err := web.Decode(&struct{}{}); err != nil {
		t.Errorf("web.Decode: %v", err)
	}
	if got := web.Errorf("sender", "is odd").Error(); got != "channels.web.sender: is odd" {
		t.Errorf("Errorf: %q", got)
	}
}

func TestSearchOrder(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, zone := range map[string]string{"config.yaml": "Asia/Tokyo", "env.yaml": "Asia/Seoul", "flag.yaml": "Asia/Shanghai"} {
		if err := os.WriteFile(name, []byte("timezone: "+zone), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		path, variable, file, zone string
	}{
		{"", "", "config.yaml", "Asia/Tokyo"},
		{"", "env.yaml", "env.yaml", "Asia/Seoul"},
		{"flag.yaml", "env.yaml", "flag.yaml", "Asia/Shanghai"},
	} {
		cfg, err := config.Load(c.path, env{config.PathVariable: c.variable}.look)
		if err != nil {
			t.Fatal(err)
		}
		if cfg.File != c.file || cfg.Timezone != c.zone || cfg.Location().String() != c.zone {
			t.Errorf("Load(%q) with $BOT_CONFIG=%q: file %q, zone %q", c.path, c.variable, cfg.File, cfg.Timezone)
		}
	}
	for _, missing := range []string{"no.yaml", "env"} {
		path, variable := missing, ""
		if missing == "env" {
			path, variable = "", "no.yaml"
		}
		if _, err := config.Load(path, env{config.PathVariable: variable}.look); err == nil || !strings.Contains(err.Error(), "no.yaml: cannot be read: no such file") {
			t.Errorf("a named file that is missing: %v", err)
		}
	}
}

func TestModelsFromEnvironment(t *testing.T) {
	for name, c := range map[string]struct {
		env  env
		text string
		want []config.Model
	}{
		"openai": {
			env: env{"OPENAI_API_KEY": "sk-1"},
			want: []config.Model{{
				Name: "openai", Provider: "openai", APIKey: "sk-1",
				BaseURL: "https://api.openai.com/v1", Model: "gpt-5-mini",
			}},
		},
		"openai elsewhere": {
			env: env{"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": "http://127.0.0.1:11434/v1/", "OPENAI_MODEL": "qwen3"},
			want: []config.Model{{
				Name: "openai", Provider: "openai", APIKey: "x",
				BaseURL: "http://127.0.0.1:11434/v1", Model: "qwen3",
			}},
		},
		"both, a file without models": {
			env:  env{"OPENAI_API_KEY": "a", "ANTHROPIC_API_KEY": "b", "ANTHROPIC_MODEL": "m"},
			text: "log: {level: debug}",
			want: []config.Model{
				{Name: "openai", Provider: "openai", APIKey: "a", BaseURL: "https://api.openai.com/v1", Model: "gpt-5-mini"},
				{Name: "anthropic", Provider: "anthropic", APIKey: "b", BaseURL: "https://api.anthropic.com", Model: "m"},
			},
		},
		"an empty key counts as unset": {
			env:  env{"OPENAI_API_KEY": " "},
			want: []config.Model{{Name: "offline", Provider: "offline"}},
		},
		"the file wins": {
			env:  env{"OPENAI_API_KEY": "a"},
			text: "llm: {models: [{provider: offline}]}",
			want: []config.Model{{Name: "main", Provider: "offline"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := load(t, c.text, c.env).LLM.Models
			ignore := cmpopts.IgnoreFields(config.Model{}, "ContextTokens", "MaxOutputTokens", "Timeout", "ToolCalls", "Vision")
			if diff := cmp.Diff(c.want, got, ignore); diff != "" {
				t.Errorf("models (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	cfg := load(t, "llm: {models: [{provider: openai, model: m}, {provider: openai, model: n, base_url: 'http://127.0.0.1:1/v1'}]}", nil)
	if got := cfg.Warnings(); len(got) != 1 || !strings.Contains(got[0], "OPENAI_API_KEY") {
		t.Errorf("warnings: %q", got)
	}
}

// Variables of a model or a platform that are set and do not do what was meant
// are told.
func TestWarningsOfVariables(t *testing.T) {
	const server = "https://api.deepseek.com/v1"
	for name, c := range map[string]struct {
		text string
		env  env
		want []string // a part of each warning
	}{
		"no model":                {"", env{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server}, []string{"OPENAI_MODEL is not, so that the server is asked for gpt-5-mini"}},
		"no model of Claude's":    {"", env{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "https://x.example.org"}, []string{"set ANTHROPIC_MODEL"}},
		"a blank model":           {"", env{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server, "OPENAI_MODEL": " "}, []string{"set OPENAI_MODEL"}},
		"a model":                 {"", env{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server, "OPENAI_MODEL": "deepseek-chat"}, nil},
		"the official server":     {"", env{"OPENAI_API_KEY": "sk-k", "OPENAI_BASE_URL": "https://api.openai.com/v1/"}, nil},
		"a model in the file":     {"llm: {models: [{provider: openai, api_key: '${OPENAI_API_KEY}', base_url: '${OPENAI_BASE_URL}', model: '${OPENAI_MODEL:-m}'}]}", env{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server}, nil},
		"a platform":              {"", env{"TELEGRAM_BOT_TOKEN": "1:a"}, []string{"TELEGRAM_BOT_TOKEN is set, and nothing in the configuration uses it: bot init adds telegram"}},
		"one line for both keys":  {"timezone: UTC", env{"QQ_APP_ID": "1", "QQ_APP_SECRET": "s"}, []string{"bot init adds qq"}},
		"two platforms":           {"channels: {feishu: {enabled: false}}", env{"FEISHU_APP_ID": "cli_a", "DISCORD_BOT_TOKEN": "a.b.c", "DINGTALK_CLIENT_ID": "d"}, []string{"adds discord", "adds dingtalk"}},
		"an empty one":            {"", env{"TELEGRAM_BOT_TOKEN": " "}, nil},
		"with a token of its own": {"channels: {telegram: {token: '1:b'}}", env{"TELEGRAM_BOT_TOKEN": "1:a"}, nil},
		"under another name":      {"channels: {mine: {type: telegram, token: '1:b'}}", env{"TELEGRAM_BOT_TOKEN": "1:a"}, nil},
		"used elsewhere":          {"web: {token: '${TELEGRAM_BOT_TOKEN}'}", env{"TELEGRAM_BOT_TOKEN": "1:a-long-text-of-some-kind-9f3"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := load(t, c.text, c.env).Warnings(slices.Collect(maps.Keys(c.env))...)
			if c.text == "" {
				got = slices.DeleteFunc(got, func(w string) bool { return strings.Contains(w, "is empty: the defaults count") })
			}
			if len(got) != len(c.want) {
				t.Fatalf("want %d warnings, got %q", len(c.want), got)
			}
			for i, want := range c.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("want %q in %q", want, got[i])
				}
			}
		})
	}
}

func TestValues(t *testing.T) {
	cfg := load(t, `
data_dir: ~/bot            # a comment
timezone: 'Asia/Shanghai'
bus: {url: "nats://a:4222,nats://b:4222", replicas: 3, sync: 10s, tls: {ca: ca.pem}}
llm:
  models:
    - {name: 主, provider: anthropic, api_key: "${KEY}", model: m, timeout: 90s, price: {input: 3, output: 1.5}}
    - provider: openai
      baseUrl: http://localhost:11434/v1
      model: 12
      contextTokens: ${CTX}
      vision: ${SEES:-false}
agent: {debounce: "${WAIT}", max_turns: "${NONE:-}"}
media: {max_bytes: 1_000_000}
security:
  rate_limit: {per_sender: 5/s}
  admins: [web:owner]
cron: {misfire: {run_if_within: 10m}}
tools:
  exec: {deny_patterns: ['^a$', 'b$${x}'], env: [LANG]}
  web: {search: {provider: ""}}
`, env{"HOME": "/home/me", "KEY": "k: [1]\n# ${no}", "CTX": "4096", "WAIT": "1m30s"})
	equal := func(what string, got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	equal("data_dir", cfg.DataDir, "/home/me/bot")
	equal("workspace", cfg.Workspace, "/home/me/bot/workspace")
	equal("replicas", cfg.Bus.Replicas, 3)
	equal("sync", cfg.Bus.SyncInterval(), 10*time.Second)
	equal("models", cfg.LLM.Models, []config.Model{
		{
			Name: "主", Provider: "anthropic", BaseURL: "https://api.anthropic.com", APIKey: "k: [1]\n# ${no}", Model: "m",
			ContextTokens: 128000, MaxOutputTokens: 4096, Timeout: 90 * time.Second, ToolCalls: "native", Vision: true,
			Price: config.Price{Input: 3, Output: 1.5},
		},
		{
			Name: "12", Provider: "openai", BaseURL: "http://localhost:11434/v1", Model: "12",
			ContextTokens: 4096, MaxOutputTokens: 2048, Timeout: 2 * time.Minute, ToolCalls: "native",
		},
	})
	equal("debounce", cfg.Agent.Debounce, 90*time.Second)
	equal("max_turns", cfg.Agent.MaxTurns, 16)
	equal("max_bytes", cfg.Media.MaxBytes, int64(1_000_000))
	equal("rate", cfg.Security.RateLimit.PerSender, config.Rate{Count: 5, Per: time.Second})
	equal("misfire", cfg.Cron.Misfire, config.Misfire{Policy: config.RunIfWithin, Within: 10 * time.Minute})
	equal("deny", cfg.Tools.Exec.DenyPatterns, []string{"^a$", "b${x}"})
	equal("exec timeout", cfg.Tools.Exec.Timeout, time.Minute)
}

func TestEmptyFiles(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "blank": "\n \n", "comments": "# a\n# b\n", "BOM": "\ufeffdata_dir: ./data\n", "dashes": "---\n",
		"CRLF": "log:\r\n  level: debug\r\n", "empty sections": "bus:\nchannels:\ntools: {}\nllm: {models: []}\n",
	} {
		t.Run(name, func(t *testing.T) {
			if cfg := load(t, text, nil); cfg.LLM.Models[0].Provider != "offline" || cfg.DataDir != "./data" {
				t.Errorf("not the defaults: %+v", cfg)
			}
		})
	}
}

func TestSymlinkedFile(t *testing.T) {
	target := write(t, "timezone: UTC")
	link := filepath.Join(t.TempDir(), "link.yaml")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(link, nil)
	if err != nil || cfg.Timezone != "UTC" {
		t.Errorf("symlinked file: %v", err)
	}
}

func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	for name, path := range map[string]string{"is a folder": dir, "no such file": filepath.Join(dir, "x"), "is larger than": write(t, strings.Repeat("#", 600<<10))} {
		_, err := config.Load(path, nil)
		if err == nil || !strings.Contains(err.Error(), path+": ") || !strings.Contains(err.Error(), name) {
			t.Errorf("want %q in %v", name, err)
		}
	}
}

func TestSecrets(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "key")
	if err := os.WriteFile(file, []byte("  s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := load(t, "web: {token_file: "+file+", token: '${NONE:-}'}\nmedia: {transcribe: {base_url: http://x, model: m, apiKeyFile: '${F}'}}", env{"F": file})
	if cfg.Web.Token != chat.Secret("s3cret") || cfg.Media.Transcribe.APIKey != "s3cret" {
		t.Errorf("secrets: %q %q", string(cfg.Web.Token), string(cfg.Media.Transcribe.APIKey))
	}
	got := problems(t, "web:\n  token: abcdef\n  token_file: "+file+"\nmedia: {transcribe: {api_key_file: /no/such}}", nil)
	want := []string{
		"3:3: web.token_file: token is given too: keep one of them",
		"4:36: media.transcribe.api_key_file: the secret cannot be read: no such file or directory",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

package config_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"magpie/config"
)

func TestVariablesOfAFile(t *testing.T) {
	t.Parallel()
	set, bad := config.ParseEnv([]byte("\ufeff# c\n\nA=1\nexport B = two words # c\nC='a # \"b\" ${A}' # c\nD=\"x\\ny\\$\\\"\" \r\nE=\nF=a#b\nnonsense\n1A=2\nG='open\n"))
	want := map[string]string{"A": "1", "B": "two words", "C": `a # "b" ${A}`, "D": "x\ny$\"", "E": "", "F": "a#b"}
	if !maps.Equal(set, want) || !slices.Equal(bad, []int{9, 10, 11}) {
		t.Errorf("%q, bad lines %v", set, bad)
	}
	for _, value := range []string{"123:abc-DEF_", "with blank", `a"b$c\d#`, "密", ""} {
		line, ok := config.EnvLine("A", value)
		if set, bad := config.ParseEnv([]byte(line)); !ok || len(bad) > 0 || set["A"] != value {
			t.Errorf("%q becomes %s and then %q", value, line, set["A"])
		}
	}
	if line, ok := config.EnvLine("A", "it's"); ok {
		t.Errorf("%s: Docker Compose and systemd read it differently", line)
	}
}

// The environment wins over the file; an empty variable counts as unset in
// both. A wrong line is a problem of that file.
func TestFileOfVariablesBesideTheConfiguration(t *testing.T) {
	t.Parallel()
	path := write(t, "timezone: ${ZONE}\nlog: {level: '${LEVEL}'}\n")
	file := filepath.Join(filepath.Dir(path), ".env")
	vars := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	vars("ZONE=Asia/Tokyo\nLEVEL=warn\n")
	cfg, err := config.Load(path, env{"ZONE": "Asia/Shanghai", "LEVEL": ""}.look)
	if err != nil || cfg.Timezone != "Asia/Shanghai" || cfg.Log.Level != "warn" {
		t.Errorf("%v %+v", err, cfg)
	}
	if !slices.Equal(cfg.Files, []string{path, file}) {
		t.Errorf("made of %q", cfg.Files)
	}
	vars("LEVEL=warn\nZONE\n")
	if _, err := config.Load(path, nil); err == nil || !strings.Contains(err.Error(), file+":2:1: want NAME=value") || !strings.Contains(err.Error(), "ZONE is not set") {
		t.Errorf("%v", err)
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	of := func(text string) *config.Config { return load(t, text, nil) }
	a := of("llm: {models: [{provider: offline}]}\nchannels: {telegram: {allow: [a]}, qq: {}, web: {}}\ntools: {exec: {timeout: 1s}, policy: [{tool: a, action: ask}]}")
	b := of("llm: {models: [{provider: offline, vision: false}]}\nchannels: {telegram: {allow: [b]}, discord: {}, web: {}}\ntools: {exec: {timeout: 2s}, policy: []}\ncron: {misfire: skip}\nworkspace: /x")
	sections := func(token string) map[string]any {
		return map[string]any{"telegram": struct{ Token string }{token}}
	}
	got := config.Changes(a, b, sections("x"), sections("y"))
	want := []string{"workspace", "llm.models[0].vision", "tools.exec.timeout", "tools.policy", "cron.misfire", "channels.discord", "channels.qq", "channels.telegram.allow", "channels.telegram.token"}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if same := config.Changes(a, a, sections("x"), sections("x")); len(same) > 0 {
		t.Errorf("nothing has changed: %q", same)
	}
}

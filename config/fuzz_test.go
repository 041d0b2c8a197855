package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/config"
)

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// FuzzLoad: whatever the file holds, Load gives a Config or an *Error, and what
// it gives can be shown.
func FuzzLoad(f *testing.F) {
	f.Add(string(readFile(f, example)))
	for _, seed := range []string{
		full, "", "a", "- a", "{", "&a *a", "a: |\n  x\n y", "? [a]\n: b", "<<: {a: b}", "!!x y", "\tx", "'${", "a: ${A:-${B}}",
		"llm: {models: [{provider: anthropic}]}", "channels: {telegram: {token: '${A}'}}", "%YAML 1.1\n---\n", "1: 2\ntrue: x", "web: {listen: '[::]:1'}",
	} {
		f.Add(seed)
	}
	path := filepath.Join(f.TempDir(), "config.yaml")
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := config.Load(path, env{"A": "value"}.look)
		var all *config.Error
		if err != nil && !errors.As(err, &all) {
			t.Fatalf("not an *Error: %v", err)
		}
		if all != nil && len(all.Problems) == 0 {
			t.Fatal("an error without a problem")
		}
		if cfg == nil {
			return
		}
		for _, c := range cfg.Channels {
			if err := c.Decode(&section{}); err != nil && !errors.As(err, &all) {
				t.Fatalf("Decode: not an *Error: %v", err)
			}
		}
		if _, err := config.Show(cfg, nil); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzParseRate(f *testing.F) {
	for _, seed := range []string{"20/1m", "1/s", "", "/", "9999999999999999999/s", "1/0s", "20/-1m", "1/1h1m"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := config.ParseRate(s)
		if err != nil {
			return
		}
		if strings.TrimSpace(s) != "" && (r.Count < 1 || r.Per <= 0) {
			t.Fatalf("ParseRate(%q) = %+v", s, r)
		}
		if again, err := config.ParseRate(r.String()); err != nil || again != r {
			t.Fatalf("ParseRate(%q) = %+v, written as %q, read as %+v, %v", s, r, r.String(), again, err)
		}
	})
}

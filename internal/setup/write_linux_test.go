package setup

import (
	"os"
	"path/filepath"
	"testing"

	"magpie/config"
)

// draft is one with a channel, in a folder whose .env holds text; "" is none.
func draft(t *testing.T, text string) (d *Draft, dir string) {
	t.Helper()
	dir = t.TempDir()
	if text != "" {
		if err := os.WriteFile(filepath.Join(dir, ".env"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, err := Open(filepath.Join(dir, "config.yaml"), Tools{
		Env:    func(string) (string, bool) { return "", false },
		Judge:  func(c *config.Config, err error) (*config.Config, error) { return c, err },
		Secret: func(_, key string) bool { return key == "token" },
	})
	if err != nil {
		t.Fatal(err)
	}
	pf, _ := Named("Telegram")
	trial, err := d.Channel(Section{Platform: pf, Name: "telegram", Values: map[string]string{"token": "1:a"}})
	if err != nil {
		t.Fatal(err)
	}
	if d.Try(t.Context(), trial); !trial.Finding.OK {
		t.Fatalf("%+v", trial.Finding)
	}
	if len(d.Added()) > 0 {
		t.Error("a trial is a part of the draft before it is taken")
	}
	d.Take(trial)
	return d, dir
}

// Both files are written or none: .env is as it was when the configuration
// cannot be written, and neither is touched when somebody else has written.
func TestWriteIsWhole(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"", "OTHER=1\n"} {
		d, dir := draft(t, before)
		good := d.Path
		d.Path = "/proc/config.yaml" // a folder where nobody makes files
		if err := d.Write(); err == nil {
			t.Error("a file was made in /proc")
		}
		now, err := os.ReadFile(filepath.Join(dir, ".env"))
		if string(now) != before || before == "" && !os.IsNotExist(err) {
			t.Errorf(".env holds %q (%v), want %q", now, err, before)
		}
		if names, _ := filepath.Glob(filepath.Join(dir, ".bot-init-*")); len(names) > 0 {
			t.Errorf("left behind: %v", names)
		}
		d.Path = good
		if err := os.WriteFile(filepath.Join(dir, ".env"), []byte("MINE=2\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := d.Write(); err == nil {
			t.Error("what another program wrote was overwritten")
		}
		if _, err := os.Stat(good); err == nil {
			t.Error("the configuration was written although .env was not")
		}
	}
	d, dir := draft(t, "OTHER=1\n")
	if err := d.Write(); err != nil {
		t.Fatal(err)
	}
	if now, _ := os.ReadFile(filepath.Join(dir, ".env")); string(now) != "OTHER=1\nTELEGRAM_BOT_TOKEN=1:a\n" {
		t.Errorf(".env holds %q", now)
	}
}

func TestSetZone(t *testing.T) {
	t.Parallel()
	for said, want := range map[string][2]string{
		"Asia/Shanghai": {"Asia/Shanghai", ""}, "北京": {"Asia/Shanghai", ""}, "shanghai": {"Asia/Shanghai", ""}, "New York": {"America/New_York", ""}, "UTC": {"UTC", ""},
		"Asia/Shangai": {"", "Asia/Shanghai"}, "UTC+8": {"", "Asia/Shanghai"}, "Mars/Base": {"", ""}, "Local": {"", ""}, "": {"", ""},
	} {
		d, _ := draft(t, "")
		taken, guess, err := d.SetZone(said)
		if err != nil || taken != want[0] || guess != want[1] || d.Has("timezone") != (want[0] != "") {
			t.Errorf("%q: taken %q, guess %q, %v; want %q", said, taken, guess, err, want)
		}
	}
}

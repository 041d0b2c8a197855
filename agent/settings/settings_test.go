package settings_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/agent/settings"
	"magpie/chat"
	"magpie/internal/kv"
)

func TestStore(t *testing.T) {
	table := new(kv.Memory)
	berlin := time.FixedZone("berlin", 3600)
	one, two := settings.New(table, berlin), settings.New(table, nil) // two processes
	got, err := one.Load(t.Context(), "s")
	if err != nil || got != (settings.Settings{}) {
		t.Fatalf("a new chat has %+v, %v", got, err)
	}
	if one.Zone(got) != berlin || two.Zone(got) != time.Local {
		t.Errorf("the configured zone is not the default")
	}
	change := func(s *settings.Store, fn func(*settings.Settings)) {
		t.Helper()
		if err := s.Change(t.Context(), "s", fn); err != nil {
			t.Fatal(err)
		}
	}
	change(one, func(s *settings.Settings) { s.Zone, s.Model = "Asia/Tokyo", "main" })
	change(two, func(s *settings.Settings) { s.Lang = "zh" })
	want := settings.Settings{Zone: "Asia/Tokyo", Lang: "zh", Model: "main"}
	if got, err = one.Load(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if zone := one.Zone(got); zone.String() != "Asia/Tokyo" {
		t.Errorf("zone %s", zone)
	}
	if one.Zone(settings.Settings{Zone: "Gone/Away"}) != berlin {
		t.Errorf("an unknown zone does not fall back")
	}
	change(two, func(s *settings.Settings) { *s = settings.Settings{} })
	if got, _ := one.Load(t.Context(), "s"); got != (settings.Settings{}) {
		t.Errorf("choices were not taken back: %+v", got)
	}
	// Deleting would undo what another process changes just then.
	if e, err := table.Get(t.Context(), "settings.s"); err != nil || string(e.Value) != "{}" {
		t.Errorf("the entry became %q, %v", e.Value, err)
	}
}

// The zone of a device counts until another one is chosen.
func TestZoneOfADevice(t *testing.T) {
	s := settings.New(new(kv.Memory), time.UTC)
	zone := func() string {
		set, err := s.Load(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		return s.Zone(set).String()
	}
	for _, c := range [][2]string{{"", "UTC"}, {"Asia/Tokyo", "Asia/Tokyo"}, {"Europe/Berlin", "Europe/Berlin"}, {"Mars/Phobos", "UTC"}} {
		if err := s.Noted(t.Context(), "s", c[0]); err != nil || zone() != c[1] {
			t.Errorf("%q: %s, %v", c[0], zone(), err)
		}
	}
	if err := s.Change(t.Context(), "s", func(set *settings.Settings) { set.Zone = "Asia/Shanghai" }); err != nil {
		t.Fatal(err)
	}
	if err := s.Noted(t.Context(), "s", "Asia/Tokyo"); err != nil || zone() != "Asia/Shanghai" {
		t.Errorf("a chosen zone: %s, %v", zone(), err)
	}
}

func TestChangesAtTheSameTimeAreKept(t *testing.T) {
	table := new(kv.Memory)
	var wg sync.WaitGroup
	for _, fn := range []func(*settings.Settings){
		func(s *settings.Settings) { s.Zone = "UTC" },
		func(s *settings.Settings) { s.Lang = "en" },
		func(s *settings.Settings) { s.Model = "m" },
	} {
		wg.Go(func() {
			if err := settings.New(table, nil).Change(t.Context(), "s", fn); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := settings.New(table, nil).Load(t.Context(), "s")
	if want := (settings.Settings{Zone: "UTC", Lang: "en", Model: "m"}); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

func TestCorruptSettingsAreNotEmptied(t *testing.T) {
	table := new(kv.Memory)
	if _, err := table.Create(t.Context(), "settings.s", []byte("{"), 0); err != nil {
		t.Fatal(err)
	}
	s := settings.New(table, nil)
	_, loadErr := s.Load(t.Context(), "s")
	changeErr := s.Change(t.Context(), "s", func(s *settings.Settings) { s.Lang = "en" })
	for _, err := range []error{loadErr, changeErr} {
		if err == nil || !strings.Contains(err.Error(), `"s"`) {
			t.Errorf("err = %v, want one that names the chat", err)
		}
	}
	if e, err := table.Get(t.Context(), "settings.s"); err != nil || string(e.Value) != "{" {
		t.Errorf("the entry became %q, %v", e.Value, err)
	}
	if errors.Is(loadErr, kv.ErrNotFound) {
		t.Errorf("corrupt counts as missing")
	}
}

func TestParseZone(t *testing.T) {
	for text, want := range map[string]string{
		"Asia/Shanghai": "Asia/Shanghai", "asia/shanghai": "Asia/Shanghai", " ASIA/HO CHI MINH ": "Asia/Ho_Chi_Minh",
		"上海": "Asia/Shanghai", "Beijing": "Asia/Shanghai", "new york": "America/New_York",
		"UTC": "UTC", "utc": "UTC", "GMT": "UTC", "UTC+8": "UTC+08:00", "+8": "UTC+08:00", "gmt-3:30": "UTC-03:30",
		"+0545": "UTC+05:45", "utc + 14": "UTC+14:00",
	} {
		name, zone, err := settings.ParseZone(text)
		if err != nil || name != want || zone.String() != want {
			t.Errorf("%q: %q, %v, %v; want %q", text, name, zone, err, want)
		}
	}
	_, offset := time.Unix(0, 0).In(zoneOf(t, "-03:30")).Zone()
	if offset != -(3*3600 + 1800) {
		t.Errorf("offset of -03:30 is %d s", offset)
	}
	for _, text := range []string{"", " ", "Local", "local", "Mars/Olympus", "UTC+15", "UTC+14:01", "+", "UTC+8:60", "UTC+8:", "++8", "../etc/passwd", "北京市朝阳区", strings.Repeat("a", 1<<16), "a\x00b", "\xff"} {
		if name, _, err := settings.ParseZone(text); err == nil {
			t.Errorf("%.20q is accepted as %q", text, name)
		}
	}
}

func zoneOf(t *testing.T, text string) *time.Location {
	t.Helper()
	_, zone, err := settings.ParseZone(text)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func FuzzParseZone(f *testing.F) {
	for _, s := range []string{"UTC+8", "Asia/Shanghai", "上海", "-03:30", "+0530", "Local"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name, zone, err := settings.ParseZone(text)
		if err != nil {
			return
		}
		again, same, err := settings.ParseZone(name)
		if err != nil || again != name || same.String() != zone.String() {
			t.Errorf("%q gives %q, which gives %q, %v", text, name, again, err)
		}
	})
}

func TestLang(t *testing.T) {
	cases := []struct{ set, sender, text, want string }{
		{"zh", "en", "hello", "zh"},
		{"en", "zh", "你好", "en"},
		{"fr", "", "你好", "zh"},
		{"", "zh-CN", "hello", "zh"},
		{"", "zh_Hant", "", "zh"},
		{"", "ZH", "", "zh"},
		{"", "de", "你好", "en"},
		{"", "zhu", "", "en"},
		{"", "", "你好", "zh"},
		{"", "", "please read 报告", "zh"},
		{"", "", "hello", "en"},
		{"", "", "", "en"},
		{"", "", "日本語です", "en"},
		{"", "", "한국어", "en"},
		{"", "", "\xff\xfe", "en"},
		{"", "", strings.Repeat("x", 5000) + "你好", "en"},
		{"", "", "你" + strings.Repeat("x", 1<<20), "zh"},
	}
	for _, c := range cases {
		if got := settings.Lang(settings.Settings{Lang: c.set}, chat.Sender{Lang: c.sender}, c.text); got != c.want {
			t.Errorf("Lang(%q, %q, %.20q) = %q, want %q", c.set, c.sender, c.text, got, c.want)
		}
	}
}

package console_test

import (
	"os"
	"path/filepath"
	"testing"

	"magpie/chat"
	"magpie/internal/console"
)

func TestBaseURL(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:80": "http://127.0.0.1:80", "0.0.0.0:80": "http://127.0.0.1:80", ":80": "http://127.0.0.1:80",
		"[::]:80": "http://127.0.0.1:80", "[fe80::1%eth0]:80": "http://[fe80::1%25eth0]:80", "[::1]:80": "http://[::1]:80", "example:80": "http://example:80",
	} {
		if got := console.BaseURL(listen); got != want {
			t.Errorf("%s: %s, want %s", listen, got, want)
		}
	}
}

// Commands find the program of a folder as long as it lives, and nobody after
// that, whatever its file says.
func TestRunningProgramIsFound(t *testing.T) {
	dir := t.TempDir()
	if r, ok := console.FindRunning(dir); ok {
		t.Fatalf("found %+v in an empty folder", r)
	}
	server := func(token chat.Secret) *console.Server {
		s, err := console.New(console.Config{Listen: "127.0.0.1:0", Token: token, Key: []byte("k")})
		if err == nil {
			err = s.Listen(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	announced := func(s *console.Server) func() {
		end, err := s.Announce(dir)
		if err != nil {
			t.Fatal(err)
		}
		return end
	}
	first := server("one")
	end := announced(first)
	same := func(got console.Running) bool { return got.URL == first.URL() && got.Token == "one" }
	if got, ok := console.FindRunning(dir); !ok || !same(got) {
		t.Errorf("found %v, %v; want the first", got.URL, ok)
	}
	info, err := os.Stat(filepath.Join(dir, console.RunningFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	announced(server("two"))()
	if got, ok := console.FindRunning(dir); !ok || !same(got) {
		t.Errorf("found %v, %v after a second on the same folder; want the first", got.URL, ok)
	}
	file := filepath.Join(dir, console.RunningFile)
	left, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	end()
	if r, ok := console.FindRunning(dir); ok {
		t.Errorf("found %v, which has ended", r.URL)
	}
	// A killed program leaves its file as it was.
	if err := os.WriteFile(file, left, 0o600); err != nil {
		t.Fatal(err)
	}
	if r, ok := console.FindRunning(dir); ok {
		t.Errorf("found %v, which was killed", r.URL)
	}
	third := server("three")
	defer announced(third)()
	if got, ok := console.FindRunning(dir); !ok || got.URL != third.URL() || got.Token != "three" {
		t.Errorf("found %v, %v; want the one that runs now", got.URL, ok)
	}
}

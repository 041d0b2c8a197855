package app_test

import (
	"os"
	"path/filepath"
	"testing"

	"magpie/chat"
	"magpie/config"
	"magpie/internal/app"
)

// What the channels refuse for its size is known before it is sent; of one that
// is switched off, misses its credentials or does not exist nothing is said.
func TestLargestFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	const text = `channels:
  discord: {token: MTk4.Cl2F.Zn}
  dingtalk: {client_id: dingabc, client_secret: s3cret}
  qq: {app_id: "102000000", app_secret: s3cret, enabled: false}
  telegram: {}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	largest := app.Largest(cfg)
	for _, c := range []struct {
		channel string
		kind    chat.Kind
		most    int64
		known   bool
	}{
		{"discord", chat.Image, 10 << 20, true},
		{"discord", chat.Sticker, 10 << 20, true}, // goes as a file
		{"dingtalk", chat.Voice, 20 << 20, true},  // likewise
		{"qq", chat.File, 0, false},
		{"telegram", chat.File, 0, false},
		{"none", chat.File, 0, false},
	} {
		if most, known := largest(c.channel, c.kind); most != c.most || known != c.known {
			t.Errorf("%s, %s: %d, %v; want %d, %v", c.channel, c.kind, most, known, c.most, c.known)
		}
	}
}

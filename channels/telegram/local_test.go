package telegram

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"
	fake "magpie/internal/fakes/telegram"
)

// A Bot API server with --local names the place of a file instead of handing it
// out: it is read there, also when it is larger than Telegram hands out.
func TestLocalServer(t *testing.T) {
	folder := t.TempDir()
	w := newWorld(t, &fake.Options{Ways: fake.Ways{Local: folder}})
	tg := w.channel(t, channels.Deps{})
	r := start(t, tg)
	data := strings.Repeat("report 报告\n", 2_000_000) // over 20 MB
	w.Say(fake.Said{From: ann, Files: []fake.File{{Kind: "document", Name: "报告.txt", Data: []byte(data)}}})
	a := r.Next(t).Attachments[0]
	body, err := tg.Fetch(channeltest.Bounded(t), a)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(body)
	if err != nil || string(got) != data {
		t.Errorf("%d bytes, %v; want %d", len(got), err, len(data))
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
}

// The place must be the server's own, and readable; else the error says what to
// do, and the token stays out of it.
func TestLocalPlaces(t *testing.T) {
	folder := t.TempDir()
	own := filepath.Join(folder, "123:abc", "documents")
	other := filepath.Join(folder, "elsewhere")
	for _, dir := range []string{own, other} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		base, path, want string
	}{
		"own folder":       {"http://127.0.0.1:8081", filepath.Join(own, "f"), ""},
		"not mounted":      {"http://127.0.0.1:8081", "/var/lib/telegram-bot-api/123:abc/documents/f", "mount the server's folder"},
		"public":           {publicAPI, filepath.Join(own, "f"), "only a server with --local"},
		"another's":        {"http://127.0.0.1:8081", filepath.Join(other, "f"), "not in its folder for this bot"},
		"out of it":        {"http://127.0.0.1:8081", own + "/../../elsewhere/f", "not in its folder"},
		"a folder":         {"http://127.0.0.1:8081", own, "is no file"},
		"secrets of hosts": {"http://127.0.0.1:8081", "/etc/passwd", "not in its folder"},
	} {
		t.Run(name, func(t *testing.T) {
			tg := newTelegram(instance, Config{Token: "123:abc", APIBase: c.base, Mode: modePoll}, channels.Deps{}, quick())
			f, err := tg.openLocal(c.path)
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || channels.KindOf(err) != channels.Rejected || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "123:abc") {
				t.Errorf("error %v, want %q and no token", err, c.want)
			}
		})
	}
}

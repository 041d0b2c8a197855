package simulate

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/internal/fakes/driver"
)

// Every platform is on its own port of this machine, and nothing is left of it
// afterwards (the package's tests look for goroutines).
func TestWorld(t *testing.T) {
	w, err := New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	bases := map[string]bool{}
	for _, name := range Names() {
		section, ok := w.Channels()[name].(map[string]any)
		base, _ := section["api_base"].(string)
		if !ok || !strings.HasPrefix(base, "http://127.0.0.1:") || bases[base] {
			t.Errorf("section of %s: %v", name, section)
		}
		bases[base] = true
	}
	for _, admin := range w.Admins() {
		name, id, _ := strings.Cut(admin, ":")
		names = append(names, name)
		if id == "" {
			t.Errorf("admin %q", admin)
		}
	}
	if diff := cmp.Diff(Names(), names); diff != "" {
		t.Errorf("admins of (-want +got):\n%s", diff)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	for base := range bases {
		if resp, err := (&http.Client{Transport: &http.Transport{}}).Get(base); err == nil {
			resp.Body.Close()
			t.Errorf("%s answers after the end", base)
		}
	}
}

func TestWorldOfSome(t *testing.T) {
	w, err := New(t.Context(), "qq", "telegram", "qq")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if len(w.stands) != 2 || len(w.Channels()) != 2 {
		t.Errorf("channels: %v", w.Channels())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Ready(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "qq") {
		t.Errorf("nobody connects: %v", err)
	}
	if _, err := New(t.Context(), "qq", "irc"); err == nil || !strings.Contains(err.Error(), `"irc": want any of telegram, feishu`) {
		t.Errorf("an unknown platform: %v", err)
	}
	made := makers()
	for _, name := range Names() {
		if made[name] == nil {
			t.Errorf("%s cannot be made", name)
		}
		delete(made, name)
	}
	if len(made) > 0 {
		t.Errorf("not in the list of names: %v", made)
	}
}

// DingTalk does not bring a message again, so a person is told that it is lost;
// the others bring it later.
func TestDingTalkLoses(t *testing.T) {
	for name, maker := range makers() {
		h := newHouse(maker())
		defer h.Close()
		talk, want := newTalk(h, Private), error(nil)
		if name == "dingtalk" {
			want = errLost
		}
		if err := talk.say("你好", nil); !errors.Is(err, want) {
			t.Errorf("%s: said to nobody: %v", name, err)
		}
		talk.add(Entry{Key: "card", Buttons: []driver.Button{yes()}})
		if err := talk.press(talk.entries[len(talk.entries)-1].Key, 0); err == nil || errors.Is(err, errLost) != (want != nil) {
			t.Errorf("%s: pressed for nobody: %v", name, err)
		}
	}
}

// Every trouble is known to every platform: a fault without a field would be a
// call that is never answered.
func TestTroubles(t *testing.T) {
	for _, trouble := range Troubles() {
		for name, maker := range makers() {
			p := maker()
			if !p.Fail(trouble, 1) {
				t.Errorf("%s does not know %s", name, trouble)
			}
			p.Close()
		}
	}
	if !slices.Equal(Places(), []Place{Private, Group}) {
		t.Errorf("places: %v", Places())
	}
}

func TestNewFile(t *testing.T) {
	for name, want := range map[string]driver.File{
		"a.png": {Name: "a.png", MIME: "image/png"}, "/x/报告.pdf": {Name: "报告.pdf", MIME: "application/pdf"},
		"noext": {Name: "noext", MIME: "text/plain"}, "a.unknown": {Name: "a.unknown", MIME: "text/plain"},
	} {
		got := newFile(name, []byte("text"))
		want.Data = []byte("text")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if f := newFile("noext", []byte("\x89PNG\r\n\x1a\n")); !f.Is(driver.Image) {
		t.Errorf("a picture without a name: %s", f.MIME)
	}
}

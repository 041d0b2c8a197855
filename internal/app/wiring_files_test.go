package app_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

func TestFenceKeysReachTheFileTools(t *testing.T) {
	t.Parallel()
	for _, c := range []wiring{
		{key: "none", early: grounds, check: opens()},
		{key: "allowed_paths", extra: "tools: {allowed_paths: [../open]}", early: grounds, check: opens("open")},
		{key: "restrict_to_workspace", extra: "tools: {restrict_to_workspace: false}", early: grounds, check: opens("open", "closed", "link")},
		{key: "path_policy", extra: "tools: {path_policy: resolve}", early: grounds, check: opens("dots")},
		{key: "symlinks", extra: "tools: {symlinks: inside}", early: grounds, check: opens("link")},
	} {
		t.Run(c.key, c.run)
	}
}

// grounds are files inside the workspace and around it.
func grounds(w *world) {
	inside := w.data("workspace", "inside.txt")
	for _, path := range []string{inside, w.data("workspace", "b", "x.txt"), filepath.Join(w.dir, "open", "a.txt"), filepath.Join(w.dir, "closed", "a.txt")} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("喜鹊 was here\n"), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := os.Symlink("inside.txt", w.data("workspace", "link.txt")); err != nil {
		w.t.Fatal(err)
	}
}

// opens wants exactly these ways of reading a file to be open.
func opens(ways ...string) func(*testing.T, *world, *bot) {
	return func(t *testing.T, w *world, _ *bot) {
		calls := map[string]modelserver.Call{}
		for way, path := range map[string]string{
			"open": filepath.Join(w.dir, "open", "a.txt"), "closed": filepath.Join(w.dir, "closed", "a.txt"),
			"dots": "b/../inside.txt", "link": "link.txt",
		} {
			calls[way] = modelserver.Call{Name: "read_file", Args: fmt.Sprintf(`{"path": %q}`, path)}
		}
		w.calls(calls)
		for way := range calls {
			want := strings.Contains(strings.Join(ways, " "), way)
			if got := w.ask(way); strings.Contains(got, "喜鹊 was here") != want {
				t.Errorf("%s: %q; want it open: %v", way, got, want)
			}
		}
	}
}

func TestMediaKeysReachTheFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []wiring{
		{key: "max_bytes", extra: "media: {max_bytes: 100}", early: grounds, check: checkMaxBytes},
		{key: "vision: true", model: "vision: true", check: sees(1)},
		{key: "vision: false", model: "vision: false", check: sees(0)},
	} {
		t.Run(c.key, c.run)
	}
}

// checkMaxBytes: the limit holds for files that come and for those that go.
func checkMaxBytes(t *testing.T, w *world, _ *bot) {
	file := func(size int) telegram.Said {
		return telegram.Said{From: owner, Text: fmt.Sprint(size), Files: []telegram.File{{Name: "a.txt", MIME: "text/plain", Data: bytes.Repeat([]byte("x"), size)}}}
	}
	for i, c := range []struct {
		size    int
		refused bool
	}{{100, false}, {101, true}} {
		w.tg.Say(file(c.size))
		w.wait(owner, "file heard of", func(m []telegram.Message) bool { return len(m) == i+1 })
		if got := w.model.Requests()[i].LastUser(); strings.Contains(got, "larger than") != c.refused {
			t.Errorf("%d bytes: the model is told %q", c.size, got)
		}
		if err := os.WriteFile(w.data("workspace", "out.txt"), bytes.Repeat([]byte("y"), c.size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.calls(map[string]modelserver.Call{"send": {Name: "message", Args: `{"content": "here", "media": ["out.txt"]}`}})
	shows("send", "has 101 bytes, at most 100")(t, w, nil)
}

// sees wants a picture to be shown to the model that often.
func sees(n int) func(*testing.T, *world, *bot) {
	return func(t *testing.T, w *world, _ *bot) {
		var photo bytes.Buffer
		if err := png.Encode(&photo, image.NewGray(image.Rect(0, 0, 20, 20))); err != nil {
			t.Fatal(err)
		}
		w.tg.Say(telegram.Said{From: owner, Text: "what is this?", Files: []telegram.File{{Kind: "photo", Data: photo.Bytes()}}})
		w.wait(owner, "answer", func(m []telegram.Message) bool { return len(m) == 1 })
		shown, r := 0, w.model.Requests()[0]
		for _, m := range r.Messages {
			shown += m.Images
		}
		if shown != n {
			t.Errorf("%d pictures shown, want %d", shown, n)
		}
		if told := strings.Contains(r.LastUser(), "1 picture(s) of this message are not shown"); told == (n == 1) {
			t.Errorf("the model is told %q beside %d pictures", r.LastUser(), n)
		}
	}
}

// TestSkillIsLoaded: the model gets what a skill tells to do, not its file.
func TestSkillIsLoaded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	path, listen := w.config("bot")
	file := w.data("workspace", "skills", "tea", "SKILL.md")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("---\nname: tea\ndescription: making tea\n---\nBoil water first.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := w.startWith(path, listen)
	b.ready()
	w.calls(map[string]modelserver.Call{
		"the skill": {Name: "read_file", Args: `{"path": "skills/tea/SKILL.md"}`},
		"the lines": {Name: "read_file", Args: `{"path": "skills/tea/SKILL.md", "start_line": 1}`},
	})
	if got := w.ask("the skill"); !strings.Contains(got, "Skill tea.") || !strings.Contains(got, "Boil water first.") || strings.Contains(got, "description") {
		t.Errorf("the skill comes as %q", got)
	}
	if got := w.ask("the lines"); !strings.Contains(got, "| description: making tea") {
		t.Errorf("its lines come as %q", got)
	}
}

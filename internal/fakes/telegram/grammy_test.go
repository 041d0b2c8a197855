package telegram_test

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	fake "magpie/internal/fakes/telegram"
)

// nodeModules finds the independent clients, or skips with the reason.
func nodeModules(t *testing.T) (node, modules string) {
	t.Helper()
	unmet := t.Skipf
	if os.Getenv("MAGPIE_TEST_REQUIRE") == "1" {
		unmet = t.Fatalf
	}
	modules = os.Getenv("MAGPIE_TEST_NODE_MODULES")
	if modules == "" {
		unmet("MAGPIE_TEST_NODE_MODULES is not set: run npm ci in a copy of internal/fakes/node and name its node_modules")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		unmet("node is not installed")
	}
	if _, err := os.Stat(filepath.Join(modules, "grammy")); err != nil {
		unmet("grammy is not in %s", modules)
	}
	return node, modules
}

// TestGrammy runs a bot written with grammY on the fake: long polling with
// offsets, markup and its errors, edits, presses, albums, files both ways.
func TestGrammy(t *testing.T) {
	node, modules := nodeModules(t)
	s, url := serve(t, nil)
	const ann = 11
	s.AddPerson(fake.Person{ID: ann, Name: "Ann"})
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, "testdata/grammy.cjs", url, s.Token())
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	talk := func(n int, act func()) []fake.Message {
		t.Helper()
		act()
		shown, err := s.WaitMessages(ctx, ann, n)
		if err != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			t.Fatalf("%v\nthe bot said:\n%s", err, out.String())
		}
		return shown
	}
	echo := talk(1, func() { s.Say(fake.Said{From: ann, Text: "héllo 世界"}) })[0]
	want := fake.Message{
		ID: echo.ID, Chat: ann, Text: "echo: héllo 世界", Source: "<b>echo</b>: héllo 世界", ReplyTo: echo.ID - 1, Kind: "text",
		Entities: []fake.Entity{{Type: "bold", Length: 4}},
		Keyboard: [][]fake.Button{{{Text: "Yes", Data: "yes:1"}, {Text: "No", Data: "no:1"}}},
	}
	if diff := cmp.Diff(want, echo); diff != "" {
		t.Error(diff)
	}
	if got := talk(2, func() { s.Say(fake.Said{From: ann, Text: "bad html"}) })[1].Text; got != `400 Bad Request: can't parse entities: Can't find end tag corresponding to start tag "b"` {
		t.Errorf("bad HTML: %q", got)
	}
	s.Fail(fake.Fault{Method: "sendMessage", Code: 429, Text: "Too Many Requests: retry after 7", RetryAfter: 7})
	if got := talk(3, func() { s.Say(fake.Said{From: ann, Text: "flood"}) })[2].Text; got != "429 retry 7" {
		t.Errorf("flood: %q", got)
	}
	if _, err := s.Press(ann, ann, echo.ID, "no:1"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Wait(ctx, ann, func(m []fake.Message) bool {
		return m[0].Text == "pressed no:1" && len(m[0].Keyboard) == 0
	}); err != nil {
		t.Fatal(err)
	}
	var dot bytes.Buffer
	if err := png.Encode(&dot, image.NewGray(image.Rect(0, 0, 20, 20))); err != nil {
		t.Fatal(err)
	}
	shown := talk(6, func() {
		s.Say(fake.Said{From: ann, Files: []fake.File{{Kind: "photo", Name: "dot.png", Data: dot.Bytes()}}})
	})[3:]
	for i, m := range shown {
		if m.File == nil || !bytes.Equal(m.File.Data, dot.Bytes()) {
			t.Errorf("message %d: %+v", i, m)
		}
	}
	if shown[0].Album == "" || shown[0].Album != shown[1].Album || shown[0].Text != "first" || shown[2].File.Name != "copy 副本.png" || !strings.Contains(shown[2].Text, "album of 2") {
		t.Errorf("shown: %+v", shown)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if n := s.Pending(); n != 0 {
		t.Errorf("%d updates are not confirmed", n)
	}
}

func serve(t *testing.T, o *fake.Options) (*fake.Server, string) {
	t.Helper()
	s := fake.New(o)
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		s.Close()
		web.Close()
	})
	return s, web.URL
}

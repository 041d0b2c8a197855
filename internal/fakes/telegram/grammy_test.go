package telegram_test

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/internal/fakes/nodetest"
	fake "magpie/internal/fakes/telegram"
)

// grammy is a bot written with grammY that talks with one person.
type grammy struct {
	t   *testing.T
	s   *fake.Server
	ctx context.Context // of the test
	cmd *exec.Cmd
	out bytes.Buffer
}

const ann = 11

func startGrammy(t *testing.T) *grammy {
	t.Helper()
	node, modules := nodetest.Find(t, "grammy")
	s, url := serve(t, nil)
	s.AddPerson(fake.Person{ID: ann, Name: "Ann"})
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	g := &grammy{t: t, s: s, ctx: ctx, cmd: exec.CommandContext(ctx, node, "testdata/grammy.cjs", url, s.Token())}
	g.cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	g.cmd.Stdout, g.cmd.Stderr = &g.out, &g.out
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return g
}

// wait waits for what the chat shows, or fails with what the bot printed.
func (g *grammy) wait(ok func([]fake.Message) bool) []fake.Message {
	g.t.Helper()
	shown, err := g.s.Wait(g.ctx, ann, ok)
	if err != nil {
		_ = g.cmd.Process.Kill() // it is waited for to read what it printed
		_ = g.cmd.Wait()
		g.t.Fatalf("%v\nthe bot said:\n%s", err, g.out.String())
	}
	return shown
}

// tell lets the person write and waits until the chat shows n messages.
func (g *grammy) tell(n int, said fake.Said) []fake.Message {
	g.t.Helper()
	said.From = ann
	g.s.Say(said)
	return g.wait(func(shown []fake.Message) bool { return len(shown) >= n })
}

// end stops the bot, which confirms its updates.
func (g *grammy) end() {
	g.t.Helper()
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		g.t.Fatal(err)
	}
	if err := g.cmd.Wait(); err != nil {
		g.t.Fatalf("%v\n%s", err, g.out.String())
	}
	if n := g.s.Pending(); n != 0 {
		g.t.Errorf("%d updates are not confirmed", n)
	}
}

// Long polling with offsets, markup and its errors, edits and presses.
func TestGrammyText(t *testing.T) {
	g := startGrammy(t)
	echo := g.tell(1, fake.Said{Text: "héllo 世界"})[0]
	want := fake.Message{
		ID: echo.ID, Chat: ann, Text: "echo: héllo 世界", Source: "<b>echo</b>: héllo 世界", ReplyTo: echo.ID - 1, Kind: "text",
		Entities: []fake.Entity{{Type: "bold", Length: 4}},
		Keyboard: [][]fake.Button{{{Text: "Yes", Data: "yes:1"}, {Text: "No", Data: "no:1"}}},
	}
	if diff := cmp.Diff(want, echo); diff != "" {
		t.Error(diff)
	}
	if got := g.tell(2, fake.Said{Text: "bad html"})[1].Text; got != `400 Bad Request: can't parse entities: Can't find end tag corresponding to start tag "b"` {
		t.Errorf("bad HTML: %q", got)
	}
	g.s.Fail(fake.Fault{Method: "sendMessage", Code: 429, Text: "Too Many Requests: retry after 7", RetryAfter: 7})
	if got := g.tell(3, fake.Said{Text: "flood"})[2].Text; got != "429 retry 7" {
		t.Errorf("flood: %q", got)
	}
	if _, err := g.s.Press(ann, ann, echo.ID, "no:1"); err != nil {
		t.Fatal(err)
	}
	g.wait(func(m []fake.Message) bool { return m[0].Text == "pressed no:1" && len(m[0].Keyboard) == 0 })
	g.end()
}

// A draft stands in the chat until a message comes, and is none; menus have a
// language.
func TestGrammyDraftsAndMenus(t *testing.T) {
	g := startGrammy(t)
	g.s.Say(fake.Said{From: ann, Text: "draft"})
	g.wait(func(shown []fake.Message) bool { return len(shown) == 0 && g.s.Draft(ann) == "half of it" })
	if got := g.tell(1, fake.Said{Text: "menu"})[0].Text; got != "1 帮助, 0" {
		t.Errorf("menus: %q", got)
	}
	if got := g.s.Draft(ann); got != "" {
		t.Errorf("beside the message stands the draft %q", got)
	}
	g.end()
}

// Files in, files and albums out.
func TestGrammyFiles(t *testing.T) {
	g := startGrammy(t)
	var dot bytes.Buffer
	if err := png.Encode(&dot, image.NewGray(image.Rect(0, 0, 20, 20))); err != nil {
		t.Fatal(err)
	}
	shown := g.tell(3, fake.Said{Files: []fake.File{{Kind: "photo", Name: "dot.png", Data: dot.Bytes()}}})
	for i, m := range shown {
		if m.File == nil || !bytes.Equal(m.File.Data, dot.Bytes()) {
			t.Errorf("message %d: %+v", i, m)
		}
	}
	if shown[0].Album == "" || shown[0].Album != shown[1].Album || shown[0].Text != "first" || shown[2].File.Name != "copy 副本.png" || !strings.Contains(shown[2].Text, "album of 2") {
		t.Errorf("shown: %+v", shown)
	}
	g.end()
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

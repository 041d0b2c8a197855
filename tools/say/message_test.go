package say_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"magpie/chat"
	"magpie/tools"
	"magpie/tools/fs/fence"
	"magpie/tools/say"
	"magpie/tools/tooltest"
)

// outbox takes messages as the bus does: an id that it knows is no new one.
type outbox struct {
	mu   sync.Mutex
	got  []chat.Outbound
	seen map[string]bool
	err  error
}

func (o *outbox) Publish(_ context.Context, out chat.Outbound) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil || o.seen[out.ID] {
		return o.err
	}
	if o.seen == nil {
		o.seen = map[string]bool{}
	}
	o.seen[out.ID] = true
	o.got = append(o.got, out)
	return nil
}

// store keeps media and refuses what is larger than it was told.
type store struct {
	mu  sync.Mutex
	got map[string]string
}

func (s *store) Put(_ context.Context, name, mime string, r io.Reader) (string, int64, error) {
	raw, err := io.ReadAll(r)
	if err != nil || mime == "" {
		return "", 0, errors.Join(err, errors.New("want a type"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.got == nil {
		s.got = map[string]string{}
	}
	s.got[name] = string(raw)
	return "ref-" + name, int64(len(raw)), nil
}

var here = tools.Scope{
	Addr: chat.Address{Channel: "telegram", Chat: "42", Thread: "7"}, Sender: chat.Sender{ID: "9"},
	Trace: "trace", Turn: "turn", CallID: "call-1", Zone: time.UTC,
}

type bench struct {
	t     *testing.T
	out   *outbox
	media *store
	exec  *tools.Executor
	tool  string
}

func newBench(t *testing.T, o *say.Options) *bench {
	t.Helper()
	b := &bench{t: t, out: &outbox{}, media: &store{}}
	if o != nil && o.Files != nil {
		o.Media = b.media
	}
	reg := &tools.Registry{}
	if err := reg.Register(say.Message(b.out, o)); err != nil {
		t.Fatal(err)
	}
	b.exec, b.tool = tools.NewExecutor(reg, nil), "message"
	return b
}

func (b *bench) run(args string) tools.Result {
	b.t.Helper()
	return b.exec.Run(b.t.Context(), here, b.tool, args)
}

func (b *bench) refused(kind tools.ErrorKind, args string, words ...string) {
	b.t.Helper()
	res := b.run(args)
	for _, w := range words {
		if res.OK || res.Err != kind || !strings.Contains(res.Text, w) {
			b.t.Errorf("%s: want %s with %q, got %s: %s", args, kind, w, res.Err, res.Text)
		}
	}
	if len(b.out.got) > 0 {
		b.t.Errorf("%s: something was sent: %+v", args, b.out.got)
	}
}

// files is a fence over a folder with some files.
func files(t *testing.T) *fence.Fence {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"chart.png": "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "报告.txt": "你好", "empty": "", "limit": strings.Repeat("x", 64), "over": strings.Repeat("x", 65),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := fence.New(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestConformance(t *testing.T) {
	tooltest.Run(t, say.Message(&outbox{}, nil), &tooltest.Options{Good: []string{`{"content":"hello 你好"}`}})
}

func TestMessageToTheCurrentChat(t *testing.T) {
	for _, args := range []string{
		`{"content":"hi"}`, `{"text":"hi"}`, `{"content":"hi","channel":"telegram","chatId":"42"}`, `{"content":"hi","to":"42"}`,
	} {
		b := newBench(t, nil)
		res := b.run(args)
		if !res.OK || !res.Answered {
			t.Fatalf("%s: %+v", args, res)
		}
		want := []chat.Outbound{{
			Meta: chat.Meta{V: 1, ID: "out:" + string(here.Addr.Session()) + ":call-1", Trace: "trace", Addr: here.Addr},
			Text: "hi", Turn: "turn",
		}}
		if d := cmp.Diff(want, b.out.got, cmpopts.IgnoreFields(chat.Meta{}, "At")); d != "" {
			t.Errorf("%s (-want +got):\n%s", args, d)
		}
	}
}

func TestARepeatedCallSendsOnce(t *testing.T) {
	b := newBench(t, nil)
	first, again := b.run(`{"content":"hi"}`), b.run(`{"content":"hi"}`)
	if !first.OK || !again.OK || len(b.out.got) != 1 {
		t.Errorf("want one message, got %d: %s, %s", len(b.out.got), first.Text, again.Text)
	}
}

func TestMessageElsewhere(t *testing.T) {
	b := newBench(t, nil)
	b.refused(tools.Permission, `{"content":"hi","chat_id":"43"}`, "not allowed here", "leave out")
	elsewhere := &say.Options{Elsewhere: func(_ context.Context, sc tools.Scope, to chat.Address) error {
		if sc.Sender.ID == "9" && to == (chat.Address{Channel: "qq", Chat: "group:1"}) {
			return nil
		}
		return fmt.Errorf("only admins write to %s", to.Channel)
	}}
	b = newBench(t, elsewhere)
	b.refused(tools.Permission, `{"content":"hi","channel":"feishu","chat_id":"oc_1"}`, "only admins write to feishu")
	b.refused(tools.InvalidArgs, `{"content":"hi","channel":"qq"}`, "without chat_id")
	res := b.run(`{"content":"hi","channel":"qq","chatId":"group:1"}`)
	if !res.OK || res.Answered || len(b.out.got) != 1 || b.out.got[0].Addr != (chat.Address{Channel: "qq", Chat: "group:1"}) {
		t.Errorf("got %+v, %+v", res, b.out.got)
	}
}

func TestMessageWithFiles(t *testing.T) {
	b := newBench(t, &say.Options{Files: files(t), MaxBytes: 64})
	res := b.run(`{"media":["chart.png","报告.txt","limit"]}`)
	if !res.OK {
		t.Fatal(res.Text)
	}
	want := []chat.Attachment{
		{Kind: chat.Image, Name: "chart.png", MIME: "image/png", Size: 16, Ref: "ref-chart.png"},
		{Kind: chat.File, Name: "报告.txt", MIME: "text/plain; charset=utf-8", Size: 6, Ref: "ref-报告.txt"},
		{Kind: chat.File, Name: "limit", MIME: "text/plain; charset=utf-8", Size: 64, Ref: "ref-limit"},
	}
	if d := cmp.Diff(want, b.out.got[0].Attachments); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if b.media.got["报告.txt"] != "你好" {
		t.Errorf("stored %q", b.media.got)
	}
}

func TestFilesThatCannotBeSent(t *testing.T) {
	b := newBench(t, &say.Options{Files: files(t), MaxBytes: 64})
	b.refused(tools.InvalidArgs, `{"media":["chart.png","over","folder","empty"]}`, "65 bytes, at most 64", "is a folder", "is empty")
	b.refused(tools.Security, `{"media":["../x"]}`, "..")
	b.refused(tools.NotFound, `{"media":["none.png"]}`, "there is no")
	if len(b.media.got) > 0 {
		t.Errorf("files were stored for nothing: %v", b.media.got)
	}
	b = newBench(t, nil)
	b.refused(tools.Failed, `{"media":["chart.png"]}`, "files cannot be sent here")
	b.refused(tools.InvalidArgs, `{"content":" \n"}`, "is empty", "want content, media or both")
	b.refused(tools.InvalidArgs, `{}`, "is empty")
}

func TestMessageWithButtons(t *testing.T) {
	b := newBench(t, nil)
	b.refused(tools.Failed, `{"content":"?","buttons":["yes"]}`, "buttons are not possible here")
	b = newBench(t, &say.Options{Buttons: func(_ context.Context, sc tools.Scope, labels []string) ([][]chat.Button, error) {
		var row []chat.Button
		for i, l := range labels {
			row = append(row, chat.Button{Label: l, Data: fmt.Sprint(sc.CallID, ":", i)})
		}
		return [][]chat.Button{row}, nil
	}})
	b.refused(tools.InvalidArgs, `{"content":"?","buttons":["`+strings.Repeat("字", 41)+`"]}`, "at most 40 characters")
	if res := b.run(`{"content":"Lunch?","buttons":["yes","不要"]}`); !res.OK {
		t.Fatal(res.Text)
	}
	want := [][]chat.Button{{{Label: "yes", Data: "call-1:0"}, {Label: "不要", Data: "call-1:1"}}}
	if d := cmp.Diff(want, b.out.got[0].Buttons); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestABrokenOutboxIsSaid(t *testing.T) {
	b := newBench(t, nil)
	b.out.err = errors.New("the store is full")
	b.refused(tools.Failed, `{"content":"hi"}`, "the store is full")
	if res := b.run(`{"content":"hi"}`); res.Answered {
		t.Error("a message that was not sent counts as the answer")
	}
}

// A message is a part of the answer in the chat of the turn only, and one that
// was asked for unless a job has begun the turn.
func TestMessageKnowsItsTurn(t *testing.T) {
	for _, c := range []struct {
		args    string
		job     bool
		turn    string
		unasked bool
	}{
		{args: `{"content": "hi"}`, turn: "turn"},
		{args: `{"content": "hi"}`, job: true, turn: "turn", unasked: true},
		{args: `{"content": "hi", "chat_id": "43"}`},
	} {
		b := newBench(t, &say.Options{Elsewhere: func(context.Context, tools.Scope, chat.Address) error { return nil }})
		sc := here
		sc.FromJob = c.job
		b.exec.Run(t.Context(), sc, b.tool, c.args)
		if len(b.out.got) != 1 || b.out.got[0].Turn != c.turn || b.out.got[0].Unasked != c.unasked {
			t.Errorf("%s (job %v): %+v", c.args, c.job, b.out.got)
		}
	}
}

// What a turn says that has read text from outside says so, and is guarded: the
// text, and the labels, which come back as the person's words.
func TestMessagesAreGuarded(t *testing.T) {
	b := newBench(t, &say.Options{Buttons: func(_ context.Context, _ tools.Scope, labels []string) ([][]chat.Button, error) {
		return [][]chat.Button{{{Label: strings.Join(labels, "|")}}}, nil
	}})
	sc := here
	sc.Sources = []chat.Source{{Kind: chat.SourcePage}}
	sc.Guard = func(text string) string { return "(" + text + ")" }
	if res := b.exec.Run(t.Context(), sc, b.tool, `{"content":"see evil.com","buttons":["a.com","b.com"]}`); !res.OK {
		t.Fatal(res.Text)
	}
	got := b.out.got[0]
	if got.Text != "(see evil.com)" || got.Buttons[0][0].Label != "(a.com)|(b.com)" || len(got.Sources) != 1 {
		t.Errorf("%+v", got)
	}
}

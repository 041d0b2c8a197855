package say_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"magpie/chat"
	"magpie/tools"
	"magpie/tools/say"
	"magpie/tools/tooltest"
)

// newSender is a bench whose calls go to send_media.
func newSender(t *testing.T, o *say.Options) *bench {
	t.Helper()
	b := &bench{t: t, out: &outbox{}, media: &store{}}
	if o != nil && o.Files != nil {
		o.Media = b.media
	}
	reg := &tools.Registry{}
	if err := reg.Register(say.SendMedia(b.out, o)); err != nil {
		t.Fatal(err)
	}
	b.exec, b.tool = tools.NewExecutor(reg, nil), "send_media"
	return b
}

func TestSendMediaConformance(t *testing.T) {
	tool := say.SendMedia(&outbox{}, &say.Options{Files: files(t), Media: &store{}})
	tooltest.Run(t, tool, &tooltest.Options{Good: []string{`{"file_paths":["chart.png","报告.txt"],"message":"看 this"}`, `{"file_paths":["limit"]}`}})
}

func TestSendMedia(t *testing.T) {
	for _, args := range []string{
		`{"file_paths":["chart.png","报告.txt"],"message":" see "}`,
		`{"filePaths":["chart.png","报告.txt"],"caption":"see"}`,
		`{"files":["chart.png","报告.txt"],"text":"see"}`,
	} {
		b := newSender(t, &say.Options{Files: files(t), MaxBytes: 64})
		res := b.run(args)
		want := []chat.Outbound{{
			Meta: chat.Meta{V: 1, ID: "out:" + string(here.Addr.Session()) + ":call-1", Trace: "trace", Addr: here.Addr},
			Text: "see", Turn: "turn",
			Attachments: []chat.Attachment{
				{Kind: chat.Image, Name: "chart.png", MIME: "image/png", Size: 16, Ref: "ref-chart.png"},
				{Kind: chat.File, Name: "报告.txt", MIME: "text/plain; charset=utf-8", Size: 6, Ref: "ref-报告.txt"},
			},
		}}
		if d := cmp.Diff(want, b.out.got, cmpopts.IgnoreFields(chat.Meta{}, "At")); d != "" {
			t.Errorf("%s (-want +got):\n%s", args, d)
		}
		if !res.OK || res.Answered || res.Text != "handed over to be sent to this chat: chart.png (image, 16 bytes), 报告.txt (file, 6 bytes)" {
			t.Errorf("%s: %+v", args, res)
		}
		if b.run(args); len(b.out.got) != 1 {
			t.Errorf("%s: the same call sent %d messages", args, len(b.out.got))
		}
	}
}

// What cannot be sent is named and the rest goes.
func TestSendMediaRest(t *testing.T) {
	b := newSender(t, &say.Options{Files: files(t), MaxBytes: 64})
	res := b.run(`{"file_paths":["over","limit","folder","none.png","empty","../secret"]}`)
	if !res.OK || len(b.out.got) != 1 || len(b.out.got[0].Attachments) != 1 || b.out.got[0].Attachments[0].Name != "limit" {
		t.Fatalf("%+v, sent %+v", res, b.out.got)
	}
	for _, want := range []string{
		"sent to this chat: limit (file, 64 bytes)", `not sent: "over" has 65 bytes, at most 64`, `not sent: "folder" is a folder`,
		"not sent: there is no", `not sent: "empty" is empty`, "..",
	} {
		if !strings.Contains(res.Text, want) {
			t.Errorf("want %q in %q", want, res.Text)
		}
	}
	if len(b.media.got) != 1 {
		t.Errorf("stored %v", b.media.got)
	}
}

// What the channel would refuse is named, too, in the answer and not only in
// the chat.
func TestChannelsTakeLess(t *testing.T) {
	small := map[string]map[chat.Kind]int64{
		"telegram": {chat.Image: 16, chat.File: 10}, "qq": {chat.Image: 15, chat.File: 63}, "mute": {},
	}
	o := &say.Options{
		Files: files(t), MaxBytes: 64,
		Elsewhere: func(context.Context, tools.Scope, chat.Address) error { return nil },
		Largest: func(channel string, kind chat.Kind) (int64, bool) {
			limits, known := small[channel]
			return limits[kind], known
		},
	}
	b := newSender(t, o)
	res := b.run(`{"file_paths":["limit","chart.png","报告.txt"]}`)
	want := "sent to this chat: chart.png (image, 16 bytes), 报告.txt (file, 6 bytes)\nnot sent: \"limit\" has 64 bytes, telegram takes at most 10; "
	if !res.OK || !strings.HasPrefix(res.Text, want) || len(b.out.got) != 1 || len(b.out.got[0].Attachments) != 2 || len(b.media.got) != 2 {
		t.Errorf("%+v, sent %+v", res, b.out.got)
	}
	newSender(t, o).refused(tools.InvalidArgs, `{"file_paths":["limit"]}`, "telegram takes at most 10")
	newBench(t, o).refused(tools.InvalidArgs, `{"media":["limit","chart.png"],"channel":"qq","chat_id":"c2c:1"}`, `"limit" has 64 bytes, qq takes at most 63`, `"chart.png"`)
	newBench(t, o).refused(tools.Failed, `{"media":["chart.png"],"channel":"mute","chat_id":"1"}`, "mute takes no files")
	b = newBench(t, o)
	if res := b.run(`{"media":["limit"],"channel":"other","chat_id":"1"}`); !res.OK || len(b.out.got) != 1 {
		t.Errorf("a channel that nothing is known of: %+v", res)
	}
}

func TestSendMediaRefused(t *testing.T) {
	b := newSender(t, &say.Options{Files: files(t), MaxBytes: 64})
	b.refused(tools.InvalidArgs, `{"file_paths":["over","folder"]}`, "65 bytes, at most 64", "is a folder")
	b.refused(tools.Security, `{"file_paths":["../x"],"message":"hi"}`, "..")
	b.refused(tools.NotFound, `{"file_paths":["none.png"]}`, "there is no")
	b.refused(tools.InvalidArgs, `{"file_paths":[]}`, "file_paths")
	b.refused(tools.InvalidArgs, `{"message":"hi"}`, "file_paths")
	b.refused(tools.NotFound, `{"path":"none.png"}`, "there is no") // one name makes a list
	b.refused(tools.InvalidArgs, `{"file_paths":[`+strings.Repeat(`"limit",`, 10)+`"limit"]}`, "10")
	if len(b.media.got) > 0 {
		t.Errorf("files were stored for nothing: %v", b.media.got)
	}
	newSender(t, nil).refused(tools.Failed, `{"file_paths":["chart.png"]}`, "files cannot be sent here")
}

// Whatever the model writes, the tools answer and do not break down.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{
		`{"file_paths":["chart.png"]}`, `{"file_paths":"chart.png"}`, `{"content":"hi","media":["x"],"buttons":["a"]}`, `{"file_paths":[null,1,{}]}`,
		`{`, `null`, `[]`, `""`, `{"file_paths":["` + strings.Repeat("../", 100) + `"]}`, "{\"file_paths\":[\"a\\u0000b\"]}", `{"content":{"a":1}}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, args string) {
		o := &say.Options{Files: files(t), MaxBytes: 64, Media: &store{}}
		reg := &tools.Registry{}
		if err := reg.RegisterAll(say.Message(&outbox{}, o), say.SendMedia(&outbox{}, o)); err != nil {
			t.Fatal(err)
		}
		exec := tools.NewExecutor(reg, nil)
		for _, name := range []string{"message", "send_media"} {
			if res := exec.Run(t.Context(), here, name, args); res.Text == "" || res.OK != (res.Err == "") || strings.Contains(res.Text, "panic") {
				t.Errorf("%s(%q): %+v", name, args, res)
			}
		}
	})
}

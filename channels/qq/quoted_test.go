package qq

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/qq"
	"magpie/internal/kv"
)

// A picture that is replied to comes with the quote, however much was said in
// the group meanwhile, also over a restart: whether the event shows the quoted
// message or nothing but its index. The index of another chat says nothing.
func TestQuotedFiles(t *testing.T) {
	w := newWorld(t, nil)
	table := &kv.Memory{}
	first := start(t, w.channel(t, channels.Deps{Table: table}))
	id := w.Say(fake.Said{Chat: crowd, From: member, Text: "look", All: true, Files: []fake.File{
		{Kind: "image", Name: "cat.png", MIME: "image/png", Data: []byte("meow")},
		{Kind: "file", Name: "报告.pdf", Data: []byte("pdf")},
	}})
	sent := first.Next(t)
	for i := range 2 * maxLines {
		w.Say(fake.Said{Chat: crowd, From: member, Text: fmt.Sprint("small talk ", i), All: true})
		first.Next(t)
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	r := start(t, w.channel(t, channels.Deps{Table: table}))
	for _, bare := range []bool{false, true} {
		w.Say(fake.Said{Chat: crowd, From: member, Text: "what is this?", Quote: id, Bare: bare})
		in := r.Next(t)
		if in.ReplyTo == nil || in.ReplyTo.Text != "look" || in.ReplyTo.Mine {
			t.Fatalf("bare %v: quote %+v", bare, in.ReplyTo)
		}
		if diff := cmp.Diff(sent.Attachments, in.ReplyTo.Attachments, cmpopts.IgnoreFields(chat.Attachment{}, "Source")); diff != "" {
			t.Errorf("bare %v (-sent +quoted):\n%s", bare, diff)
		}
		for i, want := range []string{"meow", "pdf"} {
			body, err := r.Fetch(channeltest.Bounded(t), in.ReplyTo.Attachments[i])
			if err != nil {
				t.Fatal(err)
			}
			data := make([]byte, 9)
			n, _ := body.Read(data)
			_ = body.Close()
			if string(data[:n]) != want {
				t.Errorf("bare %v: file %d holds %q", bare, i, data[:n])
			}
		}
	}
	w.Say(fake.Said{Chat: ann, Text: "what is this?", Fields: map[string]any{"message_scene": map[string]any{"ext": []string{"ref_msg_idx=REFIDX_IN1"}}}})
	if in := r.Next(t); in.ReplyTo == nil || in.ReplyTo.Text != "" || len(in.ReplyTo.Attachments) > 0 {
		t.Errorf("from another chat: %+v", in.ReplyTo)
	}
}

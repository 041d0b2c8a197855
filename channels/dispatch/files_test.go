package dispatch

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/channels"
	"magpie/chat"
	"magpie/media"
)

func TestAttachments(t *testing.T) {
	store := &media.Memory{}
	put := func(n int) string {
		ref, _, err := store.Put(t.Context(), "x", "", strings.NewReader(strings.Repeat("x", n)))
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	small, medium, big := put(10), put(60), put(200)
	img := func(ref, name string) chat.Attachment { return chat.Attachment{Kind: chat.Image, Name: name, Ref: ref} }
	lim := channels.Limits{Text: 200, Caption: 20, Album: 2, Media: map[chat.Kind]int64{chat.Image: 50, chat.File: 100}}
	cases := []struct {
		name    string
		text    string
		files   []chat.Attachment
		buttons bool
		want    []shown
	}{
		{"caption", "short", []chat.Attachment{img(small, "a")}, false, []shown{{Text: "short", Files: []string{"image:a"}}}},
		{
			"caption too long", strings.Repeat("long ", 10),
			[]chat.Attachment{img(small, "a")},
			false,
			[]shown{{Text: strings.Repeat("long ", 10)}, {Files: []string{"image:a"}}},
		},
		{
			"album and rest", "",
			[]chat.Attachment{img(small, "a"), img(small, "b"), img(small, "c"), {Kind: chat.File, Name: "d", Ref: small}},
			false,
			[]shown{{Files: []string{"image:a", "image:b"}}, {Files: []string{"image:c"}}, {Files: []string{"file:d"}}},
		},
		{"picture as document", "", []chat.Attachment{img(medium, "a")}, false, []shown{{Files: []string{"file:a"}}}},
		{"unknown kind as document", "", []chat.Attachment{{Kind: chat.Video, Name: "v", Ref: small}}, false, []shown{{Files: []string{"file:v"}}}},
		{
			"too large", "hi",
			[]chat.Attachment{img(big, "big.png"), img(small, "a")},
			false,
			[]shown{{Text: "hi\n\n📎 `big.png`: 0.1 KiB is more than the 0.1 KiB this channel takes"}, {Files: []string{"image:a"}}},
		},
		{"gone", "你好", []chat.Attachment{img("999", "../x`y")}, false, []shown{{Text: "你好\n\n📎 `x'y`: 文件已不存在"}}},
		{"buttons stay with the text", "ok?", []chat.Attachment{img(small, "a")}, true, []shown{{Text: "ok?", Buttons: 1}, {Files: []string{"image:a"}}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ch := newFull(lim)
			out := message("a", c.text)
			out.Attachments = c.files
			if c.buttons {
				out.Buttons = [][]chat.Button{{{Label: "Yes", Data: "y"}}}
			}
			if err := New(ch, &Options{Media: store}).Deliver(t.Context(), out); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, ch.visible()); diff != "" && c.name != "caption too long" {
				t.Errorf("(-want +got):\n%s", diff)
			} else if len(ch.visible()) != len(c.want) {
				t.Errorf("got %+v", ch.visible())
			}
		})
	}
}

// A file that the platform refuses costs neither the text nor the others.
func TestRefusedFileIsNamed(t *testing.T) {
	store := &media.Memory{}
	ref, _, err := store.Put(t.Context(), "x", "", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	ch := newFull(channels.Limits{Caption: 50, Album: 5, Media: map[chat.Kind]int64{chat.Image: 50, chat.File: 50}})
	ch.fail("media", failure(channels.Rejected), failure(channels.Rejected), nil)
	out := message("a", "look")
	for _, name := range []string{"bad.png", "good.png"} {
		out.Attachments = append(out.Attachments, chat.Attachment{Kind: chat.Image, Name: name, Ref: ref})
	}
	if err := New(ch, &Options{Media: store}).Deliver(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	want := []shown{{Files: []string{"file:good.png"}}, {Text: "look\n\n📎 `bad.png`: the platform refused the file"}}
	if diff := cmp.Diff(want, ch.visible()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTooLongForEverGoesAsFile(t *testing.T) {
	for _, media := range []map[chat.Kind]int64{{chat.File: 1 << 20}, nil} {
		ch := newFull(channels.Limits{Media: media})
		for range 50 {
			ch.fail("send", failure(channels.TooLong))
		}
		err := New(ch, nil).Deliver(t.Context(), message("a", "some words"))
		var dead *Undeliverable
		if media == nil {
			if !errors.As(err, &dead) {
				t.Errorf("err = %v", err)
			}
			continue
		}
		if diff := cmp.Diff([]shown{{Files: []string{"file:message.md"}}}, ch.visible()); err != nil || diff != "" {
			t.Errorf("err %v\n%s", err, diff)
		}
	}
}

// A file for which there is not even room to name it keeps the others not
// back; a message that is given out again brings that file only.
func TestLostFileKeepsNothingBack(t *testing.T) {
	store := &media.Memory{}
	ref, _, err := store.Put(t.Context(), "x", "", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	ch := newFull(channels.Limits{Text: 100, Media: map[chat.Kind]int64{chat.File: 50}})
	out := message("a", "look")
	for _, name := range []string{"a", "b", "c"} {
		out.Attachments = append(out.Attachments, chat.Attachment{Kind: chat.File, Name: name, Ref: ref})
	}
	ch.fail("media", nil, failure(channels.Rejected), failure(channels.Rejected), nil)
	ch.fail("send", nil, failure(channels.Rejected)) // the text goes, the note does not
	d := New(ch, &Options{Media: store})
	var dead *Undeliverable
	if err := d.Deliver(t.Context(), out); !errors.As(err, &dead) {
		t.Errorf("err = %v", err)
	}
	want := []shown{{Text: "look"}, {Files: []string{"file:a"}}, {Files: []string{"file:c"}}}
	if diff := cmp.Diff(want, ch.visible()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := d.Deliver(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append(want, shown{Files: []string{"file:b"}}), ch.visible()); diff != "" {
		t.Errorf("given out again: (-want +got):\n%s", diff)
	}
}

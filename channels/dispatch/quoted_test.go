package dispatch

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"magpie/chat"
	"magpie/internal/kv"
)

func replying(quoted []chat.Attachment, files ...chat.Attachment) chat.Inbound {
	in := inbound("what is this?", files...)
	in.ReplyTo = &chat.Quote{ID: "q", From: "Bob", Attachments: quoted}
	return in
}

// The files of a quote are fetched as those of the message: bounded, refused
// with a reason, and none is taken for another.
func TestIntakeOfQuotedFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fetcher{bodies: map[string]string{"a": "quoted", "b": "own", "d": strings.Repeat("x", 101)}}
		r := newReceiver(f, IntakeOptions{MaxBytes: 100})
		in := replying([]chat.Attachment{
			{Kind: chat.File, Source: "a", Name: "same.txt"},
			{Kind: chat.File, Source: "d", Name: "over"},
			{Kind: chat.File, Source: "a", Name: "said so", Size: 1000},
			{Kind: chat.File, Source: "gone"},
			{Kind: chat.File, Ref: "here", Source: "a"},
			{Kind: chat.Sticker, Text: "👍"},
		}, chat.Attachment{Kind: chat.File, Source: "b", Name: "same.txt"})
		before := slices.Clone(in.ReplyTo.Attachments)
		got := r.wrapped(t, in)
		defer r.start(t)()
		quoted, own := r.awaited(t, got.ReplyTo.Attachments), r.awaited(t, got.Attachments)
		for name, a := range map[string]chat.Attachment{"quoted": quoted[0], "own": own[0]} {
			if body := r.body(t, a.Ref); body != name {
				t.Errorf("the %s file holds %q", name, body)
			}
		}
		want := []chat.Attachment{
			{Kind: chat.File, Source: "a", Name: "same.txt", MIME: "text/plain", Size: 6, Ref: quoted[0].Ref},
			{Kind: chat.File, Source: "d", Name: "over", Failed: "larger than 0.1 KiB"},
			{Kind: chat.File, Source: "a", Name: "said so", Size: 1000, Failed: "larger than 0.1 KiB"},
			{Kind: chat.File, Source: "gone", Failed: "could not be fetched: rejected"},
			{Kind: chat.File, Ref: "here", Source: "a"},
			{Kind: chat.Sticker, Text: "👍"},
		}
		if diff := cmp.Diff(want, quoted); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(before, in.ReplyTo.Attachments); diff != "" {
			t.Errorf("the caller's quote was changed: %s", diff)
		}
		if got.ReplyTo.ID != "q" || got.ReplyTo.From != "Bob" {
			t.Errorf("the quote has become %+v", got.ReplyTo)
		}
	})
}

// A quoted voice message is written down.
func TestIntakeOfQuotedVoice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReceiver(&fetcher{bodies: map[string]string{"v": "OggS"}}, IntakeOptions{
			Transcribe: func(context.Context, chat.Attachment) (string, error) { return "你好", nil },
		})
		in := r.wrapped(t, replying([]chat.Attachment{{Kind: chat.Voice, Source: "v"}}))
		defer r.start(t)()
		if got := r.awaited(t, in.ReplyTo.Attachments)[0]; got.Text != "你好" || got.Ref == "" {
			t.Errorf("%+v", got)
		}
	})
}

// A restart between the message and its quoted files loses none, and a
// redelivered message fetches none twice.
func TestIntakeOfQuotedFilesResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &slow{release: make(chan struct{}), slowOne: "slow"}
		r := newReceiver(f, IntakeOptions{})
		in := replying([]chat.Attachment{{Kind: chat.Image, Source: "slow"}})
		stop := r.start(t)
		first := r.wrapped(t, in)
		synctest.Wait()
		stop()
		if diff := cmp.Diff(first, r.wrapped(t, in)); diff != "" {
			t.Errorf("redelivered (-first +again):\n%s", diff)
		}
		close(f.release)
		defer r.start(t)()
		got := r.awaited(t, first.ReplyTo.Attachments)
		if got[0].Ref == "" {
			t.Errorf("%+v", got[0])
		}
		synctest.Wait()
		if diff := cmp.Diff(got, r.awaited(t, r.wrapped(t, in).ReplyTo.Attachments)); diff != "" {
			t.Errorf("redelivered later (-first +again):\n%s", diff)
		}
		if left, err := kv.List(t.Context(), r.table, "todo"); err != nil || len(left) > 0 {
			t.Errorf("to be done again: %v, %v", left, err)
		}
	})
}

package dispatch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"magpie/channels"
	"magpie/chat"
)

func TestIntakeTranscribes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fetcher{bodies: map[string]string{"a": "OggS voice", "b": "OggS noise"}}
		var asked atomic.Int32
		r := newReceiver(f, IntakeOptions{Transcribe: func(_ context.Context, a chat.Attachment) (string, error) {
			asked.Add(1)
			if a.Ref == "" {
				t.Error("asked before the file was stored")
			}
			if a.Source == "b" {
				return "", errors.New("503")
			}
			return "你好 hello", nil
		}})
		in := inbound("",
			chat.Attachment{Kind: chat.Voice, Source: "a"},
			chat.Attachment{Kind: chat.Voice, Source: "b"},
			chat.Attachment{Kind: chat.Voice, Source: "a", Text: "the platform's own"},
			chat.Attachment{Kind: chat.Audio, Source: "a"},
			chat.Attachment{Kind: chat.Voice, Ref: "here"},
			chat.Attachment{Kind: chat.Voice, Source: "gone"},
		)
		in = r.wrapped(t, in)
		defer r.start(t)()
		type outcome struct {
			Text, Failed string
			Stored       bool
		}
		var got []outcome
		for _, a := range r.awaited(t, in.Attachments) {
			got = append(got, outcome{a.Text, a.Failed, a.Ref != ""})
		}
		want := []outcome{
			{"你好 hello", "", true},
			{"", "the speech could not be written down", true},
			{"the platform's own", "", true},
			{"", "", true},
			{"你好 hello", "", true},
			{"", "could not be fetched: rejected", false},
		}
		if diff := cmp.Diff(want, got); diff != "" || asked.Load() != 3 {
			t.Errorf("asked %d times (-want +got):\n%s", asked.Load(), diff)
		}
	})
}

// What the platform keeps to itself has a reason that people understand.
func TestTooLargeForBots(t *testing.T) {
	r := newReceiver(&fetcher{}, IntakeOptions{})
	err := &channels.Error{Op: "getFile", Kind: channels.TooLong, Err: errors.New("400 Bad Request: file is too big")}
	for chinese, want := range map[bool]string{false: "larger than the platform hands out to bots", true: "大于平台允许机器人获取的大小"} {
		if got := r.reason(err, chinese); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTrueType(t *testing.T) {
	cases := []struct{ sniffed, declared, want string }{
		{"image/png", "text/html", "image/png"},
		{"text/html", "image/png", "text/html"},
		{"text/plain", "text/markdown", "text/markdown"},
		{"text/plain", "application/json", "application/json"},
		{"text/plain", "text/html", "text/plain"},
		{"application/zip", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
		{"application/octet-stream", "audio/silk", "audio/silk"},
		{"application/octet-stream", "image/png", "application/octet-stream"},
		{"", "", "application/octet-stream"},
	}
	for _, c := range cases {
		if got := trueType(c.sniffed, c.declared); got != c.want {
			t.Errorf("trueType(%q, %q) = %q, want %q", c.sniffed, c.declared, got, c.want)
		}
	}
}

func TestCapped(t *testing.T) {
	for _, n := range []int{0, 1, 99, 100, 101, 5000} {
		b, err := io.ReadAll(&capped{r: bytes.NewReader(make([]byte, n)), left: 100})
		if n <= 100 && (err != nil || len(b) != n) || n > 100 && !errors.Is(err, errTooLarge) {
			t.Errorf("%d bytes: read %d, %v", n, len(b), err)
		}
	}
}

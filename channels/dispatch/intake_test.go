package dispatch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/channels"
	"magpie/chat"
	"magpie/media"
)

// fetcher gives the bytes by Source, after the scripted errors.
type fetcher struct {
	bodies map[string]string
	errs   []error
	calls  int
	body   func(io.Reader) io.Reader // wraps what is read; nil = as it is
}

func (f *fetcher) Fetch(ctx context.Context, a chat.Attachment) (io.ReadCloser, error) {
	f.calls++
	if len(f.errs) > 0 {
		err := f.errs[0]
		f.errs = f.errs[1:]
		if err != nil {
			return nil, err
		}
	}
	body, ok := f.bodies[a.Source]
	if !ok {
		return nil, failure(channels.Rejected)
	}
	r := io.Reader(strings.NewReader(body))
	if f.body != nil {
		r = f.body(r)
	}
	return io.NopCloser(r), ctx.Err()
}

const png = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"

func inbound(text string, files ...chat.Attachment) chat.Inbound {
	return chat.Inbound{Meta: chat.Meta{ID: "i"}, Origin: chat.FromPerson, Text: text, Attachments: files}
}

// take runs in through an Intake and returns what comes out behind it.
func take(t *testing.T, f *fetcher, store media.Store, max int64, in chat.Inbound) chat.Inbound {
	t.Helper()
	var got *chat.Inbound
	sink := Intake(func(_ context.Context, in chat.Inbound) error { got = &in; return nil }, f, store, max)
	if err := sink(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if got == nil {
		t.Fatal("the message was lost")
	}
	return *got
}

func TestIntake(t *testing.T) {
	store := &media.Memory{}
	f := &fetcher{bodies: map[string]string{"a": png, "b": "plain text", "c": strings.Repeat("x", 100), "d": strings.Repeat("x", 101), "e": ""}}
	in := inbound("look",
		chat.Attachment{Kind: chat.File, Source: "a", Name: "../../etc/evil.exe", MIME: "application/x-msdownload"},
		chat.Attachment{Kind: chat.File, Source: "b", MIME: "text/csv; charset=utf-8"},
		chat.Attachment{Kind: chat.File, Source: "c", Name: "limit"},
		chat.Attachment{Kind: chat.File, Source: "d", Name: "over"},
		chat.Attachment{Kind: chat.File, Source: "d", Name: "said so", Size: 1000},
		chat.Attachment{Kind: chat.File, Source: "gone"},
		chat.Attachment{Kind: chat.File, Ref: "here", Source: "a"},
		chat.Attachment{Kind: chat.Sticker, Text: "👍"},
		chat.Attachment{Source: "a"},
	)
	before := in.Attachments[0]
	got := take(t, f, store, 100, in).Attachments
	want := []chat.Attachment{
		{Kind: chat.File, Source: "a", Name: "evil.exe", MIME: "image/png", Size: int64(len(png)), Ref: "1"},
		{Kind: chat.File, Source: "b", Name: "file.csv", MIME: "text/csv", Size: 10, Ref: "2"},
		{Kind: chat.File, Source: "c", Name: "limit.txt", MIME: "text/plain", Size: 100, Ref: "3"},
		{Kind: chat.File, Source: "d", Name: "over", Failed: "larger than 0.1 KiB"},
		{Kind: chat.File, Source: "d", Name: "said so", Size: 1000, Failed: "larger than 0.1 KiB"},
		{Kind: chat.File, Source: "gone", Failed: "could not be fetched: rejected"},
		{Kind: chat.File, Ref: "here", Source: "a"},
		{Kind: chat.Sticker, Text: "👍"},
		{Kind: chat.Image, Source: "a", Name: "file.png", MIME: "image/png", Size: int64(len(png)), Ref: "4"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if in.Attachments[0] != before {
		t.Error("the caller's message was changed")
	}
	r, err := store.Open(t.Context(), got[0].Ref)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(r); err != nil || string(b) != png {
		t.Errorf("stored %q, %v", b, err)
	}
}

func TestIntakeTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fetcher{bodies: map[string]string{"a": "x"}, errs: []error{failure(channels.Temporary), limited(time.Second)}}
		if got := take(t, f, &media.Memory{}, 0, inbound("", chat.Attachment{Source: "a"})); got.Attachments[0].Ref == "" {
			t.Errorf("not fetched: %+v", got.Attachments[0])
		}
		f = &fetcher{errs: []error{errors.New("a"), errors.New("b"), errors.New("c"), errors.New("d")}}
		got := take(t, f, &media.Memory{}, 0, inbound("你好", chat.Attachment{Source: "a"}))
		if got.Text != "你好" || got.Attachments[0].Failed != "无法获取（temporary）" || f.calls != fetchTries {
			t.Errorf("%d calls, %+v", f.calls, got)
		}
	})
}

// A body that breaks off is no file.
func TestIntakeBrokenBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fetcher{bodies: map[string]string{"a": strings.Repeat("x", 10_000)}}
		f.body = func(r io.Reader) io.Reader {
			return io.MultiReader(io.LimitReader(r, 5000), &broken{})
		}
		got := take(t, f, &media.Memory{}, 0, inbound("hi", chat.Attachment{Source: "a"}))
		if a := got.Attachments[0]; a.Ref != "" || a.Failed == "" {
			t.Errorf("%+v", a)
		}
	})
}

type broken struct{}

func (*broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// When the program stops the platform must send the message again.
func TestIntakeStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	sink := Intake(func(context.Context, chat.Inbound) error { t.Error("handed on"); return nil }, &fetcher{}, &media.Memory{}, 0)
	if err := sink(ctx, inbound("", chat.Attachment{Source: "a"})); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
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

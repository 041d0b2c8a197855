package dispatch

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/channels"
	"magpie/chat"
	"magpie/internal/kv"
	"magpie/media"
)

// fetcher gives the bytes by Source, after the scripted errors.
type fetcher struct {
	bodies map[string]string
	mu     sync.Mutex
	errs   []error
	calls  int
	body   func(io.Reader) io.Reader // wraps what is read; nil = as it is
}

func (f *fetcher) Fetch(ctx context.Context, a chat.Attachment) (io.ReadCloser, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
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
	return chat.Inbound{Meta: chat.Meta{ID: "i", Addr: chat.Address{Channel: "test", Chat: "1"}}, Origin: chat.FromPerson, Text: text, Attachments: files}
}

// receiver is an Intake with what it works on.
type receiver struct {
	*Intake
	arrivals *media.Arrivals
	table    *kv.Memory
	store    *media.Memory
}

func newReceiver(f channels.MediaFetcher, o IntakeOptions) *receiver {
	r := &receiver{table: &kv.Memory{}, store: &media.Memory{}}
	r.arrivals = media.NewArrivals(r.table, time.Hour)
	o.Arrivals, o.Store = r.arrivals, r.store
	if f != nil {
		o.Fetchers = map[string]channels.MediaFetcher{"test": f}
	}
	r.Intake = NewIntake(o)
	return r
}

// wrapped is the message as it goes on to its mailbox.
func (r *receiver) wrapped(t *testing.T, in chat.Inbound) chat.Inbound {
	t.Helper()
	var got *chat.Inbound
	if err := r.Wrap(func(_ context.Context, in chat.Inbound) error { got = &in; return nil })(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if got == nil {
		t.Fatal("the message was lost")
	}
	return *got
}

// start runs the Intake; stop ends it.
func (r *receiver) start(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// awaited is what became of the files.
func (r *receiver) awaited(t *testing.T, files []chat.Attachment) []chat.Attachment {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // of the test's own clock
	defer cancel()
	var got []chat.Attachment
	for _, a := range files {
		a, err := r.arrivals.Await(ctx, a)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, a)
	}
	return got
}

// body is what the store holds.
func (r *receiver) body(t *testing.T, ref string) string {
	t.Helper()
	body, err := r.store.Open(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	b, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// take runs in through an Intake and returns it with its files.
func take(t *testing.T, f *fetcher, max int64, in chat.Inbound) (chat.Inbound, *receiver) {
	t.Helper()
	r := newReceiver(f, IntakeOptions{MaxBytes: max})
	got := r.wrapped(t, in)
	defer r.start(t)()
	got.Attachments = r.awaited(t, got.Attachments)
	return got, r
}

func TestIntake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fetcher{bodies: map[string]string{"a": png, "b": "plain text", "c": strings.Repeat("x", 100), "d": strings.Repeat("x", 101), "e": ""}}
		in := inbound("look",
			chat.Attachment{Kind: chat.File, Source: "a", Name: "../../etc/evil.exe", MIME: "application/x-msdownload"},
			chat.Attachment{Kind: chat.File, Source: "b", MIME: "text/csv; charset=utf-8"},
			chat.Attachment{Kind: chat.File, Source: "c", Name: "limit"},
			chat.Attachment{Kind: chat.File, Source: "d", Name: "over"},
			chat.Attachment{Kind: chat.File, Source: "c", Name: "said so", Size: 1000},
			chat.Attachment{Kind: chat.File, Source: "gone"},
			chat.Attachment{Kind: chat.File, Ref: "here", Source: "a"},
			chat.Attachment{Kind: chat.Sticker, Text: "👍"},
			chat.Attachment{Source: "a"},
			chat.Attachment{Kind: chat.Voice, Source: "e", Failed: "the platform says no"},
		)
		before := slices.Clone(in.Attachments)
		got, r := take(t, f, 100, in)
		want := []chat.Attachment{
			{Kind: chat.File, Source: "a", Name: "evil.exe", MIME: "image/png", Size: int64(len(png)), Ref: "stored"},
			{Kind: chat.File, Source: "b", Name: "file.csv", MIME: "text/csv", Size: 10, Ref: "stored"},
			{Kind: chat.File, Source: "c", Name: "limit.txt", MIME: "text/plain", Size: 100, Ref: "stored"},
			{Kind: chat.File, Source: "d", Name: "over", Failed: "larger than 0.1 KiB"},
			{Kind: chat.File, Source: "c", Name: "said so", Size: 1000, Failed: "larger than 0.1 KiB"},
			{Kind: chat.File, Source: "gone", Failed: "could not be fetched: rejected"},
			{Kind: chat.File, Ref: "here", Source: "a"},
			{Kind: chat.Sticker, Text: "👍"},
			{Kind: chat.Image, Source: "a", Name: "file.png", MIME: "image/png", Size: int64(len(png)), Ref: "stored"},
			{Kind: chat.Voice, Source: "e", Failed: "the platform says no"},
		}
		ref := got.Attachments[0].Ref
		for i := range got.Attachments {
			if a := &got.Attachments[i]; len(a.Ref) == 1 { // a number, in the order of the fetches
				a.Ref = "stored"
			}
		}
		if diff := cmp.Diff(want, got.Attachments); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(before, in.Attachments); diff != "" {
			t.Errorf("the caller's message was changed: %s", diff)
		}
		if got := r.body(t, ref); got != png {
			t.Errorf("stored %q", got)
		}
		if left, err := kv.List(t.Context(), r.table, "todo"); err != nil || len(left) > 0 {
			t.Errorf("still to be done: %v, %v", left, err)
		}
	})
}

// A message goes on at once, however slow its files are, and so does the next
// one; the files of one message do not wait for those of another.
func TestIntakeHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &slow{release: make(chan struct{}), slowOne: "slow"}
		r := newReceiver(f, IntakeOptions{})
		defer r.start(t)()
		first, second := inbound("look", chat.Attachment{Kind: chat.Image, Source: "slow"}), inbound("and this", chat.Attachment{Kind: chat.Image, Source: "quick"})
		second.ID = "j"
		began := time.Now()
		first, second = r.wrapped(t, first), r.wrapped(t, second)
		if d := time.Since(began); d > 0 {
			t.Errorf("the messages were held for %v", d)
		}
		if first.Attachments[0].Pending == "" || first.Attachments[0].Pending == second.Attachments[0].Pending {
			t.Errorf("pending %q and %q", first.Attachments[0].Pending, second.Attachments[0].Pending)
		}
		if a := r.awaited(t, second.Attachments)[0]; a.Ref == "" || a.Pending != "" {
			t.Errorf("second %+v", a)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if a, err := r.arrivals.Await(short, first.Attachments[0]); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("first came: %+v, %v", a, err)
		}
		close(f.release)
		if a := r.awaited(t, first.Attachments)[0]; a.Ref == "" {
			t.Errorf("first %+v", a)
		}
	})
}

// slow keeps one file back until it is released, or for ever.
type slow struct {
	release chan struct{}
	slowOne string
}

func (s *slow) Fetch(ctx context.Context, a chat.Attachment) (io.ReadCloser, error) {
	if a.Source == s.slowOne {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.release:
		}
	}
	return io.NopCloser(strings.NewReader(png)), nil
}

// More files than are fetched at once, and a file that never comes: it is
// given up, the others are there.
func TestIntakeGivesUpInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReceiver(&slow{slowOne: "never"}, IntakeOptions{})
		in := inbound("你看", chat.Attachment{Source: "never"})
		for range 3 * fetchAtOnce {
			in.Attachments = append(in.Attachments, chat.Attachment{Source: "x"})
		}
		in = r.wrapped(t, in)
		defer r.start(t)()
		began := time.Now()
		for _, a := range r.awaited(t, in.Attachments[1:]) {
			if a.Ref == "" {
				t.Errorf("%+v", a)
			}
		}
		if d := time.Since(began); d > time.Minute {
			t.Errorf("the others took %v", d)
		}
		a := r.awaited(t, in.Attachments[:1])[0]
		if d := time.Since(began); a.Failed != "无法获取（temporary）" || d > fetchLimit+time.Second {
			t.Errorf("after %v: %+v", d, a)
		}
	})
}

// What one Run could not finish, or what was noted while none ran, the next
// one does; a redelivered message notes nothing twice.
func TestIntakeResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &slow{release: make(chan struct{}), slowOne: "slow"}
		r := newReceiver(f, IntakeOptions{})
		in := inbound("", chat.Attachment{Source: "slow"})
		stop := r.start(t)
		first := r.wrapped(t, in)
		synctest.Wait() // the fetch hangs
		stop()
		again := r.wrapped(t, in)
		if diff := cmp.Diff(first, again); diff != "" {
			t.Errorf("redelivered (-first +again):\n%s", diff)
		}
		close(f.release)
		defer r.start(t)()
		got := r.awaited(t, first.Attachments)
		if got[0].Ref == "" {
			t.Errorf("%+v", got[0])
		}
		synctest.Wait()
		late := r.awaited(t, r.wrapped(t, in).Attachments)
		if diff := cmp.Diff(got, late); diff != "" {
			t.Errorf("redelivered later (-first +again):\n%s", diff)
		}
		if left, err := kv.List(t.Context(), r.table, "todo"); err != nil || len(left) > 0 {
			t.Errorf("to be done again: %v, %v", left, err)
		}
	})
}

func TestIntakeTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fetcher{bodies: map[string]string{"a": "x"}, errs: []error{failure(channels.Temporary), limited(time.Second)}}
		if got, _ := take(t, f, 0, inbound("", chat.Attachment{Source: "a"})); got.Attachments[0].Ref == "" {
			t.Errorf("not fetched: %+v", got.Attachments[0])
		}
		f = &fetcher{errs: []error{errors.New("a"), errors.New("b"), errors.New("c"), errors.New("d")}}
		got, _ := take(t, f, 0, inbound("你好", chat.Attachment{Source: "a"}))
		if got.Text != "你好" || got.Attachments[0].Failed != "无法获取（temporary）" || f.calls != fetchTries {
			t.Errorf("%d calls, %+v", f.calls, got)
		}
	})
}

// A body that breaks off is no file, and an adapter that panics costs nothing
// but the file.
func TestIntakeBrokenBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fetcher{bodies: map[string]string{"a": strings.Repeat("x", 10_000)}}
		f.body = func(r io.Reader) io.Reader {
			return io.MultiReader(io.LimitReader(r, 5000), &broken{})
		}
		got, _ := take(t, f, 0, inbound("hi", chat.Attachment{Source: "a"}))
		if a := got.Attachments[0]; a.Ref != "" || a.Failed == "" {
			t.Errorf("%+v", a)
		}
		f.body = func(io.Reader) io.Reader { panic("adapter") }
		got, _ = take(t, f, 0, inbound("hi", chat.Attachment{Source: "a"}))
		if a := got.Attachments[0]; a.Failed != "could not be fetched: rejected" {
			t.Errorf("%+v", a)
		}
	})
}

type broken struct{}

func (*broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// What cannot be noted must come again from the platform.
func TestIntakeNotNoted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := newReceiver(&fetcher{}, IntakeOptions{})
	sink := r.Wrap(func(context.Context, chat.Inbound) error { t.Error("handed on"); return nil })
	if err := sink(ctx, inbound("", chat.Attachment{Source: "a"})); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}

// A channel that was taken out of the configuration leaves no file pending.
func TestIntakeWithoutTheChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReceiver(&fetcher{}, IntakeOptions{})
		in := r.wrapped(t, inbound("", chat.Attachment{Source: "a"}))
		r.Intake.opt.Fetchers = nil
		defer r.start(t)()
		if a := r.awaited(t, in.Attachments)[0]; a.Failed != "could not be fetched: rejected" {
			t.Errorf("%+v", a)
		}
	})
}

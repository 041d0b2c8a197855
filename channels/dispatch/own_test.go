package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/channels"
	"magpie/chat"
	"magpie/media"
)

// told compares what the receipt of a message says of it with what the chat
// shows: text for text, file for file.
func told(t *testing.T, ch full, receipts Receipts, id string) chat.Receipt {
	t.Helper()
	r, found, err := receipts.Receipt(t.Context(), id)
	if err != nil || !found {
		t.Fatalf("receipt of %q: %v, %v", id, found, err)
	}
	if len(r.Parts) != len(r.Refs) || r.Addr.Chat != "c" {
		t.Fatalf("the receipt %+v has %d parts", r, len(r.Parts))
	}
	for i, ref := range r.Refs {
		n, err := ch.at1(ref)
		if err != nil {
			t.Errorf("message %d is not there: %v", i, err)
			continue
		}
		want := shown{Text: ch.chat[n].Text, Files: ch.chat[n].Files}
		got := shown{Text: r.Parts[i].Text}
		for _, f := range r.Parts[i].Files {
			got.Files = append(got.Files, string(f.Kind)+":"+f.Name)
			if f.Ref == "" {
				t.Errorf("message %d: nobody knows where %q is", i, f.Name)
			}
		}
		if len(want.Files) == 1 && want.Files[0] == "file:message.md" {
			want = got // a text that went as a file counts as text
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("message %d (-chat +receipt):\n%s", i, diff)
		}
	}
	return r
}

// Whatever way a message takes, its receipt has the words of each of its parts.
func TestReceiptsHoldTheWords(t *testing.T) {
	pictures := []chat.Attachment{{Kind: chat.Image, Name: "a.png"}, {Kind: chat.Image, Name: "b.png"}, {Kind: chat.File, Name: "c.pdf"}}
	room := map[chat.Kind]int64{chat.Image: 50, chat.File: 1 << 20}
	tooLong, no := failure(channels.TooLong), failure(channels.Rejected)
	for name, c := range map[string]struct {
		lim    channels.Limits
		text   string
		files  []chat.Attachment
		script map[string][]error
		parts  int
	}{
		"one":                 {text: "**你好**", parts: 1},
		"many":                {lim: channels.Limits{Text: 40}, text: strings.Repeat("Some words here. ", 20), parts: 10},
		"cut smaller":         {text: strings.Repeat("some words ", 8), script: map[string][]error{"send": {tooLong, tooLong}}, parts: 4},
		"as a file":           {lim: channels.Limits{Media: room}, text: "字", script: map[string][]error{"send": {tooLong, tooLong, tooLong, tooLong, tooLong, tooLong, tooLong}}, parts: 1},
		"the rest as a file":  {lim: channels.Limits{Text: 40, Parts: 2, Media: room}, text: strings.Repeat("Some words here. ", 20), parts: 2},
		"files, one by one":   {lim: channels.Limits{Media: room}, text: "看", files: pictures, parts: 4},
		"an album":            {lim: channels.Limits{Media: room, Album: 5, Caption: 20}, text: "看", files: pictures, parts: 2},
		"a file is refused":   {lim: channels.Limits{Media: room, Album: 5, Caption: 20}, text: "看", files: pictures, script: map[string][]error{"media": {no, no, nil, nil}}, parts: 3},
		"all of them refused": {lim: channels.Limits{Media: room, Album: 5, Caption: 20}, text: "看", files: pictures[:1], script: map[string][]error{"media": {no, no}}, parts: 1},
	} {
		t.Run(name, func(t *testing.T) {
			ch, receipts, store := newFull(c.lim), &Remembered{}, &media.Memory{}
			for method, errs := range c.script {
				ch.fail(method, errs...)
			}
			out := message("a", c.text)
			for _, f := range c.files {
				var err error
				if f.Ref, _, err = store.Put(t.Context(), f.Name, "", strings.NewReader("x")); err != nil {
					t.Fatal(err)
				}
				out.Attachments = append(out.Attachments, f)
			}
			if err := New(ch, &Options{Receipts: receipts, Media: store}).Deliver(t.Context(), out); err != nil {
				t.Fatal(err)
			}
			r := told(t, ch, receipts, "a")
			if len(r.Parts) < c.parts {
				t.Errorf("%d parts, want %d or more: %+v", len(r.Parts), c.parts, r.Parts)
			}
			var words []string
			for _, p := range r.Parts {
				words = append(words, p.Text)
			}
			if got := strings.Join(strings.Fields(strings.Join(words, " ")), " "); !strings.HasPrefix(got, strings.TrimSpace(c.text)) {
				t.Errorf("together they say %q, want %q", got, c.text)
			}
		})
	}
}

// A process that dies between two parts, or while a draft stands in the chat,
// does not cost the words.
func TestWordsSurviveACrash(t *testing.T) {
	text := strings.Repeat(sentence, 12)
	for crash := range 4 {
		synctest.Test(t, func(t *testing.T) {
			ch, kept := newFull(streaming), &store{}
			ctx, cancel := context.WithCancel(t.Context())
			dying := kept.dying(crash, cancel)
			d := New(ch, &Options{Receipts: dying, Drafts: dying, Stream: true})
			stop := start(t, d)
			d.Event(event(chat.TurnDelta, sentence))
			pass(2 * time.Second)
			_ = d.Deliver(ctx, final("a", text))
			cancel()
			stop()
			if err := New(ch, &Options{Receipts: &kept.receipts, Drafts: &kept.drafts}).Deliver(t.Context(), final("a", text)); err != nil {
				t.Fatal(err)
			}
			told(t, ch, &kept.receipts, "a")
		})
	}
}

// The record of a very long message does not grow without end.
func TestWordsAreBounded(t *testing.T) {
	ch, receipts := newFull(channels.Limits{Text: 60 << 10}), &Remembered{}
	if err := New(ch, &Options{Receipts: receipts}).Deliver(t.Context(), message("a", strings.Repeat("长", 200<<10))); err != nil {
		t.Fatal(err)
	}
	r, _, _ := receipts.Receipt(t.Context(), "a")
	sum := 0
	for _, p := range r.Parts {
		sum += len(p.Text)
		if strings.Trim(p.Text, "长") != "" {
			t.Errorf("a part is cut inside a character: …%q", p.Text[len(p.Text)-4:])
		}
	}
	if len(r.Parts) < 4 || sum > maxParts || len(r.Parts[0].Text) < maxPart-2 {
		t.Errorf("%d bytes in %d parts, %d in the first", sum, len(r.Parts), len(r.Parts[0].Text))
	}
}

// remembering is what is known of messages in a test.
type remembering struct {
	byID map[string]chat.Part
	err  error
}

func (r *remembering) Words(_ context.Context, a chat.Address, id string) (chat.Part, bool, error) {
	p, ok := r.byID[a.Chat+" "+id]
	return p, ok, r.err
}

func TestOwnWords(t *testing.T) {
	pdf := []chat.Attachment{{Kind: chat.File, Name: "a.pdf", Ref: "r"}}
	page := []chat.Source{{Kind: chat.SourcePage, Name: "https://a.example/"}}
	unknown := []chat.Source{{Kind: chat.SourceUnknown}}
	none := []chat.Source{}
	known := &remembering{byID: map[string]chat.Part{
		"1 text": {Text: "**whole**", Sources: []chat.Source{}}, "1 file": {Files: pdf, Sources: page}, "1 nothing": {Sources: page}, "1 older": {Text: "**old**"},
	}}
	for name, c := range map[string]struct {
		quote     *chat.Quote
		want      *chat.Quote
		mentioned bool
		words     *remembering
	}{
		"no quote":                {},
		"garbage":                 {quote: &chat.Quote{ID: "text", Mine: true, Text: "请升级至最新版本客户端"}, want: &chat.Quote{ID: "text", Mine: true, Text: "**whole**", Sources: none}},
		"not known to be ours":    {quote: &chat.Quote{ID: "text", From: "bot"}, want: &chat.Quote{ID: "text", From: "bot", Mine: true, Text: "**whole**", Sources: none}, mentioned: true},
		"a passage":               {quote: &chat.Quote{ID: "text", Mine: true, Text: "who", Passage: "who"}, want: &chat.Quote{ID: "text", Mine: true, Text: "**whole**", Passage: "who", Sources: none}},
		"a file":                  {quote: &chat.Quote{ID: "file", Mine: true, Text: "[file]", Attachments: []chat.Attachment{{Source: "x"}}}, want: &chat.Quote{ID: "file", Mine: true, Attachments: pdf, Sources: page}},
		"nothing was kept":        {quote: &chat.Quote{ID: "nothing", Text: "said"}, want: &chat.Quote{ID: "nothing", Mine: true, Text: "said", Sources: page}, mentioned: true},
		"of an older version":     {quote: &chat.Quote{ID: "older", Mine: true}, want: &chat.Quote{ID: "older", Mine: true, Text: "**old**", Sources: unknown}},
		"forgotten":               {quote: &chat.Quote{ID: "old", Mine: true, Text: "said"}, want: &chat.Quote{ID: "old", Mine: true, Text: "said", Sources: unknown}},
		"no id":                   {quote: &chat.Quote{Mine: true, Text: "said"}, want: &chat.Quote{Mine: true, Text: "said", Sources: unknown}},
		"of another":              {quote: &chat.Quote{ID: "7", From: "Bob", Text: "hi"}, want: &chat.Quote{ID: "7", From: "Bob", Text: "hi"}},
		"the store is in trouble": {quote: &chat.Quote{ID: "text", Mine: true, Text: "said"}, want: &chat.Quote{ID: "text", Mine: true, Text: "said", Sources: unknown}, words: &remembering{err: errors.New("down")}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.words == nil {
				c.words = known
			}
			in := inbound("why?")
			in.ReplyTo = c.quote
			var before *chat.Quote
			if c.quote != nil {
				q := *c.quote
				before = &q
			}
			var got chat.Inbound
			sink := OwnWords(c.words, slog.New(slog.DiscardHandler), func(_ context.Context, in chat.Inbound) error { got = in; return nil })
			if err := sink(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.ReplyTo); diff != "" || got.Mentioned != c.mentioned {
				t.Errorf("mentioned %v (-want +got):\n%s", got.Mentioned, diff)
			}
			if diff := cmp.Diff(before, c.quote); diff != "" {
				t.Errorf("the adapter's quote was changed: %s", diff)
			}
		})
	}
}

package dispatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"magpie/channels"
	"magpie/chat"
	"magpie/media"
)

const (
	fetchTries   = 3
	fetchPause   = 500 * time.Millisecond // before the second try; doubles
	fetchTimeout = 2 * time.Minute        // one try with its reading
)

// Intake wraps next so that the files of a message are fetched before it is
// handed on, because the platforms' links expire. Every attachment with a
// Source and no Ref gets its true MIME type, size, a clean name and a Ref in
// store, or says in Failed why it has none: larger than max bytes (0 = any
// size), or not to be had after three tries. A message is never held back for
// its files; only when ctx ends the sink returns an error.
func Intake(next channels.Sink, fetch channels.MediaFetcher, store media.Store, max int64) channels.Sink {
	t := &intake{fetch: fetch, store: store, max: max}
	return func(ctx context.Context, in chat.Inbound) error {
		if len(in.Attachments) > 0 {
			in.Attachments = append([]chat.Attachment{}, in.Attachments...)
			for i := range in.Attachments {
				t.take(ctx, &in, i)
			}
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("fetch the files of %q: %w", in.ID, err)
			}
		}
		return next(ctx, in)
	}
}

type intake struct {
	fetch channels.MediaFetcher
	store media.Store
	max   int64
}

var errTooLarge = errors.New("larger than allowed")

func (t *intake) take(ctx context.Context, in *chat.Inbound, i int) {
	a := &in.Attachments[i]
	if a.Ref != "" || a.Source == "" || a.Failed != "" {
		return
	}
	err := errTooLarge
	if t.max <= 0 || a.Size <= t.max {
		err = t.tries(ctx, a)
	}
	a.Failed = t.reason(err, speaksChinese(in))
}

func (t *intake) tries(ctx context.Context, a *chat.Attachment) error {
	for try, pause := 1, fetchPause; ; try, pause = try+1, pause*2 {
		err := t.once(ctx, a)
		if err == nil || try == fetchTries || errors.Is(err, errTooLarge) || !passing(err) {
			return err
		}
		if sleep(ctx, max(pause, min(retryAfter(err), 10*time.Second))) != nil {
			return err
		}
	}
}

// passing reports whether an error may be gone at the next try.
func passing(err error) bool {
	switch channels.KindOf(err) {
	case channels.Temporary, channels.RateLimited, channels.Ambiguous:
		return true
	}
	return false
}

func (t *intake) once(ctx context.Context, a *chat.Attachment) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	body, err := t.fetch.Fetch(ctx, *a)
	if err != nil {
		return err
	}
	defer body.Close()
	sniffed, whole := media.Sniff(&capped{r: body, left: t.max, free: t.max <= 0})
	mime := trueType(sniffed, a.MIME)
	name := fileName(*a, mime)
	ref, size, err := t.store.Put(ctx, name, mime, whole)
	if err != nil {
		return err
	}
	a.Ref, a.Size, a.MIME, a.Name = ref, size, mime, name
	if a.Kind == "" {
		a.Kind = media.KindOf(mime)
	}
	return nil
}

// capped fails when more than its bytes are read.
type capped struct {
	r    io.Reader
	left int64
	free bool
}

func (c *capped) Read(p []byte) (int, error) {
	if c.free {
		return c.r.Read(p)
	}
	if int64(len(p)) > c.left+1 {
		p = p[:c.left+1]
	}
	n, err := c.r.Read(p)
	if c.left -= int64(n); c.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// trueType is what the bytes are; what the sender says counts only where the
// bytes leave it open and it does not contradict them.
func trueType(sniffed, declared string) string {
	declared, _, _ = strings.Cut(strings.ToLower(declared), ";")
	declared = strings.TrimSpace(declared)
	major, minor, _ := strings.Cut(declared, "/")
	office := strings.HasPrefix(minor, "vnd.openxmlformats") || strings.HasPrefix(minor, "vnd.oasis")
	textual := major == "text" && minor != "html" || minor == "json" || minor == "yaml" || minor == "toml"
	switch {
	case minor == "":
	case sniffed == "" || sniffed == "application/octet-stream" && major != "image" && major != "text":
		return declared
	case sniffed == "text/plain" && textual, sniffed == "application/zip" && office:
		return declared
	}
	if sniffed == "" {
		return "application/octet-stream"
	}
	return sniffed
}

// fileName cleans the given name, or makes one of the kind, with an ending.
func fileName(a chat.Attachment, mime string) string {
	name := a.Name
	if strings.TrimSpace(name) == "" {
		name = string(a.Kind)
	}
	name = media.CleanName(name)
	if !strings.Contains(name, ".") {
		name += media.Extension(mime)
	}
	return name
}

// reason says in a few words, to people, why a file is missing.
func (t *intake) reason(err error, chinese bool) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, errTooLarge) && chinese:
		return "大于 " + megabytes(t.max)
	case errors.Is(err, errTooLarge):
		return "larger than " + megabytes(t.max)
	case chinese:
		return "无法获取（" + channels.KindOf(err).String() + "）"
	}
	return "could not be fetched: " + channels.KindOf(err).String()
}

func speaksChinese(in *chat.Inbound) bool {
	return strings.HasPrefix(strings.ToLower(in.From.Lang), "zh") ||
		strings.ContainsFunc(in.Text, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

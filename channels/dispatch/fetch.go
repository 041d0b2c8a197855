package dispatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"magpie/channels"
	"magpie/chat"
	"magpie/media"
)

const (
	fetchTries   = 3
	fetchPause   = 500 * time.Millisecond // before the second try; doubles
	fetchTimeout = 2 * time.Minute        // one try with its reading: 20 MiB at 170 KiB/s
)

var (
	errTooLarge        = errors.New("larger than allowed")
	errNoFetcher error = &channels.Error{Op: "fetch", Kind: channels.Rejected, Err: errors.New("the channel is no longer there")}
)

func (t *Intake) tries(ctx context.Context, fetch channels.MediaFetcher, a *chat.Attachment) error {
	for try, pause := 1, fetchPause; ; try, pause = try+1, pause*2 {
		err := t.once(ctx, fetch, a)
		if err == nil || try == fetchTries || errors.Is(err, errTooLarge) || !passing(err) {
			return err
		}
		after, _ := channels.Limit(err)
		if sleep(ctx, max(pause, min(after, 10*time.Second))) != nil {
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

func (t *Intake) once(ctx context.Context, fetch channels.MediaFetcher, a *chat.Attachment) (err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil { // one file must not take all channels down
			err = &channels.Error{Op: "fetch", Kind: channels.Rejected, Err: fmt.Errorf("panic: %v", p)}
		}
	}()
	body, err := fetch.Fetch(ctx, *a)
	if err != nil {
		return err
	}
	defer body.Close()
	sniffed, whole := media.Sniff(&capped{r: body, left: t.opt.MaxBytes, free: t.opt.MaxBytes <= 0})
	mime := trueType(sniffed, a.MIME)
	name := fileName(*a, mime)
	ref, size, err := t.opt.Store.Put(ctx, name, mime, whole)
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
func (t *Intake) reason(err error, chinese bool) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, errTooLarge) && chinese:
		return "大于 " + megabytes(t.opt.MaxBytes)
	case errors.Is(err, errTooLarge):
		return "larger than " + megabytes(t.opt.MaxBytes)
	case channels.KindOf(err) == channels.TooLong && chinese:
		return "大于平台允许机器人获取的大小"
	case channels.KindOf(err) == channels.TooLong:
		return "larger than the platform hands out to bots"
	case chinese:
		return "无法获取（" + channels.KindOf(err).String() + "）"
	}
	return "could not be fetched: " + channels.KindOf(err).String()
}

// unwritten says that a voice message has no transcript.
func unwritten(chinese bool) string {
	if chinese {
		return "语音未能转成文字"
	}
	return "the speech could not be written down"
}

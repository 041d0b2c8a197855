package agent

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"magpie/agent/llm"
)

const (
	mostImages    = 6        // pictures shown to the model: the newest; older ones stay named in the text
	maxImageBytes = 20 << 20 // of one picture as it is stored
)

// show fills in the pictures of a conversation for a model that can see, and
// takes them out for one that cannot. msgs is the caller's own.
func (t *turn) show(ctx context.Context, msgs []llm.Message) []llm.Message {
	left := mostImages
	if !t.env.limits.Vision || t.h.a.ports.Media == nil {
		left = 0
	}
	for i := len(msgs) - 1; i >= 0; i-- {
		m := &msgs[i]
		if len(m.Images) == 0 {
			continue
		}
		var shown []llm.Image
		for _, img := range m.Images {
			if left == 0 {
				break
			}
			if err := t.fill(ctx, &img); err != nil {
				t.h.a.opt.Log.Warn("picture is not shown to the model", "session", t.h.key, "trace", t.first().Trace, "err", err)
				continue
			}
			shown = append(shown, img)
			left--
		}
		if missing := len(m.Images) - len(shown); missing > 0 {
			m.Text = join(m.Text, fmt.Sprintf("[%d picture(s) of this message are not shown]", missing))
		}
		m.Images = shown
	}
	return msgs
}

// fill reads a picture out of the media store.
func (t *turn) fill(ctx context.Context, img *llm.Image) error {
	ctx, cancel := context.WithTimeout(ctx, copyWait)
	defer cancel()
	r, err := t.h.a.ports.Media.Open(ctx, img.Ref)
	if err != nil {
		return fmt.Errorf("open picture: %w", err)
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxImageBytes+1))
	switch {
	case err != nil:
		return fmt.Errorf("read picture: %w", err)
	case len(data) > maxImageBytes:
		return fmt.Errorf("read picture: larger than %d bytes", maxImageBytes)
	}
	if t.h.a.opt.Shrink != nil {
		if data, img.MIME, err = t.h.a.opt.Shrink(data); err != nil {
			return fmt.Errorf("shrink picture: %w", err)
		}
	}
	if img.MIME == "" {
		img.MIME = http.DetectContentType(data)
	}
	img.Data = data
	return nil
}

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"magpie/chat"
	"magpie/internal/kv"
	"magpie/tools"
)

var _ tools.Remembers = (*caller)(nil)

const (
	// allowedFor is how long it is kept what a person has allowed.
	allowedFor = 31 * 24 * time.Hour
	// mostAllowed bounds how much of it is kept; the latest stay.
	mostAllowed = 100
)

func allowedKey(key chat.SessionKey) string { return "allowed." + string(key) }

// Allowed implements tools.Remembers. What cannot be read was not allowed.
func (c *caller) Allowed(ctx context.Context, digest string) bool {
	ctx, cancel := context.WithTimeout(ctx, writeWait)
	defer cancel()
	e, err := c.turn.h.a.ports.Sess.Get(ctx, allowedKey(c.turn.h.key))
	var all []string
	return err == nil && json.Unmarshal(e.Value, &all) == nil && slices.Contains(all, digest)
}

// Allow implements tools.Remembers.
func (c *caller) Allow(ctx context.Context, digest string) {
	h := c.turn.h
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeWait)
	defer cancel()
	err := kv.Modify(ctx, h.a.ports.Sess, allowedKey(h.key), allowedFor, func(old []byte) ([]byte, error) {
		var all []string
		if json.Unmarshal(old, &all) != nil {
			all = nil
		}
		if !slices.Contains(all, digest) {
			all = append(all, digest)
		}
		return json.Marshal(all[max(0, len(all)-mostAllowed):])
	})
	if err != nil { // then it is asked about again
		h.a.opt.Log.Warn("what was allowed is not kept", "session", h.key, "err", err)
	}
}

// Changed implements tools.Remembers.
func (c *caller) Changed(ctx context.Context) error { return c.turn.h.forbid(ctx) }

// forbid forgets what was allowed in the conversation.
func (h *hold) forbid(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeWait)
	defer cancel()
	_, err := h.a.ports.Sess.Get(ctx, allowedKey(h.key))
	if err == nil {
		err = h.a.ports.Sess.Delete(ctx, allowedKey(h.key))
	}
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	return err
}

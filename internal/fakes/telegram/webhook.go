package telegram

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"time"
)

// wrongResponse is how Telegram words it in last_error_message.
const wrongResponse = "Wrong response from the webhook: "

// hookPatience bounds one call of a webhook; Telegram's own bound is not
// documented, about a minute.
const hookPatience = 60 * time.Second

// webhook delivers updates one after the other: none is sent before the one
// before it was answered with 2xx.
type webhook struct {
	url, secret string
	stop        context.CancelFunc
	lastError   string
	lastErrorAt time.Time
}

func setWebhook(s *Server, req *request) (any, *apiError) {
	target := req.params["url"]
	if target == "" {
		return deleteWebhook(s, req)
	}
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return nil, badRequest("bad webhook: invalid URL")
	}
	if u.Scheme != "https" && !s.opts.HTTPHook {
		return nil, badRequest("bad webhook: An HTTPS URL must be provided for webhook")
	}
	secret := req.params["secret_token"]
	if !regexp.MustCompile(`^[A-Za-z0-9_-]{0,256}$`).MatchString(secret) {
		return nil, badRequest("secret token contains unallowed characters")
	}
	if e := req.object("allowed_updates", &s.updates.allowed); e != nil {
		return nil, e
	}
	select {
	case <-s.life.Done():
		return nil, &apiError{Code: http.StatusServiceUnavailable, Text: "Service Unavailable"}
	default:
	}
	if s.updates.hook != nil {
		s.updates.hook.stop()
	}
	if req.params["drop_pending_updates"] == "true" {
		s.updates.pending = nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	h := &webhook{url: target, secret: secret, stop: cancel}
	s.updates.hook = h
	s.wg.Go(func() { s.deliver(ctx, h) })
	return true, nil
}

func deleteWebhook(s *Server, req *request) (any, *apiError) {
	if s.updates.hook != nil {
		s.updates.hook.stop()
		s.updates.hook = nil
	}
	if req.params["drop_pending_updates"] == "true" {
		s.updates.pending = nil
	}
	return true, nil
}

func getWebhookInfo(s *Server, _ *request) (any, *apiError) {
	info := map[string]any{"url": "", "has_custom_certificate": false, "pending_update_count": len(s.updates.pending)}
	if h := s.updates.hook; h != nil {
		info["url"] = h.url
		if h.lastError != "" {
			info["last_error_message"], info["last_error_date"] = h.lastError, h.lastErrorAt.Unix()
		}
	}
	return info, nil
}

// deliver runs until the webhook is replaced, deleted or the server closed.
func (s *Server) deliver(ctx context.Context, h *webhook) {
	for ctx.Err() == nil {
		s.mu.Lock()
		added, waiting := s.updates.added, len(s.updates.pending) > 0
		var next update
		if waiting {
			next = s.updates.pending[0]
		}
		s.mu.Unlock()
		if !waiting {
			pause(ctx, added, 0)
			continue
		}
		err := s.post(ctx, h, next)
		s.mu.Lock()
		if err == nil {
			s.updates.confirm(next.id + 1)
		} else {
			h.lastError, h.lastErrorAt = err.Error(), s.opts.Now()
		}
		s.mu.Unlock()
		if err != nil {
			pause(ctx, nil, s.opts.Retry)
		}
	}
}

// pause waits for an event, or for a time when there is one.
func pause(ctx context.Context, event <-chan struct{}, d time.Duration) {
	var after <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		after = timer.C
	}
	select {
	case <-ctx.Done():
	case <-event:
	case <-after:
	}
}

func (s *Server) post(ctx context.Context, h *webhook, u update) error {
	ctx, cancel := context.WithTimeout(ctx, hookPatience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(u.data))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if h.secret != "" {
		req.Header.Set("X-Telegram-Bot-Api-Secret-Token", h.secret)
	}
	resp, err := s.opts.Client.Do(req)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)) // so that the connection is used again
	if err := resp.Body.Close(); err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return errors.New(wrongResponse + resp.Status)
	}
	return nil
}

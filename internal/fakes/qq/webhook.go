package qq

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	opAck      = 12
	opValidate = 13
	// hookPatience bounds one webhook call.
	hookPatience = 10 * time.Second
	// hookPause is between two calls for the same event; the platform's is not
	// documented.
	hookPause = 20 * time.Millisecond
)

// hook is the webhook, if one is set.
type hook struct {
	at    string
	queue []event
}

func (s *Server) key() ed25519.PrivateKey {
	seed := strings.Repeat(s.opts.Secret, ed25519.SeedSize/len(s.opts.Secret)+1)[:ed25519.SeedSize]
	return ed25519.NewKeyFromSeed([]byte(seed))
}

// SetHook validates a webhook as the platform does when its address is
// entered, and delivers events to it from then on, one after the other, each
// until it is acknowledged.
func (s *Server) SetHook(ctx context.Context, at string) error {
	const plain = "Arq0D5A61EgUu4OxUvOp"
	stamp := strconv.FormatInt(s.opts.Now().Unix(), 10)
	body, err := json.Marshal(map[string]any{"op": opValidate, "d": map[string]any{"plain_token": plain, "event_ts": stamp}})
	if err != nil {
		return err
	}
	answer, err := s.call(ctx, at, body)
	if err != nil {
		return fmt.Errorf("validate %s: %w", at, err)
	}
	var got struct {
		Plain     string `json:"plain_token"`
		Signature string `json:"signature"`
		Version   string `json:"data_version"`
	}
	if err := strict(answer, &got); err != nil {
		return fmt.Errorf("validate %s: %w", at, err)
	}
	signature, err := hex.DecodeString(got.Signature)
	if err != nil || got.Plain != plain || !ed25519.Verify(s.key().Public().(ed25519.PublicKey), []byte(stamp+plain), signature) {
		return errors.New("validation: the signature is wrong")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hook.at == "" {
		ctx, cancel := context.WithCancel(context.Background())
		s.wg.Go(func() {
			<-s.life.Done()
			cancel()
		})
		s.wg.Go(func() { s.deliver(ctx) })
	}
	s.hook.at = at
	return nil
}

// call makes one signed call.
func (s *Server) call(ctx context.Context, at string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, hookPatience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	stamp := strconv.FormatInt(s.opts.Now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "QQBot-Callback")
	req.Header.Set("X-Bot-Appid", s.opts.AppID)
	req.Header.Set("X-Signature-Timestamp", stamp)
	req.Header.Set("X-Signature-Ed25519", hex.EncodeToString(ed25519.Sign(s.key(), append([]byte(stamp), body...))))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", resp.StatusCode, answer)
	}
	return answer, err
}

func (s *Server) deliver(ctx context.Context) {
	for ctx.Err() == nil {
		s.mu.Lock()
		at, changed := s.hook.at, s.news.Next()
		var next *event
		if len(s.hook.queue) > 0 {
			next = &s.hook.queue[0]
		}
		s.mu.Unlock()
		if next == nil {
			select {
			case <-ctx.Done():
			case <-changed:
			}
			continue
		}
		if s.one(ctx, at, next) {
			s.mu.Lock()
			s.hook.queue = s.hook.queue[1:]
			s.mu.Unlock()
			continue
		}
		timer := time.NewTimer(hookPause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
	}
}

// one delivers an event and reports whether it was acknowledged.
func (s *Server) one(ctx context.Context, at string, e *event) bool {
	body, err := json.Marshal(map[string]any{"op": opDispatch, "id": e.id, "t": e.kind, "d": e.payload})
	if err != nil {
		return true // it would never go
	}
	answer, err := s.call(ctx, at, body)
	var ack struct {
		Op int `json:"op"`
		D  int `json:"d"`
	}
	return err == nil && json.Unmarshal(answer, &ack) == nil && ack.Op == opAck && ack.D == 0
}

// Waiting is how many events the webhook has not acknowledged yet.
func (s *Server) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.hook.queue)
}

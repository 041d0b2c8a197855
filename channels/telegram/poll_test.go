package telegram

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"magpie/channels"
	"magpie/chat"
)

// hasty is a Bot API server that answers every poll at once.
type hasty struct {
	mu    sync.Mutex
	polls int
	now   func(poll int) string // the answer to a poll
}

func (h *hasty) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	body := `{"ok":true,"result":{"id":123456,"is_bot":true,"first_name":"M","username":"magpie_test_bot"}}`
	if strings.HasSuffix(req.URL.Path, "/getUpdates") {
		h.mu.Lock()
		h.polls++
		body = h.now(h.polls)
		h.mu.Unlock()
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
}

func (h *hasty) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.polls
}

// A server that does not wait for updates is asked about once in two seconds,
// not as fast as it answers, whether it answers with nothing, with the same
// again, or with an error; what it has arrives all the same.
func TestHastyServer(t *testing.T) {
	const (
		nothing = `{"ok":true,"result":[]}`
		update  = `{"ok":true,"result":[{"update_id":7,"message":{"message_id":1,"date":1,"chat":{"id":11,"type":"private"},"from":{"id":11,"first_name":"Ann"},"text":"hi"}}]}`
	)
	for name, answer := range map[string]func(int) string{
		"nothing":        func(int) string { return nothing },
		"the same again": func(int) string { return update },
		"errors":         func(int) string { return `{"ok":false,"error_code":500,"description":"Internal Server Error"}` },
		"now and then": func(poll int) string {
			if poll%2 == 0 {
				return `{"ok":false,"error_code":502,"description":"Bad Gateway"}`
			}
			return nothing
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &hasty{now: answer}
				p := normalPace()
				tg := newTelegram(instance, Config{Token: "1:x", APIBase: "http://bot.test", Mode: modePoll}, channels.Deps{HTTP: &http.Client{Transport: h}}, p)
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				heard := 0
				go func() {
					done <- tg.Run(ctx, func(context.Context, chat.Inbound) error {
						heard++
						return nil
					})
				}()
				<-time.After(10 * time.Minute)
				synctest.Wait()
				if n := h.count(); n < 10 || n > 650 {
					t.Errorf("%d polls in 10 minutes", n)
				}
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
				if name == "the same again" && heard == 0 {
					t.Error("nothing was heard")
				}
			})
		})
	}
}

package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"magpie/channels"
	"magpie/channels/channeltest"
)

// keeper gives t1, t2, … and counts.
func keeper(life time.Duration, errs ...error) (*Token, *int) {
	n := new(int)
	return &Token{
		Fetch: func(context.Context) (string, time.Duration, error) {
			*n++
			if len(errs) >= *n && errs[*n-1] != nil {
				return "", 0, errs[*n-1]
			}
			return fmt.Sprintf("t%d", *n), life, nil
		},
		Margin: time.Minute,
		Stale:  func(err error) bool { return channels.KindOf(err) == channels.Unauthorized },
		Sign:   func(req *http.Request, token string) { req.Header.Set("Authorization", token) },
	}, n
}

func get(t *testing.T, k *Token, want string) {
	t.Helper()
	if got, err := k.Get(channeltest.Bounded(t)); err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// A token is used until its margin, which is no more than half of its life.
func TestTokenLife(t *testing.T) {
	for life, margin := range map[time.Duration]time.Duration{time.Hour: time.Minute, time.Minute: 30 * time.Second, 0: 0} {
		synctest.Test(t, func(t *testing.T) {
			k, n := keeper(life)
			get(t, k, "t1")
			if life > 0 {
				<-time.After(life - margin - 1)
				get(t, k, "t1")
				<-time.After(1)
			}
			get(t, k, "t2")
			if *n != 2 {
				t.Errorf("%v: asked %d times", life, *n)
			}
		})
	}
}

// Many who need a token get one, or the one error.
func TestTokenHerd(t *testing.T) {
	for _, fail := range []error{nil, errors.New("down")} {
		synctest.Test(t, func(t *testing.T) {
			k, n := keeper(time.Hour, fail)
			fetch := k.Fetch
			k.Fetch = func(ctx context.Context) (string, time.Duration, error) {
				<-time.After(time.Second)
				return fetch(ctx)
			}
			var wg sync.WaitGroup
			for range 100 {
				wg.Go(func() {
					if got, err := k.Get(t.Context()); !errors.Is(err, fail) || (err == nil) != (got == "t1") {
						t.Errorf("%q, %v", got, err)
					}
				})
			}
			wg.Wait()
			if *n != 1 {
				t.Errorf("asked %d times", *n)
			}
		})
	}
}

// One who gives up takes nobody with him: not while waiting, not while asking.
func TestTokenGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, n := keeper(time.Hour)
		fetch := k.Fetch
		k.Fetch = func(ctx context.Context) (string, time.Duration, error) {
			select {
			case <-time.After(time.Second):
				return fetch(ctx)
			case <-ctx.Done():
				return "", 0, ctx.Err()
			}
		}
		asking, stop := context.WithCancel(t.Context())
		waiting, leave := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := k.Get(asking); !errors.Is(err, context.Canceled) {
				t.Errorf("the one who asked: %v", err)
			}
		})
		synctest.Wait()
		wg.Go(func() {
			if _, err := k.Get(waiting); !errors.Is(err, context.Canceled) {
				t.Errorf("the one who waited: %v", err)
			}
		})
		wg.Go(func() {
			if got, err := k.Get(t.Context()); err != nil || got != "t1" {
				t.Errorf("the one who stayed: %q, %v", got, err)
			}
		})
		synctest.Wait()
		leave()
		synctest.Wait()
		stop()
		wg.Wait()
		if *n != 1 {
			t.Errorf("asked %d times", *n)
		}
	})
}

// A refused token is replaced once a call, by one of those who were refused.
func TestTokenEvicted(t *testing.T) {
	k, n := keeper(time.Hour)
	get(t, k, "t1")
	k.Evict("another")
	get(t, k, "t1")
	k.Evict("t1")
	if k.Current() != "t1" {
		t.Error("a refused token is no secret any more")
	}
	get(t, k, "t2")
	k.Evict("t1")
	get(t, k, "t2")
	if *n != 2 {
		t.Errorf("asked %d times", *n)
	}
}

// Calls and downloads carry the token, and try once more with a new one.
func TestSigned(t *testing.T) {
	var good string
	var calls []string
	api, at := server(t, func(w http.ResponseWriter, r *http.Request) {
		calls = append(calls, r.Header.Get("Authorization"))
		if r.Header.Get("Authorization") != good {
			_, _ = io.WriteString(w, "stale")
			return
		}
		_, _ = io.WriteString(w, "ok")
	})
	do := func() error {
		_, err := api.Do(channeltest.Bounded(t), Request{Op: "op", URL: at})
		return err
	}
	open := func() error {
		body, err := api.Open(channeltest.Bounded(t), Download{Op: "op", URL: at, IsFile: func(r *http.Response) bool { return r.ContentLength == 2 }})
		if err == nil {
			_ = body.Close()
		}
		return err
	}
	for name, call := range map[string]func() error{"do": do, "open": open} {
		for _, c := range []struct {
			good, calls string
			kind        channels.Kind
		}{{"t1", "t1", 0}, {"t2", "t1 t2", 0}, {"t3", "t1 t2", channels.Unauthorized}} {
			k, _ := keeper(time.Hour)
			api.p.Token, good, calls = k, c.good, nil
			err := call()
			if strings.Join(calls, " ") != c.calls || channels.KindOf(err) != c.kind || (err == nil) != (c.kind == 0) {
				t.Errorf("%s: good is %s: calls %q, %v", name, c.good, calls, err)
			}
		}
	}
	good, calls = "", nil
	if _, err := api.Do(channeltest.Bounded(t), Request{Op: "op", URL: at, Bare: true}); err != nil || calls[0] != "" {
		t.Errorf("a bare call: %q, %v", calls, err)
	}
	api.p.Token, _ = keeper(time.Hour, errors.New("no token: t0"))
	if err := do(); channels.KindOf(err) != channels.Temporary || !strings.Contains(fmt.Sprint(err), "main: access token: temporary: no token") {
		t.Errorf("without a token: %v", err)
	}
	get(t, api.Token(), "t2")
	if text := api.Redact("it was t2, not t1"); text != "it was ***, not t1" {
		t.Errorf("the token is told: %s", text)
	}
}

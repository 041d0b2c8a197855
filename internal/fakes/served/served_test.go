package served_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"magpie/internal/fakes/served"
)

func TestCalls(t *testing.T) {
	var c served.Calls[int]
	for i := range 3 {
		c.Count("send")
		if i > 0 {
			c.Keep("send", i)
		}
	}
	kept := c.Kept("send")
	if c.Made("send") != 3 || c.Made("edit") != 0 || len(kept) != 2 || kept[0] != 1 || kept[1] != 2 || c.Kept("edit") != nil {
		t.Errorf("made %d and %d, kept %v", c.Made("send"), c.Made("edit"), kept)
	}
	kept[0] = 9
	if c.Kept("send")[0] != 1 {
		t.Error("who looks at the calls can change them")
	}
}

func TestLife(t *testing.T) {
	l := served.NewLife()
	select {
	case <-l.Done():
		t.Error("it has ended before End")
	default:
	}
	l.End()
	l.End()
	select {
	case <-l.Done():
	default:
		t.Error("it goes on after End")
	}
}

// A change between two looks is not missed, and who waits is told.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			news served.News
			mu   sync.Mutex
			chat []string
		)
		say := func(s string) {
			mu.Lock()
			defer mu.Unlock()
			chat = append(chat, s)
			news.Tell()
		}
		shown := func(string) []string {
			mu.Lock()
			defer mu.Unlock()
			return append([]string(nil), chat...)
		}
		full := func(all []string) bool {
			if len(all) == 1 {
				say("between the looks")
			}
			return len(all) == 2
		}
		done := make(chan error, 1)
		go func() {
			_, err := served.Wait(t.Context(), &news, "a", shown, full)
			done <- err
		}()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("did not wait: %v", err)
		default:
		}
		say("first")
		synctest.Wait()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Fatal("a change was missed")
		}

		ctx, cancel := context.WithCancelCause(t.Context())
		late := errors.New("too late")
		cancel(late)
		_, err := served.Wait(ctx, &news, "a", shown, func([]string) bool { return false })
		if !errors.Is(err, late) || !strings.Contains(err.Error(), "chat a shows [first") {
			t.Errorf("error %v", err)
		}
	})
}

// A slow client sends more than is allowed, and reads the answer only then.
func TestWhole(t *testing.T) {
	s := httptest.NewServer(served.Whole(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 10)); err != nil {
			served.JSON(w, http.StatusRequestEntityTooLarge, "too large")
		}
	})))
	t.Cleanup(s.Close)
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	const size = 32 << 20 // more than the buffers of a connection hold
	_, err = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", size)
	if err == nil {
		_, err = conn.Write(make([]byte, size))
	}
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body.Close(); resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Error(resp.Status)
	}
}

func TestJSON(t *testing.T) {
	for _, c := range []struct {
		body         any
		kind         string
		status       int
		want, shaped string
	}{
		{map[string]int{"a": 1}, "", http.StatusTeapot, `{"a":1}`, "application/json"},
		{[]int{}, "application/json; charset=utf-8", http.StatusOK, `[]`, "application/json; charset=utf-8"},
		{math.Inf(1), "", http.StatusInternalServerError, "json: unsupported value", "text/plain"},
	} {
		w := httptest.NewRecorder()
		if c.kind != "" {
			w.Header().Set("Content-Type", c.kind)
		}
		served.JSON(w, c.status, c.body)
		if w.Code != c.status || !strings.HasPrefix(w.Body.String(), c.want) || !strings.HasPrefix(w.Header().Get("Content-Type"), c.shaped) {
			t.Errorf("%v: %d %s %q", c.body, w.Code, w.Header().Get("Content-Type"), w.Body)
		}
	}
}

package channeltest

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"magpie/chat"
)

// Serve serves a fake platform until the end of the test and returns its
// address.
func Serve(t testing.TB, platform interface {
	Handler() http.Handler
	Close()
},
) string {
	t.Helper()
	web := httptest.NewServer(platform.Handler())
	t.Cleanup(func() {
		platform.Close() // lets go of calls that the server waits for
		web.Close()
	})
	return web.URL
}

// Keyboard turns a fake platform's rows of buttons into those of Message.
func Keyboard[B any](rows [][]B, button func(B) chat.Button) (all [][]chat.Button) {
	for _, row := range rows {
		var buttons []chat.Button
		for _, b := range row {
			buttons = append(buttons, button(b))
		}
		all = append(all, buttons)
	}
	return all
}

// Kinds are a platform's names for the kinds of files.
type Kinds map[chat.Kind]string

// Named is the kind that the platform calls so, "" if there is none.
func (k Kinds) Named(name string) chat.Kind {
	for kind, n := range k {
		if n == name {
			return kind
		}
	}
	return ""
}

// Log is a log that can be written and read at the same time.
type Log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write adds to the log.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// String is the log so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

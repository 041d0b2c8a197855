package channeltest

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
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

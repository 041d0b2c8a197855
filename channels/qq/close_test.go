package qq

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	"magpie/channels"
	"magpie/channels/channeltest"
	fake "magpie/internal/fakes/qq"
)

// hurried is a platform whose gateway closes with a code while the first
// heartbeat is on its way.
func hurried(t *testing.T, next http.Handler, code int) http.Handler {
	t.Helper()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/gateway/bot":
			fmt.Fprintf(w, `{"url": "ws://%s/hurried", "shards": 1, "session_start_limit": {"total": 9, "remaining": 9, "reset_after": 1, "max_concurrency": 1}}`, r.Host)
		case r.URL.Path == "/hurried":
			ws, err := websocket.Accept(w, r, nil)
			if err != nil {
				return
			}
			defer ws.CloseNow()
			ctx := context.WithoutCancel(r.Context())
			var v any
			for _, f := range []string{`{"op": 10, "d": {"heartbeat_interval": 60000}}`, `{"op": 0, "s": 1, "t": "READY", "d": {"session_id": "one", "user": {"id": "7"}}}`} {
				if ws.Write(ctx, websocket.MessageText, []byte(f)) != nil || v == nil && wsjson.Read(ctx, ws, &v) != nil {
					return
				}
			}
			_ = ws.Close(websocket.StatusCode(code), "banned")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// The code with which the platform closes decides, also when a heartbeat fails
// before the code is read.
func TestTheCloseCodeDecides(t *testing.T) {
	for range 100 {
		w := newWorld(t, &fake.Options{})
		s := httptest.NewServer(hurried(t, w.Handler(), 4915))
		t.Cleanup(s.Close)
		w.url = s.URL
		q := w.channel(t, channels.Deps{Status: channels.NewStatus(nil)})
		err := channeltest.Receive(t, q, nil).Ended()
		if st := q.deps.Status.State(); channels.KindOf(err) != channels.Unauthorized || st.Reconnects > 0 || strings.Contains(st.LastError, "frame") {
			t.Fatalf("%v, %+v", err, st)
		}
	}
}

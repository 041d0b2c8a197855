package dingtalk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/open-dingtalk/dingtalk-stream-sdk-go/payload"
)

// ackPatience bounds the writing of an acknowledgement.
const ackPatience = 5 * time.Second

// conn is one connection to the gateway with its goroutines: one reads, one
// looks after its health.
type conn struct {
	t  *DingTalk
	in *intake
	ws *websocket.Conn

	wg    sync.WaitGroup
	life  context.Context // of the reading; outlives that of Run, for the farewell
	kill  context.CancelFunc
	asked chan struct{} // closed when a successor is wanted
	ask   func()
	ended chan struct{} // closed when nothing more is read
	err   error         // why; readable once ended is closed
	heard atomic.Int64  // when the last frame came, in nanoseconds since began
	began time.Time
}

func newConn(ctx context.Context, t *DingTalk, in *intake, ws *websocket.Conn) *conn {
	c := &conn{t: t, in: in, ws: ws, asked: make(chan struct{}), ended: make(chan struct{}), began: time.Now()}
	c.life, c.kill = context.WithCancel(context.WithoutCancel(ctx))
	c.ask = sync.OnceFunc(func() { close(c.asked) })
	c.wg.Go(func() {
		defer close(c.ended)
		c.err = c.read(ctx)
	})
	c.wg.Go(func() { c.watch(ctx) })
	return c
}

// alive reports whether the connection is still read; nil is not.
func (c *conn) alive() bool {
	if c == nil {
		return false
	}
	select {
	case <-c.ended:
		return false
	default:
		return true
	}
}

// wait blocks until the connection is broken (the error), a successor is
// wanted (nil) or ctx ends.
func (c *conn) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-c.asked:
		return nil
	case <-c.ended:
		select {
		case <-c.asked: // it was to end
			return nil
		default:
			return fmt.Errorf("stream connection ended: %w", c.err)
		}
	}
}

// close ends the connection and waits for its goroutines. It says so to the
// gateway, which for a while goes on pushing into a connection that ends without
// a close frame (the vendor's Python SDK sends one, 0.24 of 2026-07-30,
// stream.py; its Node and Go SDKs do not).
func (c *conn) close() {
	said := make(chan struct{})
	c.wg.Go(func() {
		defer close(said)
		_ = c.ws.Close(websocket.StatusNormalClosure, "")
	})
	timer := time.NewTimer(c.t.pace.bye)
	defer timer.Stop()
	select {
	case <-said:
	case <-timer.C:
	}
	c.kill()
	_ = c.ws.CloseNow()
	c.wg.Wait()
}

func (c *conn) read(ctx context.Context) error {
	for {
		kind, data, err := c.ws.Read(c.life)
		if err != nil {
			return err
		}
		c.heard.Store(int64(time.Since(c.began)))
		if kind != websocket.MessageText {
			continue
		}
		f, err := payload.DecodeDataFrame(data)
		if err != nil || f.Headers == nil {
			c.t.skipped.Add(1)
			c.t.deps.Log.Warn("a frame of the dingtalk stream cannot be read", "bytes", len(data), "err", err)
			continue
		}
		c.frame(ctx, f)
	}
}

func (c *conn) frame(ctx context.Context, f *payload.DataFrame) {
	switch {
	case f.Type == typeSystem && f.GetTopic() == "ping":
		pong := payload.NewDataFrameAckPong(f.GetMessageId())
		pong.Data = f.Data
		c.answer(ctx, pong)
	case f.Type == typeSystem && f.GetTopic() == "disconnect":
		c.t.deps.Log.Info("dingtalk wants another stream connection")
		c.ask()
	case f.Type == typeSystem:
	case f.Type == typeCallback && (f.GetTopic() == payload.BotMessageCallbackTopic || f.GetTopic() == payload.CardInstanceCallbackTopic):
		c.in.put(ctx, push{frame: f, via: c})
	default:
		c.ack(ctx, f, payload.DataFrameResponseStatusCodeKHandlerNotFound, "")
	}
}

// ack answers a callback.
func (c *conn) ack(ctx context.Context, f *payload.DataFrame, code int, message string) {
	r := payload.NewDataFrameResponse(code)
	r.SetHeader(payload.DataFrameHeaderKContentType, payload.DataFrameContentTypeKJson)
	r.SetHeader(payload.DataFrameHeaderKMessageId, f.GetMessageId())
	if r.Message = message; code == payload.DataFrameResponseStatusCodeKOK {
		r.Message, r.Data = "OK", `{"response":{}}`
	}
	c.answer(ctx, r)
}

// answer writes an acknowledgement. When the connection is gone there is
// nobody left who waits for it.
func (c *conn) answer(ctx context.Context, r *payload.DataFrameResponse) {
	data, err := json.Marshal(r)
	if err != nil {
		return // of strings and numbers
	}
	ctx, cancel := context.WithTimeout(ctx, ackPatience)
	defer cancel()
	if err := c.ws.Write(ctx, websocket.MessageText, data); err != nil {
		c.t.deps.Log.Debug("an acknowledgement was not written", "err", err)
	}
}

// watch probes a connection on which nothing comes. One that answers probes
// but brings no frames for long may be forgotten by the gateway: a successor
// costs nothing.
func (c *conn) watch(ctx context.Context) {
	tick := time.NewTicker(max(c.t.pace.ping, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.ended:
			return
		case <-tick.C:
		}
		quiet := time.Since(c.began) - time.Duration(c.heard.Load())
		if quiet < c.t.pace.ping {
			continue
		}
		if quiet >= c.t.pace.silent {
			c.t.deps.Log.Info("the dingtalk stream is silent, a new connection is made", "dur", quiet)
			c.ask()
		}
		if err := c.probe(ctx); err != nil && ctx.Err() == nil {
			c.t.deps.Log.Warn("the dingtalk stream does not answer", "err", err)
			_ = c.ws.CloseNow()
			return
		}
	}
}

func (c *conn) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.t.pace.pong)
	defer cancel()
	if err := c.ws.Ping(ctx); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("no answer to a ping within %v", c.t.pace.pong)
		}
		return err
	}
	return nil
}

package feishu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"magpie/channels"
)

const (
	// maxFrame bounds one frame in bytes; longer events come in pieces.
	maxFrame = 4 << 20
	// writeTimeout bounds writing one frame.
	writeTimeout = 10 * time.Second
	// dialTimeout bounds the way to an open connection.
	dialTimeout = 20 * time.Second
	// farewell bounds the wait for the other side's close frame.
	farewell = time.Second
)

// holdLine keeps a long connection open until ctx ends or the platform refuses
// the app for good.
func (f *Feishu) holdLine(ctx context.Context, in *intake) error {
	ctx, cancel := context.WithCancel(ctx)
	in.open(ctx)
	stop := f.signs.keep(ctx, f)
	defer func() {
		cancel()
		in.wait()
		stop()
	}()
	wait := f.backoff()
	for {
		err := f.session(ctx, in, wait)
		if ctx.Err() != nil {
			return nil
		}
		if channels.Final(err) {
			return err
		}
		f.trouble(err)
		wait.Pause(ctx, err)
	}
}

// line is one connection.
type line struct {
	f       *Feishu
	in      *intake
	conn    *websocket.Conn
	service int32
	ping    atomic.Int64  // pause between pings in ns
	frames  atomic.Uint64 // how many have come
	pieces  pieces
	answers sync.WaitGroup
}

// session lives as long as one connection, and says why it ended.
func (f *Feishu) session(ctx context.Context, in *intake, wait *channels.Backoff) error {
	l, err := f.dial(ctx, in)
	if err != nil {
		return err
	}
	wait.Reset()
	f.deps.Status.Connected()
	f.deps.Log.Info("feishu connected", "bot", f.me.Load().Name, "mode", modeWS)
	stop := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	reading, cut := context.WithCancel(context.WithoutCancel(ctx)) // outlives ctx, for the other side's farewell
	defer cut()
	var running sync.WaitGroup
	running.Go(func() { cancel(l.keepAlive(ctx)) })
	running.Go(func() { cancel(l.receive(ctx, reading)) })
	<-ctx.Done()
	if stop.Err() != nil {
		l.hangUp(cut)
	}
	_ = l.conn.CloseNow() // it may be gone already
	running.Wait()
	l.answers.Wait()
	return f.api.Fail("connection", channels.Temporary, f.api.Clean(context.Cause(ctx)))
}

// dial asks for an address and connects to it.
func (f *Feishu) dial(ctx context.Context, in *intake) (*line, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	end, err := f.endpoint(ctx)
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(end.URL)
	if err != nil || at.Host == "" {
		return nil, f.api.Fail("endpoint", channels.Temporary, errors.New("the platform's address for the connection is none"))
	}
	conn, resp, err := websocket.Dial(ctx, end.URL, &websocket.DialOptions{HTTPClient: f.api.HTTP()})
	if err != nil {
		return nil, f.handshake(resp, err)
	}
	conn.SetReadLimit(maxFrame)
	service, _ := strconv.ParseInt(at.Query().Get("service_id"), 10, 32) // 0 is what the SDK sends then
	l := &line{f: f, in: in, conn: conn, service: int32(service)}
	l.configure(end.ClientConfig)
	return l, nil
}

// The codes of the endpoint and of the handshake (SDK v3.11.0 ws/const.go).
const (
	endpointPath  = "/callback/ws/endpoint"
	codeBusy      = 1
	codeForbidden = 403
	codeAuth      = 514
	codeTooMany   = 1000040350
	codeInternal  = 1000040343
)

// endpoint is where to connect; lineConfig is how, and comes with pongs too.
type endpoint struct {
	URL          string
	ClientConfig *lineConfig
}

type lineConfig struct {
	PingInterval int // seconds
}

// endpoint asks where to connect.
func (f *Feishu) endpoint(ctx context.Context) (*endpoint, error) {
	const op = "endpoint"
	raw, err := f.api.bare(ctx, op, endpointPath, map[string]string{"AppID": f.cfg.AppID, "AppSecret": string(f.cfg.AppSecret)})
	if err != nil {
		return nil, f.lineRefused(err)
	}
	var answer struct {
		Data *endpoint `json:"data"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil || answer.Data == nil || answer.Data.URL == "" {
		return nil, f.api.Fail(op, channels.Temporary, errors.New("answer without an address"))
	}
	return answer.Data, nil
}

// lineRefused reads the codes that mean something else here than elsewhere.
func (f *Feishu) lineRefused(err error) error {
	var r *refusal
	if !errors.As(err, &r) {
		return err
	}
	switch r.code {
	case codeBusy, codeInternal:
		return f.api.Fail("endpoint", channels.Temporary, r)
	case codeTooMany:
		return f.api.Fail("endpoint", channels.Temporary, fmt.Errorf("the app has 50 connections already, the most there can be: %w", r))
	case codeAuth:
		return f.api.Fail("endpoint", channels.Unauthorized, fmt.Errorf("app_id or app_secret is wrong: %w", r))
	case codeForbidden:
		return f.api.Fail("endpoint", channels.Rejected, fmt.Errorf("the app may not hold a long connection; choose it in the developer console under Events & Callbacks: %w", r))
	}
	return err
}

// handshake says why a connection was not opened.
func (f *Feishu) handshake(resp *http.Response, err error) error {
	const op = "handshake"
	if resp == nil {
		return f.api.Fail(op, channels.Temporary, f.api.Clean(err))
	}
	code, bad := strconv.Atoi(resp.Header.Get("Handshake-Status"))
	if bad != nil { // it was somebody else who said that, such as a proxy
		return f.api.Fail(op, channels.Temporary, fmt.Errorf("HTTP status %d without an answer of the open platform", resp.StatusCode))
	}
	r := &refusal{code: code, text: f.api.redact(resp.Header.Get("Handshake-Msg"))}
	if code == codeForbidden {
		return f.lineRefused(f.api.Fail(op, channels.Rejected, r))
	}
	// 514 here means that the ticket of the address was not taken: a new
	// address is asked for, and that says whether the secret is wrong.
	return f.api.Fail(op, channels.Temporary, r)
}

func (l *line) configure(c *lineConfig) {
	ping := l.f.pace.ping
	if c != nil && c.PingInterval > 0 {
		ping = min(ping, time.Duration(c.PingInterval)*time.Second)
	}
	l.ping.Store(int64(ping))
}

// keepAlive pings, and returns an error when the other side has fallen silent:
// a connection may be dead without anybody having closed it.
func (l *line) keepAlive(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	sleep := func(d time.Duration) error {
		timer.Reset(d)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
			return nil
		}
	}
	for {
		before := l.frames.Load()
		if err := l.write(ctx, &frame{service: l.service, method: frameControl, headers: []header{{headerType, typePing}}}); err != nil {
			return fmt.Errorf("ping: %w", err)
		}
		if err := sleep(l.f.pace.pong); err != nil {
			return err
		}
		if l.frames.Load() == before {
			return errors.New("no answer to a ping: the connection is dead")
		}
		if err := sleep(time.Duration(l.ping.Load())); err != nil {
			return err
		}
	}
}

// write writes a frame. The end of ctx does not break it off: half a frame would
// leave no room for a farewell. The end of the connection does.
func (l *line) write(ctx context.Context, f *frame) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	return l.conn.Write(ctx, websocket.MessageBinary, f.encode())
}

// receive reads frames, in order, until the connection ends. What comes after
// the end of ctx is left to the next connection.
func (l *line) receive(ctx, reading context.Context) error {
	for {
		kind, data, err := l.conn.Read(reading)
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		if ctx.Err() != nil {
			continue
		}
		l.frames.Add(1)
		fr, err := decodeFrame(data)
		if kind != websocket.MessageBinary || err != nil {
			l.f.deps.Log.Warn("a frame could not be read and was passed over")
			continue
		}
		switch fr.method {
		case frameControl:
			l.control(fr)
		case frameData:
			l.data(ctx, fr)
		}
	}
}

func (l *line) control(f *frame) {
	var c lineConfig
	if f.header(headerType) == typePong && json.Unmarshal(f.payload, &c) == nil {
		l.configure(&c)
	}
}

// data hands an event on and answers it when it is stored, or when the
// platform is about to give up waiting.
func (l *line) data(ctx context.Context, f *frame) {
	payload, whole := l.pieces.join(f)
	if !whole {
		return
	}
	started := time.Now()
	ev := l.f.read(payload)
	done := l.in.take(ev)
	l.answers.Go(func() {
		data, err := l.f.verdict(ctx, ev, done)
		if ctx.Err() != nil {
			return // no answer: the event comes again
		}
		if err := l.acknowledge(ctx, f, data, err, time.Since(started)); err != nil {
			l.f.deps.Log.Debug("an event was not answered and will come again", "err", err)
		}
	})
}

// acknowledge sends the frame back with the outcome as its payload.
func (l *line) acknowledge(ctx context.Context, f *frame, data []byte, failed error, took time.Duration) error {
	answer := struct {
		Code    int               `json:"code"`
		Headers map[string]string `json:"headers"`
		Data    []byte            `json:"data"`
	}{Code: http.StatusOK, Data: data}
	if failed != nil {
		answer.Code = http.StatusInternalServerError
	}
	payload, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	f.headers = append(f.headers, header{headerTook, strconv.FormatInt(took.Milliseconds(), 10)})
	f.payload = payload
	return l.write(ctx, f)
}

func (f *Feishu) backoff() *channels.Backoff {
	return channels.NewBackoff(f.pace.retry, f.pace.retryMax)
}

// hangUp says farewell with a close frame, so that the platform brings what
// comes next elsewhere, or holds it back, at once. cut ends the wait for the
// other side's.
func (l *line) hangUp(cut func()) {
	late := time.AfterFunc(farewell, cut)
	defer late.Stop()
	_ = l.conn.Close(websocket.StatusNormalClosure, "") // it may be gone already
}

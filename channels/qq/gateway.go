package qq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/tencent-connect/botgo/dto"
	"github.com/tencent-connect/botgo/errs"
	"golang.org/x/sync/errgroup"

	"magpie/channels"
)

const (
	// dialPatience bounds the connection until it is authenticated.
	dialPatience = 30 * time.Second
	// writePatience bounds one frame of ours.
	writePatience = 10 * time.Second
	// maxFrame bounds a frame of the platform in bytes.
	maxFrame = 4 << 20
	// frameQueue is how many frames are read ahead of the sink.
	frameQueue = 64
	// storePause is the longest pause while the sink refuses.
	storePause = 10 * time.Second
	// resumeTries is how often a session is taken up without any sign of life
	// before a new one is made.
	resumeTries = 3
)

// Reasons for which a connection ends, besides what the platform says.
var (
	errNotStored = errors.New("an event was not stored; it comes again with the session")
	errZombie    = errors.New("the platform did not answer heartbeats")
	errReconnect = errors.New("the platform asked to connect again")
	errSession   = errors.New("the platform does not know the session any more")
	errIntents   = errors.New("events were asked for that the account does not get")
)

// receive keeps a connection until ctx ends or it is useless to go on.
func (q *QQ) receive(ctx context.Context, in *intake) error {
	s, err := q.loadSession(ctx)
	if err != nil {
		return err
	}
	defer q.save(ctx, s)
	s.saved = mark{s.ID, s.Seq}
	me := s.Me
	q.me.Store(&me)
	wait, storing := q.backoff(), channels.NewBackoff(q.pace.retry, min(q.pace.retryMax, storePause))
	silent, refused := 0, 0
	for ctx.Err() == nil {
		c := &connection{q: q, in: in, s: s, frames: make(chan *frame, frameQueue)}
		err := c.run(ctx)
		q.save(ctx, s)
		if ctx.Err() != nil {
			break
		}
		if c.ready {
			refused = 0
			wait.Reset()
		}
		switch {
		case c.events > 0 || c.ready:
			silent = 0
		case c.greeted:
			silent++
		}
		if silent >= resumeTries {
			s.ID, s.Seq, silent = "", 0, 0
		}
		err = c.judge(err, &refused)
		if channels.KindOf(err) == channels.Unauthorized || channels.KindOf(err) == channels.Rejected {
			return err
		}
		if errors.Is(err, errIntents) {
			continue // there are not many of them
		}
		q.deps.Status.Failed(err)
		q.deps.Log.Warn("qq connection ended", "err", err)
		if errors.Is(err, errNotStored) {
			storing.Pause(ctx, err)
			continue
		}
		storing.Reset()
		wait.Pause(ctx, err)
	}
	return nil
}

// connection is one connection to the gateway. Frames are read ahead, so that
// the answers to heartbeats are seen while the sink works.
type connection struct {
	q      *QQ
	in     *intake
	s      *session
	ws     *websocket.Conn
	frames chan *frame

	stored atomic.Uint32 // what heartbeats tell: the session's seq
	heard  atomic.Bool   // something was read since the last heartbeat
	full   atomic.Bool   // the reader waits for the sink
	// What became of it, for the one who tries again.
	greeted, ready bool
	events         int
}

func (c *connection) run(ctx context.Context) error {
	every, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer c.ws.CloseNow() // a proper close would end the session
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return c.read(ctx) })
	g.Go(func() error { return c.beat(ctx, every) })
	g.Go(func() error { return c.handle(ctx) })
	return g.Wait()
}

// open dials, waits for the hello and begins or takes up a session.
func (c *connection) open(ctx context.Context) (beat time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, dialPatience)
	defer cancel()
	at, err := c.q.gatewayURL(ctx, c.s.ID == "")
	if err != nil {
		return 0, err
	}
	token, err := c.q.api.Token().Get(ctx)
	if err != nil {
		return 0, err
	}
	c.ws, _, err = websocket.Dial(ctx, at, &websocket.DialOptions{HTTPClient: c.q.api.HTTP()})
	if err != nil {
		return 0, fmt.Errorf("connect to the gateway: %w", c.q.api.Clean(err))
	}
	c.ws.SetReadLimit(maxFrame)
	var hello dto.WSHelloData
	first, err := c.next(ctx)
	if err == nil && first != nil && first.OPCode == dto.WSHello {
		err = json.Unmarshal(first.Data, &hello)
	}
	if err == nil && hello.HeartbeatInterval <= 0 {
		err = errors.New("no hello with an interval")
	}
	if err == nil {
		err = c.greet(ctx, token)
		c.greeted = err == nil
	}
	if err != nil {
		_ = c.ws.CloseNow() // it did not even begin
		return 0, fmt.Errorf("open the gateway: %w", err)
	}
	return time.Duration(hello.HeartbeatInterval) * time.Millisecond, nil
}

func (c *connection) greet(ctx context.Context, token string) error {
	c.stored.Store(c.s.Seq)
	if c.s.ID != "" {
		return c.write(ctx, dto.WSResume, dto.WSResumeData{Token: "QQBot " + token, SessionID: c.s.ID, Seq: c.s.Seq})
	}
	return c.write(ctx, dto.WSIdentity, dto.WSIdentityData{Token: "QQBot " + token, Intents: c.q.intents(), Shard: []uint32{0, 1}})
}

func (c *connection) write(ctx context.Context, op dto.OPCode, data any) error {
	ctx, cancel := context.WithTimeout(ctx, writePatience)
	defer cancel()
	raw, err := json.Marshal(map[string]any{"op": op, "d": data})
	if err != nil {
		return err
	}
	return c.ws.Write(ctx, websocket.MessageText, raw)
}

// next reads a frame; nil without an error is one that cannot be read.
func (c *connection) next(ctx context.Context) (*frame, error) {
	_, raw, err := c.ws.Read(ctx)
	if err != nil {
		return nil, err
	}
	c.heard.Store(true)
	var f frame
	if err := json.Unmarshal(raw, &f); err != nil {
		c.q.skipped.Add(1)
		c.q.deps.Log.Warn("frame skipped", "why", "undecodable", "err", err)
		return nil, nil
	}
	return &f, nil
}

func (c *connection) read(ctx context.Context) error {
	for {
		f, err := c.next(ctx)
		switch {
		case err != nil:
			return err
		case f == nil:
		case f.OPCode == dto.WSReconnect:
			return errReconnect
		case f.OPCode == dto.WSInvalidSession:
			return errSession
		case f.OPCode == dto.WSHeartbeat:
			_ = c.write(ctx, dto.WSHeartbeat, c.lastSeq()) // the next read tells why not
		case f.OPCode == dto.WSDispatchEvent:
			c.full.Store(true)
			select {
			case c.frames <- f:
				c.full.Store(false)
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

func (c *connection) lastSeq() any {
	if seq := c.stored.Load(); seq > 0 {
		return seq
	}
	return nil
}

// farewell is how long a failed heartbeat waits for the reader, which learns from
// a close frame why: the code decides whether to try again.
const farewell = time.Second

// beat sends heartbeats. When nothing at all came between two of them the
// connection is dead, whatever TCP thinks.
func (c *connection) beat(ctx context.Context, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if err := c.write(ctx, dto.WSHeartbeat, c.lastSeq()); err != nil {
			channels.NewBackoff(farewell, farewell).PauseAtLeast(ctx, farewell)
			return err
		}
		c.heard.Store(false)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if !c.heard.Load() && !c.full.Load() {
			return errZombie
		}
	}
}

// handle gives events to the sink; the sequence moves when they are stored.
func (c *connection) handle(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case f := <-c.frames:
			if err := c.dispatch(ctx, f); err != nil {
				return err
			}
		}
	}
}

func (c *connection) dispatch(ctx context.Context, f *frame) error {
	switch f.Type {
	case ready:
		var begun dto.WSReadyData
		if err := json.Unmarshal(f.Data, &begun); err != nil || begun.SessionID == "" {
			return fmt.Errorf("READY without a session: %w", err)
		}
		c.s.ID, c.s.Seq, c.s.Me = begun.SessionID, 0, begun.User.ID
		c.q.me.Store(&begun.User.ID)
		c.connected("identified")
	case resumed:
		c.connected("resumed")
	default:
		c.events++
		if err := c.in.take(ctx, f); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("%w: %w", errNotStored, err)
		}
	}
	// RESUMED may carry the number of an event that has not come again yet.
	if f.Type != resumed && f.Seq > c.s.Seq {
		c.s.Seq = f.Seq
		c.stored.Store(f.Seq)
	}
	if c.q.deps.Now().Sub(c.s.savedAt) >= c.q.pace.save {
		c.q.save(ctx, c.s)
	}
	return nil
}

func (c *connection) connected(how string) {
	c.ready = true
	c.q.deps.Status.Connected()
	c.q.deps.Log.Info("qq connected", "how", how)
}

// Close codes (bot.q.qq.com/wiki/develop/api-v2/dev-prepare/error-trace/websocket.html,
// read November 2026; 4004, 4903 and 4924 as botgo and others know them).
const (
	codeCannotCreate = 4903
	codeAddress      = 4924
)

// fatal explains the close codes after which nothing helps but a person.
func fatal(code int) (channels.Kind, string) {
	switch code {
	case errs.WSCodeBackendInvalidShard, errs.WSCodeBackendShardingRequired:
		return channels.Rejected, "the bot is in too many groups for one connection"
	case errs.WSCodeBackendInvalidAPIVersion:
		return channels.Rejected, "the platform does not speak this version any more"
	case errs.WSCodeBackendInvalidIntents, errs.WSCodeBackendDisallowdIntents:
		return channels.Rejected, "the bot may not receive these events: enable group and private messages at q.qq.com"
	case errs.WSCodeBackendBotOffline:
		return channels.Unauthorized, "the bot is not published: add the people and groups that try it under 沙箱配置 at q.qq.com, and set api_base: https://sandbox.api.sgroup.qq.com until it is"
	case errs.WSCodeBackendBotBanned:
		return channels.Unauthorized, "the bot is banned: appeal at q.qq.com"
	case codeAddress:
		return channels.Unauthorized, "the platform refuses this machine's address: add it to the IP allow list at q.qq.com"
	}
	return channels.Temporary, ""
}

// judge turns the end of a connection into an error of the channel and decides
// whether the session can be taken up.
func (c *connection) judge(err error, refused *int) error {
	const op = "gateway"
	var ce *channels.Error
	if errors.As(err, &ce) {
		return ce
	}
	code := int(websocket.CloseStatus(err))
	kind, why := fatal(code)
	err = c.q.api.Clean(err)
	if (code == errs.WSCodeBackendInvalidIntents || code == errs.WSCodeBackendDisallowdIntents) && c.q.fewerIntents(err) {
		c.s.ID, c.s.Seq = "", 0
		return c.q.api.Fail(op, channels.Temporary, fmt.Errorf("%w: close code %d", errIntents, code))
	}
	if why != "" {
		return c.q.api.Fail(op, kind, fmt.Errorf("%s: close code %d", why, code))
	}
	badToken := code == errs.WSCodeBackendAuthenticationFail || code == codeCannotCreate
	anew := badToken || errors.Is(err, errSession) || code >= 4900 && code <= 4913 ||
		slices.Contains([]int{
			errs.WSCodeBackendSessionNoLongerValid, errs.WSCodeBackendInvalidSeq, errs.WSCodeBackendUnknownOpCode, errs.WSCodeBackendDecodeError,
		}, code)
	if anew {
		c.s.ID, c.s.Seq = "", 0
	}
	if badToken {
		c.q.api.Token().Evict(c.q.api.Token().Current())
		// A new token has just been given and is refused again.
		if *refused++; *refused > 2 && code == errs.WSCodeBackendAuthenticationFail {
			return c.q.api.Fail(op, channels.Unauthorized, fmt.Errorf("the gateway refuses new tokens: close code %d", code))
		}
	}
	return c.q.api.Fail(op, channels.Temporary, err)
}

// gatewayURL asks where to connect. fresh: a session will be begun, of which
// the platform allows so many a day.
func (q *QQ) gatewayURL(ctx context.Context, fresh bool) (string, error) {
	const op = "gateway/bot"
	var at dto.WebsocketAP
	if err := q.api.call(ctx, request{op: op, method: http.MethodGet, path: "/gateway/bot"}, &at); err != nil {
		return "", err
	}
	if at.URL == "" {
		return "", q.api.Fail(op, channels.Temporary, errors.New("answer without an address"))
	}
	if l := at.SessionStartLimit; fresh && l.Total > 0 && l.Remaining == 0 {
		e := q.api.Fail(op, channels.RateLimited, errors.New("no more sessions can be begun today"))
		e.RetryAfter = min(time.Duration(l.ResetAfter)*time.Millisecond, time.Hour)
		return "", e
	}
	return at.URL, nil
}

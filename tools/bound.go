package tools

import (
	"context"
	"errors"
	"sync"
	"time"
)

// grace is how long a tool may take to stop after its time is over: enough to
// end a process group and collect its output.
const grace = 3 * time.Second

var errTooLong = errors.New("the tool's time is over")

// roomy lets the stack of a new goroutine grow at once, while there is nothing
// on it to move: reading arguments needs more than it begins with.
//
//go:noinline
func roomy() byte {
	var room [12 << 10]byte
	return room[len(errTooLong.Error())]
}

// bound ends a call in time. The tool runs in a goroutine of its own, so that
// one which does not listen to ctx cannot hold up the turn; Close waits for it.
func (e *Executor) bound(next handler) handler {
	return func(ctx context.Context, c *call) (Result, error) {
		limit := e.timeout(c.entry.spec)
		if limit > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeoutCause(ctx, limit, errTooLong)
			defer cancel()
		}
		if ctx.Err() != nil {
			return Result{}, context.Cause(ctx)
		}
		if err := c.same(ctx); err != nil {
			return Result{}, err
		}
		type outcome struct {
			res Result
			err error
		}
		done := make(chan outcome, 1)
		e.calls.begin()
		go func() {
			defer e.calls.end()
			defer func() {
				if p := recover(); p != nil {
					done <- outcome{res: e.crashed(c.scope, c.name, p)}
				}
			}()
			roomy()
			res, err := next(ctx, c)
			done <- outcome{res, err}
		}()
		select {
		case o := <-done:
			return o.res, explain(ctx, o.err, c, limit)
		case <-ctx.Done():
		}
		wait := time.NewTimer(grace)
		defer wait.Stop()
		select {
		case o := <-done:
			return o.res, explain(ctx, o.err, c, limit)
		case <-wait.C:
			e.opt.Log.Error("tool does not stop", "tool", c.name, "session", c.scope.Addr.Session(), "trace", c.scope.Trace)
			return Result{}, explain(ctx, context.Cause(ctx), c, limit)
		}
	}
}

// running counts the tools that run. A WaitGroup would need a goroutine to be
// waited for with a bound.
type running struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n gets 0; nil when nobody waits
}

func (r *running) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
}

func (r *running) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n--; r.n == 0 && r.idle != nil {
		close(r.idle)
		r.idle = nil
	}
}

// none is closed as soon as no tool runs.
func (r *running) none() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n > 0 && r.idle != nil {
		return r.idle
	}
	idle := make(chan struct{})
	if r.n == 0 {
		close(idle)
	} else {
		r.idle = idle
	}
	return idle
}

func (e *Executor) timeout(s Spec) time.Duration {
	switch {
	case s.Timeout < 0:
		return 0
	case s.Timeout > 0:
		return s.Timeout
	case s.Category == Network || s.Category == MCP:
		return e.opt.NetworkTimeout
	}
	return e.opt.Timeout
}

// explain makes the end of ctx a failure that the model understands; a tool
// that explains itself is left alone.
func explain(ctx context.Context, err error, c *call, limit time.Duration) error {
	var said *Error
	switch {
	case err == nil || errors.As(err, &said) || ctx.Err() == nil:
		return err
	case errors.Is(context.Cause(ctx), errTooLong):
		return &Error{Kind: Timeout, Err: err, Text: c.name + " took longer than " + limit.String() + " and was stopped; ask for less at once, or go on without it"}
	}
	return &Error{Kind: Failed, Err: err, Text: c.name + " was stopped before it ended"}
}

// invoke is the end of the way: the tool itself.
func (e *Executor) invoke(ctx context.Context, c *call) (Result, error) {
	res, err := c.entry.tool.Call(ctx, c.scope, c.args)
	if err == nil {
		res.OK, res.Err = true, ""
	}
	return res, err
}

// settle makes every error a Result.
func (e *Executor) settle(next handler) handler {
	return func(ctx context.Context, c *call) (res Result, _ error) {
		defer func() {
			if p := recover(); p != nil {
				res = e.crashed(c.scope, c.name, p)
			}
		}()
		res, err := next(ctx, c)
		if err == nil {
			return res, nil
		}
		failed := failed(ctx, c, err)
		failed.Untrusted, failed.Sources = res.Untrusted || IsOutside(err), res.Sources
		return failed, nil
	}
}

// failed says an error in words for the model.
func failed(ctx context.Context, c *call, err error) Result {
	var said *Error
	switch {
	case errors.As(err, &said) && said.Text != "":
		return failure(said.Kind, said.Text)
	case ctx.Err() != nil:
		return failure(Failed, c.name+" was stopped before it ended")
	}
	return failure(Failed, err.Error())
}

package model

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"magpie/agent/llm"
)

const (
	// maxTries is how often one model is asked the same question.
	maxTries = 3
	// The pause before the second try is between half of firstPause and all of
	// it, doubled for each further one.
	firstPause = time.Second
	// maxWait bounds the pause that a server may ask for: beyond it the next
	// model is quicker, and a person would not wait.
	maxWait = 30 * time.Second
)

// asking is one question on its way through the models.
type asking struct {
	chain   *Chain
	q       Question
	causes  []Cause
	tooLong error
	larger  int  // a model must have more context than this to be worth asking
	shown   bool // OnText has been given some text
}

// ask puts the question to one model. over = true ends the asking, with the
// reply or an error that no other model would mend.
func (a *asking) ask(ctx context.Context, l *link, tries int) (reply llm.Reply, over bool, err error) {
	defer l.breaker.release()
	if a.tooLong != nil && l.Context <= a.larger {
		return llm.Reply{}, false, nil
	}
	for try := 1; ; try++ {
		reply, err = a.once(ctx, l)
		if err == nil {
			l.breaker.ok()
			return reply, true, nil
		}
		var budget *OverBudget
		var unknown *uncounted
		if ctx.Err() != nil || errors.As(err, &budget) || errors.As(err, &unknown) {
			return llm.Reply{}, true, err
		}
		pause, again := retry(err, try)
		if try >= tries || !again {
			a.gaveUp(l, try, err)
			return llm.Reply{}, false, err
		}
		a.chain.log.Debug("model is asked again", "model", l.name(), "session", a.q.Session, "trace", a.q.Trace, "attempt", try+1, "err", err)
		if err := sleep(ctx, pause); err != nil {
			return llm.Reply{}, true, err
		}
	}
}

// gaveUp notes that a model did not answer.
func (a *asking) gaveUp(l *link, tries int, err error) {
	a.causes = append(a.causes, Cause{Model: l.name(), Tries: tries, Err: err})
	a.chain.log.Warn("model gave no answer", "model", l.name(), "session", a.q.Session, "trace", a.q.Trace, "attempt", tries, "err", err)
	switch llm.KindOf(err) {
	case llm.TooLong:
		a.tooLong, a.larger = err, max(a.larger, l.Context)
	case llm.Rejected: // the question's fault, not the model's
	default:
		l.breaker.failed(a.chain.now(), err)
	}
}

// once is one try: hold the budget, stream the reply, settle the account.
func (a *asking) once(ctx context.Context, l *link) (llm.Reply, error) {
	req := a.q.Request
	if req.MaxTokens <= 0 {
		req.MaxTokens = l.MaxOutput
	}
	b := &bill{model: l.Model, session: a.q.Session, payer: a.q.Payer, need: needed(req)}
	if err := a.chain.ledger.hold(ctx, b); err != nil {
		return llm.Reply{}, err
	}
	if a.shown {
		a.shown = false
		a.q.OnText("")
	}
	began := a.chain.now()
	limited, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	var text strings.Builder
	reply, err := llm.Collect(l.Provider.Stream(limited, req), func(piece string) {
		text.WriteString(piece)
		if a.q.OnText != nil {
			a.shown = true
			a.q.OnText(text.String())
		}
	})
	usage := used(b.need, reply, text.String(), err)
	if err != nil && limited.Err() != nil {
		usage.Input = b.need.Input // we broke off: the server has read the prompt
	}
	a.chain.ledger.settle(ctx, b, usage)
	a.tell(l, usage, a.chain.now().Sub(began), err)
	switch {
	case err != nil && ctx.Err() != nil:
		return llm.Reply{}, fmt.Errorf("ask model %q: %w", l.name(), context.Cause(ctx))
	case err != nil && limited.Err() != nil:
		return llm.Reply{}, &llm.Error{Provider: l.name(), Kind: llm.Temporary, Err: &slowError{l.Timeout}}
	}
	return reply, err
}

// tell notes what a try has cost.
func (a *asking) tell(l *link, u llm.Usage, took time.Duration, err error) {
	t := Try{Model: l.name(), Took: took, Err: err}
	if !l.Unmetered {
		t.Usage, t.USD = u, l.Price.spend(u).USD()
	}
	a.chain.tried(t)
	a.chain.log.Info("model call", "model", t.Model, "session", a.q.Session, "trace", a.q.Trace,
		"dur", took, "in", t.Usage.Input, "out", t.Usage.Output, "ok", err == nil)
}

// slowError says that a try used up all of its time.
type slowError struct{ after time.Duration }

func (e *slowError) Error() string { return fmt.Sprintf("no whole reply within %s", e.after) }

// retry says whether the same model is worth another try after err, and when.
func retry(err error, try int) (pause time.Duration, again bool) {
	switch kind := llm.KindOf(err); {
	case kind != llm.Temporary && kind != llm.RateLimited:
		return 0, false
	case isSlow(err): // another two minutes would be no better
		return 0, false
	}
	asked := retryAfter(err)
	if asked > maxWait {
		return 0, false
	}
	pause = firstPause << (try - 1)
	pause = pause/2 + rand.N(pause/2+1)
	return max(pause, asked), true
}

// retryAfter is the pause that the server asked for, 0 when it did not.
func retryAfter(err error) time.Duration {
	var e *llm.Error
	if errors.As(err, &e) {
		return e.RetryAfter
	}
	return 0
}

// statusOf is the HTTP status of a failed request, 0 when there was none.
func statusOf(err error) int {
	var e *llm.Error
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}

func isSlow(err error) bool {
	var slow *slowError
	return errors.As(err, &slow)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("wait for the model: %w", context.Cause(ctx))
	case <-t.C:
		return nil
	}
}

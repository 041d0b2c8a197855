package agent

import (
	"context"
	"errors"
	"strings"
	"time"

	"magpie/agent/llm"
	"magpie/agent/model"
	"magpie/chat"
)

// SilentMark is what the model answers to a job when nobody needs to read
// anything: the chat shows nothing then.
const SilentMark = "[silent]"

// silent reports whether an answer is the silent mark alone. It counts only
// where nobody waits for an answer.
func (t *turn) silent(text string) bool {
	return t.env.scope.FromJob && strings.EqualFold(strings.Trim(text, " \t\r\n`*_\"'.。"), SilentMark)
}

// overhear ends a turn that was begun by what the bot has shown by itself: it
// becomes part of the conversation, without a question to the model.
func (t *turn) overhear(ctx context.Context) {
	t.join(func(d *chat.Delivery) bool { return d.Origin == chat.FromBot })
	for _, d := range fold(t.inputs) {
		t.said = append(t.said, t.item(ctx, d))
	}
}

// jobPauses is how long a job waits for a model that cannot be reached: nobody
// sits in front of the chat, so it may be late rather than fail.
func jobPauses() []time.Duration {
	return []time.Duration{5 * time.Second, 20 * time.Second, time.Minute, 3 * time.Minute}
}

// outlast waits before a job asks the models once more, and reports whether
// that is worth it. A person who writes meanwhile ends the waiting: the next
// try is the last.
func (t *turn) outlast(ctx context.Context, why error) bool {
	var budget *model.OverBudget
	kind := llm.KindOf(why)
	if !t.env.scope.FromJob || errors.As(why, &budget) || kind != llm.Temporary && kind != llm.RateLimited ||
		t.loop.waits >= len(t.h.a.opt.JobPauses) {
		return false
	}
	pause := t.h.a.opt.JobPauses[t.loop.waits]
	t.loop.waits++
	t.h.a.opt.Log.Warn("no model could answer a job, it is tried again", "session", t.h.key, "trace", t.first().Trace,
		"attempt", t.loop.waits, "pause", pause, "err", why)
	err := t.h.aside(ctx, func(ctx context.Context) error {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		for !t.h.personWaits() {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-timer.C:
				return nil
			case <-t.h.mb.Arrived():
			}
			if err := t.h.pull(ctx); err != nil {
				return err
			}
		}
		t.loop.waits = len(t.h.a.opt.JobPauses)
		return nil
	})
	return err == nil && ctx.Err() == nil
}

// personWaits reports whether a person's message waits for the running turn.
func (h *hold) personWaits() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.pending {
		if h.pending[i].Origin == chat.FromPerson {
			return true
		}
	}
	return false
}

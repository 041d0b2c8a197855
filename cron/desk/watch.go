package desk

import (
	"context"
	"fmt"
	"time"
)

// watchFor is how long a stopwatch is remembered.
const watchFor = 31 * 24 * time.Hour

// watch starts, stops and reads the stopwatch of the asker in a chat: no more
// than the time of its start, so that it runs over a restart.
func (d *Desk) watch(ctx context.Context, w wish) (Said, error) {
	at, now := w.room("watch", w.person()), d.jobs.Now()
	since, err := recall[time.Time](ctx, d.memory, at)
	if err != nil {
		return Said{}, err
	}
	runs, do := !since.IsZero(), w.in.Watch
	shows := w.parts(max(time.Second, now.Sub(since).Truncate(time.Second)), 3)
	switch {
	case do == "restart", do == "start" && !runs:
		_, err = remember(ctx, d.memory, at, watchFor, func(t *time.Time) { *t = now })
		return Said{Text: fmt.Sprintf(w.pick("The stopwatch runs since %s. Ask “how long has it been”, or say “stop the stopwatch”.", "开始计时：%s。可以问“过了多久”，或说“停止计时”。"), now.In(w.zone()).Format(time.TimeOnly))}, err
	case !runs:
		return Said{}, &Refusal{Kind: Unknown, Text: w.pick("no stopwatch is running; say “start a stopwatch”", "没有在计时；要开始就说“开始计时”")}
	case do == "stop":
		return Said{Text: fmt.Sprintf(w.pick("Stopped after %s.", "计时结束：%s"), shows)}, d.memory.Delete(ctx, at)
	case do == "start":
		shows += w.pick("; say “restart the stopwatch” to begin anew", "；要重新开始就说“重新计时”")
	}
	clock := w.soon(since, now)
	return Said{Text: fmt.Sprintf(w.pick("The stopwatch runs since %s: %s.", "%s开始计时，已经%s"), clock, shows)}, nil
}

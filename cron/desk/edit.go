package desk

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"magpie/cron"
	"magpie/cron/intent"
	"magpie/cron/when"
)

// edit is the operation of a question that takes a new time, new words, or both.
const edit intent.Op = "edit"

// editing asks what shall become of a job, or of what came once and is gone.
func (d *Desk) editing(ctx context.Context, w Who, id string) error {
	err := d.otherTime(ctx, w, id)
	if q, asks := errors.AsType[*question](err); asks {
		found, _, err := d.meant(ctx, wish{Who: w, in: intent.Intent{Op: intent.Snooze, Ref: intent.Ref{Words: id}}})
		if err != nil {
			return err
		}
		q.Prompt = fmt.Sprintf(w.pick("What shall become of “%s”? Say a new time, new words, or both: at 6, call Jane, at 6 call Jane", "“%s”要改成什么？可以说新的时间、新的内容，或两者都说：六点；给小王打电话；六点给小王打电话"), thing(found[0]))
		q.Intent.Op, q.Intent.Ref.Rang = edit, q.Intent.Op == intent.Snooze
	}
	return err
}

// again asks when what is gone shall come with other words.
func (w wish) again(j cron.Job) error {
	return &question{
		Job: j.ID, Intent: intent.Intent{Kind: intent.Change, Op: intent.Snooze, Text: w.in.Text},
		Prompt: fmt.Sprintf(w.pick("It has come already. When shall “%s” come? Say for example: in 20 minutes", "它已经响过了。“%s”什么时候提醒？例如：20分钟后"), plain(w.in.Text, maxShown)),
	}
}

// edited reads an answer to such a question. False when it is none.
func (q *question) edited(answer string, c intent.Context) (intent.Intent, bool) {
	in, moved := q.Intent, intent.Move
	if in.Ref = (intent.Ref{Words: q.Job}); q.Intent.Ref.Rang {
		moved = intent.Snooze
	}
	text := strings.TrimSpace(answer)
	if in.Op, in.Time = moved, intent.Core(answer); intent.OnlyTime(answer, c) {
		return in, true
	}
	if !intent.Edits(text) {
		return in, false
	}
	all, err := when.FindAll(text, c.Now, c.Zone)
	if a, unsure := errors.AsType[*when.Ambiguous](err); unsure && len(a.Choices) > 0 {
		all, err = a.Choices[:1], nil
	}
	switch {
	case err == nil && len(all) == 1 && all[0].To > all[0].From && all[0].To <= len(text):
		in.Time, in.Text = text[all[0].From:all[0].To], all[0].Rest
	case errors.Is(err, when.ErrNone) && moved == intent.Move:
		in.Op, in.Time, in.Text = intent.Text, "", text
	case errors.Is(err, when.ErrNone):
		in.Time, in.Text = "", text
	} // else it says what is wrong with the time
	return in, true
}

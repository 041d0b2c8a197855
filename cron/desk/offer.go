package desk

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"magpie/cron"
	"magpie/cron/when"
)

// Offer asks whether reminders that come from elsewhere, as from a calendar
// file, shall be made: what each is called, what it says and when. A chat is
// offered no more than it has room for, those that come first, and nothing that it
// has already.
func (d *Desk) Offer(ctx context.Context, w Who, jobs []cron.Job, key string) (Said, error) {
	return d.once(ctx, w, key, func(seed string) (*deed, Said, error) {
		now := d.jobs.Now()
		here, _, err := d.here(ctx, w)
		if err != nil {
			return nil, Said{}, err
		}
		sent := len(jobs)
		jobs = slices.DeleteFunc(slices.Clone(jobs), func(j cron.Job) bool { // the file was read before
			return slices.ContainsFunc(here, func(o cron.Job) bool {
				return o.Message == j.Message && single(o) == single(j) && next(o, now).Equal(next(j, now))
			})
		})
		if len(jobs) == 0 {
			return nil, Said{Text: w.pick("I have all of this already.", "这些都已经设置过了。")}, nil
		}
		todo, size := &deed{Seed: seed}, 0
		sort.SliceStable(jobs, func(a, b int) bool { return next(jobs[a], now).Before(next(jobs[b], now)) })
		for _, j := range jobs {
			size += len(j.Message) + len(j.Name)
			if len(todo.Steps) == max(0, d.jobs.PerChat()-len(here)) || size > maxDeed {
				break
			}
			p := phrase(j.Schedule)
			if w.tooOften(p, now) == nil {
				made := w.job(j.Name, j.Message, p, cron.Notify)
				made.Sources = j.Sources
				todo.Steps = append(todo.Steps, step{Do: "add", Job: made})
			}
		}
		n := len(todo.Steps)
		if n == 0 {
			return nil, Said{}, cron.ErrTooMany
		}
		q := &question{Choices: w.yesNo(w.pick("Yes", "好"), todo), Prompt: w.pick("Shall I remind you of this?", "要提醒你这件事吗？")}
		if n > 1 {
			q.Prompt = fmt.Sprintf(w.pick("Shall I remind you of these %d?", "要提醒你这 %d 件事吗？"), n)
		}
		if n < len(jobs) {
			q.Prompt = fmt.Sprintf(w.pick("There is room for %d of %d. ", "还放得下 %d 个（共 %d 个）。"), n, len(jobs)) + q.Prompt
		}
		if old := sent - len(jobs); old > 0 {
			q.Prompt = fmt.Sprintf(w.pick("%d of %d I have already. ", "其中 %d 个（共 %d 个）已经设置过了。"), old, sent) + q.Prompt
		}
		q.Lapse = w.pick("I made no reminders of what you sent: my question was not answered.", "没有按你发的内容设置提醒：没有收到回答。")
		q.Prompt += w.dashed(n, func(i int) string {
			j := todo.Steps[i].Job
			return w.item(listItem{j, next(j, now)}, now)
		})
		return nil, Said{}, q
	})
}

// job is a new one of the asker.
func (w Who) job(name, message string, p when.Phrase, mode cron.Mode) cron.Job {
	return cron.Job{Name: name, Message: message, Addr: w.Addr, Maker: w.by().Person, Direct: w.Direct, Schedule: w.schedule(p), Mode: mode}
}

package desk

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"magpie/cron"
)

// Action is a change of a job that exists.
type Action string

// The actions.
const (
	Remove Action = "remove"
	Pause  Action = "pause"
	Resume Action = "resume"
	Run    Action = "run" // one delivery at once, besides the schedule
)

// Change changes the job of the chat that ref means: its id, its number in the
// list, its name, or a part of its text that no other job has. The text says
// what was done. What cannot be is a *Refusal.
func (d *Desk) Change(ctx context.Context, w Who, action Action, ref string) (string, error) {
	ref = strings.TrimSpace(ref)
	if ref == "" {
		return "", &Refusal{Kind: Unsure, Text: w.pick("which one? Say its number in the list or its id", "是哪一个？请说它在列表中的编号或 id")}
	}
	if action != Run && isAll(ref) {
		return d.changeAll(ctx, w, action)
	}
	job, err := d.find(ctx, w, ref)
	if err != nil {
		if action == Remove && w.Admin && errors.Is(err, cron.ErrNotFound) && d.removeDamaged(ctx, w, ref) {
			return w.pick("removed the damaged entry ", "已删除损坏的记录 ") + plain(ref, maxShown), nil
		}
		return "", err
	}
	if job, err = d.change(ctx, w, action, job); err != nil {
		return "", d.refuse(w, err)
	}
	return w.changed(action) + w.line(job, d.jobs.Now()), nil
}

func (d *Desk) change(ctx context.Context, w Who, action Action, j cron.Job) (cron.Job, error) {
	switch action {
	case Remove:
		return j, d.jobs.Remove(ctx, j.Addr, j.ID, w.by())
	case Pause:
		return d.jobs.Pause(ctx, j.Addr, j.ID, w.by())
	case Resume:
		return d.jobs.Resume(ctx, j.Addr, j.ID, w.by())
	case Run:
		return d.jobs.RunNow(ctx, j.Addr, j.ID, w.by())
	}
	return j, fmt.Errorf("action %q of a job", action)
}

func (w Who) changed(action Action) string {
	switch action {
	case Remove:
		return w.pick("removed: ", "已删除：")
	case Pause:
		return w.pick("paused: ", "已暂停：")
	case Resume:
		return w.pick("goes on: ", "已恢复：")
	}
	return w.pick("is delivered now: ", "现在发送：")
}

// changeAll changes all jobs of the chat that the asker may change.
func (d *Desk) changeAll(ctx context.Context, w Who, action Action) (string, error) {
	jobs, err := d.jobs.List(ctx, w.Addr)
	if err != nil && !errors.Is(err, cron.ErrCorrupt) {
		return "", err
	}
	done := 0
	for _, j := range jobs {
		_, err := d.change(ctx, w, action, j)
		switch {
		case err == nil:
			done++
		case errors.Is(err, cron.ErrNotYours), errors.Is(err, cron.ErrOver), errors.Is(err, cron.ErrNotFound), errors.Is(err, cron.ErrCorrupt):
		default:
			return "", err
		}
	}
	return fmt.Sprintf(w.pick("%s%d of %d", "%s%d 个，共 %d 个"), w.changed(action), done, len(jobs)), nil
}

// Meant is the id of the job that Change would change; "" when that is none, or
// all. Numbers and words may mean another one later.
func (d *Desk) Meant(ctx context.Context, w Who, ref string) string {
	if isAll(ref) {
		return ""
	}
	j, err := d.find(ctx, w, strings.TrimSpace(ref))
	if err != nil {
		return "" // Change says why
	}
	return j.ID
}

func isAll(ref string) bool {
	ref = strings.ToLower(strings.TrimSpace(ref))
	return ref == "all" || ref == "全部" || ref == "所有"
}

// find looks for the one job that is meant.
func (d *Desk) find(ctx context.Context, w Who, ref string) (cron.Job, error) {
	jobs, err := d.jobs.List(ctx, w.Addr)
	if err != nil && !errors.Is(err, cron.ErrCorrupt) {
		return cron.Job{}, err
	}
	number, _ := strconv.Atoi(strings.TrimPrefix(ref, "#"))
	var named, holding []cron.Job
	low := strings.ToLower(ref)
	for _, j := range jobs {
		name, text := strings.ToLower(j.Name), strings.ToLower(j.Message)
		switch {
		case j.ID == low:
			return j, nil
		case low == name || low == text:
			named = append(named, j)
		case strings.Contains(name, low) || strings.Contains(text, low):
			holding = append(holding, j)
		}
	}
	if number >= 1 && number <= len(jobs) {
		return jobs[number-1], nil
	}
	if len(named) == 0 {
		named = holding
	}
	switch len(named) {
	case 0:
		return cron.Job{}, d.refuse(w, fmt.Errorf("%w: %.40q", cron.ErrNotFound, ref))
	case 1:
		return named[0], nil
	}
	r := &Refusal{Kind: Unsure, Text: w.pick("several are like that; say the number or the id of one:", "有多个符合，请说编号或 id：")}
	now := d.jobs.Now()
	for i, j := range jobs {
		for _, n := range named {
			if n.ID == j.ID {
				r.Text += fmt.Sprintf("\n- %d: %s", i+1, w.line(j, now))
			}
		}
	}
	return cron.Job{}, r
}

// removeDamaged takes away an entry that List could not read.
func (d *Desk) removeDamaged(ctx context.Context, w Who, id string) bool {
	_, err := d.jobs.Get(ctx, w.Addr, id)
	return errors.Is(err, cron.ErrCorrupt) && d.jobs.Remove(ctx, w.Addr, id, w.by()) == nil
}

package desk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"magpie/chat"
	"magpie/cron"
	"magpie/cron/intent"
	"magpie/cron/when"
)

// here returns the jobs of the chat in the order of a list: what comes next
// first, then what is paused, then what is over.
func (d *Desk) here(ctx context.Context, w Who) (jobs []cron.Job, damaged string, err error) {
	jobs, err = d.jobs.List(ctx, w.Addr)
	if errors.Is(err, cron.ErrCorrupt) {
		damaged, err = damagedIDs(err), nil
	}
	if err != nil {
		return nil, "", err
	}
	jobs = slices.DeleteFunc(jobs, func(j cron.Job) bool { return j.Hidden })
	now := d.jobs.Now()
	slots := make(map[string]time.Time, len(jobs))
	for _, j := range jobs {
		slots[j.ID] = next(j, now)
	}
	rank := func(j cron.Job) int { return 2*b2i(slots[j.ID].IsZero()) + b2i(j.Paused) }
	slices.SortStableFunc(jobs, func(a, b cron.Job) int {
		return cmp.Or(rank(a)-rank(b), slots[a.ID].Compare(slots[b.ID]))
	})
	return jobs, damaged, nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// recurring are the jobs that come as often as words say: "the monthly one".
func (w Who) recurring(words string, jobs []cron.Job, now time.Time) (found []cron.Job) {
	p, err := when.Parse(words, now, w.zone())
	if unsure, ok := errors.AsType[*when.Ambiguous](err); ok && len(unsure.Choices) > 0 {
		p, err = unsure.Choices[0], nil
	}
	first, repeats := p.Next(now)
	second, again := p.Next(first)
	if err != nil || !repeats || !again {
		return nil
	}
	for _, j := range jobs {
		slot := next(j, now)
		apart := next(j, slot).Sub(slot) - second.Sub(first)
		if !single(j) && apart.Abs() < second.Sub(first)/5 {
			found = append(found, j)
		}
	}
	return found
}

// known returns the jobs that words may be about, with what rang of late.
func (d *Desk) known(ctx context.Context, w Who) (all []intent.Known, err error) {
	jobs, _, err := d.here(ctx, w)
	if err != nil {
		return nil, err
	}
	rang, err := d.rang(ctx, w, jobs)
	if err != nil {
		return nil, err
	}
	for _, r := range rang {
		if len(withID(jobs, r.Job.ID)) == 0 {
			jobs = append(jobs, r.Job)
		}
	}
	last, err := d.topic(ctx, w, rang)
	for _, j := range jobs {
		all = append(all, intent.Known{ID: j.ID, Text: j.Name + "\n" + j.Message, Just: last.just(j.ID, d.jobs.Now())})
	}
	return all, err
}

// several returns the jobs that all of the references mean.
func (d *Desk) several(ctx context.Context, w wish, refs []intent.Ref) (all []cron.Job, err error) {
	for _, ref := range refs {
		one := w
		one.in.Ref, one.in.And, one.in.But = ref, nil, nil
		found, _, err := d.meant(ctx, one)
		q, asks := errors.AsType[*question](err)
		if ref.Words != "" && ref.From.IsZero() && len(found) > 1 {
			q, asks = d.which(one, found), true
		}
		if asks {
			err = d.unclear(ctx, w.Who, ref, *q)
		}
		if err != nil {
			return nil, err
		}
		for _, j := range found {
			if len(withID(all, j.ID)) == 0 {
				all = append(all, j)
			}
		}
	}
	return all, nil
}

// meant returns the jobs that an intent is about, and what rang of late. The
// error is a *question, or a *Refusal when there is none.
func (d *Desk) meant(ctx context.Context, w wish) (found []cron.Job, rang []rung, err error) {
	in, reply := w.in, w.m.Reply
	jobs, _, err := d.here(ctx, w.Who)
	if err != nil {
		return nil, nil, err
	}
	if rang, err = d.rang(ctx, w.Who, jobs); err != nil {
		return nil, nil, err
	}
	pool, again := jobs, in.Op == intent.Snooze || in.Op == intent.Done
	if again || in.Op == intent.Move {
		pool = withGone(jobs, rang)
	}
	now, ref, named := d.jobs.Now(), in.Ref, in.Ref.ID != ""
	if found, err = d.ofIt(ctx, &w, jobs, rang); err != nil || len(found) > 0 {
		return found, rang, err
	}
	if found = withID(pool, ref.ID); !named {
		found, named, err = d.referred(ctx, w, jobs, pool, rang)
	}
	if err != nil {
		return nil, nil, err
	}
	all := found
	switch found = narrowed(all, pool, w, now); {
	case len(found) == 0 && len(all) > 0 && (ref.ID != "" || ref.Words != "") && !in.Maybe:
		q := d.which(w, all)
		q.Prompt = w.pick("It does not come at that time. Which one is meant?", "那个时间没有它。是哪一个？")
		return nil, nil, q
	case len(found) > 1 && !ref.All && !ref.Those:
		found = likely(in.Op, found, rang, now)
	case len(found) == 0 && !named && len(jobs) > 0 && reply == "":
		return nil, nil, d.which(w, likely(in.Op, jobs, rang, now))
	case len(found) == 0:
		return nil, nil, w.unknown(ref.Words, jobs)
	}
	return found, rang, nil
}

// referred are the jobs that a reference means, and whether it says which.
func (d *Desk) referred(ctx context.Context, w wish, jobs, pool []cron.Job, rang []rung) (found []cron.Job, named bool, err error) {
	in, now, ref := w.in, d.jobs.Now(), w.in.Ref
	switch {
	case ref.Those:
		found, err = d.those(ctx, w, jobs, rang)
	case ref.Order != 0:
		found = d.ordered(ctx, w, jobs, rang)
	case len(in.And) > 0:
		found, err = d.several(ctx, w, in.And)
	case ref.All && len(in.But) > 0:
		var but []cron.Job
		but, err = d.several(ctx, w, in.But)
		found = slices.DeleteFunc(slices.Clone(jobs), func(j cron.Job) bool { return len(withID(but, j.ID)) > 0 })
	case ref.All && in.Op == intent.Move && in.Part.Once: // today's
		for _, it := range between(jobs, in.Part.From, in.Part.To, now) {
			found = append(found, it.job)
		}
	case ref.All:
		found = jobs
	case ref.Paused:
		found = slices.DeleteFunc(slices.Clone(jobs), func(j cron.Job) bool { return !j.Paused })
	case ref.Number != 0:
		found, err = d.numbered(ctx, w, jobs, rang)
	case ref.Words != "":
		found = match(ref.Words, pool)
	case !ref.From.IsZero() && in.Op != intent.Done: // today's is what was spoken of
		for _, it := range between(jobs, ref.From, ref.To, now) {
			found = append(found, it.job)
		}
	case ref.Clock != "":
		found = pool
	case ref.Time != "" && in.Op != intent.Done:
		found = w.recurring(ref.Time, jobs, now)
	default:
		found, err = d.it(ctx, w, in.Op == intent.Snooze || in.Op == intent.Done || ref.Rang, pool, rang)
		return found, false, err
	}
	return found, true, err
}

// withGone are the jobs, and what came once and is gone.
func withGone(jobs []cron.Job, rang []rung) []cron.Job {
	all := slices.Clone(jobs)
	for _, r := range rang {
		if single(r.Job) && len(withID(jobs, r.Job.ID)) == 0 {
			all = append(all, r.Job)
		}
	}
	return all
}

// narrowed are those of found that all of a reference fits, and the message that
// is replied to.
func narrowed(found, pool []cron.Job, w wish, now time.Time) []cron.Job {
	ref := w.in.Ref
	if ref.Clock != "" {
		p, err := when.Parse(ref.Time, now, w.zone())
		repeats := err == nil && p.At.IsZero() // "every day at 9" is none that comes once
		found = slices.DeleteFunc(slices.Clone(found), func(j cron.Job) bool {
			fits := comesAt(j, ref.Clock, now) || w.in.Part.Clock != "" && !w.slot(&j, now).IsZero()
			return !fits || repeats && single(j)
		})
	}
	if !ref.From.IsZero() && w.in.From.IsZero() && (ref.ID != "" || ref.Words != "") {
		found = slices.DeleteFunc(slices.Clone(found), func(j cron.Job) bool { return len(between([]cron.Job{j}, ref.From, ref.To, now)) == 0 })
	}
	if it := withID(found, w.m.Reply); !ref.All && len(it) > 0 {
		return it
	} else if len(found) == 0 {
		return withID(pool, w.m.Reply)
	}
	return found
}

// unclear is a question about one of several: its answer would be for that one
// alone, so all of it has to be said again.
func (d *Desk) unclear(ctx context.Context, w Who, ref intent.Ref, q question) error {
	if ref.Number == 0 {
		return &Refusal{Kind: Unsure, Text: w.prompt(q).Text}
	}
	list, err := d.listed(ctx, w, time.Time{}, time.Time{})
	if err != nil {
		return err
	}
	return &Refusal{Kind: Unsure, Text: w.pick("these are the reminders now; which numbers?", "现在的提醒是这些，请再说一遍编号：") + "\n\n" + list.Text}
}

// lists is what stands between the names of several.
var lists = regexp.MustCompile(`(?i)\s*(?:[,，、;；&+]|\band\b|和|跟|以及|还有)\s*`)

// named are the parts of a list: "1, 2 and the gym", "1 2".
func named(words string) (parts []string) {
	if numbers := strings.Fields(words); strings.Trim(words, "0123456789# ") == "" {
		return numbers
	}
	for _, part := range lists.Split(words, -1) {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// meantAll is meant for what may be done to several; many says that several are
// named.
func (d *Desk) meantAll(ctx context.Context, w wish) (found []cron.Job, rang []rung, many bool, err error) {
	found, rang, err = d.meant(ctx, w)
	ref := w.in.Ref
	many = ref.All || (ref.Those || !ref.From.IsZero() && ref.ID == "" && ref.Words == "") && !ref.One
	parts := named(w.in.Ref.Words)
	if len(parts) < 2 || !errors.Is(err, cron.ErrNotFound) {
		return found, rang, many, err
	}
	var refs []intent.Ref
	for _, part := range parts {
		refs = append(refs, RefOf(part))
	}
	if found, err = d.several(ctx, w, refs); err != nil {
		return nil, nil, false, err
	}
	if rang, err = d.rang(ctx, w.Who, found); err != nil {
		return nil, nil, false, err
	}
	return found, rang, true, nil
}

// Find is the job that ref means: its id, its number in the list last shown, its
// name or a part of its text. The error is a *Refusal when that is none, or
// several.
func (d *Desk) Find(ctx context.Context, w Who, ref string) (cron.Job, error) {
	found, _, err := d.meant(ctx, wish{Who: w, in: intent.Intent{Ref: RefOf(ref)}})
	if q, asks := errors.AsType[*question](err); asks || len(found) > 1 {
		if !asks {
			q = d.which(wish{Who: w}, found)
		}
		err = &Refusal{Kind: Unsure, Text: w.prompt(*q).Text}
	}
	if err != nil {
		return cron.Job{}, d.refuse(w, err)
	}
	return found[0], nil
}

// place finds what is a place in a list and not the name of something: "two".
var place = regexp.MustCompile(`(?i)^#?\d+\.?$|\d(?:st|nd|rd|th)\b|第|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|最后|头一`)

// RefOf is which job a text means: its place in the list, "all", "it", or words
// of it.
func RefOf(text string) intent.Ref {
	text = strings.Trim(strings.TrimSpace(text), "\"'“”‘’`")
	n := intent.Place(text)
	switch low := strings.ToLower(text); {
	case text == "":
		return intent.Ref{}
	case oneOf(low, "all|everything|*|全部|所有"):
		return intent.Ref{All: true}
	case oneOf(low, "it|this|that|latest|这个|那个|它|刚才那个|最近一个"):
		return intent.Ref{Last: true}
	case n == -1 && place.MatchString(text):
		return intent.Ref{Last: true, Number: -1}
	case n != 0 && n < 10000 && place.MatchString(text): // an id may be of digits, too
		return intent.Ref{Number: n}
	}
	return intent.Ref{Words: text}
}

func withID(jobs []cron.Job, id string) []cron.Job {
	if i := slices.IndexFunc(jobs, func(j cron.Job) bool { return j.ID == id }); i >= 0 && id != "" {
		return jobs[i : i+1]
	}
	return nil
}

// likely keeps those of several for which the operation makes sense, if any.
func likely(op intent.Op, found []cron.Job, rang []rung, now time.Time) []cron.Job {
	kept := slices.DeleteFunc(slices.Clone(found), func(j cron.Job) bool {
		switch op {
		case intent.Pause:
			return j.Paused
		case intent.Resume:
			return !j.Paused
		case intent.Snooze, intent.Done:
			return !slices.ContainsFunc(rang, func(r rung) bool { return r.Job.ID == j.ID && now.Sub(r.Slot) < lately })
		}
		return next(j, now).IsZero()
	})
	if len(kept) == 0 {
		return found
	}
	return kept
}

// unknown says that there is no such job, and which ones are like it.
func (w Who) unknown(words string, jobs []cron.Job) error {
	r := &Refusal{Kind: Unknown, Err: cron.ErrNotFound, Text: w.pick("there is no such reminder in this chat", "这个会话里没有这个提醒")}
	if words = line(words, maxShown); words != "" {
		r.Text = fmt.Sprintf(w.pick("there is no reminder “%s” in this chat", "这个会话里没有“%s”这个提醒"), chat.Literal(words))
		for i, j := range nearest(words, jobs) {
			if i == 0 {
				r.Text += w.pick("; there are:", "，现有的是：")
			}
			r.Text += "\n- " + thing(j)
		}
	}
	return r
}

// whose says to whom a job belongs.
func (d *Desk) whose(w Who, j cron.Job) error {
	who := name(j.Maker)
	if p := j.For; p.ID != "" {
		who += w.pick(" and ", "和") + name(p)
	}
	return &Refusal{Kind: Forbidden, Err: cron.ErrNotYours, Text: fmt.Sprintf(w.pick("“%s” is the reminder of %s; only they, or an admin, may change it", "“%s”是 %s 的提醒，只有本人或管理员可以更改"), thing(j), who)}
}

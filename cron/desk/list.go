package desk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"magpie/chat"
	"magpie/cron"
	"magpie/cron/intent"
	"magpie/cron/when"
)

// maxListed is how many jobs a list shows.
const maxListed = 20

// item is a job with the time that is meant of it.
type listItem struct {
	job cron.Job
	at  time.Time
}

func items(jobs []cron.Job, now time.Time) (list []listItem) {
	for _, j := range jobs {
		list = append(list, listItem{j, next(j, now)})
	}
	return list
}

// between returns those that come from one time until before another.
func between(jobs []cron.Job, from, to, now time.Time) (list []listItem) {
	if from.Before(now) {
		from = now
	}
	for _, j := range jobs {
		if t := next(j, from.Add(-time.Second)); !j.Paused && !t.IsZero() && t.Before(to) {
			list = append(list, listItem{j, t})
		}
	}
	sort.SliceStable(list, func(a, b int) bool { return list[a].at.Before(list[b].at) })
	return list
}

// listed says what jobs the chat has, what comes next first; with a range those
// that come in it. Its numbers mean these jobs until another list is shown.
func (d *Desk) listed(ctx context.Context, w Who, from, to time.Time) (Said, error) {
	jobs, damaged, err := d.here(ctx, w)
	if err != nil {
		return Said{}, err
	}
	list, note, after := items(jobs, d.jobs.Now()), "", time.Time{}
	if !from.IsZero() {
		after = from.Add(-time.Second)
		list = between(jobs, from, to, d.jobs.Now())
	} else if damaged != "" {
		note = "\n\n" + w.pick("⚠️ Some entries are damaged and are left alone: ", "⚠️ 有损坏的记录，未作改动：") + damaged
	}
	if len(list) == 0 && from.IsZero() {
		return Said{Text: w.pick("There are no reminders in this chat.", "这个会话里没有提醒。") + note}, nil
	} else if len(list) == 0 {
		return Said{Text: w.pick("There are no reminders for that time.", "那段时间没有提醒。")}, nil
	}
	return d.show(ctx, w, list, shown{From: after}, note)
}

// more shows what the list last shown had no room for; the numbers go on. False
// when there is no such list.
func (d *Desk) more(ctx context.Context, w Who) (Said, bool, error) {
	seen, err := recall[shown](ctx, d.memory, w.room("shown"))
	if err != nil || seen.More <= 0 || d.jobs.Now().Sub(seen.At) > shownFor {
		return Said{}, false, err
	}
	jobs, _, err := d.here(ctx, w)
	var list []listItem
	for _, id := range seen.IDs[len(seen.IDs)-seen.More:] {
		it := listItem{job: cron.Job{ID: id}}
		if found := withID(jobs, id); len(found) > 0 {
			it = listItem{found[0], next(found[0], cmp.Or(seen.From, d.jobs.Now()))}
		}
		list = append(list, it)
	}
	if err != nil {
		return Said{}, true, err
	}
	said, err := d.show(ctx, w, list, seen, "")
	return said, true, err
}

// show words a list, or more of the one that was seen, and remembers it for
// numbers.
func (d *Desk) show(ctx context.Context, w Who, list []listItem, seen shown, note string) (Said, error) {
	first, now, fresh := len(seen.IDs)-seen.More, d.jobs.Now(), seen.More == 0
	var lines []string
	said := Said{}
	for i, it := range list {
		if fresh {
			seen.IDs = append(seen.IDs, it.job.ID)
		}
		if i < maxListed && it.job.Message != "" { // else it is gone since
			lines = append(lines, fmt.Sprintf("%d. %s", first+i+1, w.item(it, now)))
			said.Jobs = append(said.Jobs, it.job)
		}
	}
	if seen.At, seen.More = now, max(0, len(list)-maxListed); seen.More > 0 {
		lines = append(lines, fmt.Sprintf(w.pick("… and %d more of %d; say “more”", "……还有 %d 个（共 %d 个），说“更多”"), seen.More, len(seen.IDs)))
		said.Buttons = [][]Button{{button(w.pick("More", "更多"), press{Do: intent.AskMore, ID: intent.AskMore})}}
	}
	said.Text = strings.Join(lines, "\n") + note
	if err := d.showed(ctx, w, seen); err != nil {
		return Said{}, err
	}
	if len(seen.IDs) > 1 {
		return said, nil
	}
	j := list[0].job
	said.Buttons = w.alone(j)
	return said, d.spoken(ctx, w, "", j.ID)
}

// showed makes jobs the list that numbers mean.
func (d *Desk) showed(ctx context.Context, w Who, seen shown) error {
	_, err := remember(ctx, d.memory, w.room("shown"), answeredFor, func(old *shown) { *old = seen })
	return err
}

// alone are the buttons under one job that is shown.
func (w Who) alone(j cron.Job) [][]Button {
	if !w.may(j) {
		return nil
	}
	rows := w.offers(j)
	flip := button(w.pick("Pause", "暂停"), press{Do: string(intent.Pause), ID: j.ID})
	if j.Paused {
		flip = button(w.pick("Resume", "恢复"), press{Do: string(intent.Resume), ID: j.ID})
	}
	rows[0] = append(rows[0], flip)
	return rows
}

// item is one line of a list.
func (w Who) item(it listItem, now time.Time) string {
	j, lead := it.job, w.soon(it.at, now)
	switch {
	case j.Paused:
		lead = w.pick("paused", "已暂停")
	case it.at.IsZero() && j.UnderWay():
		lead = w.pick("on its way", "发送中")
	case it.at.IsZero():
		lead = w.pick("over", "已过")
	}
	text := lead + w.pick(" – ", "：") + sign(j) + thing(j)
	if n := len(j.Runs); n > 0 && (j.Over() || j.Runs[n-1].Result == cron.Failed) {
		text += w.pick(" (last: ", "（上次：") + w.last(j) + w.pick(")", "）")
	}
	if !single(j) || j.Paused {
		text += w.pick(" (", "（") + w.when(phrase(j.Schedule), now) + w.pick(")", "）")
	}
	if who := owner(j); !w.Direct && !w.is(who) && who.ID != "" {
		text += w.pick(", for ", "，") + name(who)
	}
	return text
}

// query answers what is asked about the reminders.
func (d *Desk) query(ctx context.Context, w wish) (Said, error) {
	in, now := w.in, d.jobs.Now()
	jobs, _, err := d.here(ctx, w.Who)
	if err != nil {
		return Said{}, err
	}
	coming := slices.DeleteFunc(items(jobs, now), func(it listItem) bool { return it.job.Paused || it.at.IsZero() })
	var lines []string
	switch in.What {
	case intent.AskWatch:
		return d.watch(ctx, w)
	case intent.AskMissed:
		return d.missed(ctx, w.Who, jobs)
	case intent.AskNext:
		coming = coming[:min(1, len(coming))]
	case intent.AskLeft, intent.AskWhen:
		if in.Ref == (intent.Ref{}) && w.m.Reply == "" && in.What == intent.AskLeft {
			timers := slices.DeleteFunc(slices.Clone(coming), func(it listItem) bool { return !oneOf(it.job.Name, "timer|alarm|计时器|闹钟") })
			if len(timers) == 0 {
				lines = append(lines, w.pick("No timer is running; start one with “timer 25 minutes”.", "没有正在走的倒计时；要开始就说“倒计时25分钟”。"))
			}
			if coming = coming[:min(1, len(coming))]; len(timers) > 0 || in.Timer {
				coming = timers[:min(1, len(timers))]
			}
			break
		}
		found, _, err := d.meant(ctx, w)
		if err != nil {
			return Said{}, err
		}
		coming = items(found, now)
	case intent.AskMore:
		said, there, err := d.more(ctx, w.Who)
		if err == nil && !there {
			return d.listed(ctx, w.Who, in.From, in.To)
		}
		return said, err
	default:
		return d.listed(ctx, w.Who, in.From, in.To)
	}
	said := Said{}
	for _, it := range coming {
		text := w.item(it, now)
		if in.What == intent.AskLeft && !it.at.IsZero() && !it.job.Paused {
			text = fmt.Sprintf(w.pick("%s left: %s (%s)", "还有%s：%s（%s）"), w.length(it.at.Sub(now)), thing(it.job), w.clock(it.at))
		}
		lines, said.Jobs = append(lines, text), append(said.Jobs, it.job)
	}
	if said.Text = strings.Join(lines, "\n"); said.Text == "" {
		said.Text = w.pick("No reminder is coming.", "没有要来的提醒。")
	}
	if len(coming) == 1 {
		if err = d.spoken(ctx, w.Who, "", coming[0].job.ID); in.What == intent.AskWhen {
			said.Buttons = w.alone(coming[0].job)
		}
	}
	return said, err
}

// missed says what came late or not at all since yesterday.
func (d *Desk) missed(ctx context.Context, w Who, jobs []cron.Job) (Said, error) {
	now := d.jobs.Now()
	y, mo, day := now.In(w.zone()).Date()
	since := time.Date(y, mo, day-1, 0, 0, 0, 0, w.zone())
	var list []listItem
	lines := map[string]string{}
	note := func(j cron.Job, slot time.Time, what string) {
		if _, known := lines[cron.SlotID(j.ID, slot)]; !known && !slot.Before(since) {
			list = append(list, listItem{j, slot})
			lines[cron.SlotID(j.ID, slot)] = w.soon(slot, now) + w.pick(" – ", "：") + thing(j) + w.pick(" (", "（") + what + w.pick(")", "）")
		}
	}
	for _, j := range jobs {
		for _, r := range j.Runs {
			if r.Late || r.Result == cron.Failed || r.Result == cron.Skipped {
				note(j, r.Slot, w.result(r, ""))
			}
		}
	}
	rang, err := d.rang(ctx, w, nil)
	if err != nil {
		return Said{}, err
	}
	for _, r := range rang {
		if r.Late {
			note(r.Job, r.Slot, w.pick("late", "迟到"))
		}
	}
	if len(list) == 0 {
		return Said{Text: w.pick("Nothing was missed since yesterday.", "从昨天到现在没有错过的提醒。")}, nil
	}
	sort.SliceStable(list, func(a, b int) bool { return list[a].at.Before(list[b].at) })
	var text []string
	for _, it := range list {
		text = append(text, lines[cron.SlotID(it.job.ID, it.at)])
	}
	return Said{Text: strings.Join(text, "\n")}, nil
}

// damagedIDs names the entries so that an admin can remove them.
func damagedIDs(err error) string {
	var ids []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if _, rest, ok := strings.Cut(line, `job "`); ok {
			key, _, _ := strings.Cut(rest, `"`)
			ids = append(ids, key[strings.LastIndexByte(key, '.')+1:])
		}
	}
	return strings.Join(ids, ", ")
}

// removeDamaged takes away an entry that cannot be read.
func (d *Desk) removeDamaged(ctx context.Context, w Who, id string) bool {
	_, err := d.jobs.Get(ctx, w.Addr, id)
	return errors.Is(err, cron.ErrCorrupt) && d.jobs.Remove(ctx, w.Addr, id, w.by()) == nil
}

// Shown is a job in words, for lists of an operator.
type Shown struct {
	Title string `json:"title"`          // a sign for its mode, its name and its text, cut
	When  string `json:"when"`           // with the next time and the zone
	Last  string `json:"last,omitempty"` // what became of the latest slot
}

// Show words a job.
func (d *Desk) Show(w Who, j cron.Job) Shown {
	title := sign(j) + chat.Unliteral(thing(j))
	if j.Mode != cron.Agent {
		title = "⏰ " + title
	}
	return Shown{Title: title, When: w.timing(j, d.jobs.Now()), Last: chat.Unliteral(w.last(j))}
}

// timing says when a job comes, with its next time and its zone.
func (w Who) timing(j cron.Job, now time.Time) string {
	p := phrase(j.Schedule)
	words := when.Words(p, w.Lang)
	next, err := cron.Next(j, now)
	switch {
	case j.Paused:
		return words + w.pick(" (paused)", "（已暂停）")
	case j.Over() && j.UnderWay() && j.Mode == cron.Agent:
		return words + w.pick(" (running)", "（执行中）")
	case j.Over() && j.UnderWay():
		return words + w.pick(" (on its way)", "（发送中）")
	case j.Over():
		return words + w.pick(" (over)", "（已过）")
	case err != nil || next.IsZero():
		return words
	case p.Every > 0:
		return when.Describe(p, next.Add(-p.Every), w.Lang)
	case j.LastSlot.After(now):
		now = j.LastSlot
	}
	return when.Describe(p, now, w.Lang)
}

// last says what became of the latest slot, "" when there was none.
func (w Who) last(j cron.Job) string {
	if len(j.Runs) == 0 {
		return ""
	}
	r := j.Runs[len(j.Runs)-1]
	return w.result(r, r.Slot.In(zoneOf(j.Schedule)).Format(" 2006-01-02 15:04"))
}

// result says what became of a slot.
func (w Who) result(r cron.Run, when string) string {
	text := map[cron.Result]string{
		cron.Delivered: w.pick("delivered", "已送达"), cron.Done: w.pick("done", "已完成"), cron.Failed: w.pick("failed", "失败"),
		cron.Skipped: w.pick("skipped", "已跳过"), cron.Sent: w.pick("sent", "已发出"),
	}[r.Result] + when
	if r.Late {
		text += w.pick(" late", "（迟到）")
	}
	if r.Err != "" {
		text += w.pick(" (", "（") + plain(r.Err, maxShown) + w.pick(")", "）")
	}
	return text
}

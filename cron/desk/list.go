package desk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"magpie/cron"
	"magpie/cron/when"
)

// List says what jobs the chat has: a number and an id for each, when it comes
// next in words and with zone, and what became of it last. Entries that are
// damaged are counted.
func (d *Desk) List(ctx context.Context, w Who) (string, error) {
	jobs, err := d.jobs.List(ctx, w.Addr)
	damaged := errors.Is(err, cron.ErrCorrupt)
	if err != nil && !damaged {
		return "", err
	}
	var b strings.Builder
	if len(jobs) == 0 && !damaged {
		return w.pick("there are no reminders in this chat", "这个会话里没有提醒"), nil
	}
	now := d.jobs.Now()
	fmt.Fprintf(&b, w.pick("%d in this chat:\n", "此会话共 %d 个提醒：\n"), len(jobs))
	for i, j := range jobs {
		fmt.Fprintf(&b, "\n%d. %s", i+1, w.line(j, now))
	}
	if damaged {
		b.WriteString("\n\n" + w.pick("⚠️ Some entries are damaged and are left alone: ", "⚠️ 有损坏的记录，未作改动：") + damagedIDs(err))
	}
	return b.String(), nil
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

// Shown is a job in words.
type Shown struct {
	Title string `json:"title"`          // a sign for its mode, its name and its text, cut
	When  string `json:"when"`           // with the next time and the zone
	Last  string `json:"last,omitempty"` // what became of the latest slot
}

// Show words a job.
func (d *Desk) Show(w Who, j cron.Job) Shown { return w.show(j, d.jobs.Now()) }

func (w Who) show(j cron.Job, now time.Time) Shown {
	return Shown{Title: w.title(j), When: w.timing(j, now), Last: w.last(j)}
}

// line is one job of a list.
func (w Who) line(j cron.Job, now time.Time) string {
	var b strings.Builder
	shown := w.show(j, now)
	b.WriteString(shown.Title + w.pick(" – ", "：") + shown.When)
	if shown.Last != "" {
		b.WriteString(w.pick("; last: ", "；上次：") + shown.Last)
	}
	if who := maker(j); who != "" && j.Maker.ID != w.Sender.ID {
		b.WriteString(w.pick("; by ", "；创建者：") + who)
	}
	b.WriteString(w.pick("; id: ", "；id: ") + j.ID)
	return b.String()
}

// maker names who made a job.
func maker(j cron.Job) string {
	if j.Maker.Name != "" {
		return plain(j.Maker.Name, 40)
	}
	return plain(j.Maker.ID, 40)
}

// maxShown is how much of a message is shown, in runes.
const maxShown = 80

// title is what a job is about.
func (w Who) title(j cron.Job) string {
	sign := "⏰ "
	if j.Mode == cron.Agent {
		sign = "⚙️ "
	}
	if j.Name != "" {
		sign += plain(j.Name, maxShown) + w.pick(": ", "：")
	}
	return sign + plain(j.Message, maxShown)
}

// plain makes one short line of a text.
func plain(text string, limit int) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '`'
	}), " ")
	if r := []rune(text); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return text
}

// timing says when a job comes, with its next time and its zone.
func (w Who) timing(j cron.Job, now time.Time) string {
	zone, err := when.Zone(j.Schedule.Zone)
	if err != nil {
		zone = time.UTC
	}
	p := when.Phrase{Every: j.Schedule.Every, Cron: j.Schedule.Cron, Zone: zone}
	if !j.Schedule.At.IsZero() {
		p.At = j.Schedule.At.In(zone)
	}
	next, err := cron.Next(j, now)
	switch {
	case j.Paused:
		return when.Words(p, w.Lang) + w.pick(" (paused)", "（已暂停）")
	case j.Over() && j.UnderWay() && j.Mode == cron.Agent:
		return when.Words(p, w.Lang) + w.pick(" (running)", "（执行中）")
	case j.Over() && j.UnderWay():
		return when.Words(p, w.Lang) + w.pick(" (on its way)", "（发送中）")
	case j.Over():
		return when.Words(p, w.Lang) + w.pick(" (over)", "（已过）")
	case err != nil || next.IsZero():
		return when.Words(p, w.Lang)
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
	zone, err := when.Zone(j.Schedule.Zone)
	if err != nil {
		zone = time.UTC
	}
	text := ""
	switch r.Result {
	case cron.Delivered:
		text = w.pick("delivered", "已送达")
	case cron.Done:
		text = w.pick("done", "已完成")
	case cron.Failed:
		text = w.pick("failed", "失败")
	case cron.Skipped:
		text = w.pick("skipped", "已跳过")
	default:
		text = w.pick("sent", "已发出")
	}
	text += " " + r.Slot.In(zone).Format("2006-01-02 15:04")
	if r.Late {
		text += w.pick(" late", "（迟到）")
	}
	if r.Err != "" {
		text += w.pick(" (", "（") + plain(r.Err, maxShown) + w.pick(")", "）")
	}
	return text
}

// added repeats what was understood.
func (w Who) added(j cron.Job, now time.Time) string {
	text := w.pick("I will remind you: ", "到时我会提醒：")
	if j.Mode == cron.Agent {
		text = w.pick("I will do this then: ", "到时我会执行：")
	}
	return text + plain(j.Message, 2*maxShown) + "\n\n" + w.pick("- when: ", "- 时间：") + w.timing(j, now) + "\n- id: " + j.ID
}

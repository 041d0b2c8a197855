package desk

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"magpie/chat"
	"magpie/cron"
	"magpie/cron/intent"
	"magpie/cron/when"
)

// maxShown is how much of a message is shown, in runes.
const maxShown = 80

// line makes one short line of a text.
func line(text string, limit int) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	}), " ")
	if r := []rune(text); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return text
}

// plain is line as it stands in an answer, which is Markdown: it shows the text
// as it was written.
func plain(text string, limit int) string { return chat.Literal(line(text, limit)) }

// thing is what a job is about.
func thing(j cron.Job) string {
	if j.Name != "" && j.Name != j.Message {
		return plain(j.Name, maxShown) + ": " + plain(j.Message, maxShown)
	}
	return plain(j.Message, maxShown)
}

func sign(j cron.Job) string {
	if j.Mode == cron.Agent {
		return "⚙️ "
	}
	return ""
}

// owner is whom a job is for.
func owner(j cron.Job) cron.Person {
	if p := j.For; p.ID != "" {
		return p
	}
	return j.Maker
}

func name(p cron.Person) string {
	if p.Name != "" {
		return plain(p.Name, 40)
	}
	return plain(p.ID, 40)
}

// soon is a moment as people say it, with seconds when it is very near.
func (w Who) soon(t, now time.Time) string {
	text := when.Soon(t, now, w.zone(), w.Lang)
	if ahead := t.Sub(now); ahead < 0 || ahead >= 2*time.Minute {
		return withSeconds.ReplaceAllString(text, "$1")
	}
	return text
}

var withSeconds = regexp.MustCompile(`\b(\d\d:\d\d):\d\d\b`)

func (w Who) clock(t time.Time) string { return t.In(w.zone()).Format("15:04") }

// when says a moment, or how something repeats. The zone is named where it is
// not that of the chat.
func (w Who) when(p when.Phrase, now time.Time) string {
	if !p.At.IsZero() {
		text := w.soon(p.At, now)
		if there := when.There(p.At, p.Zone, w.zone(), w.Lang); there != "" {
			text += w.pick(" ("+there+")", "（"+there+"）")
		}
		return text
	}
	text := when.Words(p, w.Lang)
	if p.Zone != nil && p.Zone.String() != w.zone().String() {
		return text
	}
	return strings.NewReplacer(" ("+w.zone().String()+")", "", "（"+w.zone().String()+"）", "").Replace(text)
}

// length says how long something is, in its two largest parts.
func (w Who) length(d time.Duration) string {
	if d >= 2*time.Minute {
		d = d.Truncate(time.Minute)
	}
	return w.parts(d, 2)
}

// parts says how long something is, in so many of its largest parts.
func (w Who) parts(d time.Duration, most int) string {
	var en, zh []string
	for _, p := range []struct {
		unit   time.Duration
		en, zh string
	}{{24 * time.Hour, "day", "天"}, {time.Hour, "hour", "小时"}, {time.Minute, "minute", "分钟"}, {time.Second, "second", "秒"}} {
		n := d / p.unit
		if d -= n * p.unit; n == 0 || len(en) == most {
			continue
		}
		if n > 1 {
			p.en += "s"
		}
		en, zh = append(en, fmt.Sprint(int(n), " ", p.en)), append(zh, fmt.Sprint(int(n), p.zh))
	}
	if len(en) == 0 {
		return w.pick("a moment", "一会儿")
	}
	return w.pick(strings.Join(en, " "), strings.Join(zh, ""))
}

// comes says when a job comes, first how it repeats; and what is to be said
// behind it: the next time, the last one, how it nags.
func (w Who) comes(j cron.Job, now time.Time) (lead, behind string) {
	lead = w.when(phrase(j.Schedule), now)
	say := func(en, zh, what string) { behind += w.pick(" "+en+what+".", "。"+zh+what) }
	if !single(j) && !j.Paused {
		if t := next(j, now); !t.IsZero() {
			say("Next: ", "下次：", w.soon(t, now))
		}
		if t := end(j, now); !t.IsZero() {
			say("The last time: ", "最后一次：", w.soon(t, now))
		}
	}
	if j.Paused {
		behind += w.pick(" It is paused.", "。现在是暂停状态")
	}
	if nag := j.Nag; nag > 0 {
		say("Again every ", "之后每", w.length(nag)+w.pick(" until you say done", "再提醒一次，直到你说完成"))
	}
	return lead, behind
}

// maxSlots bounds the search for the end of a rule.
const maxSlots = 400

// end is the last time of a job that has an end, unless it is far away.
func end(j cron.Job, now time.Time) (last time.Time) {
	if rule := j.Schedule.Rule; !strings.Contains(rule, "UNTIL=") && !strings.Contains(rule, "COUNT=") {
		return last
	}
	for t, n := next(j, now), 0; n < maxSlots; n++ {
		if t.IsZero() {
			return last
		}
		last, t = t, next(j, t)
	}
	return time.Time{}
}

// heads word what was done: %s is when, and what.
func heads() map[intent.Op]when.Text {
	return map[intent.Op]when.Text{
		"":            {English: "OK, %s: %s", Chinese: "好的，%s提醒你：%s"},
		"task":        {English: "OK, I will do this %s: %s", Chinese: "好的，%s我会执行：%s"},
		"this":        {English: "OK, only the next time, %s: %s", Chinese: "好的，只改这一次，%s：%s"},
		intent.Move:   {English: "OK, now %s: %s", Chinese: "好的，改为%s：%s"},
		intent.Add:    {English: "OK, %s: %s", Chinese: "好的，%s提醒你：%s"},
		intent.Repeat: {English: "OK, now %s: %s", Chinese: "好的，改为%s：%s"},
		intent.End:    {English: "OK, now %s: %s", Chinese: "好的，改为%s：%s"},
		intent.Once:   {English: "OK, only once now, %s: %s", Chinese: "好的，只提醒一次，%s：%s"},
		intent.Text:   {English: "OK, %s: %s", Chinese: "好的，%s提醒你：%s"},
		intent.Rename: {English: "OK, %s: %s", Chinese: "好的，%s提醒你：%s"},
		intent.Snooze: {English: "OK, again %s: %s", Chinese: "好的，%s再提醒你：%s"},
		intent.Remove: {English: "Cancelled (%s): %s", Chinese: "已取消（%s）：%s"},
		intent.Pause:  {English: "Paused (%s): %s", Chinese: "已暂停（%s）：%s"},
		intent.Resume: {English: "It goes on, %s: %s", Chinese: "已恢复，%s：%s"},
		intent.Run:    {English: "It comes now: %[2]s", Chinese: "现在发送：%[2]s"},
		intent.Done:   {English: "Done: %[2]s", Chinese: "完成了：%[2]s"},
		"restore":     {English: "It is as it was, %s: %s", Chinese: "已恢复原样，%s：%s"},
		"gone":        {English: "Taken back, it does not come: %[2]s", Chinese: "已撤销，不再提醒：%[2]s"},
	}
}

// many are the heads of several jobs: %d is how many.
func many() map[intent.Op]when.Text {
	return map[intent.Op]when.Text{
		"":            {English: "OK, %d reminders:", Chinese: "好的，%d 个提醒："},
		intent.Remove: {English: "Cancelled %d reminders:", Chinese: "已取消 %d 个提醒："},
		intent.Skip:   {English: "Left out, of %d reminders:", Chinese: "已跳过 %d 个提醒："},
		intent.Done:   {English: "Done, %d reminders:", Chinese: "%d 个提醒都完成了："},
		intent.Pause:  {English: "Paused %d reminders:", Chinese: "已暂停 %d 个提醒："},
		intent.Resume: {English: "%d reminders go on:", Chinese: "已恢复 %d 个提醒："},
		"gone":        {English: "Taken back, %d reminders do not come:", Chinese: "已撤销，这 %d 个提醒不会再来："},
		intent.Undo:   {English: "Taken back, %d reminders are as they were:", Chinese: "已撤销，%d 个提醒恢复原样："},
	}
}

// worded says what was done. What a change makes and what it leaves out are
// two outcomes, and one answer.
func (w Who) worded(todo deed, all []outcome, undoable bool, now time.Time) Said {
	said := Said{}
	for i, op := range todo.Acts {
		did := slices.DeleteFunc(slices.Clone(all), func(o outcome) bool { return o.act != i })
		one := w.worded(deed{Op: op, Seed: todo.Seed}, did, undoable, now)
		said.Text = strings.TrimPrefix(said.Text+"\n"+one.Text, "\n")
		said.Jobs, said.Buttons = append(said.Jobs, one.Jobs...), one.Buttons
	}
	if len(todo.Acts) > 0 {
		return said
	}
	out := main(all)
	if back := restored(all); todo.Undoes != "" && len(back) > 0 {
		out = back // what the change had made is gone, and no reminder
	}
	for _, o := range all {
		if undoable || o.do != string(intent.Done) { // an acknowledgement changes nothing
			said.Jobs = append(said.Jobs, o.job)
		}
	}
	undo := []Button{button(w.pick("Undo", "撤销"), press{Do: string(intent.Undo), ID: todo.Seed})}
	switch {
	case len(out) == 0:
		said.Text = w.pick("There was nothing left to do.", "没有需要做的了。")
		return said
	case len(out) == 1:
		said.Text = w.sentence(todo, out[0], len(all) > 1 && (all[1].do == string(intent.Skip) || all[1].do == "set"), now)
	default:
		head, ok := many()[todo.Op]
		if !ok {
			head = many()[""]
		}
		if todo.Undoes != "" && len(restored(out)) == 0 {
			head = many()["gone"]
		}
		said.Text = fmt.Sprintf(head.In(w.Lang), len(out))
		said.Text += w.dashed(len(out), func(i int) string {
			if todo.Op == intent.Done {
				return thing(out[i].job)
			}
			lead := w.when(phrase(out[i].job.Schedule), now)
			if len(out[i].out) > 0 {
				lead = w.slots(out[i].out, now)
			}
			return lead + w.pick(" – ", "：") + thing(out[i].job)
		})
	}
	switch {
	case todo.Op == "" && len(out) == 1:
		said.Buttons = w.offers(out[0].job)
	case undoable && todo.Undoes == "":
		said.Buttons = [][]Button{undo}
	}
	return said
}

// main are the outcomes that are told: what a change makes stands for what it
// leaves out.
func main(all []outcome) []outcome {
	if len(all) > 1 && all[0].do == "add" && all[1].do != "add" {
		return all[:1]
	}
	return all
}

// restored are those that are as they were.
func restored(all []outcome) []outcome {
	return slices.DeleteFunc(slices.Clone(all), func(o outcome) bool { return o.do != "restore" })
}

// dashed are so many lines below a text; of a long list the first ones.
func (w Who) dashed(count int, line func(i int) string) (text string) {
	for i := range min(count, maxListed) {
		text += "\n- " + line(i)
	}
	if more := count - maxListed; more > 0 {
		text += fmt.Sprintf(w.pick("\n… and %d more", "\n……还有 %d 个"), more)
	}
	return text
}

// offers are the buttons under one job.
func (w Who) offers(j cron.Job) [][]Button {
	return [][]Button{{button(w.pick("Cancel", "取消"), press{Do: string(intent.Remove), ID: j.ID}), button(w.pick("Other time", "改时间"), press{Do: "time", ID: j.ID})}}
}

// sentence says what became of one job.
func (w Who) sentence(todo deed, o outcome, thisTime bool, now time.Time) string {
	lead, behind := w.comes(o.job, now)
	op := todo.Op
	if op == intent.Remove && len(o.out) > 0 && o.do != string(intent.Remove) {
		op = intent.Skip
	}
	switch {
	case o.do == "add" && o.job.Mode == cron.Agent:
		op = "task"
	case thisTime:
		op = "this"
	case (op == intent.Snooze || op == intent.Remove || op == intent.Skip && len(o.out) == 0) && o.do == "set": // it has not come yet; others stay
		op = intent.Move
	case o.do == "restore":
		op = "restore"
	case todo.Undoes != "":
		op = "gone"
	case op == intent.Skip && o.do == string(intent.Remove):
		op = intent.Remove // it came only once
	case op == intent.Skip:
		text := fmt.Sprintf(w.pick("Left out: %s", "跳过%s"), w.slots(o.out, now)) + w.pick(" – ", "：") + thing(o.job)
		return text + stop(text, w.Lang) + behind
	}
	if op == intent.Remove || op == intent.Pause || op == intent.Done || op == intent.Run || op == "gone" {
		behind = ""
	}
	head := heads()[op].In(w.Lang)
	if strings.ContainsAny(head, "(（") { // none in each other
		lead = strings.NewReplacer(" (", ", ", ")", "", "（", "，", "）", "").Replace(lead)
	}
	if who := owner(o.job); !w.Direct && who.ID != "" {
		if head = strings.Replace(head, "你", " "+name(who), 1); op == "" || op == intent.Snooze {
			lead += w.pick(", for "+name(who), "")
		}
	}
	if last, _ := utf8.DecodeLastRuneInString(lead); unicode.IsDigit(last) {
		head = strings.NewReplacer("%s提", "%s 提", "%s我", "%s 我", "%s再", "%s 再").Replace(head)
	}
	what := thing(o.job)
	if op != "task" {
		what = sign(o.job) + what
	}
	text := fmt.Sprintf(head, lead, what)
	return text + stop(text, w.Lang) + behind
}

// stop ends an English sentence that has no end.
func stop(text, lang string) string {
	last, _ := utf8.DecodeLastRuneInString(text)
	if unicode.IsPunct(last) && last != ')' && last != '"' && last != '”' {
		return ""
	}
	return when.Text{English: "."}.In(lang)
}

package desk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"magpie/chat"
	"magpie/cron"
	"magpie/cron/intent"
)

// question is what somebody is asked back. It is an error to whoever wanted to
// know what to do.
type question struct {
	ID      string
	Until   time.Time
	Taken   string // by the message that answered it
	Timer   string // the hidden job that says aloud that nobody answered
	Prompt  string
	Lapse   string `json:",omitempty"` // what is said then
	Choices []choice
	// Message is what is asked about. With the time and the zone of its words a
	// free answer is read; zero: only a choice is one.
	Message Message
	At      time.Time
	Zone    string
	// A chosen job goes on with Intent; a free time is one for Job.
	Intent intent.Intent
	Job    string
}

// choice is one answer.
type choice struct {
	Label string
	Keys  string // words that mean it, beside its label
	Deed  *deed  // nil: leave all as it is
	Job   string
	At    time.Time `json:",omitzero"` // the time that it is about, where it keeps others
}

// noted is a question for which another one is dropped.
type noted struct {
	*question
	note string
}

// Unwrap gives the question alone.
func (n noted) Unwrap() error { return n.question }

// Error returns what is asked.
func (q *question) Error() string { return q.Prompt }

func (w Who) yesNo(label string, todo *deed) []choice {
	return []choice{{Label: label, Keys: yes, Deed: todo}, {Label: w.pick("No", "不用"), Keys: no}}
}

// jobs are those of which a question lets one choose.
func (q *question) jobs() (ids []string) {
	for _, c := range q.Choices {
		if c.Job != "" {
			ids = append(ids, c.Job)
		}
	}
	return ids
}

// about are those that a question is about: also the ones of "really remove all".
func (q *question) about() []string {
	ids := q.jobs()
	for _, c := range q.Choices {
		for i := 0; c.Deed != nil && q.Intent.Op == c.Deed.Op && i < len(c.Deed.Steps); i++ {
			ids = append(ids, c.Deed.Steps[i].ID)
		}
	}
	return ids
}

// makes says that a question is about something new.
func (q *question) makes() bool {
	return q.Job == "" && (len(q.Choices) == 0 || q.Choices[0].Deed != nil && q.Choices[0].Deed.Op == "")
}

func (q *question) yesNo() bool { return len(q.Choices) == 2 && q.Choices[0].Keys == yes }

// orSome lets an answer to "really change all" mean some of them: "only the gym".
func (w wish) orSome(err error) error {
	if q, is := errors.AsType[*question](err); is && q.Intent.Op == "" && w.in.Op != intent.Done {
		q.Intent = w.in
	}
	return err
}

// maxChoices are shown, the first of them as buttons.
const (
	maxChoices = 20
	maxButtons = 6
)

// which asks which of several is meant.
func (d *Desk) which(w wish, jobs []cron.Job) *question {
	q := &question{Prompt: w.pick("Which one?", "是哪一个？"), Intent: w.in, Message: w.m}
	q.Intent.Times, q.Intent.Question = nil, nil
	now := d.jobs.Now()
	for _, it := range items(jobs[:min(maxChoices, len(jobs))], now) {
		q.Choices = append(q.Choices, choice{Label: w.item(it, now), Job: it.job.ID})
	}
	if left := len(jobs) - maxChoices; left > 0 {
		q.Prompt += fmt.Sprintf(w.pick(" These are the next %d, or one of the other %d by what it is about:", "下面是最近的 %d 个；另外 %d 个可以直接说它的内容："), maxChoices, left)
	}
	return q
}

// oneOfAll words about one reminder what is said of several.
var oneOfAll = strings.NewReplacer("all %d", "this", "these %d", "this", "全部 %d 个", "这个", "这 %d 个", "这次")

// sure asks whether that is really meant.
func (d *Desk) sure(w Who, todo *deed, jobs []cron.Job) error {
	ask, named := map[intent.Op]string{
		intent.Remove: w.pick("Really remove all %d?", "真的要删除全部 %d 个提醒吗？"),
		intent.Pause:  w.pick("Really pause all %d?", "真的要暂停全部 %d 个提醒吗？"),
		intent.Resume: w.pick("Really resume all %d?", "真的要恢复全部 %d 个提醒吗？"),
		intent.Skip:   w.pick("Really leave out these %d?", "真的要跳过这 %d 个提醒吗？"),
		intent.Undo:   w.pick("Really take back the change of all %d?", "真的要撤销对全部 %d 个提醒的更改吗？"),
	}[todo.Op]
	if !named {
		ask = w.pick("Really change all %d?", "真的要更改全部 %d 个提醒吗？")
	}
	if len(jobs) == 1 {
		ask = oneOfAll.Replace(ask)
	} else {
		ask = fmt.Sprintf(ask, len(jobs))
	}
	q := &question{Prompt: ask, Choices: w.yesNo(w.pick("Yes", "确定"), todo)}
	if named { // an answer may mean some of them
		q.Intent = intent.Intent{Kind: intent.Change, Op: todo.Op}
	}
	now := d.jobs.Now()
	q.Prompt += w.dashed(len(jobs), func(i int) string {
		k := slices.IndexFunc(todo.Steps, func(s step) bool { return s.ID == jobs[i].ID })
		if k > 0 && todo.Steps[k-1].Do == "add" { // it comes once at another time
			k--
		}
		switch s := todo.Steps[max(k, 0)]; {
		case len(s.Slots) > 0:
			return w.slots(s.Slots, now) + w.pick(" – ", "：") + thing(jobs[i])
		case s.Job.Schedule != (cron.Schedule{}):
			return w.when(phrase(s.Job.Schedule), now) + w.pick(" – ", "：") + thing(jobs[i])
		}
		return thing(jobs[i])
	})
	return q
}

// orAsk takes the last change back, or asks whether that is meant: "undo what?".
func (d *Desk) orAsk(ctx context.Context, w wish, seed string) (*deed, error) {
	undone, err := d.undoing(ctx, w, "", seed)
	if err != nil || !w.in.Asks && (w.in.Ref.Words == "" || len(undone.Steps) < 3) { // of several only one is named
		return undone, err
	}
	var jobs []cron.Job
	for _, s := range undone.Steps {
		j, err := recall[cron.Job](ctx, d.memory, w.room("was", undone.Undoes, s.ID))
		if err == nil && j.ID == "" {
			j, err = d.jobs.Get(ctx, w.Addr, s.ID)
		}
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return nil, d.sure(w.Who, undone, jobs)
}

// otherTime asks when a job shall come instead, or once more if it is gone.
func (d *Desk) otherTime(ctx context.Context, w Who, id string) error {
	found, _, err := d.meant(ctx, wish{Who: w, in: intent.Intent{Op: intent.Snooze, Ref: intent.Ref{Words: id}}})
	if err != nil {
		return err
	}
	if !w.may(found[0]) {
		return d.whose(w, found[0])
	}
	q := &question{Job: id, Intent: intent.Intent{Kind: intent.Change, Op: intent.Move}}
	q.Prompt = fmt.Sprintf(w.pick("When shall “%s” come? Say for example: tomorrow at 9:00", "“%s”改到什么时候？例如：明天上午9点"), thing(found[0]))
	if next(found[0], d.jobs.Now()).IsZero() {
		q.Intent.Op = intent.Snooze
	}
	if err := d.spoken(ctx, w, "", id); err != nil {
		return err
	}
	return q
}

// missing asks for what an intent does not say.
func (d *Desk) missing(ctx context.Context, w wish, seed string) error {
	in, now := w.in, d.jobs.Now()
	if in.Question.Missing == intent.MissRef && in.Op != "" {
		w.in.Kind = intent.Change
		jobs, _, err := d.here(ctx, w.Who)
		switch {
		case err != nil:
			return err
		case len(jobs) == 0:
			return w.unknown("", nil)
		}
		return d.which(w, jobs)
	}
	q := &question{Prompt: in.Question.Text.In(w.Lang), Message: w.m}
	q.Message.Task = w.m.Task || in.Task
	if w.m.Command && in.Question.Missing == intent.MissTime && len(in.Question.Choices) == 0 {
		q.Prompt += w.pick(" Say for example: tomorrow at 9:00, in 20 minutes, every weekday at 09:00", "可以说：明天上午9点、20分钟后、每个工作日 09:00")
	}
	if w.m.Text != "" {
		q.At, q.Zone = now, w.zone().String()
	}
	var job cron.Job
	if in.Op != "" {
		found, _, err := d.meant(ctx, w)
		if err != nil {
			return err
		}
		job = found[0]
	}
	for _, c := range in.Question.Choices {
		todo := &deed{Op: in.Op, Steps: []step{{Do: "set", ID: job.ID, Job: cron.Job{Schedule: w.schedule(c)}}}}
		if in.Op == "" {
			one := in
			one.Times, one.Task = c.All(), q.Message.Task
			var err error
			if todo, err = d.creating(wish{w.Who, one, w.m}, seed); err != nil {
				return err
			}
		}
		var times []string
		for _, p := range c.All() {
			times = append(times, w.when(p, now))
		}
		q.Choices = append(q.Choices, choice{Label: strings.Join(times, w.pick(", ", "，")), Deed: todo})
	}
	if w.m.Text == "" && len(q.Choices) == 0 {
		return &Refusal{Kind: Unsure, Text: q.Prompt} // who asked without words says it again
	}
	switch text := plain(in.Text, maxShown); {
	case in.Op == "" && text != "" && in.Question.Missing == intent.MissTime:
		q.Lapse = fmt.Sprintf(w.pick("I did not make the reminder “%s”: no time was said.", "没有设置提醒“%s”：没有说时间。"), text)
	case in.Op == "":
		q.Lapse = fmt.Sprintf(w.pick("I did not make a reminder of “%s”: my question was not answered.", "没有设置提醒（“%s”）：没有收到回答。"), plain(w.m.Text, maxShown))
	}
	return q
}

// put asks: the question is kept for the asker, and a hidden job of the chat
// says so when nobody has answered in time.
func (d *Desk) put(ctx context.Context, w Who, q question, seed string) (Said, error) {
	first, _, _ := strings.Cut(q.Prompt, "\n")
	if q.Lapse == "" {
		q.Lapse = fmt.Sprintf(w.pick("I changed nothing: “%s” was not answered.", "没有做任何更改：“%s”没有收到回答。"), first)
	}
	if id := q.changes(); q.Job == "" && id != "" {
		if q.Job = id; q.Intent.Op == "" {
			q.Intent = intent.Intent{Kind: intent.Change, Op: q.Choices[0].Deed.Op}
		}
	}
	q.ID, q.Until = seed, d.jobs.Now().Add(askedFor)
	q.stain(w.Sources)
	if len(q.Choices) == 1 && q.Choices[0].Keys == "" {
		q.Choices[0].Keys = yes
	}
	for i := range q.Choices {
		if todo := q.Choices[i].Deed; todo != nil {
			todo.Seed, todo.Answers = q.ID, q.ID
		}
	}
	if ids := q.jobs(); len(ids) > 0 { // its numbers are the last that were shown
		if err := d.showed(ctx, w, shown{IDs: ids, At: d.jobs.Now()}); err != nil {
			return Said{}, err
		}
	}
	named, err := d.Named(ctx, w, q.Lapse)
	if err != nil {
		return Said{}, err
	}
	timer, err := d.jobs.AddOnce(ctx, "asked:"+seed, cron.Job{
		Message: q.Lapse, Addr: w.Addr, Maker: w.by().Person, Direct: w.Direct, Hidden: true, Sources: chat.JoinSources(q.brings(), named),
		Schedule: cron.Schedule{At: q.Until, Zone: w.zone().String()},
	})
	if err != nil && !errors.Is(err, cron.ErrTooMany) {
		return Said{}, err
	}
	q.Timer = timer.ID
	var old question
	_, err = remember(ctx, d.memory, w.asked(), answeredFor, func(kept *question) {
		if old = *kept; kept.ID != q.ID {
			*kept = q
		}
	})
	if err == nil && old.ID != q.ID {
		err = d.quiet(ctx, w, old)
	}
	return w.prompt(q), err
}

// asked is where the open question of a person in a chat stands.
func (w Who) asked() string { return w.room("asked", digest(w.Addr.Thread, w.person())) }

// quiet takes the hidden job of a question away.
func (d *Desk) quiet(ctx context.Context, w Who, q question) error {
	if q.Timer == "" {
		return nil
	}
	if err := d.jobs.Remove(ctx, w.Addr, q.Timer, cron.By{Admin: true}); !errors.Is(err, cron.ErrNotFound) {
		return err
	}
	return nil
}

// prompt words a question with its choices.
func (w Who) prompt(q question) Said {
	said := Said{Text: q.Prompt, Asked: true, Sources: q.brings()}
	yesNo := q.yesNo()
	for i, c := range q.Choices {
		b := button(chat.Unliteral(c.Label), press{Do: "answer", ID: q.ID, N: i + 1})
		switch {
		case yesNo && i == 1:
			said.Buttons[0] = append(said.Buttons[0], b)
			continue
		case i < maxButtons:
			b.Label = line(b.Label, 60)
			said.Buttons = append(said.Buttons, []Button{b})
		}
		if !yesNo {
			said.Text += fmt.Sprintf("\n%d. %s", i+1, c.Label)
		}
	}
	return said
}

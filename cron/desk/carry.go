package desk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"magpie/chat"
	"magpie/cron"
	"magpie/cron/intent"
	"magpie/internal/kv"
)

// carry does what was decided. What it makes is taken away again when a later
// step cannot be.
func (d *Desk) carry(ctx context.Context, w Who, todo deed) (Said, error) {
	if err := d.answered(ctx, w, todo.Answers); err != nil {
		return Said{}, err
	}
	c := change{ID: todo.Seed, At: d.jobs.Now(), By: w.person(), Gone: todo.Op == intent.Remove}
	var out []outcome
	var failed error
	many := len(todo.Steps) > 1 && todo.Steps[0].Do != "add" || todo.Undoes != ""
	for i, st := range todo.Steps {
		o, err := d.step(ctx, w, todo, i)
		if err != nil && many && passable(err) {
			continue
		}
		if failed = err; err != nil {
			break
		}
		switch {
		case st.Do == "add":
			c.Made = append(c.Made, o.job.ID)
		case st.Do != string(intent.Run) && (st.Do != string(intent.Done) || o.job.Nag > 0):
			if !slices.Contains(c.Was, o.job.ID) {
				c.Was = append(c.Was, o.job.ID)
			}
		}
		o.act = st.Act
		out = append(out, o)
	}
	if failed != nil { // what was made goes again; what was changed can be taken back
		for _, id := range c.Made {
			failed = errors.Join(failed, d.jobs.Remove(ctx, w.Addr, id, cron.By{Admin: true}))
		}
		c.Made = nil
	}
	_, err := remember(ctx, d.memory, w.room("undo"), answeredFor, func(all *[]change) {
		*all = slices.DeleteFunc(*all, func(old change) bool {
			return old.ID == c.ID || failed == nil && old.ID == todo.Undoes || c.At.Sub(old.At) > undoFor
		})
		if todo.Undoes == "" && len(out) > 0 { // also what cannot be taken back: it hides what was before
			*all = append(*all, c)
		}
		*all = (*all)[max(0, len(*all)-maxUndo):]
	})
	if err = errors.Join(failed, err); err != nil {
		return Said{}, err
	}
	if len(out) > 0 {
		err = d.spokenOf(ctx, w, todo.Op, main(out))
	}
	said := w.worded(todo, out, len(c.ids()) > 0, d.jobs.Now())
	said.Text += todo.Drops
	return said, err
}

// spokenOf makes what became of jobs what "it" means.
func (d *Desk) spokenOf(ctx context.Context, w Who, op intent.Op, out []outcome) error {
	var ids []string
	for _, o := range out {
		ids = append(ids, o.job.ID)
	}
	var just intent.Event
	if slices.Contains([]intent.Op{"", intent.Move, intent.Repeat, intent.Add, intent.Snooze, intent.Text, intent.Rename, intent.Once}, op) {
		just = intent.Set
	}
	return d.spoken(ctx, w, just, ids...)
}

// passable: of several jobs the others are changed nevertheless.
func passable(err error) bool {
	for _, is := range []error{cron.ErrNotFound, cron.ErrOver, cron.ErrRunning, cron.ErrCorrupt, cron.ErrNotYours} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

// step does one of them.
func (d *Desk) step(ctx context.Context, w Who, todo deed, i int) (outcome, error) {
	st := todo.Steps[i]
	switch st.Do {
	case "add":
		once := fmt.Sprintf("desk:%s:%d", todo.Seed, i)
		j, err := d.jobs.AddOnce(ctx, once, st.Job)
		if errors.Is(err, kv.ErrConflict) { // another process does the same
			j, err = d.jobs.AddOnce(ctx, once, st.Job)
		}
		return outcome{do: st.Do, job: j}, err
	case "restore":
		was, err := recall[cron.Job](ctx, d.memory, w.room("was", todo.Undoes, st.ID))
		if err == nil && was.ID == "" {
			err = cron.ErrNotFound
		}
		if err == nil && was.V > 0 {
			was, err = d.jobs.Restore(ctx, was, w.by())
		}
		return outcome{do: st.Do, job: was}, err
	}
	j, was, err := d.stands(ctx, w, todo.Seed, st)
	if err != nil {
		return outcome{}, err
	}
	o, by := outcome{do: st.Do, job: was, out: st.Slots}, w.by()
	switch st.Do {
	case string(intent.Remove):
		if err = d.jobs.Remove(ctx, w.Addr, st.ID, by); errors.Is(err, cron.ErrNotFound) {
			err = nil
		}
	case string(intent.Pause):
		o.job, err = d.jobs.Pause(ctx, w.Addr, st.ID, by)
	case string(intent.Resume):
		o.job, err = d.jobs.Resume(ctx, w.Addr, st.ID, by)
	case string(intent.Run):
		if o.job = j; !manual(j).After(manual(was)) {
			o.job, err = d.jobs.RunNow(ctx, w.Addr, st.ID, by)
		}
	case string(intent.Skip):
		o.out = []time.Time{next(was, d.jobs.Now())}
		if o.job = j; j.LastSlot.Equal(was.LastSlot) {
			o.job, o.out[0], err = d.jobs.Skip(ctx, w.Addr, st.ID, by)
		}
	case "leave":
		o.job, err = d.jobs.SkipUntil(ctx, w.Addr, st.ID, by, st.Until)
	case string(intent.Done):
		if o.job, err = d.finish(ctx, w, j, was); err == nil && todo.Op == intent.Done {
			err = d.memory.Delete(ctx, w.room("rang", st.ID))
		}
	case "set":
		o.job, err = d.update(ctx, w, st, was)
	default:
		err = fmt.Errorf("step %q of a reminder", st.Do)
	}
	return o, err
}

// update sets fields of a job; what was skipped of it stays so.
func (d *Desk) update(ctx context.Context, w Who, st step, was cron.Job) (cron.Job, error) {
	var until time.Time
	if st.Job.Schedule != (cron.Schedule{}) {
		st.Job.Schedule, until = kept(was, st.Job.Schedule, d.jobs.Now())
	}
	j, err := d.jobs.Update(ctx, w.Addr, st.ID, w.by(), st.set)
	if err == nil && !until.IsZero() {
		if skipped, failed := d.jobs.SkipUntil(ctx, w.Addr, st.ID, w.by(), until); failed == nil { // else it has ended by then
			j = skipped
		}
	}
	return j, err
}

// finish ends what comes again and again until it is done.
func (d *Desk) finish(ctx context.Context, w Who, j, was cron.Job) (cron.Job, error) {
	if j.Nag == 0 {
		return was, nil
	}
	done, err := d.jobs.Finish(ctx, w.Addr, j.ID, w.by())
	if errors.Is(err, cron.ErrNotFound) {
		return j, nil
	}
	return done, err
}

// stands is the job of a step as it is, and as it was before the change. One
// that is gone was removed before a crash, or came once.
func (d *Desk) stands(ctx context.Context, w Who, seed string, st step) (j, was cron.Job, err error) {
	if was, err = recall[cron.Job](ctx, d.memory, w.room("was", seed, st.ID)); err != nil {
		return j, was, err
	}
	j, err = d.jobs.Get(ctx, w.Addr, st.ID)
	switch {
	case errors.Is(err, cron.ErrNotFound) && was.ID != "":
		return was, was, nil
	case errors.Is(err, cron.ErrNotFound) && st.Do == string(intent.Done):
		return st.Job, st.Job, nil
	case err == nil:
		was, err = d.was(ctx, w, seed, j)
	}
	return j, was, err
}

// set changes the fields that the step names.
func (s step) set(j *cron.Job) error {
	j.Schedule = cmp.Or(s.Job.Schedule, j.Schedule)
	j.Message = cmp.Or(s.Job.Message, j.Message)
	j.Name = cmp.Or(s.Job.Name, j.Name)
	j.Sources = chat.JoinSources(j.Sources, s.Job.Sources)
	return nil
}

// manual is the latest delivery that somebody asked for.
func manual(j cron.Job) (slot time.Time) {
	for _, r := range j.Runs {
		if r.Manual {
			slot = r.Slot
		}
	}
	if j.Pending != nil && j.Pending.Manual {
		slot = j.Pending.Slot
	}
	return slot
}

// concerns says that a change was one of what a wish names.
func (d *Desk) concerns(ctx context.Context, w wish, c change) bool {
	return slices.ContainsFunc(c.ids(), func(id string) bool {
		j, err := recall[cron.Job](ctx, d.memory, w.room("was", c.ID, id))
		if err == nil && j.ID == "" {
			j, _ = d.jobs.Get(ctx, w.Addr, id)
		}
		return len(match(w.in.Ref.Words, []cron.Job{j})) > 0
	})
}

// undoing takes back the change with this id, "" = the last one of the asker.
func (d *Desk) undoing(ctx context.Context, w wish, id, seed string) (*deed, error) {
	all, err := recall[[]change](ctx, d.memory, w.room("undo"))
	if err != nil {
		return nil, err
	}
	var later []string
	named := id == "" && w.in.Ref.Words != ""
	for _, c := range slices.Backward(all) {
		theirs := c.By == w.person() || w.Admin
		if named && !d.concerns(ctx, w, c) || d.jobs.Now().Sub(c.At) > undoFor || id == "" && c.By != w.person() || id != "" && id != c.ID {
			later = append(later, c.ids()...)
			continue
		}
		switch {
		case len(c.ids()) == 0:
			return nil, &Refusal{Kind: Unknown, Text: w.pick("what I did last cannot be taken back", "刚才做的无法撤回")}
		case w.in.What == intent.UndoChange && len(c.Was) == 0, w.in.What == intent.UndoRemoval && !c.Gone:
			return nil, &Refusal{Kind: Unknown, Text: w.pick("what I did last was no change of that kind; say “undo” to take it back", "刚才没有这样的更改；要撤回刚才做的，请说“撤销”")}
		case !theirs:
			return nil, &Refusal{Kind: Forbidden, Text: w.pick("only who made this change, or an admin, may take it back", "只有做出更改的人或管理员可以撤销")}
		case slices.ContainsFunc(c.ids(), func(id string) bool { return slices.Contains(later, id) }):
			return nil, &Refusal{Text: w.pick("it was changed again since; undo that first", "之后又改过，请先撤销后面的更改")}
		}
		undone := &deed{Op: intent.Undo, Seed: seed, Undoes: c.ID}
		for _, id := range c.Was {
			undone.Steps = append(undone.Steps, step{Do: "restore", ID: id})
		}
		for _, id := range c.Made {
			undone.Steps = append(undone.Steps, step{Do: string(intent.Remove), ID: id})
		}
		return undone, nil
	}
	if named {
		return nil, &Refusal{Kind: Unknown, Text: fmt.Sprintf(w.pick("I have changed nothing of “%s” in the last ten minutes", "十分钟内没有改过“%s”"), plain(w.in.Ref.Words, maxShown))}
	}
	return nil, &Refusal{Kind: Unknown, Text: w.pick("there is nothing to undo; a change can be taken back for ten minutes", "没有可以撤销的更改（只能撤销十分钟内的）")}
}

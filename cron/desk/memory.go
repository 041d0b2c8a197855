package desk

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"magpie/chat"
	"magpie/cron"
	"magpie/cron/intent"
	"magpie/internal/kv"
)

// What is remembered of a chat, and for how long.
const (
	answeredFor = 24 * time.Hour   // answers by their key, what stood before a change, the job last spoken of
	rangFor     = 48 * time.Hour   // what rang
	shownFor    = 30 * time.Minute // numbers mean the list last shown
	undoFor     = 10 * time.Minute
	askedFor    = 10 * time.Minute
	justNow     = 20 * time.Minute // what was told then needs no name: "make it 9:30"
	maxUndo     = 20
)

// room is where the memory of a chat with all its threads stands.
func (w Who) room(rest ...string) string {
	a := chat.Address{Channel: w.Addr.Channel, Chat: w.Addr.Chat}
	return strings.Join(append([]string{string(a.Session())}, rest...), ".")
}

// person tells people apart within a key.
func (w Who) person() string { return digest(w.by().Channel, w.Sender.ID) }

func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:20])
}

// recall reads what is remembered under a key: the zero value when that is
// nothing, or cannot be read any more.
func recall[T any](ctx context.Context, t kv.Table, key string) (v T, err error) {
	e, err := t.Get(ctx, key)
	if errors.Is(err, kv.ErrNotFound) {
		return v, nil
	} else if err != nil {
		return v, fmt.Errorf("recall %q: %w", key, err)
	}
	if json.Unmarshal(e.Value, &v) != nil {
		var none T
		return none, nil
	}
	return v, nil
}

// remember changes what is remembered under a key, whoever else does so too,
// and returns what stands there then.
func remember[T any](ctx context.Context, t kv.Table, key string, ttl time.Duration, edit func(*T)) (now T, err error) {
	err = kv.Modify(ctx, t, key, ttl, func(old []byte) ([]byte, error) {
		var v T
		if old != nil && json.Unmarshal(old, &v) != nil {
			v = *new(T)
		}
		edit(&v)
		now = v
		return json.Marshal(v)
	})
	if err != nil {
		return now, fmt.Errorf("remember %q: %w", key, err)
	}
	return now, nil
}

// shown is the list that numbers mean, also those of it that were left out.
type shown struct {
	IDs  []string
	At   time.Time
	More int       `json:",omitempty"` // how many at its end were left out
	From time.Time `json:",omitzero"`  // they come after it
}

// change is what undo takes back.
type change struct {
	ID   string
	At   time.Time
	By   string
	Made []string
	Was  []string // jobs that were changed; what they were stands under the change
	Gone bool     // they were removed
}

func (c change) ids() []string { return append(append([]string{}, c.Made...), c.Was...) }

// was keeps what a job is before a change, for undo and for a change that is
// done again after a crash. The first time counts.
func (d *Desk) was(ctx context.Context, w Who, changed string, j cron.Job) (cron.Job, error) {
	return remember(ctx, d.memory, w.room("was", changed, j.ID), answeredFor, func(old *cron.Job) {
		if old.ID == "" {
			*old = j
		}
	})
}

// topic is what the bot last spoke of: what "it" means.
type topic struct {
	IDs  []string
	At   time.Time
	Just intent.Event // what it told of it
}

// spoken makes jobs those that "it" means.
func (d *Desk) spoken(ctx context.Context, w Who, just intent.Event, ids ...string) error {
	_, err := remember(ctx, d.memory, w.room("last", w.person()), answeredFor, func(last *topic) { *last = topic{ids, d.jobs.Now(), just} })
	return err
}

// topic is what was last spoken of with the asker, or what rang since.
func (d *Desk) topic(ctx context.Context, w Who, rang []rung) (topic, error) {
	last, err := recall[topic](ctx, d.memory, w.room("last", w.person()))
	if len(rang) > 0 && rang[0].told().After(last.At) && d.jobs.Now().Sub(rang[0].told()) < lately && (w.Direct || w.may(rang[0].Job)) {
		last = topic{[]string{rang[0].Job.ID}, rang[0].told(), intent.Rang}
	}
	return last, err
}

// just is what the bot has told right before of a job.
func (t topic) just(id string, now time.Time) intent.Event {
	if slices.Contains(t.IDs, id) && now.Sub(t.At) < justNow {
		return t.Just
	}
	return ""
}

// errGone: the one that was spoken of is no more.
var errGone = errors.New("it is gone")

// it is the job that nobody names: that of the message which is replied to,
// what rang lately, the one last spoken of, or the only one. Only what rang is
// done: "ok" is said of much else.
func (d *Desk) it(ctx context.Context, w wish, rangFirst bool, pool []cron.Job, rang []rung) ([]cron.Job, error) {
	if w.m.Reply != "" { // and nothing else
		return withID(pool, w.m.Reply), nil
	}
	for _, r := range rang {
		found := withID(pool, r.Job.ID)
		if rangFirst && len(found) > 0 && (r.Job.Nagging != nil || d.jobs.Now().Sub(r.Slot) < lately) {
			return found, nil
		}
	}
	if w.in.Op == intent.Done {
		return nil, &Refusal{Kind: Unknown, Text: w.pick("nothing has come of late that could be done", "最近没有响过的提醒")}
	}
	last, err := d.topic(ctx, w.Who, rang)
	if err != nil || w.m.Command && !w.in.Ref.Last { // a command that names none
		return nil, err
	}
	var found []cron.Job
	for _, id := range last.IDs {
		found = append(found, withID(pool, id)...)
	}
	switch {
	case len(found) > 0:
		return found, nil
	case len(last.IDs) > 0 && d.jobs.Now().Sub(last.At) < justNow:
		return nil, &Refusal{Kind: Unsure, Err: errGone, Text: w.pick("the one we spoke of has come or was cancelled, and is no more in the list; say what I shall remind you of and when, or “undo” to take back the last change",
			"刚才说的那个已经提醒过或取消了，不在列表里了；请说什么时候提醒你做什么，或者说“撤销”撤回刚才的更改")}
	case len(pool) == 1:
		return pool, nil
	}
	return nil, nil
}

// rung is a job as it was when it rang. A single one is gone by the time that
// somebody says "snooze".
type rung struct {
	Job  cron.Job
	Slot time.Time
	Late bool
	At   time.Time // when it was noted
}

func (r rung) told() time.Time { return cmp.Or(r.At, r.Slot) }

// Rang notes that a slot is delivered: what "snooze" and "done" mean, and what
// the buttons of DueButtons work on. It may be called again for the same slot.
func (d *Desk) Rang(ctx context.Context, due cron.Fired) error {
	if due.Job.Hidden {
		return nil
	}
	w := Who{Addr: due.Job.Addr}
	r := rung{Job: due.Job, Slot: due.Slot, Late: due.Late, At: d.jobs.Now()}
	r.Job.Runs = nil
	_, err := remember(ctx, d.memory, w.room("rang", due.Job.ID), rangFor, func(old *rung) {
		if old.Slot.Equal(r.Slot) {
			r.At = old.At
		}
		*old = r
	})
	return err
}

// rang returns what rang of late, the latest first.
func (d *Desk) rang(ctx context.Context, w Who, jobs []cron.Job) ([]rung, error) {
	entries, err := kv.List(ctx, d.memory, w.room("rang"))
	if err != nil {
		return nil, fmt.Errorf("what rang: %w", err)
	}
	by := map[string]rung{}
	for _, e := range entries {
		var r rung
		if json.Unmarshal(e.Value, &r) == nil && r.Job.ID != "" {
			by[r.Job.ID] = r
		}
	}
	for _, j := range jobs {
		for _, r := range j.Runs {
			if r.Result != cron.Skipped && r.Slot.After(by[j.ID].Slot) {
				by[j.ID] = rung{Job: j, Slot: r.Slot, Late: r.Late}
			}
		}
		if r, ok := by[j.ID]; ok {
			r.Job = j
			by[j.ID] = r
		}
	}
	var all []rung
	for _, r := range by {
		if d.jobs.Now().Sub(r.Slot) < rangFor {
			all = append(all, r)
		}
	}
	sort.Slice(all, func(a, b int) bool { return all[a].Slot.After(all[b].Slot) })
	return all, nil
}

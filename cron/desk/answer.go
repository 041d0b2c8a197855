package desk

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"magpie/chat"
	"magpie/cron"
	"magpie/cron/intent"
	"magpie/cron/when"
)

// What intent.Answered calls a yes, a no, and a wish for the rest of a list.
const (
	yes       = "yes"
	no        = "no"
	more      = "more"
	removeAll = "remove all" // "cancel both"
)

func oneOf(text, words string) bool { return slices.Contains(strings.Split(words, "|"), text) }

// open is the question that waits for this person; nil for none. One that
// this very message has taken is open for it still.
func (d *Desk) open(ctx context.Context, w Who, seed string) (*question, error) {
	q, err := recall[question](ctx, d.memory, w.asked())
	if err != nil || q.ID == "" || !d.jobs.Now().Before(q.Until) || q.Taken != "" && q.Taken != seed {
		return nil, err
	}
	return &q, nil
}

// take makes a question the message's own: of two answers one counts.
func (d *Desk) take(ctx context.Context, w Who, q *question, seed string) error {
	now, err := remember(ctx, d.memory, w.asked(), answeredFor, func(kept *question) {
		if kept.ID == q.ID && kept.Taken == "" {
			kept.Taken = seed
		}
	})
	if err == nil && (now.ID != q.ID || now.Taken != seed) {
		err = w.closed()
	}
	return err
}

func (w Who) closed() error {
	return &Refusal{Kind: Unsure, Text: w.pick("this question is not open any more; say again what you want", "这个问题已经结束，请重新说一遍")}
}

// answered ends what waits for the answer to a question.
func (d *Desk) answered(ctx context.Context, w Who, id string) error {
	if id == "" {
		return nil
	}
	q, err := recall[question](ctx, d.memory, w.asked())
	if err == nil && q.ID == id {
		err = d.quiet(ctx, w, q)
	}
	return err
}

// hear reads a message, first as the answer to the open question.
func (d *Desk) hear(ctx context.Context, w Who, m Message, seed string) (*deed, Said, error) {
	q, err := d.open(ctx, w, seed)
	if err != nil {
		return nil, Said{}, err
	}
	var failed error
	c := intent.Context{Now: d.jobs.Now(), Zone: w.zone(), Command: m.Command, Known: func() (all []intent.Known) {
		all, failed = d.known(ctx, w)
		for i := 0; q != nil && i < len(all); i++ { // what is said is about the question
			all[i].Just = ""
		}
		return all
	}}
	if open := q; q != nil && q.ID != seed && d.rangSince(ctx, w, q) {
		if q = nil; !putsOff(d.words.read(m.Text, c), c) {
			q = open
		}
	}
	if q != nil {
		if q.ID == seed { // this message has asked it
			return nil, w.prompt(*q), nil
		}
		if todo, said, done, err := d.answer(ctx, wish{w, q.Intent, m}, q, seed); done || err != nil {
			return todo, said, err
		}
	}
	if len(m.Text) < maxShown && !m.Answer && intent.Answered(m.Text) == more {
		if said, there, err := d.more(ctx, w); there || err != nil {
			return nil, said, err
		}
	}
	m = w.forWhom(m)
	in, m, answers := d.understood(w, q, m, c)
	if failed != nil {
		return nil, Said{}, failed
	}
	if q != nil && !answers {
		if todo, said, done, err := d.about(ctx, wish{w, in, m}, q, c, seed); done || err != nil {
			return todo, said, err
		}
	}
	switch {
	case m.Answer && !answers, in.Kind == intent.None && !m.Command:
		return nil, Said{}, errNothing
	case in.Kind == intent.None:
		return nil, Said{}, when.ErrNone
	}
	if in.Task = in.Task || m.Task; m.Calls != "" && (in.Kind == intent.Create || in.Kind == intent.Ask && in.Op == "") {
		in.Text = strings.TrimSpace(m.Calls + " " + in.Text)
	}
	todo, said, err := d.meet(ctx, wish{w, in, m}, seed)
	if r, refused := errors.AsType[*Refusal](err); refused && in.Maybe && (r.Kind == Unknown || r.Kind == Unsure && in.Ref.Words != "") {
		return nil, Said{}, errNothing // it was about something else
	}
	if q == nil {
		return todo, said, err
	}
	return d.closing(ctx, w, q, seed, met{todo, said, err, answers || in.Op != "" && in.Op == q.Intent.Op})
}

// understood reads what a message wants, and whether that is the answer to the
// open question: words that only say a time are one before they are anything else.
func (d *Desk) understood(w Who, q *question, m Message, c intent.Context) (intent.Intent, Message, bool) {
	early := q != nil && (q.Job != "" || !q.At.IsZero()) && intent.OnlyTime(m.Text, c)
	var in intent.Intent
	if !early {
		in = d.words.read(m.Text, c)
	}
	if q != nil && (in.Kind == intent.None || in.Kind == intent.Ask || in.Kind == intent.Create && q.Intent.Op == edit) {
		if reply, answers := d.reply(w, q, m, c); answers {
			if m.Reply = ""; reply.Kind == intent.Ask && reply.Time != "" {
				m.Text, reply.Time = reply.Time, ""
			}
			m.Task, m.For, m.Calls = m.Task || q.Message.Task, q.Message.For, q.Message.Calls
			return reply, m, true
		}
	}
	if early {
		in = d.words.read(m.Text, c)
	}
	if q != nil && in.Kind == intent.Change && in.Op != intent.Undo && in.Ref == (intent.Ref{Last: true}) { // "delete it"
		if ids := q.about(); q.Job != "" {
			in.Ref = intent.Ref{Words: q.Job}
		} else if len(ids) == 1 {
			in.Ref = intent.Ref{ID: ids[0]}
		}
	}
	return in, m, false
}

// timed is the number of the choice that an answer means by its time: "pm",
// 晚上那个. What makes a new reminder intent.Reply knows better.
func (q *question) timed(answer string, c intent.Context) (int, bool) {
	times := q.times()
	if q.Job == "" || len(times) == 0 {
		return 0, false
	}
	found, _ := intent.Times(answer, times, c)
	if len(found) != 1 {
		return 0, false
	}
	i := slices.IndexFunc(times, func(p when.Phrase) bool { return when.Words(p, "en") == when.Words(found[0], "en") })
	return i, i >= 0
}

// times are those between which a question lets one choose; none when it is
// about something else.
func (q *question) times() (all []when.Phrase) {
	for _, c := range q.Choices {
		if c.Deed == nil || len(c.Deed.Steps) == 0 || c.Deed.Steps[0].Job.Schedule == (cron.Schedule{}) {
			return nil
		}
		all = append(all, phrase(c.Deed.Steps[0].Job.Schedule))
	}
	return all
}

// changes is the job of which a question asks for the new time; "" for none.
func (q *question) changes() string {
	if len(q.times()) == 0 || q.Choices[0].Deed.Op == "" || q.Choices[0].Keys == yes {
		return ""
	}
	for _, s := range q.Choices[0].Deed.Steps {
		if s.ID != "" {
			return s.ID
		}
	}
	return ""
}

// reply reads a free answer.
func (d *Desk) reply(w Who, q *question, m Message, c intent.Context) (intent.Intent, bool) {
	if q.Intent.Op == edit {
		return q.edited(m.Text, c)
	}
	if q.Job != "" {
		in, said := q.Intent, intent.Core(m.Text)
		in.Ref, in.Time = intent.Ref{Words: q.Job}, said
		if found, _ := intent.Times(said, q.times(), c); len(found) == 1 && !found[0].At.IsZero() {
			in.Time = found[0].At.Format("2006-01-02T15:04:05")
			return in, true
		}
		_, err := when.Parse(said, c.Now, c.Zone)
		if _, unsure := errors.AsType[*when.Ambiguous](err); err != nil && !unsure {
			_, err = d.words.moved(said, when.Phrase{At: c.Now.Add(time.Hour), Zone: c.Zone}, c.Now.Add(time.Hour), c.Now)
		}
		return in, !errors.Is(err, when.ErrNone)
	}
	if q.At.IsZero() {
		return intent.Intent{}, false
	}
	zone, err := when.Zone(q.Zone)
	if err != nil {
		zone = c.Zone
	}
	return d.words.reply(q.Message.Text, intent.Context{Now: q.At, Zone: zone, Command: q.Message.Command}, m.Text, c)
}

// answered is what an answer says that names nothing: "cancel both" is yes or no,
// or says which.
func (q *question) answered(answer string) string {
	switch kind := intent.Answered(answer); {
	case kind != removeAll:
		return kind
	case q.yesNo() || q.makes():
		return "remove"
	}
	return "all"
}

// picked is the number of the choice that an answer means, -1 = none of them.
func (q *question) picked(answer string) (int, bool) {
	text := fold(answer)
	if text == "" || len([]rune(text)) > maxShown {
		return 0, false
	}
	for i, c := range q.Choices {
		if text == fold(chat.Unliteral(c.Label)) || oneOf(text, c.Keys) {
			return i, true
		}
	}
	kind := q.answered(answer)
	if kind == "remove" { // it is a yes only to that
		switch kind = "unsure"; {
		case q.makes():
			kind = no
		case len(q.Choices) > 0 && q.Choices[0].Deed != nil && q.Choices[0].Deed.Op == intent.Remove:
			kind = yes
		}
	}
	switch {
	case kind == no, kind == "drop", kind == "none" && len(q.times()) == 0:
		return -1, true
	case len(q.Choices) > 0 && q.Choices[0].Keys == yes && (kind == yes || kind == "all" && q.yesNo()):
		return 0, true
	case kind != "":
		return 0, false
	}
	n := intent.Place(answer)
	if n != 0 && q.yesNo() { // it has no numbers
		return 0, false
	}
	if n == -1 {
		n = len(q.Choices)
	}
	if n >= 1 && n <= len(q.Choices) {
		return n - 1, true
	}
	if !q.At.IsZero() {
		return 0, false // a time in words: intent.Reply knows better
	}
	var labels []cron.Job
	for i, c := range q.Choices {
		labels = append(labels, cron.Job{ID: strconv.Itoa(i), Message: chat.Unliteral(c.Label)})
	}
	if found := match(text, labels); len(found) == 1 && n == 0 {
		i, _ := strconv.Atoi(found[0].ID)
		return i, true
	}
	return 0, false
}

// pressed takes the choice under a button.
func (d *Desk) pressed(ctx context.Context, w Who, p press, seed string) (*deed, Said, error) {
	q, err := d.open(ctx, w, seed)
	if err != nil {
		return nil, Said{}, err
	}
	if q == nil || q.ID != p.ID || p.N < 1 || p.N > len(q.Choices) {
		return nil, Said{}, w.closed()
	}
	return d.choose(ctx, w, q, p.N-1, seed)
}

// choose goes on with a choice, -1 = none.
func (d *Desk) choose(ctx context.Context, w Who, q *question, i int, seed string) (todo *deed, said Said, err error) {
	if i >= 0 {
		todo = q.Choices[i].Deed
		if id := q.Choices[i].Job; id != "" {
			return d.chosen(ctx, w, q, []string{id}, seed)
		}
	}
	if todo == nil {
		said.Text = w.pick("OK, I leave it as it is.", "好的，不改了。")
	}
	return d.closing(ctx, w, q, seed, met{todo, said, nil, true})
}

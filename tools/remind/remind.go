// Package remind holds the tool with which the agent makes, lists and changes
// reminders and jobs: cron, also called remind. What is understood and how it
// is worded is the business of cron/desk; whether the time that a model gives
// is the one that the person has said is judged here. It starts no goroutine.
package remind

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"magpie/chat"
	"magpie/cron"
	"magpie/cron/desk"
	"magpie/cron/intent"
	"magpie/cron/when"
	"magpie/tools"
)

//go:embed cron.md
var cronText string

// Desk keeps the jobs.
type Desk interface {
	Make(ctx context.Context, w desk.Who, a desk.Ask) (desk.Said, error)
	Do(ctx context.Context, w desk.Who, in intent.Intent, m desk.Message) (desk.Said, error)
	Say(ctx context.Context, w desk.Who, m desk.Message) (said desk.Said, mine bool, err error)
	Clerk
}

// Clerk looks things up.
type Clerk interface {
	Times(w desk.Who, a desk.Ask) ([]when.Phrase, error)
	Find(ctx context.Context, w desk.Who, ref string) (cron.Job, error)
	Now() time.Time
	// Named are the sources of the reminders of a chat that a text names.
	Named(ctx context.Context, w desk.Who, text string, others ...cron.Job) ([]chat.Source, error)
}

var _ Desk = (*desk.Desk)(nil)

// Action is the name under which the buttons of an answer are known.
const Action = "reminder"

// Options of the tool. Nil fields take the feature away.
type Options struct {
	// Elsewhere says whether the scope may make and change jobs of another
	// chat: nil error yes, else the reason, for the model. nil: no other chat.
	Elsewhere func(ctx context.Context, sc tools.Scope, to chat.Address) error
	// Admin says whether somebody may change the jobs of others; nil = nobody.
	Admin func(channel, sender string) bool
	// Made is told which jobs the answer of a turn is about.
	Made func(ctx context.Context, turn string, jobs []cron.Job)
	// About is the id of the job that a message of the bot is about, by the
	// platform's id of the message; "" none.
	About func(ctx context.Context, a chat.Address, message string) string
}

type cronIn struct {
	Action       string `json:"action" jsonschema:"What to do." rule:"enum=add|list|update|remove|pause|resume|skip|snooze|done|undo|run|stopwatch"`
	JobID        string `json:"job_id,omitempty" jsonschema:"Which one: its number in the list, or words of its text; several as 1, 3; all for remove, pause and resume. Not for add, list and undo; snooze and done without it mean the one that rang." rule:"maxlen=200"`
	Message      string `json:"message,omitempty" jsonschema:"What to say then (mode agent: what to do), without the time. For add, and for update when it changes."`
	Name         string `json:"name,omitempty" jsonschema:"A short name for the list."`
	Schedule     string `json:"schedule,omitempty" jsonschema:"When, in English or Chinese, as the person said it: in 20 minutes, tomorrow at 3pm, every weekday at 09:00, every 5 minutes until I say done, 每周一上午九点. For snooze: 10 minutes." rule:"maxlen=2000"`
	At           string `json:"at,omitempty" jsonschema:"When, once, in place of schedule: an ISO time, with or without a zone, as 2026-11-24T15:00." rule:"maxlen=200"`
	CronExpr     string `json:"cron_expr,omitempty" jsonschema:"When, again and again, in place of schedule: a cron expression of 5 fields (minute hour day month weekday), or 6 with seconds first, or @daily and its like." rule:"maxlen=200"`
	EverySeconds int    `json:"every_seconds,omitempty" jsonschema:"When, again and again, in place of schedule: so many seconds apart, counted from now." rule:"min=10,max=316224000"`
	TZ           string `json:"tz,omitempty" jsonschema:"The time zone that is meant, an IANA name; the chat's own when it is not given." rule:"maxlen=100"`
	Mode         string `json:"mode,omitempty" jsonschema:"For add. notify: message is delivered as it is. agent: message is a task for you." rule:"enum=notify|agent,default=notify"`
	Misfire      string `json:"misfire,omitempty" jsonschema:"For add: what becomes of times that passed while the bot was down: run_once, skip or run_if_within:10m." rule:"maxlen=60"`
	place
}

// place names another chat.
type place struct {
	Channel string `json:"channel,omitempty" jsonschema:"Another channel; the current one when it is not given."`
	ChatID  string `json:"chat_id,omitempty" jsonschema:"Another chat; the current one when it is not given."`
	Said    string `json:"said,omitempty" jsonschema:"For say: the person's words." rule:"hidden"`
}

// Tool makes cron.
func Tool(d Desk, o *Options) tools.Tool {
	k := keeper{desk: d}
	if o != nil {
		k.opt = *o
	}
	spec := tools.Spec{
		Name: "cron", Also: []string{"remind"}, Description: strings.TrimSpace(cronText),
		Category: tools.System, Effect: tools.Acts, Main: "message", Aliases: otherNames(),
	}
	return tools.New(spec, k.call, tools.WithStays(stays), tools.WithMend(mend))
}

// stays says whether a call reaches nobody but the current chat, now and
// later. A task is not among them: what a text from outside wishes would be
// done later, by a turn that has read nothing. New words may be those of a
// task.
func stays(sc tools.Scope, args json.RawMessage) bool {
	var in cronIn
	if json.Unmarshal(args, &in) != nil {
		return false
	}
	_, here := in.address(sc)
	return here && (in.Action != "add" || in.Mode != string(cron.Agent)) && (in.Action != "update" || in.Message == "")
}

type keeper struct {
	desk Desk
	opt  Options
}

// asking is one call on its way.
type asking struct {
	keeper
	sc  tools.Scope
	in  cronIn
	who desk.Who
	key string // the same when the call is repeated after a crash; "" = unknown
}

func (k keeper) call(ctx context.Context, sc tools.Scope, in cronIn) (tools.Result, error) {
	for _, text := range []*string{&in.Message, &in.Name, &in.Schedule} { // what it will say is said now
		*text = sc.Guarded(*text)
	}
	who, err := k.who(ctx, sc, in)
	if err != nil {
		return tools.Result{}, err
	}
	// A job that makes, changes or runs jobs could keep itself going for ever;
	// ending what is over is what it may do.
	if sc.FromJob && !slices.Contains([]string{"list", "pause", "remove", "skip", "done"}, in.Action) {
		return tools.Result{}, tools.Errorf(tools.Permission, "this turn was begun by a job, and a job may not %s jobs; it may list, pause, skip and remove them. Tell the person what you would have done", in.Action)
	}
	a := asking{keeper: k, sc: sc, in: in, who: who}
	if sc.CallID != "" {
		a.key = string(sc.Addr.Session()) + ":" + sc.CallID
	}
	said, err := a.answer(ctx)
	if err != nil {
		named, other := k.desk.Named(ctx, who, err.Error())
		return tools.Result{Untrusted: len(named) > 0, Sources: named}, errors.Join(failure(err), other)
	}
	if k.opt.Made != nil && len(said.Jobs) > 0 {
		k.opt.Made(ctx, sc.Turn, said.Jobs)
	}
	return result(said), nil
}

// asksMark says to whoever has called that the person is asked something.
const asksMark = "\n[The person is asked this.]"

func result(said desk.Said) tools.Result {
	if said.Asked {
		said.Text += asksMark
	}
	return tools.Result{Text: said.Text, Buttons: Offered(said), Untrusted: len(said.Sources) > 0, Sources: said.Sources}
}

// Offered are the buttons of an answer of the desk as tools offer them.
func Offered(said desk.Said) tools.Buttons {
	offered := tools.Buttons{Action: Action}
	for _, row := range said.Buttons {
		var all []tools.Button
		for _, b := range row {
			all = append(all, tools.Button(b))
		}
		offered.Rows = append(offered.Rows, all)
	}
	return offered
}

// answer does what is asked for.
func (a asking) answer(ctx context.Context) (desk.Said, error) {
	if a.in.Said != "" {
		return a.say(ctx)
	}
	if said, mine, err := a.reply(ctx); mine || err != nil {
		return said, err
	}
	switch a.in.Action {
	case "list":
		what := intent.AskList
		if a.in.JobID == intent.AskMore {
			what = intent.AskMore
		}
		return a.desk.Do(ctx, a.who, intent.Intent{Kind: intent.Query, What: what}, a.message(ctx, ""))
	case "add":
		return a.add(ctx)
	case "update":
		return a.update(ctx)
	case "snooze":
		return a.snooze(ctx)
	case "stopwatch":
		do := strings.ToLower(strings.TrimSpace(a.in.Message))
		if !slices.Contains([]string{"", "start", "stop", "restart", "show"}, do) {
			return desk.Said{}, tools.Errorf(tools.InvalidArgs, "message is what to do with the stopwatch: start, stop, restart or show")
		}
		return a.desk.Do(ctx, a.who, intent.Intent{Kind: intent.Query, What: intent.AskWatch, Watch: do}, a.message(ctx, ""))
	}
	ref, err := a.ref(ctx, a.in.Action == "undo" || a.in.Action == "done")
	if err != nil {
		return desk.Said{}, err
	}
	return a.desk.Do(ctx, a.who, intent.Intent{Kind: intent.Change, Op: intent.Op(a.in.Action), Ref: ref}, a.message(ctx, ""))
}

// message is what the desk is told of the person's message. part tells apart
// what one call does in several steps.
func (a asking) message(ctx context.Context, part string) desk.Message {
	m := desk.Message{Text: a.sc.Said, Named: a.sc.Named}
	if a.key != "" {
		m.Key = a.key + part
	}
	if a.opt.About != nil && a.sc.Reply != "" {
		m.Reply = a.opt.About(ctx, a.sc.Addr, a.sc.Reply)
	}
	return m
}

// reply gives what the person has said to the open question, if it is an
// answer: the model may have made of it what it likes. Words that want
// something of their own are none.
func (a asking) reply(ctx context.Context) (said desk.Said, mine bool, err error) {
	if _, here := a.in.address(a.sc); a.sc.Said == "" || !here || a.in.Action == "list" ||
		intent.Read(a.sc.Said, a.context()).Kind == intent.Ask {
		return desk.Said{}, false, nil
	}
	m := a.message(ctx, ":reply")
	m.Answer = true
	return a.desk.Say(ctx, a.theirs(m.Text), m)
}

func (a asking) context() intent.Context {
	return intent.Context{Now: a.desk.Now(), Zone: a.who.Zone}
}

// say hands on what the person has said, for an assistant that does not read
// it itself. It is no way for a model to speak for them.
func (a asking) say(ctx context.Context) (desk.Said, error) {
	m := a.message(ctx, "")
	m.Text = strings.TrimSpace(a.in.Said)
	if m.Text == "" || !strings.Contains(plain(a.sc.Said), plain(m.Text)) {
		return desk.Said{}, tools.Errorf(tools.NotFound, "the person has not said this; say takes their words and no others")
	}
	said, mine, err := a.desk.Say(ctx, a.theirs(m.Text), m)
	if err == nil && !mine {
		err = tools.Errorf(tools.NotFound, "these words want nothing of the reminders")
	}
	return said, err
}

// plain is a text in which only the words count.
func plain(text string) string { return strings.Join(strings.Fields(text), " ") }

// add makes a job, if its time is the one that the person has said.
func (a asking) add(ctx context.Context) (desk.Said, error) {
	ask, note := a.ask(), ""
	if _, who, _ := desk.Whom(a.sc.Said, a.sc.Named, false); who.ID != "" && !a.who.Direct {
		ask.For = cron.Person{Channel: a.sc.Addr.Channel, Sender: who}
	}
	if times, err := a.desk.Times(a.who, ask); err == nil { // else Make says what is wrong
		if note, err = a.judged(times); err != nil {
			return desk.Said{}, err
		}
	}
	said, err := a.desk.Make(ctx, a.who, ask)
	return noted(said, note), err
}

// noted adds a note for the model to an answer.
func noted(said desk.Said, note string) desk.Said {
	if note != "" && said.Text != "" {
		said.Text += "\n[" + note + "]"
	}
	return said
}

// update changes the time, the words or the name, one after the other. Which
// job it is is known after the first.
func (a asking) update(ctx context.Context) (said desk.Said, err error) {
	ref, err := a.ref(ctx, false)
	if err != nil {
		return desk.Said{}, err
	}
	var todo []intent.Intent
	note := ""
	if when := a.in.when(); when != "" {
		in := intent.Intent{Op: intent.Move}
		if in.Time, in.Shift = TimeOf(in.Op, when, a.context()); in.Time != "" {
			note, err = a.judgedMove(ctx, when)
		}
		if err != nil {
			return desk.Said{}, err
		}
		todo = append(todo, in)
	}
	if a.in.Message != "" {
		todo = append(todo, intent.Intent{Op: intent.Text, Text: a.in.Message})
	}
	if a.in.Name != "" {
		todo = append(todo, intent.Intent{Op: intent.Rename, Text: a.in.Name})
	}
	if len(todo) == 0 {
		return said, tools.Errorf(tools.InvalidArgs, "nothing to change; give what becomes other: schedule, message or name")
	}
	for i, in := range todo {
		in.Kind, in.Ref = intent.Change, ref
		if said, err = a.desk.Do(ctx, a.who, in, a.message(ctx, []string{"", ":2", ":3"}[i])); err != nil || said.Asked {
			return said, err
		}
		if len(said.Jobs) == 1 {
			ref = intent.Ref{Words: said.Jobs[0].ID}
		}
	}
	return noted(said, note), nil
}

// snooze lets what rang, or what is named, come once more.
func (a asking) snooze(ctx context.Context) (desk.Said, error) {
	ref, err := a.ref(ctx, true)
	if err != nil {
		return desk.Said{}, err
	}
	in := intent.Intent{Kind: intent.Change, Op: intent.Snooze, Ref: ref}
	in.Ref.Rang = ref == intent.Ref{}
	text, note, c := a.in.when(), "", a.context()
	if a.in.EverySeconds > 0 && a.in.Schedule == "" {
		text = strconv.Itoa(a.in.EverySeconds) + " seconds"
	}
	in.Time, in.Shift = TimeOf(in.Op, text, c)
	got := when.Phrase{At: in.Shift.After(c.Now), Zone: zoneOf(c)}
	if in.Time != "" {
		got, err = when.Parse(text, c.Now, c.Zone)
	}
	if err == nil && text != "" { // else the desk says what is wrong
		if note, err = a.judged([]when.Phrase{got}); err != nil {
			return desk.Said{}, err
		}
	}
	said, err := a.desk.Do(ctx, a.who, in, a.message(ctx, ""))
	return noted(said, note), err
}

// ref is which job is meant; none may be said where that has a meaning, or in
// a reply to a message about one.
func (a asking) ref(ctx context.Context, none bool) (intent.Ref, error) {
	ref := desk.RefOf(a.in.JobID)
	if ref == (intent.Ref{}) && !none && a.message(ctx, "").Reply == "" {
		return ref, tools.Errorf(tools.InvalidArgs, "which one? Give job_id: its number in the list, or words of its text; list shows them")
	}
	return ref, nil
}

// failure says to the model what kind of refusal it is.
func failure(err error) error {
	r, ok := errors.AsType[*desk.Refusal](err)
	if !ok {
		return err
	}
	kind := tools.InvalidArgs
	switch r.Kind {
	case desk.Unknown:
		kind = tools.NotFound
	case desk.Forbidden:
		kind = tools.Permission
	}
	return &tools.Error{Kind: kind, Text: r.Text, Err: r.Err}
}

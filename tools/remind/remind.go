// Package remind holds the tool with which the agent makes, lists and changes
// reminders and jobs: cron, also called remind. What is understood and how it
// is worded is the business of cron/desk. It starts no goroutine.
package remind

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"magpie/chat"
	"magpie/cron"
	"magpie/cron/desk"
	"magpie/tools"
)

//go:embed cron.md
var cronText string

// Desk keeps the jobs.
type Desk interface {
	Add(ctx context.Context, w desk.Who, a desk.Ask) (cron.Job, string, error)
	List(ctx context.Context, w desk.Who) (string, error)
	Change(ctx context.Context, w desk.Who, action desk.Action, ref string) (string, error)
}

var _ Desk = (*desk.Desk)(nil)

// Options of the tool. Nil fields take the feature away.
type Options struct {
	// Elsewhere says whether the scope may make and change jobs of another
	// chat: nil error yes, else the reason, for the model. nil: no other chat.
	Elsewhere func(ctx context.Context, sc tools.Scope, to chat.Address) error
	// Admin says whether somebody may change the jobs of others; nil = nobody.
	Admin func(channel, sender string) bool
}

type cronIn struct {
	Action       string `json:"action" jsonschema:"What to do." rule:"enum=add|list|remove|pause|resume|run"`
	JobID        string `json:"job_id,omitempty" jsonschema:"For remove, pause, resume and run: the id of the job, its number in the list, or all (not for run)." rule:"maxlen=200"`
	Message      string `json:"message,omitempty" jsonschema:"For add: what to say, or in mode agent to do, when the time comes."`
	Name         string `json:"name,omitempty" jsonschema:"A short name for the list."`
	Schedule     string `json:"schedule,omitempty" jsonschema:"When, in words of English or Chinese, as the person said it: in 20 minutes, tomorrow at 3pm, every weekday at 09:00, 每周一上午九点; or every 10m, a date, a cron expression." rule:"maxlen=2000"`
	At           string `json:"at,omitempty" jsonschema:"When, once: an ISO time, with or without a zone, as 2026-11-24T15:00." rule:"maxlen=200"`
	CronExpr     string `json:"cron_expr,omitempty" jsonschema:"When, again and again: a cron expression of 5 fields (minute hour day month weekday), or 6 with seconds first, or @daily and its like." rule:"maxlen=200"`
	EverySeconds int    `json:"every_seconds,omitempty" jsonschema:"When, again and again: so many seconds apart, counted from now." rule:"min=10,max=316224000"`
	TZ           string `json:"tz,omitempty" jsonschema:"The time zone that is meant, an IANA name; the chat's own when it is not given." rule:"maxlen=100"`
	Mode         string `json:"mode,omitempty" jsonschema:"notify: message is delivered as it is. agent: message is a task for you." rule:"enum=notify|agent,default=notify"`
	Misfire      string `json:"misfire,omitempty" jsonschema:"What becomes of times that passed while the bot was down: run_once, skip or run_if_within:10m." rule:"maxlen=60"`
	place
}

// place names another chat.
type place struct {
	Channel string `json:"channel,omitempty" jsonschema:"Another channel; the current one when it is not given."`
	ChatID  string `json:"chat_id,omitempty" jsonschema:"Another chat; the current one when it is not given."`
}

// Tool makes cron.
func Tool(d Desk, o *Options) tools.Tool {
	k := keeper{desk: d}
	if o != nil {
		k.opt = *o
	}
	spec := tools.Spec{
		Name: "cron", Also: []string{"remind"}, Description: strings.TrimSpace(cronText),
		Category: tools.System, Effect: tools.Acts, Main: "message",
		Aliases: map[string]string{
			"id": "job_id", "job": "job_id", "text": "message", "content": "message", "task": "message",
			"to": "chat_id", "timezone": "tz", "zone": "tz", "cron": "cron_expr", "cron_expression": "cron_expr", "every": "every_seconds", "when": "schedule", "time": "schedule",
		},
	}
	return tools.New(spec, k.call, tools.WithStays(stays))
}

// stays says whether a call reaches nobody but the current chat, now and
// later. A task is not among them: what a text from outside wishes would be
// done later, by a turn that has read nothing.
func stays(sc tools.Scope, args json.RawMessage) bool {
	var in cronIn
	if json.Unmarshal(args, &in) != nil {
		return false
	}
	_, here := in.address(sc)
	return here && (in.Action != "add" || in.Mode != string(cron.Agent))
}

// address is the chat whose jobs are meant, and whether it is the current one.
func (in cronIn) address(sc tools.Scope) (to chat.Address, here bool) {
	sameChannel := in.Channel == "" || in.Channel == sc.Addr.Channel
	if sameChannel && (in.ChatID == "" || in.ChatID == sc.Addr.Chat) {
		return sc.Addr, true
	}
	to = chat.Address{Channel: sc.Addr.Channel, Chat: in.ChatID}
	if in.Channel != "" {
		to.Channel = in.Channel
	}
	return to, false
}

type keeper struct {
	desk Desk
	opt  Options
}

func (k keeper) call(ctx context.Context, sc tools.Scope, in cronIn) (tools.Result, error) {
	who, err := k.who(ctx, sc, in)
	if err != nil {
		return tools.Result{}, err
	}
	// A job that makes, resumes or runs jobs could keep itself going for ever;
	// ending what is over is what it may do.
	if sc.FromJob && (in.Action == "add" || in.Action == "resume" || in.Action == "run") {
		return tools.Result{}, tools.Errorf(tools.Permission, "this turn was begun by a job, and a job may not %s jobs; it may list, pause and remove them. Tell the person what you would have done", in.Action)
	}
	var text string
	switch in.Action {
	case "list":
		text, err = k.desk.List(ctx, who)
	case "add":
		_, text, err = k.desk.Add(ctx, who, in.ask(sc))
	default:
		text, err = k.desk.Change(ctx, who, desk.Action(in.Action), in.JobID)
	}
	if err != nil {
		return tools.Result{}, failure(err)
	}
	return tools.Result{Text: text}, nil
}

func (in cronIn) ask(sc tools.Scope) desk.Ask {
	a := desk.Ask{
		Message: in.Message, Name: in.Name, Every: time.Duration(in.EverySeconds) * time.Second,
		Cron: strings.TrimSpace(in.CronExpr), At: strings.TrimSpace(in.At), Schedule: strings.TrimSpace(in.Schedule),
		Zone: strings.TrimSpace(in.TZ), Mode: in.Mode, Misfire: in.Misfire,
	}
	if sc.CallID != "" {
		a.Key = string(sc.Addr.Session()) + ":" + sc.CallID
	}
	return a
}

func (k keeper) who(ctx context.Context, sc tools.Scope, in cronIn) (desk.Who, error) {
	to, here := in.address(sc)
	w := desk.Who{
		Addr: to, Sender: sc.Sender, Home: sc.Addr.Channel, Direct: here && sc.Direct, Zone: sc.Zone, Lang: sc.Lang,
		Admin: k.opt.Admin != nil && k.opt.Admin(sc.Addr.Channel, sc.Sender.ID),
	}
	switch {
	case here:
		return w, nil
	case to.Chat == "":
		return w, tools.Errorf(tools.InvalidArgs, "channel %q without chat_id; give both, or neither for the current chat", to.Channel)
	case k.opt.Elsewhere == nil:
		return w, tools.Errorf(tools.Permission, "jobs of other chats are not allowed here; leave out channel and chat_id")
	}
	if err := k.opt.Elsewhere(ctx, sc, to); err != nil {
		return w, tools.Errorf(tools.Permission, "jobs of %s are not allowed: %w; leave out channel and chat_id for the current chat", to, err)
	}
	return w, nil
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

package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"magpie/agent/settings"
	"magpie/chat"
	"magpie/cron"
	"magpie/cron/desk"
)

// CronInput is the input of the cron operations.
type CronInput struct {
	Chat   string `json:"chat,omitempty"`   // CHANNEL:CHAT; list: "" = all chats
	Thread string `json:"thread,omitempty"` // add
	Sender string `json:"sender,omitempty"` // add: whose job it is, "" = an admin's
	Direct bool   `json:"direct,omitempty"` // add: a private chat with Sender
	Action string `json:"action,omitempty"` // change: remove, pause, resume, run
	ID     string `json:"id,omitempty"`     // change
	CronWhen
}

// CronWhen is what is asked for, as desk.Ask has it.
type CronWhen struct {
	Schedule string `json:"schedule,omitempty"`
	Message  string `json:"message,omitempty"`
	Name     string `json:"name,omitempty"`
	Zone     string `json:"zone,omitempty"`
	Mode     string `json:"mode,omitempty"`
	Misfire  string `json:"misfire,omitempty"`
}

// CronJob is a job as the operations write it.
type CronJob struct {
	cron.Job
	Chat  string     `json:"chat"` // CHANNEL:CHAT
	Shown desk.Shown `json:"shown"`
}

// CronJobs is what the list operation answers.
type CronJobs struct {
	Jobs    []CronJob `json:"jobs"`
	Damaged string    `json:"damaged,omitempty"` // of the entries that cannot be read
}

// CronDone is what the other operations answer, in words.
type CronDone struct {
	Text string   `json:"text"`
	Job  *CronJob `json:"job,omitempty"`
}

// jobs opens the jobs for an operation.
func (s state) jobs() (*cron.Store, *desk.Desk, error) {
	jobs, err := (&program{cfg: s.cfg, bus: s.bus}).openJobs()
	return jobs, desk.New(jobs), err
}

// whoIn is the operator, as one who acts in a chat.
func (s state) whoIn(ctx context.Context, a chat.Address) desk.Who {
	chats := settings.New(s.bus.Table("sess"), s.cfg.Location())
	set, err := chats.Load(ctx, a.Session())
	if err != nil { // the operator gets the configured zone then, and is told which
		set = settings.Settings{}
	}
	return desk.Who{Addr: a, Sender: chat.Sender{Name: "bot cron"}, Admin: true, Zone: chats.Zone(set), Lang: settings.English}
}

// address reads CHANNEL:CHAT; the id of a chat may hold colons.
func (s state) address(text string) (chat.Address, error) {
	channel, id, ok := strings.Cut(text, ":")
	if !ok || channel == "" || id == "" {
		return chat.Address{}, fmt.Errorf("%q is no chat; want CHANNEL:CHAT, as telegram:1001", text)
	}
	var names []string
	for _, c := range s.cfg.Channels {
		if c.Enabled {
			names = append(names, c.Name)
		}
	}
	if !(&program{cfg: s.cfg}).delivers(channel) {
		return chat.Address{}, fmt.Errorf("there is no channel %q; want one of %s", channel, strings.Join(names, ", "))
	}
	return chat.Address{Channel: channel, Chat: id}, nil
}

func cronList(ctx context.Context, s state, raw json.RawMessage) (any, error) {
	in, err := input[CronInput](raw)
	if err != nil {
		return nil, err
	}
	jobs, words, err := s.jobs()
	if err != nil {
		return nil, err
	}
	var all []cron.Job
	if in.Chat == "" {
		all, err = jobs.All(ctx)
	} else {
		a, bad := s.address(in.Chat)
		if bad != nil {
			return nil, bad
		}
		all, err = jobs.List(ctx, a)
	}
	out := CronJobs{Jobs: []CronJob{}}
	if errors.Is(err, cron.ErrCorrupt) {
		out.Damaged = err.Error()
	} else if err != nil {
		return nil, err
	}
	for _, j := range all {
		out.Jobs = append(out.Jobs, shownJob(words, s.whoIn(ctx, j.Addr), j))
	}
	return out, nil
}

func shownJob(words *desk.Desk, w desk.Who, j cron.Job) CronJob {
	return CronJob{Job: j, Chat: j.Addr.Channel + ":" + j.Addr.Chat, Shown: words.Show(w, j)}
}

func cronAdd(ctx context.Context, s state, raw json.RawMessage) (any, error) {
	in, err := input[CronInput](raw)
	if err != nil {
		return nil, err
	}
	a, err := s.address(in.Chat)
	if err != nil {
		return nil, err
	}
	if in.Direct && in.Sender == "" {
		return nil, errors.New("a private chat needs the person: give the sender too")
	}
	_, words, err := s.jobs()
	if err != nil {
		return nil, err
	}
	a.Thread = in.Thread
	w := s.whoIn(ctx, a)
	w.Direct = in.Direct
	if in.Sender != "" {
		w.Sender = chat.Sender{ID: in.Sender}
	}
	j, text, err := words.Add(ctx, w, desk.Ask{
		Message: in.Message, Name: in.Name, Schedule: in.Schedule, Zone: in.Zone, Mode: in.Mode, Misfire: in.Misfire,
	})
	if err != nil {
		return nil, err
	}
	shown := shownJob(words, w, j)
	return CronDone{Text: text, Job: &shown}, nil
}

func cronChange(ctx context.Context, s state, raw json.RawMessage) (any, error) {
	in, err := input[CronInput](raw)
	if err != nil {
		return nil, err
	}
	jobs, words, err := s.jobs()
	if err != nil {
		return nil, err
	}
	j, err := jobs.Find(ctx, in.ID)
	if errors.Is(err, cron.ErrNotFound) {
		return nil, fmt.Errorf("there is no job with the id %.40q; bot cron list shows them", in.ID)
	} else if err != nil {
		return nil, err
	}
	text, err := words.Change(ctx, s.whoIn(ctx, j.Addr), desk.Action(in.Action), j.ID)
	if err == nil && desk.Action(in.Action) == desk.Run && s.mcp == nil {
		text += "\n(the bot does not run here: this is done when it starts)"
	}
	return CronDone{Text: text}, err
}

package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"magpie/agent/settings"
	"magpie/chat"
	"magpie/cron"
	"magpie/cron/desk"
	"magpie/cron/ics"
	"magpie/cron/intent"
	"magpie/tools/remind"
)

// CronInput is the input of the cron operations.
type CronInput struct {
	Chat   string `json:"chat,omitempty"`   // CHANNEL:CHAT; list: "" = all chats
	Thread string `json:"thread,omitempty"` // add
	Sender string `json:"sender,omitempty"` // add: whose job it is, "" = an admin's
	Direct bool   `json:"direct,omitempty"` // add: a private chat with Sender
	Action string `json:"action,omitempty"` // change: remove, pause, resume, run, skip, done, snooze, update, undo
	ID     string `json:"id,omitempty"`     // change; undo takes Chat
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
	p := &program{cfg: s.cfg, bus: s.bus}
	jobs, err := p.openJobs()
	p.jobs = jobs
	return jobs, p.desk(), err
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
		if j.Hidden {
			continue
		}
		out.Jobs = append(out.Jobs, shownJob(words, s.whoIn(ctx, j.Addr), j))
	}
	return out, nil
}

// cronExport writes the jobs of a chat, or of all, as a calendar file.
func cronExport(ctx context.Context, s state, raw json.RawMessage) (any, error) {
	all, err := cronList(ctx, s, raw)
	if err != nil {
		return nil, err
	}
	var jobs []cron.Job
	for _, j := range all.(CronJobs).Jobs {
		jobs = append(jobs, j.Job)
	}
	var file strings.Builder
	if err := ics.Write(&file, jobs, time.Now()); errors.Is(err, ics.ErrEmpty) {
		return nil, errors.New("there are no jobs")
	} else if err != nil {
		return nil, err
	}
	return CronDone{Text: file.String()}, nil
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
	return CronDone{Text: text + "\nid: " + j.ID, Job: &shown}, nil
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
	if in.Action == string(intent.Undo) {
		a, err := s.address(in.Chat)
		if err != nil {
			return nil, err
		}
		said, err := words.Do(ctx, s.whoIn(ctx, a), intent.Intent{Kind: intent.Change, Op: intent.Undo}, desk.Message{Alone: true})
		return CronDone{Text: chat.Unliteral(said.Text)}, err
	}
	j, err := jobs.Find(ctx, in.ID)
	if errors.Is(err, cron.ErrNotFound) {
		return nil, fmt.Errorf("there is no job with the id %.40q; bot cron list shows them", in.ID)
	} else if err != nil {
		return nil, err
	}
	w := s.whoIn(ctx, j.Addr)
	changes, err := in.changes(intent.Context{Now: words.Now(), Zone: w.Zone})
	if err != nil {
		return nil, err
	}
	var done CronDone
	for _, change := range changes {
		change.Kind, change.Ref = intent.Change, intent.Ref{Words: j.ID}
		said, err := words.Do(ctx, w, change, desk.Message{Alone: true})
		if err != nil {
			return nil, err
		}
		done.Text = strings.TrimPrefix(done.Text+"\n"+chat.Unliteral(said.Text), "\n")
	}
	if intent.Op(in.Action) == intent.Run && s.mcp == nil {
		done.Text += "\n(the bot does not run here: this is done when it starts)"
	}
	return done, nil
}

// changes are what an input says to do to a job, one after the other.
func (in CronInput) changes(c intent.Context) (all []intent.Intent, err error) {
	switch op := intent.Op(in.Action); op {
	case intent.Remove, intent.Pause, intent.Resume, intent.Run, intent.Skip, intent.Done:
		return []intent.Intent{{Op: op}}, nil
	case intent.Snooze:
		later := intent.Intent{Op: op}
		if in.Schedule != "" {
			later.Time, later.Shift = remind.TimeOf(op, in.Schedule, c)
		}
		return []intent.Intent{later}, nil
	case "update":
		if in.Schedule != "" {
			moved := intent.Intent{Op: intent.Move}
			moved.Time, moved.Shift = remind.TimeOf(moved.Op, in.Schedule, c)
			all = append(all, moved)
		}
		if in.Message != "" {
			all = append(all, intent.Intent{Op: intent.Text, Text: in.Message})
		}
		if in.Name != "" {
			all = append(all, intent.Intent{Op: intent.Rename, Text: in.Name})
		}
		if len(all) == 0 {
			err = errors.New("nothing to change; give a schedule, a message or a name")
		}
		return all, err
	}
	return nil, fmt.Errorf("action %q of a job; want remove, pause, resume, run, skip, done, snooze, update or undo", in.Action)
}

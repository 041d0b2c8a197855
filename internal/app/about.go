package app

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"magpie/chat"
	"magpie/cron"
	"magpie/internal/kv"
)

// about knows which reminder a message of the bot is about, so that a reply to
// it means that one.
type about struct {
	p     *program
	table kv.Table // ids of jobs, by the turn or command whose answer is about them
}

// aboutFor is how long it is known what an answer was about.
const aboutFor = 90 * 24 * time.Hour

func (p *program) about() about { return about{p, p.bus.Table("about")} }

// made notes which jobs the answer of a turn is about. What cannot be noted
// costs the meaning of a reply, no more.
func (a about) made(ctx context.Context, turn string, jobs []cron.Job) {
	err := kv.Modify(ctx, a.table, turn, aboutFor, func(old []byte) ([]byte, error) {
		var ids []string
		if json.Unmarshal(old, &ids) != nil {
			ids = nil
		}
		for _, j := range jobs {
			if !slices.Contains(ids, j.ID) {
				ids = append(ids, j.ID)
			}
		}
		return json.Marshal(ids)
	})
	if err != nil {
		a.p.log.Warn("what an answer is about is not noted", "turn", turn, "err", err)
	}
}

// askedFor is how long the answer to a question may be waited for; the desk gives
// it up before.
const askedFor = 15 * time.Minute

// asks is where it stands that somebody was asked something by a command or a
// button, of which the conversation knows nothing.
func asks(to chat.Address, who chat.Sender) string {
	return "asks." + string(to.Session()) + "." + who.ID
}

// asked notes that, or that it is over.
func (a about) asked(ctx context.Context, to chat.Address, who chat.Sender, open bool) {
	var err error
	if open {
		_, err = a.table.Update(ctx, asks(to, who), []byte("?"), 0, askedFor)
	} else {
		err = a.table.Delete(ctx, asks(to, who))
	}
	if err != nil {
		a.p.log.Warn("a question about reminders is not noted", "session", to.Session(), "err", err)
	}
}

// isAsked says whether somebody was.
func (a about) isAsked(ctx context.Context, to chat.Address, who chat.Sender) (bool, error) {
	_, err := a.table.Get(ctx, asks(to, who))
	if errors.Is(err, kv.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// job is the job that a message of the bot is about, by the platform's id of the
// message; "" for none, and for several.
func (a about) job(ctx context.Context, to chat.Address, message string) string {
	id, err := a.p.bus.Receipts().Sent(ctx, to, message)
	if err != nil {
		a.p.log.Warn("what a quoted message is about is not known", "session", to.Session(), "err", err)
	}
	if job, _, ok := cron.ParseSlotID(id); ok {
		return job
	}
	if rest, ok := strings.CutPrefix(id, "out:"); ok { // of a turn or a command: out:<chat>:<number>:<part>
		var ids []string
		e, err := a.table.Get(ctx, rest[:max(0, strings.LastIndexByte(rest, ':'))])
		if err == nil && json.Unmarshal(e.Value, &ids) == nil && len(ids) == 1 {
			return ids[0]
		}
	}
	return a.delivered(ctx, to, message)
}

// delivered looks for the message in what is known of the deliveries of the
// chat's jobs: the answer to a task is found there.
func (a about) delivered(ctx context.Context, to chat.Address, message string) string {
	jobs, err := a.p.jobs.List(ctx, to)
	if err != nil && !errors.Is(err, cron.ErrCorrupt) {
		return ""
	}
	for _, j := range jobs {
		if j.Hidden {
			continue
		}
		for _, r := range j.Runs {
			if r.Receipt != nil && slices.ContainsFunc(r.Receipt.Refs, func(ref chat.MessageRef) bool { return ref.ID == message || ref.Index == message }) {
				return j.ID
			}
		}
	}
	return ""
}

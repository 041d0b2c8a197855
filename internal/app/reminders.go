package app

import (
	"context"
	"errors"
	"time"

	"magpie/agent/command"
	"magpie/cron/desk"
	"magpie/internal/kv"
	"magpie/tools/remind"
)

// remindOptions connects the cron tool. The jobs of other chats are for those
// who may write there.
func (t *toolbox) remindOptions() *remind.Options {
	return &remind.Options{Elsewhere: t.elsewhere, Admin: t.p.isAdmin}
}

// reminders answers the slash commands about reminders.
type reminders struct {
	desk  *desk.Desk
	meant kv.Table // what commands meant, by their message
}

var _ command.Reminders = reminders{}

// who is the asker as the desk knows people.
func who(a command.Asker) desk.Who {
	d := a.Delivery
	return desk.Who{Addr: d.Addr, Sender: d.From, Direct: d.Direct, Admin: a.Admin, Zone: a.Zone, Lang: a.Lang}
}

// Remind implements command.Reminders.
func (r reminders) Remind(ctx context.Context, a command.Asker, text string, task bool) (string, error) {
	// The command may be handled again after a crash.
	ask := desk.Ask{Schedule: text, Prefix: a.Prefix, Key: "command:" + a.Delivery.ID}
	if task {
		ask.Mode = "agent"
	}
	_, said, err := r.desk.Add(ctx, who(a), ask)
	return refused(said, err)
}

// List implements command.Reminders.
func (r reminders) List(ctx context.Context, a command.Asker) (string, error) {
	return r.desk.List(ctx, who(a))
}

// Change implements command.Reminders. A command that is handled again after a
// crash means the same job: "remove 2" must not take away the next one.
func (r reminders) Change(ctx context.Context, a command.Asker, action, ref string) (string, error) {
	w := who(a)
	if id := r.desk.Meant(ctx, w, ref); id != "" {
		var err error
		if ref, err = r.once(ctx, a.Delivery.ID, id); err != nil {
			return "", err
		}
	}
	said, err := r.desk.Change(ctx, w, desk.Action(action), ref)
	return refused(said, err)
}

// meantFor is how long a command may be handled again.
const meantFor = 24 * time.Hour

// once notes what a message means, and returns what was noted first.
func (r reminders) once(ctx context.Context, message, id string) (string, error) {
	_, err := r.meant.Create(ctx, message, []byte(id), meantFor)
	if errors.Is(err, kv.ErrConflict) {
		e, err := r.meant.Get(ctx, message)
		return string(e.Value), err
	}
	return id, err
}

// refused makes an answer of a refusal.
func refused(said string, err error) (string, error) {
	if r, ok := errors.AsType[*desk.Refusal](err); ok {
		return r.Text, nil
	}
	return said, err
}

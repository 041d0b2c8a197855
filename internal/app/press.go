package app

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"magpie/agent/buttons"
	"magpie/chat"
	"magpie/cron"
	"magpie/cron/desk"
	"magpie/tools"
	"magpie/tools/remind"
)

// reminderAction is the name of what the buttons of reminders do: those under
// what is due, and those under answers about them.
const reminderAction = remind.Action

// pressing is the desk as buttons need it.
type pressing interface {
	Press(ctx context.Context, w desk.Who, press, key string) (desk.Said, error)
	DueButtons(w desk.Who, j cron.Job) [][]desk.Button
	// Rang notes that a slot comes: what its buttons mean.
	Rang(ctx context.Context, due cron.Fired) error
	saying
	Offer(ctx context.Context, w desk.Who, jobs []cron.Job, key string) (desk.Said, error)
}

// saying is the desk as whoever writes to it needs it.
type saying interface {
	Say(ctx context.Context, w desk.Who, m desk.Message) (said desk.Said, mine bool, err error)
	// Named are the sources of the reminders that an answer names.
	Named(ctx context.Context, w desk.Who, text string, others ...cron.Job) ([]chat.Source, error)
}

// shortNotice is the longest answer, in characters, that only the one who
// pressed is shown.
const shortNotice = 60

// pressReminder is what a press does. The desk knows one that it is told again.
func (t *toolbox) pressReminder(ctx context.Context, pressed buttons.Pressed) (buttons.Result, error) {
	in := pressed.In
	set, err := t.settings.Load(ctx, in.Addr.Session())
	if err != nil {
		t.p.log.Warn("settings are not known", "session", in.Addr.Session(), "err", err)
	}
	w := desk.Who{
		Addr: in.Addr, Sender: in.From, Direct: in.Direct, Admin: t.p.isAdmin(in.Addr.Channel, in.From.ID),
		Zone: t.settings.Zone(set), Lang: pressed.Lang,
	}
	said, err := t.reminders.Press(ctx, w, pressed.Choice.Payload, pressed.ID)
	if r, ok := errors.AsType[*desk.Refusal](err); ok {
		said = desk.Said{Text: r.Text}
		said.Sources, err = t.reminders.Named(ctx, w, r.Text)
	}
	if err != nil {
		return buttons.Result{}, err
	}
	if said.Asked {
		t.p.about().asked(ctx, in.Addr, in.From, true)
	}
	if len(said.Buttons) == 0 && !said.Asked && len(said.Jobs) == 0 && !strings.Contains(said.Text, "\n") && utf8.RuneCountInString(said.Text) <= shortNotice {
		return buttons.Result{Notice: chat.Unliteral(said.Text)}, nil
	}
	return buttons.Result{Text: said.Text, Rows: choices(said.Buttons), Sources: said.Sources}, nil
}

// answered gives the desk what a person says to a question that a command or a
// button has put, and the calendar files that they send. What wants something of
// its own goes to the model.
func (t *toolbox) answered(ctx context.Context, sc tools.Scope) (tools.Result, bool, error) {
	known := t.p.about()
	w := desk.Who{Addr: sc.Addr, Sender: sc.Sender, Direct: sc.Direct, Admin: t.p.isAdmin(sc.Addr.Channel, sc.Sender.ID), Zone: sc.Zone, Lang: sc.Lang}
	said, mine, err := t.calendar(ctx, w, sc)
	if !mine && err == nil {
		var open bool
		if open, err = known.isAsked(ctx, sc.Addr, sc.Sender); err != nil || !open || sc.Said == "" {
			return tools.Result{}, false, err
		}
		said, mine, err = t.reminders.Say(ctx, w, desk.Message{Text: sc.Said, Key: sc.CallID, Named: sc.Named, Answer: true})
	}
	if r, ok := errors.AsType[*desk.Refusal](err); ok {
		said = desk.Said{Text: r.Text, Asked: true}
		said.Sources, err = t.reminders.Named(ctx, w, r.Text)
	}
	if !mine || err != nil {
		return tools.Result{}, false, err
	}
	if len(said.Jobs) > 0 {
		known.made(ctx, sc.Turn, said.Jobs)
	}
	known.asked(ctx, sc.Addr, sc.Sender, said.Asked)
	return tools.Result{Text: said.Text, OK: true, Buttons: remind.Offered(said), Sources: said.Sources}, true, nil
}

package app

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"magpie/agent/buttons"
	"magpie/agent/command"
	"magpie/chat"
	"magpie/cron"
	"magpie/cron/desk"
	"magpie/cron/ics"
	"magpie/cron/intent"
	"magpie/cron/when"
	"magpie/tools/remind"
)

// remindOptions connects the cron tool. The jobs of other chats are for those
// who may write there.
func (t *toolbox) remindOptions() *remind.Options {
	known := t.p.about()
	return &remind.Options{Elsewhere: t.elsewhere, Admin: t.p.isAdmin, Made: known.made, About: known.job}
}

// talking is the desk as commands need it.
type talking interface {
	Do(ctx context.Context, w desk.Who, in intent.Intent, m desk.Message) (desk.Said, error)
	saying
	Find(ctx context.Context, w desk.Who, ref string) (cron.Job, error)
}

// reminders answers the slash commands about reminders.
type reminders struct {
	desk  talking
	now   func() time.Time
	offer func(ctx context.Context, spec buttons.Spec, direct bool, rows [][]buttons.Choice) ([][]chat.Button, error)
	jobShelf
	about interface {
		made(ctx context.Context, turn string, jobs []cron.Job)
		job(ctx context.Context, to chat.Address, message string) string
		asked(ctx context.Context, to chat.Address, who chat.Sender, open bool)
	}
}

// jobShelf is what a calendar file is made of, and where it goes.
type jobShelf struct {
	jobs *cron.Store
	put  func(ctx context.Context, name, mime string, r io.Reader) (ref string, size int64, err error)
}

var _ command.Reminders = reminders{}

// who is the asker as the desk knows people.
func who(a command.Asker) desk.Who {
	d := a.Delivery
	return desk.Who{Addr: d.Addr, Sender: d.From, Direct: d.Direct, Admin: a.Admin, Zone: a.Zone, Lang: a.Lang}
}

// message is a command's text as the desk takes it. The command may be handled
// again after a crash.
func (r reminders) message(ctx context.Context, a command.Asker, text string) desk.Message {
	m := desk.Message{Text: text, Key: "command:" + a.Delivery.ID, Prefix: a.Prefix, Named: a.Delivery.Named, Command: true}
	if q := a.Delivery.ReplyTo; q != nil && q.Mine {
		m.Reply = r.about.job(ctx, a.Delivery.Addr, q.ID)
	}
	return m
}

// reply makes an answer of what the desk says, and of why it refuses.
func (r reminders) reply(ctx context.Context, a command.Asker, said desk.Said, err error) (command.Reply, error) {
	if refusal, ok := errors.AsType[*desk.Refusal](err); ok {
		named, err := r.desk.Named(ctx, who(a), refusal.Text)
		return command.Reply{Text: refusal.Text, Sources: named}, err
	}
	if err != nil {
		return command.Reply{}, err
	}
	d := a.Delivery
	if len(said.Jobs) > 0 {
		r.about.made(ctx, fmt.Sprintf("%s:%d", d.Addr.Session(), d.Seq), said.Jobs)
	}
	if said.Asked {
		r.about.asked(ctx, d.Addr, d.From, true)
	}
	out := command.Reply{Text: said.Text, Sources: said.Sources}
	spec := buttons.Spec{Addr: d.Addr, Senders: []string{d.From.ID}, Action: reminderAction, Lang: a.Lang}
	out.Buttons, err = r.offer(ctx, spec, d.Direct, choices(said.Buttons))
	return out, err
}

// Remind implements command.Reminders.
func (r reminders) Remind(ctx context.Context, a command.Asker, text string, task bool) (command.Reply, error) {
	m := r.message(ctx, a, text)
	m.Task = task
	said, mine, err := r.desk.Say(ctx, who(a), m)
	if err == nil && !mine {
		said.Text = pickLang(a.Lang, "I found no time in this. Say for example: ", "没听懂时间，可以这样说：") +
			"`" + a.Prefix + " " + pickLang(a.Lang, "in 20 minutes to stretch", "20分钟后休息一下") + "`"
	}
	return r.reply(ctx, a, said, err)
}

// List implements command.Reminders.
func (r reminders) List(ctx context.Context, a command.Asker) (command.Reply, error) {
	said, err := r.desk.Do(ctx, who(a), intent.Intent{Kind: intent.Query, What: intent.AskList}, r.message(ctx, a, ""))
	return r.reply(ctx, a, said, err)
}

// Timed implements command.Reminders.
func (r reminders) Timed(a command.Asker, text string) bool {
	in := intent.Read(text, intent.Context{Now: r.now(), Zone: a.Zone, Command: true})
	return in.Kind == intent.Create || in.Kind == intent.Ask && (in.Question.Missing != intent.MissTime || len(in.Question.Choices) > 0)
}

// Dated implements command.Reminders.
func (r reminders) Dated(a command.Asker, text string) bool {
	c := intent.Context{Now: r.now(), Zone: a.Zone}
	p, err := when.Parse(text, c.Now, c.Zone)
	_, _, days := when.Range(text, c.Now, c.Zone)
	return days && (err != nil || !p.Exact && !p.At.IsZero()) && intent.OnlyTime(text, c)
}

// Change implements command.Reminders.
func (r reminders) Change(ctx context.Context, a command.Asker, verb, rest string) (command.Reply, error) {
	if verb == "export" {
		return r.export(ctx, a)
	}
	in := intent.Intent{Kind: intent.Change, Op: intent.Op(verb)}
	value := ""
	switch {
	case verb == intent.AskMore || verb == intent.AskWhen || verb == intent.AskList:
		in.Kind, in.What, in.Ref = intent.Query, verb, desk.RefOf(rest)
		in.From, in.To, _ = when.Range(rest, r.now(), a.Zone)
		said, err := r.desk.Do(ctx, who(a), in, r.message(ctx, a, ""))
		return r.reply(ctx, a, said, err)
	case verb == "clear":
		in.Op, rest = intent.Remove, cmp.Or(rest, "all")
	}
	switch in.Op {
	case intent.Move, intent.Text, intent.Rename, intent.Snooze:
		rest, value = r.parted(ctx, a, in.Op, rest)
	}
	if in.Ref = desk.RefOf(rest); in.Op == intent.Rename {
		if j, err := r.desk.Find(ctx, who(a), rest); err == nil && j.Name == "" && j.Mode == cron.Notify {
			in.Op = intent.Text // what it is called is what it says
		}
	}
	switch {
	case in.Op == intent.Text || in.Op == intent.Rename:
		in.Text = value
	case value != "":
		in.Time, in.Shift = remind.TimeOf(in.Op, value, intent.Context{Now: r.now(), Zone: a.Zone})
	}
	in.Ref.Rang = in.Op == intent.Snooze && in.Ref == (intent.Ref{})
	said, err := r.desk.Do(ctx, who(a), in, r.message(ctx, a, value))
	return r.reply(ctx, a, said, err)
}

// newTo stands between a reminder and what it becomes.
var newTo = regexp.MustCompile(`(?i)^\s*(?:(?:to|for|by|until|as|on)\s+|改?[到为成]|[:：,，])\s*`)

// numbers are several of the list, and what stands behind them.
var numbers = regexp.MustCompile(`(?i)^(#?\d+(?:\s*(?:[,，、&+]|\band\b|和|跟)\s*#?\d+)+)\b(.*)$`)

// justTo is 到晚上七点, and not 到周五为止.
var justTo = regexp.MustCompile(`^\s*到[^止停束]*$`)

// parted takes apart which reminder is meant and what it becomes: "2 9:30", "buy
// milk to buy oat milk", 健身晚上七点.
func (r reminders) parted(ctx context.Context, a command.Asker, op intent.Op, text string) (ref, value string) {
	c := intent.Context{Now: r.now(), Zone: a.Zone}
	isNew := func(value string) bool {
		if op == intent.Text || op == intent.Rename {
			return value != ""
		}
		return remind.IsTime(op, value, c)
	}
	first, value, _ := strings.Cut(text, " ")
	if several := numbers.FindStringSubmatch(text); several != nil {
		return several[1], r.newly(ctx, a, op, several[1], several[2])
	}
	if named := desk.RefOf(first); named.Number != 0 || named.Last || named.All || isJobID(first) {
		return first, r.newly(ctx, a, op, first, value)
	}
	if op == intent.Snooze && isNew(text) {
		return "", text
	}
	var told, others []int // where something like "to" stands, and the rest from behind
	for i := range text {
		switch {
		case i == 0 || i > maxParted:
		case newTo.MatchString(text[i:]):
			told = append(told, i)
		case text[i] == ' ' || text[i] >= utf8.RuneSelf:
			others = append([]int{i}, others...)
		}
	}
	for _, i := range append(told, others...) {
		ref, value = strings.TrimSpace(text[:i]), strings.TrimSpace(newTo.ReplaceAllString(text[i:], ""))
		if ref == "" || !isNew(value) {
			continue
		}
		_, err := r.desk.Find(ctx, who(a), ref)
		if refusal, no := errors.AsType[*desk.Refusal](err); err == nil || no && refusal.Kind == desk.Unsure {
			return ref, r.newly(ctx, a, op, ref, text[i:])
		}
	}
	return text, ""
}

// newly is what a reminder becomes, without a word such as "to" before it: not
// "until friday", of what repeats.
func (r reminders) newly(ctx context.Context, a command.Asker, op intent.Op, ref, value string) string {
	if op == intent.Move && when.IsEnd(value) && !justTo.MatchString(value) {
		if j, err := r.desk.Find(ctx, who(a), ref); err == nil && j.Schedule.At.IsZero() {
			return strings.TrimSpace(value)
		}
	}
	return strings.TrimSpace(newTo.ReplaceAllString(value, ""))
}

// maxParted is how many bytes of a text are looked at for which reminder it
// means.
const maxParted = 300

func isJobID(text string) bool {
	return len(text) == 10 && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// export gives the reminders of the chat as a calendar file.
func (r reminders) export(ctx context.Context, a command.Asker) (command.Reply, error) {
	jobs, err := r.jobs.List(ctx, a.Delivery.Addr)
	if err != nil && !errors.Is(err, cron.ErrCorrupt) {
		return command.Reply{}, err
	}
	jobs = slices.DeleteFunc(jobs, func(j cron.Job) bool { return j.Hidden })
	var file bytes.Buffer
	if err := ics.Write(&file, jobs, r.now()); errors.Is(err, ics.ErrEmpty) {
		return command.Reply{Text: pickLang(a.Lang, "There are no reminders in this chat.", "这个会话里没有提醒。")}, nil
	} else if err != nil {
		return command.Reply{}, err
	}
	const name, mime = "reminders.ics", "text/calendar"
	ref, size, err := r.put(ctx, name, mime, &file)
	if err != nil {
		return command.Reply{}, fmt.Errorf("store the calendar file: %w", err)
	}
	return command.Reply{
		Text:  pickLang(a.Lang, "The reminders of this chat, for a calendar.", "这是本会话的提醒，可导入日历。"),
		Files: []chat.Attachment{{Kind: chat.File, Name: name, MIME: mime, Ref: ref, Size: size}},
	}, nil
}

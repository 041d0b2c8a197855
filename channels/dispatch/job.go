package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"magpie/channels"
	"magpie/channels/render"
	"magpie/chat"
)

// job is the delivery of one message: a list of steps, each one call to the
// platform, made from the message alone, so that a repeat after a crash has
// the same list and goes on where the first stopped.
type job struct {
	d        *Dispatcher
	out      chat.Outbound
	draft    *draft // the streamed message that this one replaces, or nil
	steps    []step
	progress progress
	kept     bool // the progress stands in the store
	// other is what messages hold that are no step as it was planned, by their id.
	other map[string]chat.Part
}

// step is one text, or one group of files with its caption.
type step struct {
	text  string
	files []channels.Upload
	reply bool // carries ReplyTo
	last  bool // carries the buttons
}

// keepProgress is how long it is known what was sent of a message that is not
// done.
const keepProgress = 72 * time.Hour

// progress is stored after each step but the last of a message with several.
type progress struct {
	Done int               `json:"done"` // steps that are finished
	Refs []chat.MessageRef `json:"refs,omitempty"`
	Of   []int             `json:"of,omitempty"`   // the steps that the last Refs belong to
	Lost []int             `json:"lost,omitempty"` // finished steps that could not be sent
}

func (j *job) run(ctx context.Context) error {
	if err := j.answer(ctx); err != nil {
		return err
	}
	if j.out.Answer != nil && j.out.Answer.Under != "" {
		if done, err := j.under(ctx); done || err != nil {
			return err
		}
	}
	if err := j.plan(ctx); err != nil {
		return err
	}
	if len(j.steps) > 1 {
		var err error
		if j.kept, err = load(ctx, j.d.opt.Drafts, j.progressKey(), &j.progress); err != nil {
			return fmt.Errorf("read what was sent of it: %w", err)
		}
	}
	if err := j.draft.settle(ctx, j); err != nil {
		return err
	}
	return j.walk(ctx)
}

// walk goes through the steps that are left, and through those that an earlier
// delivery has lost. Files that cannot be sent do not keep the others back, and
// a channel that keeps what it cannot send now is given all of the message; it
// counts as undeliverable at the end.
func (j *job) walk(ctx context.Context) error {
	again := j.progress.Lost
	todo := slices.Clone(again)
	for n := j.progress.Done; n < len(j.steps); n++ {
		todo = append(todo, n)
	}
	var lost []int
	var why error
	for i, n := range todo {
		refs, err := j.step(ctx, n)
		var dead *Undeliverable
		switch {
		case errors.As(err, &dead) && (len(j.steps[n].files) > 0 || kept(err)):
			lost = append(lost, n)
			if !kept(err) || !kept(why) { // else it says the same once more
				why = errors.Join(why, dead.Err)
			}
		case err != nil:
			return err
		}
		j.progress.add(n, refs)
		j.progress.Done = max(j.progress.Done, n+1)
		j.progress.Lost = slices.Concat(lost, again[min(i+1, len(again)):])
		if len(j.steps) > 1 && (j.progress.Done < len(j.steps) || len(j.progress.Lost) > 0) {
			if err := j.keep(ctx); err != nil {
				return fmt.Errorf("note what was sent of it: %w", err)
			}
		}
	}
	if why != nil {
		return &Undeliverable{why}
	}
	return nil
}

// keeper is a refusal after which the channel tells the message itself, at the
// next contact. What follows in the message has to wait with it.
type keeper interface{ Kept() bool }

func kept(err error) bool {
	var k keeper
	return errors.As(err, &k) && k.Kept()
}

func (j *job) progressKey() string { return j.out.ID + ".parts" }

// keep stores the progress, for as long as a dead letter is likely to be sent
// again.
func (j *job) keep(ctx context.Context) error {
	b, err := json.Marshal(j.progress)
	if err != nil {
		return err
	}
	j.kept = true
	return stumble(ctx, func() error {
		_, err := j.d.opt.Drafts.Update(ctx, j.progressKey(), b, 0, keepProgress)
		return err
	})
}

// forget removes the progress of a message that has its receipt.
func (j *job) forget(ctx context.Context) {
	if !j.kept {
		return
	}
	if err := j.d.opt.Drafts.Delete(ctx, j.progressKey()); err != nil { // then its time ends it
		j.d.opt.Log.DebugContext(ctx, "progress of a message not removed", "trace", j.out.Trace, "err", err)
	}
}

// answer reacts to the press of a button. A press that the platform has
// forgotten is no reason to hold the message back.
func (j *job) answer(ctx context.Context) error {
	b, ok := j.d.ch.(channels.Buttoner)
	if !ok || j.out.Answer == nil || j.out.Answer.Under != "" {
		return nil
	}
	err := j.d.try(ctx, j.out.Meta, callTimeout, func(ctx context.Context) error {
		return repeatable(b.AnswerPress(ctx, j.out.Addr, *j.out.Answer))
	})
	var dead *Undeliverable
	if refused(err) || errors.As(err, &dead) {
		j.d.opt.Log.InfoContext(ctx, "press not answered", "trace", j.out.Trace, "err", err)
		return nil
	}
	return err
}

// plan makes the steps: text first, then files; a short text goes along with
// the files as their caption.
func (j *job) plan(ctx context.Context) error {
	text := j.out.Text
	if a := j.out.Answer; a != nil && text == "" && len(j.out.Attachments) == 0 && j.d.limits.Mute {
		text = a.Notice
	}
	files, notes, err := j.files(ctx)
	if err != nil {
		return err
	}
	text = paragraphs(text, notes, j.buttonLines())
	lim := j.d.limits
	groups := j.groups(files)
	drafted := j.out.Final && j.d.editPause(j.out.Addr) > 0 // the text may have a message of its own already
	caption := len(groups) > 0 && !drafted && len(j.buttons()) == 0 &&
		lim.Caption > 0 && text != "" && j.size(text) <= lim.Caption
	if caption {
		j.steps = append(j.steps, step{text: text, files: groups[0], last: true})
		groups = groups[1:]
	} else {
		j.addText(text, lim.Text)
	}
	if len(j.steps)+len(groups) == 0 { // the text may consist of what is not shown, such as definitions of links
		j.addText(asWritten(text), lim.Text)
	}
	for _, g := range groups {
		j.steps = append(j.steps, step{files: g})
	}
	if len(j.steps) > 0 {
		j.steps[0].reply = true
	}
	return nil
}

func (j *job) addText(text string, limit int) {
	var parts []string
	for _, part := range render.Split(text, limit, j.d.limits.Size) {
		if j.size(part) > 0 {
			parts = append(parts, part)
		}
	}
	rest := ""
	if most := j.d.limits.Parts; most > 0 && len(parts) > most && j.filesTake(text) {
		rest = render.Join(parts[most-1:])
		parts = parts[:most-1]
	}
	for i, part := range parts {
		j.steps = append(j.steps, step{text: part, last: i == len(parts)-1})
	}
	if rest != "" {
		j.steps = append(j.steps, step{files: []channels.Upload{textFile(rest)}})
	}
}

// asWritten is a text as code, in which everything is shown; "" stays "".
func asWritten(text string) string {
	return strings.TrimRight("    "+strings.ReplaceAll(text, "\n", "\n    "), " \n")
}

// filesTake reports whether a text could go as a file.
func (j *job) filesTake(text string) bool {
	_, ok := j.d.ch.(channels.MediaSender)
	return ok && j.d.limits.Media[chat.File] >= int64(len(text))
}

// textFile is a text as a file. Its Text is for a channel that has to tell it
// otherwise.
func textFile(text string) channels.Upload {
	return upload(chat.Attachment{Kind: chat.File, Name: "message.md", MIME: "text/markdown", Size: int64(len(text)), Text: text}, text)
}

func (j *job) size(text string) int {
	if j.d.limits.Size == nil {
		return utf8.RuneCountInString(text)
	}
	return j.d.limits.Size(text)
}

// buttons are the buttons that the channel can show.
func (j *job) buttons() [][]chat.Button {
	if _, ok := j.d.ch.(channels.Buttoner); ok {
		return j.out.Buttons
	}
	return nil
}

// buttonLines writes the buttons out for a channel that has none.
func (j *job) buttonLines() string {
	if _, ok := j.d.ch.(channels.Buttoner); ok {
		return ""
	}
	var lines []string
	for _, row := range j.out.Buttons {
		for _, b := range row {
			lines = append(lines, "- "+b.Label)
		}
	}
	return strings.Join(lines, "\n")
}

func paragraphs(parts ...string) string {
	kept := parts[:0]
	for _, p := range parts {
		if strings.TrimSpace(p) != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "\n\n")
}

// message is what goes to the channel for step n.
func (j *job) message(n int, s step) chat.Outbound {
	msg := j.out
	msg.ID = partID(j.out.ID, n)
	msg.Text = s.text
	msg.Attachments, msg.Answer, msg.Buttons = nil, nil, nil
	if !s.reply {
		msg.ReplyTo, msg.Mention = "", chat.Sender{}
	}
	if s.last {
		msg.Buttons = j.buttons()
	}
	return msg
}

func (j *job) step(ctx context.Context, n int) ([]chat.MessageRef, error) {
	s := j.steps[n]
	msg := j.message(n, s)
	if len(s.files) > 0 {
		return j.sendFiles(ctx, msg, s.files)
	}
	ref, err := j.d.send(ctx, msg)
	if err == nil {
		return []chat.MessageRef{ref}, nil
	}
	if channels.KindOf(err) == channels.TooLong {
		return j.shorter(ctx, msg, err)
	}
	return nil, verdict(err)
}

// shorter sends a text that the platform found too long in smaller pieces,
// and if even those are too long as a file. A channel that keeps what it cannot
// send now is given every piece.
func (j *job) shorter(ctx context.Context, msg chat.Outbound, tooLong error) ([]chat.MessageRef, error) {
	var refs []chat.MessageRef
	var why error
	rest := render.Split(msg.Text, max(1, j.size(msg.Text)/2), j.d.limits.Size)
	for i, halvings := 0, 1; i < len(rest); {
		piece := msg
		piece.ID = fmt.Sprintf("%s/%d", msg.ID, i+1)
		piece.Text = rest[i]
		if i > 0 {
			piece.ReplyTo, piece.Mention = "", chat.Sender{}
		}
		if i < len(rest)-1 {
			piece.Buttons = nil
		}
		ref, err := j.d.send(ctx, piece)
		switch {
		case err == nil:
			j.unplanned(ref, chat.Part{Text: piece.Text})
			refs = append(refs, ref)
			i++
		case kept(err):
			why = err
			i++
		case channels.KindOf(err) == channels.TooLong && halvings < 4:
			halvings++
			left := render.Join(rest[i:])
			rest = append(rest[:i:i], render.Split(left, max(1, j.size(rest[i])/2), j.d.limits.Size)...)
		case channels.KindOf(err) == channels.TooLong:
			piece.Text = render.Join(rest[i:])
			more, err := j.asFile(ctx, piece, tooLong)
			return append(refs, more...), err
		default:
			return refs, verdict(err)
		}
	}
	return refs, verdict(why)
}

// asFile sends a text as a Markdown file.
func (j *job) asFile(ctx context.Context, msg chat.Outbound, tooLong error) ([]chat.MessageRef, error) {
	if !j.filesTake(msg.Text) {
		return nil, &Undeliverable{tooLong}
	}
	file := textFile(msg.Text)
	msg.Text = ""
	refs, err := j.upload(ctx, msg, []channels.Upload{file})
	for _, ref := range refs {
		j.unplanned(ref, chat.Part{Text: file.Text})
	}
	return refs, verdict(err)
}

package buttons

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"magpie/chat"
)

// Verdict says what became of a press.
type Verdict string

// The verdicts.
const (
	Done    Verdict = "done"
	Expired Verdict = "expired" // too late, or never made by this bot
	Foreign Verdict = "foreign" // not for the one who pressed
	Used    Verdict = "used"    // somebody was faster
	Failed  Verdict = "failed"  // the action failed; it can be pressed again
)

// Outcome is what is to be sent after a press.
type Outcome struct {
	Verdict Verdict
	// Answer is shown to the one who pressed; where the buttons are of no more
	// use it takes them away.
	Answer chat.Answer
	Text   string // for the chat, "" none
	// Sources are of the text from outside that Text may hold.
	Sources []chat.Source
	// Buttons stand under Text.
	Buttons [][]chat.Button
	// Err is the action's, when Failed; for the log.
	Err error
}

// Reasons why a press does not count; they never leave the package.
var (
	errExpired = errors.New("expired")
	errForeign = errors.New("not for this person")
	errUsed    = errors.New("used")
)

// Press handles a press (in.Press must be set): whoever presses first wins,
// the action runs, and the same press delivered again gets the same outcome
// without a second run. An action that was cut off by a crash runs again with
// the same Pressed.ID. say is Pressed.Say. An error means that the table
// cannot be used: deliver the press again later.
func (r *Registry) Press(ctx context.Context, in chat.Inbound, lang string, say func(context.Context, chat.Inbound) error) (Outcome, error) {
	if in.Press == nil {
		return Outcome{}, fmt.Errorf("message %q is not a press", in.ID)
	}
	id, index, ok := parse(in.Press.Data)
	if !ok {
		return refused(in, lang, errExpired), nil
	}
	var won press
	var choice Choice
	var spec Spec
	err := r.change(ctx, id, func(g *group) (err error) {
		won, err = g.claim(in, index)
		if err == nil {
			choice, spec = g.Choices[won.Choice], g.Spec
		}
		return err
	})
	switch {
	case errors.Is(err, errExpired), errors.Is(err, errForeign), errors.Is(err, errUsed):
		return refused(in, lang, err), nil
	case err != nil:
		return Outcome{}, err
	}
	if !won.Done {
		p := Pressed{ID: in.ID, In: in, Choice: choice, Lang: cmp.Or(spec.Lang, lang), Say: say}
		won.Done = true
		if err := r.run(ctx, spec, p, &won); err != nil {
			return r.giveBack(ctx, id, in, lang, err)
		}
		if err := r.note(ctx, id, won); err != nil {
			return Outcome{}, err
		}
	}
	out := Outcome{
		Verdict: Done, Text: won.Text, Sources: won.Sources, Buttons: won.Buttons, Answer: chat.Answer{Press: in.Press.ID, Notice: won.Notice},
	}
	if spec.Once {
		out.Answer.Message = in.Press.Message
	}
	return out, nil
}

// claim decides whether a press counts, and notes it when it does.
func (g *group) claim(in chat.Inbound, index int) (press, error) {
	switch {
	case index >= len(g.Choices):
		return press{}, errExpired
	case in.Addr.Session() != g.Addr.Session():
		return press{}, errForeign
	case len(g.Senders) > 0 && !slices.Contains(g.Senders, in.From.ID):
		return press{}, errForeign
	}
	if i := g.find(in.ID); i >= 0 {
		return g.Presses[i], nil
	}
	if g.Once && len(g.Presses) > 0 {
		return press{}, errUsed
	}
	p := press{ID: in.ID, Choice: index}
	g.Presses = append(g.Presses, p)
	if extra := len(g.Presses) - rememberPresses; extra > 0 {
		g.Presses = g.Presses[extra:]
	}
	return p, nil
}

func (g *group) find(id string) int {
	return slices.IndexFunc(g.Presses, func(p press) bool { return p.ID == id })
}

// run does what a button is for and writes down what came of it.
func (r *Registry) run(ctx context.Context, spec Spec, p Pressed, won *press) error {
	action := r.actions[spec.Action]
	if action == nil { // made by a newer or older program
		return fmt.Errorf("unknown action %q", spec.Action)
	}
	result, err := action(ctx, p)
	if err != nil {
		return err
	}
	won.Notice, won.Text, won.Sources = result.Notice, result.Text, result.Sources
	if won.Text != "" && len(result.Rows) > 0 {
		won.Buttons, err = r.MakeRows(ctx, spec, result.Rows)
	}
	return err
}

// note remembers the result of a press, for when it is delivered again.
func (r *Registry) note(ctx context.Context, id string, p press) error {
	err := r.change(ctx, id, func(g *group) error {
		if i := g.find(p.ID); i >= 0 {
			g.Presses[i] = p
		}
		return nil
	})
	if errors.Is(err, errExpired) {
		return nil // it ended while the action ran: nobody can press again anyway
	}
	return err
}

// giveBack makes room for another press after the action has failed.
func (r *Registry) giveBack(ctx context.Context, id string, in chat.Inbound, lang string, cause error) (Outcome, error) {
	if ctx.Err() != nil {
		// Stopped from outside: the press comes again and finds its claim.
		return Outcome{}, fmt.Errorf("press %q: %w", in.ID, cause)
	}
	err := r.change(ctx, id, func(g *group) error {
		g.Presses = slices.DeleteFunc(g.Presses, func(p press) bool { return p.ID == in.ID })
		return nil
	})
	if err != nil && !errors.Is(err, errExpired) {
		return Outcome{}, errors.Join(cause, err)
	}
	notice := pick(lang, "That did not work. Please press again.", "没有成功，请再按一次。")
	return Outcome{Verdict: Failed, Answer: chat.Answer{Press: in.Press.ID, Notice: notice}, Err: cause}, nil
}

// refused words a press that does not count.
func refused(in chat.Inbound, lang string, reason error) Outcome {
	out := Outcome{Answer: chat.Answer{Press: in.Press.ID, Message: in.Press.Message}}
	switch {
	case errors.Is(reason, errForeign):
		out.Verdict = Foreign
		out.Answer.Message = "" // others may still press
		out.Answer.Notice = pick(lang, "This button is not for you.", "这个按钮不是给您的。")
	case errors.Is(reason, errUsed):
		out.Verdict = Used
		out.Answer.Notice = pick(lang, "This was answered already.", "已经有人选过了。")
	default:
		out.Verdict = Expired
		out.Answer.Notice = pick(lang, "This button has expired.", "这个按钮已过期。")
	}
	return out
}

// parse takes Data apart: "b:<26 characters A–Z, 2–7>:<number>".
func parse(data string) (id string, index int, ok bool) {
	rest, ok := strings.CutPrefix(data, prefix)
	id, number, colon := strings.Cut(rest, ":")
	if !ok || !colon || len(id) != 26 || strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" {
		return "", 0, false
	}
	n, err := strconv.ParseUint(number, 10, 7)
	if err != nil || strconv.FormatUint(n, 10) != number {
		return "", 0, false
	}
	return id, int(n), true
}

func pick(lang, en, zh string) string {
	if lang == "zh" {
		return zh
	}
	return en
}

package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/sync/errgroup"

	"magpie/agent/llm"
	"magpie/chat"
	"magpie/tools"
)

// What a model reads in the place of a result. It decides what it does next by
// these sentences.
const (
	textStopped = "stopped by the person before it was done; do not go on with it unless asked"
	textUnknown = "The program was restarted while this call ran. Whether it took effect is unknown: check before you repeat it, or tell the person."
	textCutOff  = "not run: your reply was cut off at the output limit before this call was complete. Make it shorter, or split the work into several calls."
	hintAgain   = "\n[This call failed the same way before. Do not repeat it as it is: change the arguments, choose another way, or finish with what you have.]"
)

// mostFailures: a call that fails the same way that often in one turn is not
// run again in it. Other calls of the tool are.
const mostFailures = 3

// calls runs the calls of a reply and adds the reply and the results to the
// conversation. An error means that the turn cannot go on; the conversation is
// legal all the same.
func (t *turn) calls(ctx context.Context, reply llm.Reply) error {
	calls := reply.Message.Calls
	t.say(reply.Message)
	results := make([]callOutcome, len(calls))
	var err error
	if reply.Stop == llm.StopLength {
		for i := range results {
			results[i] = callOutcome{Err: tools.InvalidArgs, Text: textCutOff}
		}
	} else {
		err = t.runAll(ctx, calls, results)
	}
	t.loop.rounds++
	for i, res := range results {
		if res.OK && t.env.effects[calls[i].Name] != tools.Reads {
			clear(t.loop.failures) // what failed may work now
			clear(t.loop.withheld)
		}
		t.say(t.result(calls[i], res))
		t.said[len(t.said)-1].Sources = res.Sources
		t.loop.answered = t.loop.answered || res.Answered
		t.learn(res.Sources)
		if len(res.Buttons.Rows) > 0 {
			t.loop.buttons = res.Buttons
		}
	}
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return err
}

// runAll fills in the results: several calls at once when all of them only
// read, else one after the other.
func (t *turn) runAll(ctx context.Context, calls []llm.Call, results []callOutcome) error {
	t.showTools(calls)
	defer t.showTools(nil)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(t.env.kit.MaxConcurrent)
	for _, c := range calls {
		if t.env.effects[c.Name] != tools.Reads {
			g.SetLimit(1)
			break
		}
	}
	for i := range calls {
		g.Go(func() (err error) {
			results[i], err = t.call(ctx, fmt.Sprintf("%d.%d", t.loop.rounds, i), calls[i])
			return err
		})
	}
	return g.Wait()
}

// call runs one call, or says why not. id is the same again in a later attempt
// at the turn.
func (t *turn) call(ctx context.Context, id string, c llm.Call) (callOutcome, error) {
	if done, ok := t.loop.past.done[id]; ok {
		return done, nil
	}
	// Of a tool that is not known by now, nothing good can be assumed.
	changes := t.env.effects[c.Name] != tools.Reads
	switch {
	case ctx.Err() != nil:
		return callOutcome{Text: textStopped}, nil
	case t.loop.withheld[same(c)] != "":
		return callOutcome{Err: tools.Permission, Text: t.loop.withheld[same(c)]}, nil
	case changes && t.loop.past.intents[id]:
		return callOutcome{Text: textUnknown}, nil
	}
	waiter := &caller{turn: t, id: id, tool: c.Name}
	res := t.runTool(ctx, waiter, c)
	if err := waiter.failed(); err != nil {
		return callOutcome{Text: textStopped}, err
	}
	if ctx.Err() != nil && !res.OK {
		if text := res.Text; !blank(text) {
			res.Text = textStopped + "\n" + text
		} else {
			res.Text = textStopped
		}
		// Not written down: after a hand-over it is not known how far it came.
		return res, nil
	}
	return res, t.loop.journal.add(ctx, entry{Kind: kindDone, Call: id, Result: &res})
}

func (t *turn) runTool(ctx context.Context, w *caller, c llm.Call) (out callOutcome) {
	defer func() {
		if v := recover(); v != nil {
			t.h.a.count.panics.Add(1)
			t.h.a.opt.Log.Error("tool panicked", "session", t.h.key, "trace", t.first().Trace, "tool", c.Name, "err", fmt.Sprint(v))
			out = callOutcome{Err: tools.Failed, Text: "the tool broke down; try another way"}
		}
	}()
	sc := t.env.scope
	sc.CallID, sc.Caller, sc.Heard = t.id+":"+w.id, w, t.heard()
	if t.tainted() {
		sc.Guard, sc.Leaks = t.guard, t.leaks
	}
	res := t.env.kit.Tools.Run(ctx, sc, c.Name, c.Args)
	if res.Untrusted && res.Sources == nil {
		res.Sources = []chat.Source{{Kind: chat.SourceUnknown, Name: c.Name, At: t.h.a.opt.Now()}}
	}
	return callOutcome{
		OK: res.OK, Text: res.Text, Err: res.Err, Attachments: res.Attachments, Answered: res.Answered, Sources: res.Sources, Buttons: res.Buttons,
	}
}

// result makes the message of a call's result, and counts its failure.
func (t *turn) result(c llm.Call, res callOutcome) llm.Message {
	m := llm.Message{
		Role: llm.Tool, CallID: c.ID, Name: c.Name, Failed: !res.OK,
		Text: strings.ToValidUTF8(res.Text, "\uFFFD"),
	}
	if blank(m.Text) {
		m.Text = "[no output]"
	}
	for _, a := range res.Attachments {
		if a.Kind == chat.Image && a.Ref != "" {
			m.Images = append(m.Images, llm.Image{Ref: a.Ref, MIME: a.MIME})
		}
	}
	if !res.OK && res.Err != "" && t.loop.withheld[same(c)] == "" {
		m.Text += t.failed(c, res)
	}
	return m
}

// failed counts a failure of a call and returns what the model is told beside
// it.
func (t *turn) failed(c llm.Call, res callOutcome) string {
	call := same(c)
	way := call + "\x00" + string(res.Err) + "\x00" + sameWay(res.Text)
	t.loop.failures[way]++
	switch n := t.loop.failures[way]; {
	case n >= mostFailures:
		t.loop.withheld[call] = fmt.Sprintf("This call of %s has failed the same way %d times and is withheld for the rest of this turn: it is not run again with these arguments. Change them, go on without it, or tell the person what did not work.", c.Name, n)
		t.event(chat.TurnProgress, words(t.env.scope.Lang).withheld(c.Name))
		return "\n[" + t.loop.withheld[call] + "]"
	case n > 1:
		return hintAgain
	default:
		return ""
	}
}

// same is equal for calls of one tool with the same arguments, however they are
// written.
func same(c llm.Call) string {
	d := json.NewDecoder(strings.NewReader(c.Args))
	d.UseNumber()
	var args any
	if d.Decode(&args) != nil || d.More() {
		return c.Name + "\x00" + strings.TrimSpace(c.Args)
	}
	if raw, err := json.Marshal(args); err == nil {
		return c.Name + "\x00" + string(raw)
	}
	return c.Name + "\x00" + c.Args
}

// sameWay is the text of a failure without what differs from time to time:
// numbers.
func sameWay(text string) string {
	const enough = 200
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, text[:min(len(text), enough)])
}

// showTools tells what runs just now.
func (t *turn) showTools(calls []llm.Call) {
	names := make([]string, len(calls))
	for i, c := range calls {
		names[i] = c.Name
	}
	text := strings.Join(names, ", ")
	t.h.mu.Lock()
	t.doing.tool = text
	t.h.mu.Unlock()
	if text != "" {
		t.event(chat.TurnProgress, text)
	}
}

package app

import (
	"context"
	"slices"
	"strings"

	"magpie/agent/buttons"
	"magpie/chat"
	"magpie/tools"
)

// pressers are who may press what a tool or a reminder offers in a chat: those
// people and the admins of its channel; in a private chat, and on the page,
// whoever is there. False: nobody.
func (p *program) pressers(a chat.Address, direct bool, people ...string) (ids []string, any bool) {
	if direct || p.platform(a.Channel) == webType {
		return nil, true
	}
	for _, admin := range p.config().Security.Admins {
		if id, ok := strings.CutPrefix(admin, a.Channel+":"); ok {
			people = append(people, id)
		}
	}
	for _, id := range people {
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, len(ids) > 0
}

// offer makes what is offered to press in a chat, if anybody may.
func (t *toolbox) offer(ctx context.Context, spec buttons.Spec, direct bool, rows [][]buttons.Choice) ([][]chat.Button, error) {
	var any bool
	spec.Senders, any = t.p.pressers(spec.Addr, direct, spec.Senders...)
	if !any || len(slices.Concat(rows...)) == 0 {
		return nil, nil
	}
	spec.Once = true
	return t.buttons.MakeRows(ctx, spec, rows)
}

// offered makes the buttons that a tool offers under the answer of a turn.
func (t *toolbox) offered(ctx context.Context, sc tools.Scope, b tools.Buttons) ([][]chat.Button, error) {
	rows := choices(b.Rows)
	return t.offer(ctx, buttons.Spec{Addr: sc.Addr, Senders: []string{sc.Sender.ID}, Action: b.Action, Lang: sc.Lang}, sc.Direct, rows)
}

// choices are such buttons for the registry.
func choices[B ~struct{ Label, Press string }](rows [][]B) [][]buttons.Choice {
	out := make([][]buttons.Choice, len(rows))
	for i, row := range rows {
		for _, b := range row {
			one := struct{ Label, Press string }(b)
			out[i] = append(out[i], buttons.Choice{Label: one.Label, Payload: one.Press})
		}
	}
	return out
}

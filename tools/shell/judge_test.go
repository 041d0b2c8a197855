package shell_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"magpie/chat"
	"magpie/tools"
	"magpie/tools/shell"
)

// yes approves of everything, unless it is to deny, and notes what it was asked.
type yes struct {
	asked, why []string
	deny       bool
	meanwhile  func() // happens while it thinks
}

func (y *yes) Approve(ctx context.Context, _ tools.Scope, _ tools.Spec, args json.RawMessage) error {
	y.asked, y.why = append(y.asked, string(args)), append(y.why, foreignPart(ctx))
	if y.meanwhile != nil {
		y.meanwhile()
	}
	if y.deny {
		return errors.New("no")
	}
	return nil
}

// foreignPart is what a question says of what came from outside.
func foreignPart(ctx context.Context) string {
	if q := tools.QuestionOf(ctx); q != nil {
		for _, p := range q.Parts {
			if p.Name == tools.PartForeign {
				return p.Text
			}
		}
	}
	return ""
}

// Nobody is asked to approve of a command that can only fail.
func TestJudgedBeforeAsked(t *testing.T) {
	r := build(t, shell.Config{}, shell.Deps{})
	reg := &tools.Registry{}
	if err := reg.Register(r.shell.Tool()); err != nil {
		t.Fatal(err)
	}
	person := &yes{}
	e := tools.NewExecutor(reg, &tools.Options{Approver: person})
	for args, words := range map[string]string{
		`{"command":"rm -rf ."}`:                      "security",
		`{"command":" "}`:                             "empty",
		`{"command":"ls","working_dir":"missing"}`:    "missing",
		`{"command":"ls","timeout":1,"timeout_ms":1}`: "both given",
	} {
		res := e.Run(t.Context(), tools.Scope{CallID: "c", Heard: tools.Heard{Sources: []chat.Source{{Kind: chat.SourcePage}}}}, "exec", args)
		if res.OK || !strings.Contains(res.Text, words) || len(person.asked) > 0 {
			t.Errorf("%s: %s; asked %q", args, res.Text, person.asked)
		}
	}
	if res := e.Run(t.Context(), tools.Scope{CallID: "c", Heard: tools.Heard{Sources: []chat.Source{{Kind: chat.SourcePage}}}}, "exec", `{"command":"echo hi"}`); !res.OK || len(person.asked) != 1 {
		t.Errorf("a good one: %s; asked %q", res.Text, person.asked)
	}
}

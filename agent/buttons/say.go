package buttons

import (
	"context"
	"fmt"

	"magpie/chat"
)

// SayAction is the name of the built-in action: the button's payload, or its
// label when it has none, is spoken as the person who pressed.
const SayAction = "say"

func say(ctx context.Context, p Pressed) (Result, error) {
	text := p.Choice.Payload
	if text == "" {
		text = p.Choice.Label
	}
	in := chat.Inbound{
		Meta:   chat.Meta{V: chat.Version, ID: p.ID + ":say", Trace: p.In.Trace, At: p.In.At, Addr: p.In.Addr},
		Origin: chat.FromPerson, From: p.In.From, Text: text, Direct: p.In.Direct, Mentioned: true,
		Sources: p.Sources, // the words are not those of who pressed
	}
	if err := p.Say(ctx, in); err != nil {
		return Result{}, fmt.Errorf("say %q: %w", in.ID, err)
	}
	return Result{Notice: p.Choice.Label}, nil
}

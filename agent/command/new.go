package command

import (
	"context"

	"magpie/chat"
)

// runNew begins a new conversation. What stands behind the command, text and
// files, is its first message: nothing that a person sent is dropped.
func runNew(ctx context.Context, _ *Set, r *request) (string, error) {
	if err := r.chat.Reset(ctx); err != nil {
		return "", err
	}
	if r.args == "" && len(r.d.Attachments) == 0 {
		return r.pick("A new conversation. What is on your mind?", "新对话已开始，请说。"), nil
	}
	first := r.d.Inbound
	first.ID += ":new"
	first.Text = r.args
	first.Origin = chat.FromPerson
	if err := r.chat.Say(ctx, first); err != nil {
		return "", err
	}
	return r.pick("A new conversation.", "新对话已开始。"), nil
}

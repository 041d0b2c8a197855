package remind

import (
	"context"
	"regexp"
	"strings"

	"magpie/chat"
	"magpie/cron"
	"magpie/cron/desk"
	"magpie/cron/intent"
	"magpie/tools"
)

// address is the chat whose jobs are meant, and whether it is the current one.
func (in cronIn) address(sc tools.Scope) (to chat.Address, here bool) {
	sameChannel := in.Channel == "" || in.Channel == sc.Addr.Channel
	if sameChannel && (in.ChatID == "" || in.ChatID == sc.Addr.Chat) {
		return sc.Addr, true
	}
	to = chat.Address{Channel: sc.Addr.Channel, Chat: in.ChatID}
	if in.Channel != "" {
		to.Channel = in.Channel
	}
	return to, false
}

func (k keeper) who(ctx context.Context, sc tools.Scope, in cronIn) (desk.Who, error) {
	to, here := in.address(sc)
	w := desk.Who{
		Addr: to, Sender: sc.Sender, Home: sc.Addr.Channel, Direct: here && sc.Direct, Zone: sc.Zone, Lang: sc.Lang,
		Admin: k.opt.Admin != nil && k.opt.Admin(sc.Addr.Channel, sc.Sender.ID), Sources: sc.Sources,
	}
	if len(sc.Sources) > 0 && here && in.inTheirWords(sc.Heard, intent.Context{Now: k.desk.Now(), Zone: w.Zone}) {
		w.Sources = nil
	}
	switch {
	case here:
		return w, nil
	case to.Chat == "":
		return w, tools.Errorf(tools.InvalidArgs, "channel %q without chat_id; give both, or neither for the current chat", to.Channel)
	case k.opt.Elsewhere == nil:
		return w, tools.Errorf(tools.Permission, "jobs of other chats are not allowed here; leave out channel and chat_id")
	}
	if err := k.opt.Elsewhere(ctx, sc, to); err != nil {
		return w, tools.Errorf(tools.Permission, "jobs of %s are not allowed: %w; leave out channel and chat_id for the current chat", to, err)
	}
	return w, nil
}

// inTheirWords says that a new reminder says nothing but what the person's own
// words ask for, as the desk reads them without a model: what the turn has read
// has no part in that. It does not hold for tasks, which would be done later.
func (in cronIn) inTheirWords(h tools.Heard, c intent.Context) bool {
	if in.Action != "add" || in.Mode == string(cron.Agent) || in.Name != "" || pasted.MatchString(h.Said) {
		return false
	}
	read := intent.Read(h.Said, c)
	return read.Kind == intent.Create && read.Text != "" && bare(read.Text) == bare(in.Message)
}

// bare is a text of which only the words count.
func bare(text string) string { return strings.Trim(strings.ToLower(plain(text)), ".!?。！？ ") }

// pasted finds a text from outside that somebody has copied.
var pasted = regexp.MustCompile(`(?i)<\s*/?\s*outside\b`)

// theirs is who asks, where nothing counts but what the person has said.
func (a asking) theirs(said string) desk.Who {
	w := a.who
	if plain(said) == plain(a.sc.Said) && !pasted.MatchString(said) {
		w.Sources = nil
	}
	return w
}

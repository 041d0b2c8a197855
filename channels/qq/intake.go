package qq

import (
	"context"
	"fmt"
	"strings"

	"magpie/channels"
	"magpie/channels/lanes"
	"magpie/chat"
)

const (
	// tellQueue is how many chats may wait to be told what they missed; those
	// beyond are told at the contact after.
	tellQueue = 256
	maxLines  = 24  // messages of a chat that can be recognised when quoted
	maxQuote  = 300 // runes kept of each
	maxQuoted = 4   // files kept of each
	maxMenus  = 12  // messages with buttons
)

// line is a message of a chat under the index with which quotes refer to it.
type line struct {
	Index string            `json:"index"`
	ID    string            `json:"id,omitempty"`
	From  string            `json:"from,omitempty"`
	Text  string            `json:"text,omitempty"`
	Mine  bool              `json:"mine,omitempty"`
	Files []chat.Attachment `json:"files,omitempty"`
}

// menu is a message with buttons; their ids begin with Key.
type menu struct {
	Key string `json:"key"`
	ID  string `json:"id"`
}

// intake hands events to the sink, one after the other in a chat.
type intake struct {
	q     *QQ
	sink  channels.Sink
	chats lanes.Lanes
	tell  chan string // chats that missed something
}

func newIntake(q *QQ, sink channels.Sink) *intake {
	return &intake{q: q, sink: sink, tell: make(chan string, tellQueue)}
}

// take handles one frame; nil means that it is stored or rightly passed over.
func (n *intake) take(ctx context.Context, f *frame) error {
	ev := n.q.event(f)
	n.q.deps.Status.Event()
	if ev.in == nil {
		n.skip(&ev)
	}
	if ev.chat == "" {
		return nil
	}
	return n.chats.Do(ev.chat, func() error { return n.enter(ctx, ev) })
}

// enter brings an event into the account of its chat and to the sink.
func (n *intake) enter(ctx context.Context, ev event) error {
	if ev.in != nil || ev.window.ID != "" || ev.state != nil {
		// Before the sink: the answer may be quicker than what comes after it.
		waiting, err := n.q.ledger.open(ctx, ev.chat, ev.window, ev.note)
		if err != nil {
			return fmt.Errorf("note that %s can be answered: %w", ev.chat, err)
		}
		if ev.in != nil {
			n.q.fillQuote(ctx, ev.chat, ev.in.ReplyTo)
			ev.in.Mentioned = ev.in.Mentioned || ev.in.ReplyTo != nil && ev.in.ReplyTo.Mine
			n.q.keepLine(ctx, ev.chat, ev.index)
		}
		if err := n.give(ctx, &ev); err != nil {
			return err
		}
		if waiting && ev.window.ID != "" {
			n.remind(ev.chat)
		}
	}
	return nil
}

func (n *intake) give(ctx context.Context, ev *event) error {
	if ev.in == nil {
		return nil
	}
	return n.sink(ctx, *ev.in)
}

// note enters an event into the account of its chat, and takes out of it what
// the event refers to.
func (ev *event) note(a *account) {
	if ev.state != nil {
		ev.state(a)
	}
	if ev.in == nil || ev.in.Happening != "" {
		return
	}
	a.Closed = false // whoever writes may take an active message again
	if quote := ev.in.ReplyTo; quote != nil {
		a.recall(quote)
		ev.in.Mentioned = ev.in.Mentioned || quote.Mine
	}
	a.remember(ev.index)
	if p := ev.in.Press; p != nil {
		key, _, _ := strings.Cut(ev.button, ".")
		for _, m := range a.Menus {
			if m.Key == key {
				p.Message = m.ID
			}
		}
	}
}

// recall fills in what the event does not tell of the quoted message. Its id is
// the message's own where that is known: what the event gives is an index.
func (a *account) recall(quote *chat.Quote) {
	for _, l := range a.Lines {
		if l.Index != quote.ID {
			continue
		}
		quote.Mine = quote.Mine || l.Mine
		if quote.Text == "" && len(quote.Attachments) == 0 {
			quote.From, quote.Text, quote.Attachments = l.From, l.Text, l.Files
		}
		if l.ID != "" {
			quote.ID = l.ID
		}
		return
	}
}

// indexOf is what a quote of a message refers to; "" when that is not known.
func (a *account) indexOf(id string) string {
	for _, l := range a.Lines {
		if l.ID == id {
			return l.Index
		}
	}
	return ""
}

func (a *account) remember(l line) {
	if l.Index == "" {
		return
	}
	l.Text, l.Files = cutRunes(l.Text, maxQuote), l.Files[:min(len(l.Files), maxQuoted)]
	for _, old := range a.Lines {
		if old.Index == l.Index {
			return
		}
	}
	a.Lines = append(a.Lines, l)
	if drop := len(a.Lines) - maxLines; drop > 0 {
		a.Lines = a.Lines[drop:]
	}
}

func (n *intake) skip(ev *event) {
	if ev.bad {
		n.q.skipped.Add(1)
		n.q.deps.Log.Warn("event skipped", "type", ev.kind, "why", ev.skip)
		return
	}
	n.q.deps.Log.Debug("event passed over", "type", ev.kind, "why", ev.skip)
}

func (n *intake) remind(chatID string) {
	select {
	case n.tell <- chatID:
	default:
		n.q.deps.Log.Warn("a chat is told later what it missed", "chat", chatID)
	}
}

// run tells chats what they missed, until ctx ends.
func (n *intake) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case chatID := <-n.tell:
			if err := n.q.tellMissed(ctx, chatID); err != nil && ctx.Err() == nil {
				n.q.deps.Log.Warn("missed messages were not told and wait for the next contact", "chat", chatID, "err", err)
			}
		}
	}
}

package feishu

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"magpie/chat"
	"magpie/internal/kv"
)

const (
	maxKnown = 5000 // people, chats and messages remembered of each kind
	// tablePatience bounds one access to the adapter's table.
	tablePatience = 5 * time.Second
)

// recent is a map that forgets its oldest entries.
type recent[V any] struct {
	mu    sync.Mutex
	m     map[string]V
	order []string
}

func (r *recent[V]) get(key string) (v V, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok = r.m[key]
	return v, ok
}

func (r *recent[V]) put(key string, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.m == nil {
		r.m = map[string]V{}
	}
	if _, ok := r.m[key]; !ok {
		if len(r.order) >= maxKnown {
			delete(r.m, r.order[0])
			r.order = r.order[1:]
		}
		r.order = append(r.order, key)
	}
	r.m[key] = v
}

// known is what was learnt about people, chats and messages.
type known struct {
	names   recent[named]  // of people, and when a group's members were listed
	called  recent[string] // names by which people were mentioned
	directs recent[bool]
	private recent[string] // a person's private chat
	own     recent[bool]   // whether a message is the bot's
	changed recent[int64]  // when a message was changed, as first heard
	places  recent[string] // the thread of a message
	threads recent[string] // how a thread began
	roots   recent[bool]   // messages with which one began
	heard   recent[bool]   // threads that were told how they began
	warned  recent[bool]   // what the operator was told
}

func newKnown() *known { return &known{} }

// direct notes that a chat is somebody's private one, once for each chat and
// process.
func (k *known) direct(ctx context.Context, t kv.Table, chatID, person string) {
	if _, ok := k.directs.get(chatID); ok {
		return
	}
	if _, err := t.Create(ctx, "p2p."+chatID, []byte("1"), 0); err != nil && !errors.Is(err, kv.ErrConflict) {
		return
	}
	if strings.HasPrefix(person, "ou_") {
		if _, err := t.Update(ctx, "private."+person, []byte(chatID), 0, 0); err != nil {
			return
		}
		k.private.put(person, chatID)
	}
	k.directs.put(chatID, true)
}

func (k *known) isDirect(ctx context.Context, t kv.Table, chatID string) bool {
	if is, ok := k.directs.get(chatID); ok {
		return is
	}
	_, err := t.Get(ctx, "p2p."+chatID)
	return err == nil
}

// chatOf is somebody's private chat, or "".
func (k *known) chatOf(ctx context.Context, t kv.Table, person string) string {
	if id, ok := k.private.get(person); ok {
		return id
	}
	e, err := t.Get(ctx, "private."+person)
	if err != nil {
		return ""
	}
	k.private.put(person, string(e.Value))
	return string(e.Value)
}

// complete adds what an event only names: the sender's name, the thread, the
// quoted text, the forwarded messages; the thread and kind of chat of a press.
// It takes pace.lookup at most; what is not there by then is left out. It
// returns false when there is nothing for the sink after all.
func (f *Feishu) complete(ctx context.Context, ev *event) bool {
	ctx, cancel := context.WithTimeout(ctx, f.pace.lookup)
	defer cancel()
	in := ev.in
	switch {
	case in.Press != nil:
		in.Direct = f.known.isDirect(ctx, f.deps.Table, in.Addr.Chat)
		if note, ok := f.noted(ctx, in.Press.Message); ok {
			in.Addr.Thread = note.Thread
		}
		return true
	case in.Happening == chat.Recalled:
		in.Direct = f.known.isDirect(ctx, f.deps.Table, in.Addr.Chat)
		in.Addr.Thread = f.placeOf(ctx, in.MessageID)
		return true
	case in.Happening == chat.Added && in.Direct:
		if f.known.isDirect(ctx, f.deps.Table, in.Addr.Chat) {
			return false
		}
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	if !in.From.Bot && in.From.Name == "" {
		wg.Go(func() { in.From.Name = f.nameOf(ctx, in) })
	}
	if in.Happening != "" || ev.person {
		return true
	}
	if in.Direct {
		f.known.direct(ctx, f.deps.Table, in.Addr.Chat, in.From.ID)
	}
	wg.Go(func() {
		f.inThread(ctx, ev)
		f.quote(ctx, ev)
		f.known.places.put(in.MessageID, in.Addr.Thread)
	})
	if in.Forwarded {
		wg.Go(func() { f.forwarded(ctx, in) })
	}
	return true
}

// stored remembers what the sink has taken.
func (f *Feishu) stored(ctx context.Context, in *chat.Inbound) {
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	f.hear(ctx, in)
	if in.Happening == chat.Added && in.Direct {
		f.known.direct(ctx, f.deps.Table, in.Addr.Chat, in.From.ID)
	}
}

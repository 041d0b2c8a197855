package feishu

import (
	"context"
	"sync"
	"time"

	"magpie/chat"
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
	homes   recent[string] // the address of a private chat, by its id and by its person's
	own     recent[bool]   // whether a message is the bot's
	changed recent[int64]  // when a message was changed, as first heard
	places  recent[string] // the thread of a message
	threads recent[string] // how a thread began
	roots   recent[bool]   // messages with which one began
	heard   recent[bool]   // threads that were told how they began
	warned  recent[bool]   // what the operator was told
}

func newKnown() *known { return &known{} }

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
		in.Direct = f.isDirect(ctx, in.Addr.Chat)
		if note, ok := f.noted(ctx, in.Press.Message); ok {
			in.Addr.Thread = note.Thread
		}
		return true
	case in.Happening == chat.Recalled:
		in.Direct = f.isDirect(ctx, in.Addr.Chat)
		in.Addr.Thread = f.placeOf(ctx, in.MessageID)
		return true
	case in.Happening == chat.Added && in.Direct:
		if f.isDirect(ctx, in.Addr.Chat) {
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
		if _, err := f.home(ctx, in.From.ID, in.Addr.Chat); err != nil {
			f.deps.Log.Debug("a private chat that was opened is not noted", "err", err)
		}
	}
}

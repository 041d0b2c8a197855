// Package room keeps what is said in groups without addressing the bot, until
// it is addressed: then the talk goes along with that message, once. A chat has
// one row in a table, which is bounded and forgets itself. The package knows no
// platform and no bus, and starts no goroutine.
package room

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"magpie/chat"
	"magpie/internal/kv"
)

// What a room takes.
const (
	// KeepFor is how long a message is kept that nobody asks about.
	KeepFor = 24 * time.Hour
	// MaxText is how many bytes are kept of one message.
	MaxText = 2 << 10
	// MaxBytes is how many bytes of talk are kept of one chat; the oldest goes
	// first.
	MaxBytes = 32 << 10
)

const (
	maxFiles = 10  // of one message, that are named
	maxName  = 100 // bytes of a person's or a file's name
	// mostPast is how many messages are remembered that have left a room, so that
	// one which the platform repeats does not come into it again.
	mostPast = 100
	// claimFor is how long talk belongs to a message that was not stored yet: a
	// platform brings such a one again, and it finds its talk.
	claimFor = 15 * time.Minute
)

// StoreWithin is how long a message may take to be stored after Give: it is well
// below the time after which its talk may go to another one.
const StoreWithin = 5 * time.Minute

// Options are the parts of a Keeper; Answered, Now may be left out.
type Options struct {
	Table kv.Table
	// Answered says whether a message of that chat was stored and answered.
	Answered func(ctx context.Context, chat chat.SessionKey, id string) (bool, error)
	Now      func() time.Time // nil = time.Now
}

// Keeper keeps the talk of all chats. Safe for concurrent use, also over
// processes that share the table.
type Keeper struct{ opt Options }

// New returns a Keeper over o.Table.
func New(o Options) *Keeper {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Answered == nil {
		o.Answered = func(context.Context, chat.SessionKey, string) (bool, error) { return false, nil }
	}
	return &Keeper{o}
}

// row is what the table holds of a chat.
type row struct {
	Talk []line `json:"talk,omitempty"`
	// Past are the messages that have left the room, by hash of their id, and
	// those that were recalled, by hash of recalledMark and the platform's id.
	Past []string `json:"past,omitempty"`
}

// line is a message that is kept.
type line struct {
	ID string `json:"id"` // Inbound.ID
	chat.Overheard
	// For is the message that the line goes along with, from Since on, until it
	// is known to be stored.
	For   string    `json:"for,omitempty"`
	Since time.Time `json:"since,omitzero"`
}

// Hear takes what was said, or has happened, in a group: a message is kept, a
// changed one changes, a recalled one leaves. most is how many are kept; outside
// says that the sender is not let in. The same message once more changes
// nothing.
func (k *Keeper) Hear(ctx context.Context, in chat.Inbound, outside bool, most int) error {
	return k.change(ctx, in.Addr.Session(), func(r *row) bool {
		switch {
		case in.Happening == chat.Recalled:
			return r.recall(in.MessageID)
		case in.Edited:
			return r.edit(in, outside)
		}
		return r.add(k.line(in, outside), most)
	})
}

// Give returns what in has to be told of, oldest first, and keeps it for in
// alone until Given. It returns the same when in comes again.
func (k *Keeper) Give(ctx context.Context, in chat.Inbound) ([]chat.Overheard, error) {
	var talk []chat.Overheard
	err := k.settled(ctx, in, func(r *row, answered map[string]bool) bool {
		talk = nil
		changed := r.drop(func(l *line) bool {
			return answered[l.For] || l.For == "" && l.MessageID != "" && l.MessageID == in.MessageID
		})
		for i := range r.Talk {
			l := &r.Talk[i]
			if l.For == "" || k.stale(l) {
				l.For, l.Since, changed = in.ID, k.opt.Now(), true
			}
			if l.For == in.ID {
				talk = append(talk, l.Overheard)
			}
		}
		return changed
	})
	return talk, err
}

// Given says whether in was stored with what Give returned: then that has left
// the room, else it is there as before.
func (k *Keeper) Given(ctx context.Context, in chat.Inbound, stored bool) error {
	return k.change(ctx, in.Addr.Session(), func(r *row) (changed bool) {
		if stored {
			return r.drop(func(l *line) bool { return l.For == in.ID })
		}
		for i := range r.Talk {
			if l := &r.Talk[i]; l.For == in.ID {
				l.For, l.Since, changed = "", time.Time{}, true
			}
		}
		return changed
	})
}

// List returns what is kept of a chat, oldest first.
func (k *Keeper) List(ctx context.Context, session chat.SessionKey) ([]chat.Overheard, error) {
	r, _, err := k.load(ctx, session)
	if err != nil {
		return nil, err
	}
	var all []chat.Overheard
	for _, l := range r.Talk {
		if l.For == "" {
			all = append(all, l.Overheard)
		}
	}
	return all, nil
}

// Clear forgets what is kept of a chat and says how much that was.
func (k *Keeper) Clear(ctx context.Context, session chat.SessionKey) (n int, err error) {
	err = k.change(ctx, session, func(r *row) bool {
		before := len(r.Talk)
		r.drop(func(l *line) bool { return l.For == "" })
		n = before - len(r.Talk)
		return n > 0
	})
	return n, err
}

// stale: the message that the line was to go along with never came.
func (k *Keeper) stale(l *line) bool { return k.opt.Now().Sub(l.Since) >= claimFor }

// settled is change for fn that is told which of the messages were answered
// that lines have waited for too long.
func (k *Keeper) settled(ctx context.Context, in chat.Inbound, fn func(r *row, answered map[string]bool) bool) error {
	answered := map[string]bool{}
	session := in.Addr.Session()
	r, _, err := k.load(ctx, session)
	if err != nil {
		return err
	}
	for i := range r.Talk {
		l := &r.Talk[i]
		if _, known := answered[l.For]; known || l.For == "" || l.For == in.ID || !k.stale(l) {
			continue
		}
		if answered[l.For], err = k.opt.Answered(ctx, session, l.For); err != nil {
			return fmt.Errorf("look up %q: %w", l.For, err)
		}
	}
	return k.change(ctx, session, func(r *row) bool { return fn(r, answered) })
}

// change stores what fn makes of a chat's row; nothing when fn returns false.
// fn may run several times.
func (k *Keeper) change(ctx context.Context, session chat.SessionKey, fn func(*row) bool) error {
	for {
		r, revision, err := k.load(ctx, session)
		if err != nil || !fn(&r) {
			return err
		}
		value, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("encode the talk of %s: %w", session, err)
		}
		if revision == 0 {
			_, err = k.opt.Table.Create(ctx, string(session), value, KeepFor)
		} else {
			_, err = k.opt.Table.Update(ctx, string(session), value, revision, KeepFor)
		}
		if !errors.Is(err, kv.ErrConflict) {
			return err
		}
	}
}

// load reads a chat's row without what is too old. One that cannot be read
// counts as empty: it is no more than context.
func (k *Keeper) load(ctx context.Context, session chat.SessionKey) (r row, revision uint64, err error) {
	e, err := k.opt.Table.Get(ctx, string(session))
	if errors.Is(err, kv.ErrNotFound) {
		return row{}, 0, nil
	}
	if err != nil {
		return row{}, 0, fmt.Errorf("read the talk of %s: %w", session, err)
	}
	if json.Unmarshal(e.Value, &r) != nil {
		r = row{}
	}
	now := k.opt.Now()
	r.Talk = slices.DeleteFunc(r.Talk, func(l line) bool { return now.Sub(l.At) >= KeepFor })
	return r, e.Revision, nil
}

// add puts a line to its place in time and keeps the newest.
func (r *row) add(l line, most int) bool {
	known := slices.Contains(r.Past, hash(l.ID)) || l.MessageID != "" && slices.Contains(r.Past, hash(recalledMark+l.MessageID)) ||
		slices.ContainsFunc(r.Talk, func(o line) bool { return o.ID == l.ID })
	if known || l.empty() || most <= 0 {
		return false
	}
	at := len(r.Talk)
	for at > 0 && r.Talk[at-1].At.After(l.At) {
		at--
	}
	r.Talk = slices.Insert(r.Talk, at, l)
	r.trim(most)
	return true
}

// trim forgets the oldest lines that are too many or too much.
func (r *row) trim(most int) {
	n, bytes := 0, 0
	for i := len(r.Talk) - 1; i >= 0; i-- {
		l := &r.Talk[i]
		if l.For != "" {
			continue
		}
		n++
		if bytes += l.size(); n > most || bytes > MaxBytes {
			oldest := l.ID
			r.drop(func(o *line) bool { return o.ID == oldest })
		}
	}
}

// edit gives a line its new words.
func (r *row) edit(in chat.Inbound, outside bool) bool {
	i := slices.IndexFunc(r.Talk, func(l line) bool { return in.MessageID != "" && l.MessageID == in.MessageID })
	if i < 0 {
		return false
	}
	l := &r.Talk[i]
	l.Text, l.Files, l.Outside = shorten(in.Text, MaxText), files(in.Attachments), l.Outside || outside
	if l.empty() {
		id := l.ID
		r.drop(func(o *line) bool { return o.ID == id })
	}
	return true
}

const recalledMark = "recalled "

// recall takes a message out of the room, also one that has not come yet:
// platforms that bring again what was not acknowledged keep no order.
func (r *row) recall(id string) bool {
	if id == "" {
		return false
	}
	dropped := r.drop(func(l *line) bool { return l.MessageID == id })
	if mark := hash(recalledMark + id); !slices.Contains(r.Past, mark) {
		r.pass(mark)
		return true
	}
	return dropped
}

// drop takes lines out of the room, for good.
func (r *row) drop(which func(*line) bool) (dropped bool) {
	r.Talk = slices.DeleteFunc(r.Talk, func(l line) bool {
		if !which(&l) {
			return false
		}
		dropped = true
		r.pass(hash(l.ID))
		return true
	})
	return dropped
}

// pass remembers what has left.
func (r *row) pass(mark string) {
	if r.Past = append(r.Past, mark); len(r.Past) > mostPast {
		r.Past = r.Past[len(r.Past)-mostPast:]
	}
}

func hash(id string) string {
	sum := sha256.Sum256([]byte(id))
	return base64.RawStdEncoding.EncodeToString(sum[:9])
}

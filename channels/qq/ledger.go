package qq

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"magpie/internal/kv"
)

// What the platform grants (bot.q.qq.com/wiki/develop/api-v2/autogen/api/, the
// pages on sending to a person and to a group as of July 2026, read November
// 2026). How many active messages there are a day is not counted here: the
// platform says when there are no more.
const (
	directReplies = 4                // replies to one private message or event
	groupReplies  = 5                // in groups
	directWindow  = 60 * time.Minute // in which a private message can be replied to
	groupWindow   = 5 * time.Minute
	// maxNotifies is how many input notifies one message is worth: they may cost
	// a reply each.
	maxNotifies = 2
	// maxActive is how many active messages are remembered, to know a repeat.
	maxActive = 32
	// askAgain is when active messages are tried again after the platform has
	// said that there are no more; at its midnight they are in any case.
	askAgain = time.Hour
	// maxSlow is how often a message waits that was too fast, as the platform
	// said in words that may also mean that there are no more.
	maxSlow = 3
	// windowSlack is given away, since the platform's clock is not ours.
	windowSlack = 5 * time.Second
	// maxWindows is how many messages of a chat are remembered.
	maxWindows = 12
	// tablePatience bounds one access to the table.
	tablePatience = 10 * time.Second
	chatPrefix    = "chat."
)

// Prefixes of Address.Chat.
const (
	direct = "c2c:"
	group  = "group:"
)

// account is what is known about one chat over restarts.
type account struct {
	Windows []window  `json:"windows,omitempty"` // oldest first
	Day     string    `json:"day,omitempty"`     // of Active and Sent
	Active  []claim   `json:"active,omitempty"`  // the last messages without a window of that day
	Sent    int       `json:"sent,omitempty"`    // all of them
	Closed  bool      `json:"closed,omitempty"`  // the person takes no active messages
	Spent   time.Time `json:"spent,omitzero"`    // until then there are no active messages, said the platform
	Missed  []missed  `json:"missed,omitempty"`  // to be told at the next contact
	Lost    int       `json:"lost,omitempty"`    // more than could be kept
	Lines   []line    `json:"lines,omitempty"`   // recent messages, for quotes
	Menus   []menu    `json:"menus,omitempty"`   // recent messages with buttons
}

// window is a message or event of the person that can be replied to.
type window struct {
	ID     string    `json:"id"`
	Event  bool      `json:"event,omitempty"` // goes as event_id
	At     time.Time `json:"at"`
	Claims []claim   `json:"claims,omitempty"`
	Full   bool      `json:"full,omitempty"` // the platform says that it is over
}

// claim is one reply of a window (or one active message) and whose it is.
type claim struct {
	For  string `json:"for"` // outbound id
	Seq  uint32 `json:"seq"`
	Slow int    `json:"slow,omitempty"` // how often it was too fast
}

// place is where a message goes: a reply to ID, or an active message.
type place struct {
	ID    string // "": active
	Event bool
	Seq   uint32
	Again bool   // the same message was tried here before
	Index string // what a quote of the message that is answered refers to
}

// ledger keeps the accounts.
type ledger struct {
	table kv.Table
	now   func() time.Time
	most  *int // active messages a day that the operator allows; nil: as many as the platform does
}

// change reads the account of a chat, lets fn change it and stores it.
func (l *ledger) change(ctx context.Context, chatID string, fn func(*account) error) error {
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	err := kv.Modify(ctx, l.table, chatPrefix+chatID, 0, func(old []byte) ([]byte, error) {
		var a account
		if old != nil {
			if err := json.Unmarshal(old, &a); err != nil {
				return nil, fmt.Errorf("decode: %w", err)
			}
		}
		l.prune(chatID, &a)
		if err := fn(&a); err != nil {
			return nil, err
		}
		return json.Marshal(&a)
	})
	if err != nil {
		return fmt.Errorf("account of %q: %w", chatID, err)
	}
	return nil
}

// prune drops what is over.
func (l *ledger) prune(chatID string, a *account) {
	now := l.now()
	life := directWindow
	if strings.HasPrefix(chatID, group) {
		life = groupWindow
	}
	a.Windows = slices.DeleteFunc(a.Windows, func(w window) bool { return now.Sub(w.At) >= life-windowSlack })
	if drop := len(a.Windows) - maxWindows; drop > 0 {
		a.Windows = slices.Delete(a.Windows, 0, drop)
	}
	if today := now.In(china()).Format(time.DateOnly); today != a.Day {
		a.Day, a.Active, a.Sent, a.Spent = today, nil, 0, time.Time{}
	}
}

// china is where the platform's days end.
func china() *time.Location { return time.FixedZone("UTC+8", 8*60*60) }

// replies is how many a message of the chat may have.
func replies(chatID string) int {
	if strings.HasPrefix(chatID, group) {
		return groupReplies
	}
	return directReplies
}

// open notes a message or event that can be replied to. It reports whether
// something waits to be told. Noting twice changes nothing.
func (l *ledger) open(ctx context.Context, chatID string, w window, more func(*account)) (waiting bool, err error) {
	if now := l.now(); w.At.After(now) || w.At.IsZero() {
		w.At = now
	}
	err = l.change(ctx, chatID, func(a *account) error {
		known := slices.ContainsFunc(a.Windows, func(old window) bool { return old.ID == w.ID })
		if w.ID != "" && !known {
			a.Windows = append(a.Windows, w)
			l.prune(chatID, a) // it may be old
		}
		if more != nil {
			more(a)
		}
		waiting = len(a.Missed) > 0 || a.Lost > 0
		return nil
	})
	return waiting, err
}

// want says what a message needs.
type want struct {
	id    string // of the message
	reply string // the person's message it answers, if known
	bound bool   // a reply or nothing: never an active message
	part  bool   // more of its turn follows: it leaves the last reply to that
}

// claim finds a place for a message and stores that it is taken; the same
// message gets the same place again. ok is false when there is none.
func (l *ledger) claim(ctx context.Context, chatID string, w want) (p place, ok bool, err error) {
	err = l.change(ctx, chatID, func(a *account) error {
		p, ok = l.find(a, w, replies(chatID))
		p.Index = a.indexOf(w.reply)
		return nil
	})
	return p, ok, err
}

func (l *ledger) find(a *account, w want, room int) (place, bool) {
	mine := func(c claim) bool { return c.For == w.id }
	best := -1
	if w.part {
		room--
	}
	for i, win := range a.Windows {
		if n := slices.IndexFunc(win.Claims, mine); n >= 0 {
			return place{ID: win.ID, Event: win.Event, Seq: win.Claims[n].Seq, Again: true}, true
		}
		if !win.Full && len(win.Claims) < room && (best < 0 || a.Windows[best].ID != w.reply) {
			best = i
		}
	}
	if best >= 0 {
		return a.Windows[best].take(w.id), true
	}
	if n := slices.IndexFunc(a.Active, mine); n >= 0 {
		return place{Seq: a.Active[n].Seq, Again: true}, true
	}
	if w.bound || a.Closed || l.now().Before(a.Spent) || l.most != nil && a.Sent >= *l.most {
		return place{}, false
	}
	c := claim{For: w.id, Seq: sequence(w.id, a.Active)}
	a.Active = append(a.Active, c)
	a.Active = a.Active[max(0, len(a.Active)-maxActive):]
	a.Sent++
	return place{Seq: c.Seq}, true
}

func (w *window) take(id string) place {
	c := claim{For: id, Seq: sequence(id, w.Claims)}
	w.Claims = append(w.Claims, c)
	return place{ID: w.ID, Event: w.Event, Seq: c.Seq}
}

// claimNotify takes a reply to the newest message of a chat for a sign that the
// bot is at work, if nothing else has replied to it yet and there are replies
// left for the answer.
func (l *ledger) claimNotify(ctx context.Context, chatID string) (p place, id string, ok bool, err error) {
	err = l.change(ctx, chatID, func(a *account) error {
		p, ok = place{}, false
		n := len(a.Windows) - 1
		if n < 0 || a.Windows[n].Full || a.Windows[n].Event {
			return nil
		}
		w := &a.Windows[n]
		for _, c := range w.Claims {
			if !strings.HasPrefix(c.For, notifyPrefix) {
				return nil
			}
		}
		if len(w.Claims) < maxNotifies {
			id = fmt.Sprint(notifyPrefix, len(w.Claims), " ", w.ID)
			p, ok = w.take(id), true
		}
		return nil
	})
	return p, id, ok, err
}

// notifyPrefix begins the names of input notifies among the claims.
const notifyPrefix = "input notify "

// release gives a place back: the platform took nothing.
func (l *ledger) release(ctx context.Context, chatID, id string) error {
	return l.change(ctx, chatID, func(a *account) error {
		mine := func(c claim) bool { return c.For == id }
		for i := range a.Windows {
			a.Windows[i].Claims = slices.DeleteFunc(a.Windows[i].Claims, mine)
		}
		before := len(a.Active)
		a.Active = slices.DeleteFunc(a.Active, mine)
		a.Sent -= min(a.Sent, before-len(a.Active))
		return nil
	})
}

// shut notes that the platform takes no more where p is. What it has said of
// active messages holds until its midnight, and not longer than askAgain: the
// same words may mean that the whole bot was too fast.
func (l *ledger) shut(ctx context.Context, chatID string, p place) error {
	return l.change(ctx, chatID, func(a *account) error {
		for i := range a.Windows {
			if p.ID != "" && a.Windows[i].ID == p.ID {
				a.Windows[i].Full = true
			}
		}
		if p.ID == "" {
			now := l.now().In(china())
			midnight := time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, china())
			a.Spent = now.Add(min(askAgain, midnight.Sub(now))).UTC()
		}
		return nil
	})
}

// slow notes that a message was too fast where it was tried, and says how
// often it has been.
func (l *ledger) slow(ctx context.Context, chatID, id string) (times int, err error) {
	err = l.change(ctx, chatID, func(a *account) error {
		claims := [][]claim{a.Active}
		for _, w := range a.Windows {
			claims = append(claims, w.Claims)
		}
		for _, in := range claims {
			for i := range in {
				if in[i].For == id {
					in[i].Slow++
					times = in[i].Slow
				}
			}
		}
		return nil
	})
	return times, err
}

// forms is how many ways of writing a message have a msg_seq of their own: a
// repeat must be recognised, and a plainer form must not be taken for one.
const forms = 16

// sequence makes the msg_seq of a message from its id, so that a repeat has
// the same one even if the claim was lost, and no other reply to the message.
func sequence(id string, taken []claim) uint32 {
	const groups = 4000 // all stays below 2^16
	h := uint32(2166136261)
	for i := range len(id) {
		h = (h ^ uint32(id[i])) * 16777619
	}
	for n := h % groups; ; n = (n + 1) % groups {
		seq := 1 + n*forms
		if !slices.ContainsFunc(taken, func(c claim) bool { return c.Seq == seq }) {
			return seq
		}
	}
}

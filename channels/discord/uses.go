package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"magpie/internal/kv"
)

const (
	usePrefix = "use"
	// traceMark begins the trace of a slash command: the rest is the id of its
	// interaction, and so every answer to it is known by its trace.
	traceMark = "i"
	// thinkFor is how long "… is thinking" is shown without a sign of work; the
	// answer of a command that takes longer, or has none, needs no such mark.
	thinkFor = 30 * time.Second
	// tokenMargin is left of a token's life for the last call with it.
	tokenMargin = 20 * time.Second
)

// use is a slash command that somebody has used, as long as it can be answered
// in its place. The token stays in the table.
type use struct {
	App     string    `json:"app"`
	Token   string    `json:"token"`
	Channel string    `json:"channel"`
	At      time.Time `json:"at"`
	// First is the id of what the answer in place of "… is thinking" was sent as;
	// taken: there is no such place any more. Answer is that message's id.
	First  string `json:"first,omitempty"`
	Answer string `json:"answer,omitempty"`
	// More are the messages after it, by the id of what was sent; "": it may have
	// been sent.
	More map[string]string `json:"more,omitempty"`
}

// taken stands for First when "… is thinking" was taken away.
const taken = "-"

// uses are the slash commands of the last minutes.
type uses struct {
	table kv.Table
	now   func() time.Time

	mu   sync.Mutex
	byID map[string]*open
}

// open is a use in this process.
type open struct {
	use
	id       string     // of the interaction
	one      sync.Mutex // one answer at a time
	deferred *signal    // Discord has been told of it, or could not be
	// The keeper's lock guards these.
	sign     time.Time // of the last sign of work
	thinking bool      // "… is thinking" is shown, as far as is known
}

// told notes that Discord knows that a use was taken.
func (o *open) told() { o.deferred.tell() }

// elsewhere is a use that another process has begun.
func elsewhere(id string, of use, now time.Time) *open {
	o := &open{use: of, id: id, deferred: newSignal(), sign: now, thinking: of.First == ""}
	o.told()
	return o
}

func newUses(t kv.Table, now func() time.Time) *uses {
	return &uses{table: t, now: now, byID: map[string]*open{}}
}

// begin remembers a use before it is stored. The caller tells deferred.
func (u *uses) begin(ctx context.Context, id string, of use) (*open, error) {
	u.mu.Lock()
	o, there := u.byID[id]
	if !there {
		o = &open{use: of, id: id, deferred: newSignal(), sign: of.At, thinking: true}
		u.byID[id] = o
	}
	u.mu.Unlock()
	o.one.Lock()
	defer o.one.Unlock()
	return o, u.keep(ctx, id, o.use) // it may have come before
}

// keep writes a use to the table.
func (u *uses) keep(ctx context.Context, id string, of use) error {
	left := of.At.Add(tokenKept).Sub(u.now())
	if left <= 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	if err := put(ctx, u.table, usePrefix+"."+id, of, left); err != nil {
		return fmt.Errorf("remember a command: %w", err)
	}
	return nil
}

// load takes over the uses of an earlier process.
func (u *uses) load(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	entries, err := kv.List(ctx, u.table, usePrefix)
	if err != nil {
		return fmt.Errorf("read open commands: %w", err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, e := range entries {
		id := e.Key[len(usePrefix)+1:]
		var of use
		if u.byID[id] == nil && json.Unmarshal(e.Value, &of) == nil {
			u.byID[id] = elsewhere(id, of, u.now())
		}
	}
	return nil
}

// of finds the use that a message with this trace answers, in this channel; nil
// when it answers none, or one that is too old.
func (u *uses) of(ctx context.Context, trace, channel string) (*open, error) {
	id, ok := strings.CutPrefix(trace, traceMark)
	if !ok || number(id) == 0 {
		return nil, nil
	}
	u.mu.Lock()
	o := u.byID[id]
	u.mu.Unlock()
	if o == nil {
		ctx, cancel := context.WithTimeout(ctx, tablePatience)
		defer cancel()
		var of use
		found, err := look(ctx, u.table, usePrefix+"."+id, &of)
		if err != nil || !found {
			return nil, err
		}
		u.mu.Lock()
		if o = u.byID[id]; o == nil {
			o = elsewhere(id, of, u.now())
			u.byID[id] = o
		}
		u.mu.Unlock()
	}
	if o.Channel != channel || u.over(o) {
		return nil, nil
	}
	return o, nil
}

// over reports that a token is worth nothing any more, or will not be when a
// call arrives.
func (u *uses) over(o *open) bool { return u.now().Sub(o.At) > tokenKept-tokenMargin }

// ofMessage finds the use that a message is the answer to.
func (u *uses) ofMessage(message string) (*open, bool) {
	u.mu.Lock()
	all := maps.Clone(u.byID)
	u.mu.Unlock()
	for _, o := range all {
		if !u.over(o) && o.holds(message) {
			return o, true
		}
	}
	return nil, false
}

func (o *open) holds(message string) bool {
	o.one.Lock()
	defer o.one.Unlock()
	if o.Answer == message {
		return true
	}
	for _, id := range o.More {
		if id == message {
			return true
		}
	}
	return false
}

// work notes a sign of work in a channel, and reports whether somebody sees
// "… is thinking" there.
func (u *uses) work(channel string) (thinking bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, o := range u.byID {
		if o.Channel == channel && o.thinking && !u.over(o) {
			o.sign = u.now()
			thinking = true
		}
	}
	return thinking
}

// forget drops a use whose token is worth nothing.
func (u *uses) forget(ctx context.Context, id string) error {
	u.mu.Lock()
	delete(u.byID, id)
	u.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	return u.table.Delete(ctx, usePrefix+"."+id)
}

// idle are the uses that show "… is thinking" without a sign of work, or whose
// time is nearly over. Those that are over are dropped.
func (u *uses) idle() (ids []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, o := range u.byID {
		switch now := u.now(); {
		case now.Sub(o.At) > tokenKept:
			delete(u.byID, id)
		case !o.thinking:
		case now.Sub(o.sign) > thinkFor, now.Sub(o.At) > tokenKept-3*tokenMargin:
			ids = append(ids, id)
		}
	}
	return ids
}

// shown notes that a use shows no "… is thinking" any more.
func (u *uses) shown(o *open) {
	u.mu.Lock()
	defer u.mu.Unlock()
	o.thinking = false
}

// get is an open use by its id.
func (u *uses) get(id string) *open {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.byID[id]
}

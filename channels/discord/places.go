package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"magpie/internal/kv"
)

const (
	// tablePatience bounds one access to the adapter's table.
	tablePatience = 10 * time.Second
	// placeKept is how long a channel without a message is remembered.
	placeKept = 30 * 24 * time.Hour
	// maxPlaces is how many channels are remembered; those that spoke last.
	maxPlaces   = 2000
	placePrefix = "place"
)

// place is what is known of one of Discord's channels: what it is, and up to
// which message it was read.
type place struct {
	Guild  string `json:"guild,omitempty"`  // "" = a private chat
	Parent string `json:"parent,omitempty"` // of a thread: the channel it is in
	Last   string `json:"last,omitempty"`   // every message up to this one is stored
}

// places remembers channels, in the table too. How far a channel was read is
// written now and then only: what is read twice has the same id.
type places struct {
	table kv.Table

	mu    sync.Mutex
	byID  map[string]place
	dirty map[string]bool
}

func newPlaces(t kv.Table) *places {
	return &places{table: t, byID: map[string]place{}, dirty: map[string]bool{}}
}

// load reads what an earlier process knew.
func (p *places) load(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	entries, err := kv.List(ctx, p.table, placePrefix)
	if err != nil {
		return fmt.Errorf("read known channels: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range entries {
		id := e.Key[len(placePrefix)+1:]
		var pl place
		if json.Unmarshal(e.Value, &pl) == nil && !p.dirty[id] {
			p.byID[id] = pl
		}
	}
	p.shrink()
	return nil
}

// shrink forgets the channels that were silent longest. p is locked.
func (p *places) shrink() {
	if len(p.byID) <= maxPlaces {
		return
	}
	for _, id := range p.latest()[maxPlaces*3/4:] {
		delete(p.byID, id)
		delete(p.dirty, id)
	}
}

// latest are the channels, the one that spoke last first. p is locked.
func (p *places) latest() []string {
	ids := make([]string, 0, len(p.byID))
	for id := range p.byID {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(cmp.Compare(number(p.byID[b].Last), number(p.byID[a].Last)), cmp.Compare(a, b))
	})
	return ids
}

// recent are at most n channels, the one that spoke last first.
func (p *places) recent(n int) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	ids := p.latest()
	return ids[:min(n, len(ids))]
}

func (p *places) get(id string) (place, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pl, ok := p.byID[id]
	return pl, ok
}

// add remembers a channel at once.
func (p *places) add(ctx context.Context, id string, pl place) error {
	p.mu.Lock()
	p.byID[id] = pl
	p.shrink()
	p.mu.Unlock()
	return p.write(ctx, id, pl)
}

// read notes that a channel is stored up to a message.
func (p *places) read(id, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pl, ok := p.byID[id]
	if ok && number(message) > number(pl.Last) {
		pl.Last = message
		p.byID[id], p.dirty[id] = pl, true
	}
}

// forget drops a channel that is gone.
func (p *places) forget(ctx context.Context, id string) error {
	p.mu.Lock()
	delete(p.byID, id)
	delete(p.dirty, id)
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	return p.table.Delete(ctx, placePrefix+"."+id)
}

// flush writes what has changed since the last time.
func (p *places) flush(ctx context.Context) error {
	p.mu.Lock()
	changed := map[string]place{}
	for id := range p.dirty {
		changed[id] = p.byID[id]
	}
	clear(p.dirty)
	p.mu.Unlock()
	var errs []error
	for id, pl := range changed {
		if err := p.write(ctx, id, pl); err != nil {
			errs = append(errs, err)
			p.mu.Lock()
			if _, ok := p.byID[id]; ok {
				p.dirty[id] = true
			}
			p.mu.Unlock()
		}
	}
	return errors.Join(errs...)
}

func (p *places) write(ctx context.Context, id string, pl place) error {
	data, err := json.Marshal(pl)
	if err != nil {
		return fmt.Errorf("remember channel %q: %w", id, err)
	}
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	if _, err := p.table.Update(ctx, placePrefix+"."+id, data, 0, placeKept); err != nil {
		return fmt.Errorf("remember channel %q: %w", id, err)
	}
	return nil
}

// number is the value of a snowflake, 0 of anything else.
func number(snowflake string) uint64 {
	n, _ := strconv.ParseUint(snowflake, 10, 64)
	return n
}

// before is the snowflake right before another.
func before(snowflake string) string {
	return strconv.FormatUint(max(number(snowflake), 1)-1, 10)
}

// discordEpoch is the first ms of 2015, where snowflakes begin
// (https://docs.discord.com/developers/reference "Snowflakes", read November 2026).
const discordEpoch = 1420070400000

// timeOf is when a snowflake was made.
func timeOf(snowflake string) time.Time {
	return time.UnixMilli(int64(number(snowflake)>>22) + discordEpoch).UTC()
}

// snowflake is the first of a moment.
func snowflake(at time.Time) string {
	return strconv.FormatUint(uint64(max(0, at.UnixMilli()-discordEpoch))<<22, 10)
}

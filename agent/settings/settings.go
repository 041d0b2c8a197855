// Package settings keeps what a chat has chosen for itself (time zone,
// language, model) and derives what holds when it has chosen nothing. It keeps
// no cache: one read of the table a turn is cheaper than being wrong in one of
// several processes. It starts no goroutine.
package settings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"magpie/chat"
	"magpie/internal/kv"
)

// Settings are the choices of one chat. An empty field is no choice.
type Settings struct {
	Zone  string `json:"zone,omitempty"`  // as ParseZone returns it
	Lang  string `json:"lang,omitempty"`  // "en" or "zh"
	Model string `json:"model,omitempty"` // a model's name in the configuration
	// Device is the time zone of the device that somebody writes on, where the
	// platform tells it: it counts until another one is chosen.
	Device string `json:"device,omitempty"`
}

// Store reads and changes Settings. Safe for concurrent use, also by several
// processes on one table.
type Store struct {
	table kv.Table
	zone  *time.Location
}

// New returns a Store on table, whose keys it writes below "settings".
// zone is the configured one for chats without a choice; nil = the host's.
func New(table kv.Table, zone *time.Location) *Store {
	if zone == nil {
		zone = time.Local
	}
	return &Store{table: table, zone: zone}
}

func key(s chat.SessionKey) string { return "settings." + string(s) }

// Load returns the choices of a chat, the zero Settings when it has none.
func (s *Store) Load(ctx context.Context, session chat.SessionKey) (Settings, error) {
	e, err := s.table.Get(ctx, key(session))
	if errors.Is(err, kv.ErrNotFound) {
		return Settings{}, nil
	}
	if err != nil {
		return Settings{}, fmt.Errorf("load settings of %q: %w", session, err)
	}
	return decode(session, e.Value)
}

func decode(session chat.SessionKey, value []byte) (Settings, error) {
	var set Settings
	if err := json.Unmarshal(value, &set); err != nil {
		return Settings{}, fmt.Errorf("decode settings of %q: %w", session, err)
	}
	return set, nil
}

// Change lets fn change the choices of a chat and stores them. Changes made at
// the same time elsewhere are kept: fn may run several times, each time on
// what is stored.
func (s *Store) Change(ctx context.Context, session chat.SessionKey, fn func(*Settings)) error {
	err := kv.Modify(ctx, s.table, key(session), 0, func(old []byte) ([]byte, error) {
		var set Settings
		if old != nil {
			var err error
			if set, err = decode(session, old); err != nil {
				return nil, err
			}
		}
		fn(&set)
		if old == nil && set == (Settings{}) {
			return nil, nil
		}
		// Empty choices are stored too: deleting could undo a change that
		// somebody else makes at this moment.
		return json.Marshal(set)
	})
	if err != nil {
		return fmt.Errorf("change settings of %q: %w", session, err)
	}
	return nil
}

// Zone returns the chat's time zone, else that of the device, else the
// configured one. A stored zone that this machine does not know counts as none.
func (s *Store) Zone(set Settings) *time.Location {
	for _, name := range []string{set.Zone, set.Device} {
		if _, zone, err := ParseZone(name); err == nil && name != "" {
			return zone
		}
	}
	return s.zone
}

// Noted keeps the time zone that a platform tells of somebody's device.
func (s *Store) Noted(ctx context.Context, session chat.SessionKey, zone string) error {
	if zone == "" {
		return nil
	}
	if set, err := s.Load(ctx, session); err == nil && set.Device == zone {
		return nil
	}
	return s.Change(ctx, session, func(set *Settings) { set.Device = zone })
}

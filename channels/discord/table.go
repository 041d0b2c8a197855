package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"magpie/internal/kv"
)

// put stores a value as JSON, whatever was there.
func put(ctx context.Context, t kv.Table, key string, value any, ttl time.Duration) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = t.Update(ctx, key, data, 0, ttl)
	return err
}

// look reads a value; what cannot be decoded counts as missing.
func look(ctx context.Context, t kv.Table, key string, into any) (found bool, err error) {
	e, err := t.Get(ctx, key)
	if errors.Is(err, kv.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return json.Unmarshal(e.Value, into) == nil, nil
}

const rolesKey = "roles"

// roles are the bot's own roles, one in each guild: people often mention the
// role, which has the bot's name, in place of the bot.
type roles struct{ ids []string }

func (o *roles) load(ctx context.Context, t kv.Table) error {
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	if _, err := look(ctx, t, rolesKey, &o.ids); err != nil {
		return fmt.Errorf("read the bot's roles: %w", err)
	}
	return nil
}

func (o *roles) has(id string) bool { return slices.Contains(o.ids, id) }

// add remembers a role over restarts.
func (o *roles) add(ctx context.Context, t kv.Table, id string) error {
	if slices.Contains(o.ids, id) {
		return nil
	}
	o.ids = append(o.ids, id)
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	return put(ctx, t, rolesKey, o.ids, 0)
}

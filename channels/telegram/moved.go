package telegram

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"magpie/internal/kv"
)

// moved remembers groups that became supergroups with another id, so that
// whatever was addressed to the old id still arrives.
type moved struct {
	table kv.Table
	mu    sync.Mutex
	to    map[string]string
}

const movedPrefix = "moved"

func (m *moved) load(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	entries, err := kv.List(ctx, m.table, movedPrefix)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range entries {
		m.to[strings.TrimPrefix(e.Key, movedPrefix+".")] = string(e.Value)
	}
	return nil
}

// now is the present id of a chat.
func (m *moved) now(chat string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if to, ok := m.to[chat]; ok {
		return to
	}
	return chat
}

// note remembers a move; it holds for this process even if storing fails.
func (m *moved) note(ctx context.Context, from string, to int64) error {
	id := strconv.FormatInt(to, 10)
	m.mu.Lock()
	known := m.to[from] == id
	m.to[from] = id
	m.mu.Unlock()
	if known {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	_, err := m.table.Update(ctx, movedPrefix+"."+from, []byte(id), 0, 0)
	return err
}

package media

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"sync"
)

// Memory is a Store that forgets everything with the process. The zero value
// is ready.
type Memory struct {
	mu    sync.Mutex
	next  int
	files map[string][]byte
}

var _ Store = (*Memory)(nil)

// Put implements Store.
func (m *Memory) Put(ctx context.Context, name, _ string, r io.Reader) (string, int64, error) {
	if err := ctx.Err(); err != nil {
		return "", 0, err
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return "", 0, fmt.Errorf("read %q: %w", name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next++
	ref := strconv.Itoa(m.next)
	if m.files == nil {
		m.files = map[string][]byte{}
	}
	m.files[ref] = b
	return ref, int64(len(b)), nil
}

// Open implements Store.
func (m *Memory) Open(ctx context.Context, ref string) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.files[ref]
	if !ok {
		return nil, fmt.Errorf("open %q: %w", ref, ErrNotFound)
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

// Package undo keeps what files held before they were edited, in a folder of
// its own outside of every workspace, so that edits can be taken back also
// after a restart. It starts no goroutine.
package undo

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
)

// The bounds of what is kept of one file; the oldest goes first.
const (
	MaxSteps = 100
	maxBytes = 64 << 20
)

// Step is one edit that can be taken back.
type Step struct {
	Existed bool   // false: the edit made the file
	Before  []byte // what it held
	After   string // Sum of what it held then; "" = it was removed
}

// Sum names a content.
func Sum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// ErrNothing: there is no edit to take back.
var ErrNothing = errors.New("no edit is remembered")

// Log is the memory of edits. Safe for concurrent use in one process.
type Log struct {
	dir *os.Root
	mu  sync.Mutex
}

// Open opens the folder and creates it when it is missing.
func Open(folder string) (*Log, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("create folder of edits: %w", err)
	}
	dir, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("open folder of edits: %w", err)
	}
	return &Log{dir: dir}, nil
}

// Close closes the folder.
func (l *Log) Close() error { return l.dir.Close() }

// key is the folder of a file's steps.
func key(name string) string { return Sum([]byte(name))[:32] }

// Push remembers a step of the file called name; it is on disk when Push
// returns.
func (l *Log) Push(name string, s Step) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	folder := key(name)
	if err := l.dir.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("remember edit of %q: %w", name, err)
	}
	steps, err := l.steps(folder)
	if err != nil {
		return fmt.Errorf("remember edit of %q: %w", name, err)
	}
	next := 1
	if len(steps) > 0 {
		next = steps[len(steps)-1].n + 1
	}
	head, err := json.Marshal(struct {
		Existed bool   `json:"existed"`
		After   string `json:"after"`
		Name    string `json:"name"`
	}{s.Existed, s.After, name})
	if err != nil {
		return fmt.Errorf("remember edit of %q: %w", name, err)
	}
	if err := l.put(folder+"/"+strconv.Itoa(next), append(append(head, '\n'), s.Before...)); err != nil {
		return fmt.Errorf("remember edit of %q: %w", name, err)
	}
	return l.prune(folder, append(steps, stored{n: next, size: int64(len(s.Before))}))
}

func (l *Log) put(name string, content []byte) error {
	temp := name + "." + rand.Text()
	file, err := l.dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = l.dir.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, l.dir.Remove(temp))
	}
	return nil
}

// prune drops the oldest steps beyond the bounds, never the latest.
func (l *Log) prune(folder string, steps []stored) error {
	var size int64
	for i, kept := len(steps)-1, 0; i >= 0; i-- {
		size += steps[i].size
		if kept++; kept <= MaxSteps && (size <= maxBytes || kept == 1) {
			continue
		}
		if err := l.dir.Remove(folder + "/" + strconv.Itoa(steps[i].n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Pop hands the latest step of the file to use; it is forgotten when use
// returns nil. left is how many remain.
func (l *Log) Pop(name string, use func(Step) error) (left int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	folder := key(name)
	steps, err := l.steps(folder)
	if err != nil {
		return 0, fmt.Errorf("look for edits of %q: %w", name, err)
	}
	if len(steps) == 0 {
		return 0, ErrNothing
	}
	left = len(steps) - 1
	file := folder + "/" + strconv.Itoa(steps[left].n)
	s, err := l.read(file)
	if err != nil {
		return 0, fmt.Errorf("read the latest edit of %q: %w", name, err)
	}
	if err := use(s); err != nil {
		return left + 1, err
	}
	return left, l.dir.Remove(file)
}

func (l *Log) read(file string) (s Step, err error) {
	raw, err := l.dir.ReadFile(file)
	if err != nil {
		return s, err
	}
	head, body, ok := bytes.Cut(raw, []byte("\n"))
	var h struct {
		Existed bool   `json:"existed"`
		After   string `json:"after"`
	}
	if err := json.Unmarshal(head, &h); err != nil || !ok {
		return s, errors.Join(errors.New("the entry is damaged"), err)
	}
	return Step{Existed: h.Existed, Before: body, After: h.After}, nil
}

// Clear forgets the edits of a file and says how many there were.
func (l *Log) Clear(name string) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	steps, err := l.steps(key(name))
	if err != nil {
		return 0, fmt.Errorf("forget edits of %q: %w", name, err)
	}
	if err := l.dir.RemoveAll(key(name)); err != nil {
		return 0, fmt.Errorf("forget edits of %q: %w", name, err)
	}
	return len(steps), nil
}

// stored is a step in its folder.
type stored struct {
	n    int
	size int64
}

// steps lists the steps of a folder, the oldest first.
func (l *Log) steps(folder string) ([]stored, error) {
	entries, err := fs.ReadDir(l.dir.FS(), folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var steps []stored
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil || strings.HasPrefix(e.Name(), "+") {
			continue // half written when the program ended
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		steps = append(steps, stored{n, info.Size()})
	}
	sort.Slice(steps, func(a, b int) bool { return steps[a].n < steps[b].n })
	return steps, nil
}

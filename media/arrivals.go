package media

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"magpie/chat"
	"magpie/internal/kv"
)

// Arrivals is the durable list of files that are still on their way although
// their messages are stored: who takes messages in expects files, who fetches
// them (in any process, also after a restart) settles them, and who reads the
// messages awaits them. Safe for concurrent use.
type Arrivals struct {
	table kv.Table
	life  time.Duration
}

// Expected is a file on its way.
type Expected struct {
	Channel string          `json:"channel"`
	File    chat.Attachment `json:"file"`
	// Chinese is the language of what is said when the file does not come.
	Chinese bool `json:"chinese,omitempty"`
	// Trace of the message, for the log.
	Trace string `json:"trace,omitempty"`
}

// NewArrivals returns the list that stands in table. Entries are forgotten
// after life, which is best that of the files themselves.
func NewArrivals(table kv.Table, life time.Duration) *Arrivals {
	return &Arrivals{table: table, life: life}
}

// The levels of the table: what is to be done, and what became of it. They are
// apart so that whoever looks for work does not read all that was ever done.
const levelTodo, levelDone = "todo", "done"

// Expect notes that file i of the message id has to be fetched and returns
// its attachment with Pending set; once for each id and i, however often it is
// called.
func (a *Arrivals) Expect(ctx context.Context, id string, i int, e Expected) (chat.Attachment, error) {
	sum := sha256.Sum256([]byte(id))
	key := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:15]) + "-" + strconv.Itoa(i)
	file := e.File
	file.Pending = key
	switch _, err := a.table.Get(ctx, levelDone+"."+key); {
	case err == nil:
		return file, nil
	case !errors.Is(err, kv.ErrNotFound):
		return file, fmt.Errorf("expect file %d of %q: %w", i, id, err)
	}
	value, err := json.Marshal(e)
	if err != nil {
		return file, fmt.Errorf("expect file %d of %q: %w", i, id, err)
	}
	if _, err := a.table.Create(ctx, levelTodo+"."+key, value, a.life); err != nil && !errors.Is(err, kv.ErrConflict) {
		return file, fmt.Errorf("expect file %d of %q: %w", i, id, err)
	}
	return file, nil
}

// Work calls fn for every file that is expected now and for each one later,
// until ctx ends or the list cannot be read any more; end of ctx is no error.
// fn is called again for what was not settled when Work is.
func (a *Arrivals) Work(ctx context.Context, fn func(key string, e Expected)) error {
	return a.table.Watch(ctx, levelTodo, func(entry kv.Entry) error {
		if entry.Key == "" || entry.Deleted {
			return nil
		}
		var e Expected
		if err := json.Unmarshal(entry.Value, &e); err != nil {
			return a.table.Delete(ctx, entry.Key) // nobody could ever do it
		}
		fn(entry.Key[len(levelTodo)+1:], e)
		return nil
	})
}

// Settle says what became of the file: with a Ref, or with the reason in
// Failed. The first answer stays.
func (a *Arrivals) Settle(ctx context.Context, key string, file chat.Attachment) error {
	value, err := json.Marshal(file)
	if err != nil {
		return fmt.Errorf("settle file %q: %w", file.Name, err)
	}
	if _, err := a.table.Create(ctx, levelDone+"."+key, value, a.life); err != nil && !errors.Is(err, kv.ErrConflict) {
		return fmt.Errorf("settle file %q: %w", file.Name, err)
	}
	return a.table.Delete(ctx, levelTodo+"."+key)
}

// The pauses between two looks of Await: most files are there in a moment, and
// who waits for long does not mind half a second.
const lookFirst, lookMost = 20 * time.Millisecond, 500 * time.Millisecond

// Await returns what became of a pending file, as soon as it is known. It
// blocks until then or until ctx ends, whose cause it returns; ErrNotFound
// means that nobody knows of the file any more. Other files come back as they
// are.
func (a *Arrivals) Await(ctx context.Context, file chat.Attachment) (chat.Attachment, error) {
	if file.Pending == "" {
		return file, nil
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for pause := lookFirst; ; pause = min(2*pause, lookMost) {
		select {
		case <-ctx.Done():
			return file, fmt.Errorf("wait for file %q: %w", file.Name, context.Cause(ctx))
		case <-timer.C:
		}
		settled, err := a.look(ctx, file)
		if err == nil || errors.Is(err, ErrNotFound) {
			return settled, err
		}
		timer.Reset(pause) // still on its way, or the table cannot be read just now
	}
}

// errOnTheWay: the file is neither there nor lost.
var errOnTheWay = errors.New("the file is on its way")

// look reads what became of a file.
func (a *Arrivals) look(ctx context.Context, file chat.Attachment) (chat.Attachment, error) {
	settled, err := a.settled(ctx, file)
	if !errors.Is(err, kv.ErrNotFound) {
		return settled, err
	}
	_, err = a.table.Get(ctx, levelTodo+"."+file.Pending)
	switch {
	case err == nil:
		return file, errOnTheWay
	case !errors.Is(err, kv.ErrNotFound):
		return file, err
	}
	// It may have been settled between the two looks.
	if settled, err = a.settled(ctx, file); errors.Is(err, kv.ErrNotFound) {
		return file, fmt.Errorf("file %q: %w", file.Name, ErrNotFound)
	}
	return settled, err
}

func (a *Arrivals) settled(ctx context.Context, file chat.Attachment) (chat.Attachment, error) {
	e, err := a.table.Get(ctx, levelDone+"."+file.Pending)
	if err != nil {
		return file, err
	}
	var done chat.Attachment
	if err := json.Unmarshal(e.Value, &done); err != nil {
		return file, fmt.Errorf("file %q: %w: %w", file.Name, ErrNotFound, err)
	}
	return done, nil
}

package tools

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"magpie/chat"
	"magpie/internal/kv"
)

// AuditEvent says what an AuditRecord tells.
type AuditEvent string

// The events. The end of a call is a whole record of it; the start is written
// too, so that a call which took the process down has left a trace.
const (
	AuditStart AuditEvent = "start"
	AuditEnd   AuditEvent = "end"
	// AuditDecision tells what a person, or a standing permission, has decided
	// about a call; Status is the verdict.
	AuditDecision AuditEvent = "decision"
)

// AuditRecord is one line of the audit log. Secrets are hidden before it is
// made.
type AuditRecord struct {
	AuditFrame
	Event      AuditEvent      `json:"event"`
	CallID     string          `json:"call_id"`
	Tool       string          `json:"tool_name"`
	Arguments  json.RawMessage `json:"arguments"`
	Session    chat.SessionKey `json:"session_id"`
	Channel    string          `json:"channel"`
	Sender     string          `json:"sender"`
	Timestamp  time.Time       `json:"timestamp"` // start of the call, UTC
	Status     string          `json:"status"`    // running, ok or an ErrorKind; of a decision the verdict
	DurationMS float64         `json:"duration_ms"`
	Result     string          `json:"result,omitempty"` // cut
}

// AuditFrame is what stands around a call.
type AuditFrame struct {
	AuditLink
	// Setting is what decided beside the arguments what ran: folder and
	// environment.
	Setting string `json:"setting,omitempty"`
	// Approval is the question and its answer, as JSON in one line.
	Approval json.RawMessage `json:"approval,omitempty"`
}

// AuditLink chains a record to the one before it. The line ends with the hash:
// SHA-256 in hex over the line as it would be without it, so that checking
// needs no second encoding.
type AuditLink struct {
	Seq  uint64 `json:"seq"` // from 1
	Prev string `json:"prev"`
}

const (
	chainFile   = "chain" // holds the chain's id
	lockFile    = "lock"
	headWait    = 2 * time.Second // for the table
	auditTail   = 1 << 20         // bytes from the end of a file that hold its last line
	auditPrefix = "audit."        // of the keys in the table
	// dirStep is more than the steps in which file systems count the time of a
	// folder's last change: a younger change may be followed by one that looks
	// the same.
	dirStep = 2 * time.Second
)

// Audit writes the audit log of one directory: one JSONL file for each UTC
// day, every record chained to the one before by hash, over file borders and
// restarts. Several processes may write to one directory. Safe for concurrent
// use.
//
// A record is in the file when Append returns, so a killed process loses none.
// The end of the chain follows behind, in a goroutine that lives as long as
// there is one to store and that Close waits for: first the file is brought to
// the disk, then the table learns of it. So the table never knows of more than
// there is, not even after a power cut.
type Audit struct {
	dir  string
	mu   sync.Mutex
	lock *os.File
	file *os.File
	name string // of file
	size int64  // of file when head was its end
	head auditHead
	// listed is when dir had last changed before its files were listed; zero:
	// they must be listed again.
	listed time.Time
	closed bool
	end    endKeeper
}

// OpenAudit opens the log in dir, which it creates, and keeps the end of the
// chain in table, so that VerifyAudit finds a log that was cut off. A nil table
// keeps no end.
func OpenAudit(ctx context.Context, dir string, table kv.Table) (*Audit, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open audit log: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open audit log: %w", err)
	}
	a := &Audit{dir: dir, lock: lock, end: endKeeper{table: table, closed: make(chan struct{})}}
	a.end.last = a.last
	err = a.locked(func() error {
		chain, err := chainID(dir)
		if err != nil {
			return err
		}
		a.end.key = auditPrefix + chain
		if a.head, err = a.end.fetch(ctx); err != nil {
			return err
		}
		return a.catchUp()
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open audit log %q: %w", dir, err), lock.Close())
	}
	return a, nil
}

// chainID reads the name of the directory's chain, and invents it once.
func chainID(dir string) (string, error) {
	path := filepath.Join(dir, chainFile)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		raw = []byte(strings.ToLower(rand.Text()))
		err = os.WriteFile(path, raw, 0o600)
	}
	if err == nil && !toolName.Match(raw) {
		err = fmt.Errorf("%s holds no chain name; restore it from a backup, or move the whole folder away to begin a new log", path)
	}
	return string(raw), err
}

// locked runs fn while no other goroutine or process writes.
func (a *Audit) locked(fn func() error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := flock(a.lock, syscall.LOCK_EX); err != nil {
		return err
	}
	return errors.Join(fn(), flock(a.lock, syscall.LOCK_UN))
}

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// Append writes one record; Seq and Prev are filled in. The error may also be
// of an end of the chain that could not be stored after an earlier record.
func (a *Audit) Append(r AuditRecord) error {
	err := a.locked(func() error {
		if err := a.catchUp(); err != nil {
			return err
		}
		return a.write(r)
	})
	if err != nil {
		return fmt.Errorf("append to audit log: %w", err)
	}
	if r.Event == AuditStart { // the end that is stored after the call's end covers it
		return nil
	}
	return a.end.follow()
}

// last is the end of the chain, once all records up to it are on the disk: a
// store that knew of more than a power cut has left would call it tampering.
func (a *Audit) last() (auditHead, error) {
	a.mu.Lock()
	head, file := a.head, a.file
	a.mu.Unlock()
	if file == nil {
		return head, nil
	}
	// Who closes a file for the next day's has brought it to the disk before.
	if err := file.Sync(); err != nil && !errors.Is(err, os.ErrClosed) {
		return head, err
	}
	return head, nil
}

func (a *Audit) write(r AuditRecord) error {
	r.AuditLink = AuditLink{Seq: a.head.Seq + 1, Prev: a.head.Hash}
	line, hash, err := seal(r)
	if err != nil {
		return err
	}
	// The newest file stays the newest, also when the clock was set back.
	if name := max(a.name, time.Now().UTC().Format(time.DateOnly)+".jsonl"); name != a.name {
		if err := a.open(name); err != nil {
			return err
		}
	}
	if _, err := a.file.Write(line); err != nil {
		return err // catchUp takes a half line away
	}
	a.size += int64(len(line))
	a.head = auditHead{Seq: r.Seq, Hash: hash}
	return nil
}

func (a *Audit) open(name string) error {
	f, err := os.OpenFile(filepath.Join(a.dir, name), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if a.file != nil {
		err = errors.Join(a.file.Sync(), a.file.Close())
	}
	a.file, a.name, a.size = f, name, 0
	return err
}

// catchUp reads the end of the log again when it is not where this process
// left it: at the start, after another process has written, and after a write
// that failed half-way.
func (a *Audit) catchUp() error {
	dir, err := os.Stat(a.dir)
	if err != nil {
		return err
	}
	if a.listed.IsZero() || !dir.ModTime().Equal(a.listed) {
		names, err := auditFiles(a.dir)
		if err != nil {
			return err
		}
		a.listed = time.Time{}
		if time.Since(dir.ModTime()) > dirStep {
			a.listed = dir.ModTime()
		}
		if len(names) == 0 {
			a.name, a.listed = "", time.Time{} // also when the files were taken away: begin one
			return nil
		}
		if newest := names[len(names)-1]; a.file == nil || newest != a.name {
			if err := a.open(newest); err != nil {
				return err
			}
			return a.readHead()
		}
	}
	if info, err := a.file.Stat(); err != nil || info.Size() == a.size {
		return err
	}
	return a.readHead()
}

func (a *Audit) readHead() error {
	info, err := a.file.Stat()
	if err != nil {
		return err
	}
	tail := make([]byte, min(info.Size(), auditTail))
	if _, err := a.file.ReadAt(tail, info.Size()-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	whole := bytes.LastIndexByte(tail, '\n') + 1
	a.size = info.Size() - int64(len(tail)-whole)
	if whole < len(tail) { // a line that a crash left unfinished: it never counted
		if err := a.file.Truncate(a.size); err != nil {
			return err
		}
	}
	if whole == 0 {
		return nil
	}
	last := tail[:whole-1]
	last = last[bytes.LastIndexByte(last, '\n')+1:]
	link, hash, err := unseal(last)
	if err != nil {
		return fmt.Errorf("the last record of %s: %w; move the folder away to begin a new log", a.name, err)
	}
	// A log that ends before what was written has been cut off. It is continued
	// from where it should have ended, so that the gap stays visible.
	if link.Seq > a.head.Seq {
		a.head = auditHead{Seq: link.Seq, Hash: hash}
	}
	return nil
}

// auditFiles lists the log's files from the oldest to the newest.
func auditFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir) // by name
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if ok, _ := path.Match("????-??-??.jsonl", e.Name()); ok {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Close stores the end of the chain and closes the log. What was appended is
// in the files already. A second Close does nothing.
func (a *Audit) Close() error {
	a.mu.Lock()
	done := a.closed
	a.closed = true
	a.mu.Unlock()
	if done {
		return nil
	}
	err := a.end.close()
	a.mu.Lock()
	defer a.mu.Unlock()
	err = errors.Join(err, a.lock.Close())
	if a.file != nil {
		err = errors.Join(err, a.file.Close())
	}
	return err
}

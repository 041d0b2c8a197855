// Package memory keeps long-term notes: one line each, dated, with a source,
// for a person or a group and never mixed. Search is ranked and knows English
// and Chinese. The notes stand in pages of a kv.Table, so every process sees
// them. The package starts no goroutine.
package memory

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"magpie/chat"
	"magpie/internal/kv"
)

// Owner is whose notes they are: a person on a channel, or a group.
type Owner struct {
	Channel string `json:"channel"`
	Person  string `json:"person,omitempty"` // sender id; "" for a group
	Chat    string `json:"chat,omitempty"`   // chat id; "" for a person
}

// Of returns the owner of the notes of a chat: the person in a private chat,
// else the group.
func Of(a chat.Address, from chat.Sender, direct bool) Owner {
	if direct {
		return Owner{Channel: a.Channel, Person: from.ID}
	}
	return Owner{Channel: a.Channel, Chat: a.Chat}
}

// String is how people name an owner: "telegram:person:42", "qq:chat:group:x".
func (o Owner) String() string {
	if o.Person != "" {
		return o.Channel + ":person:" + o.Person
	}
	return o.Channel + ":chat:" + o.Chat
}

// ParseOwner reads what String wrote.
func ParseOwner(text string) (Owner, error) {
	parts := strings.SplitN(text, ":", 3)
	if len(parts) == 3 && parts[0] != "" && parts[2] != "" {
		switch parts[1] {
		case "person":
			return Owner{Channel: parts[0], Person: parts[2]}, nil
		case "chat":
			return Owner{Channel: parts[0], Chat: parts[2]}, nil
		}
	}
	return Owner{}, fmt.Errorf("owner %q: want <channel>:person:<sender id> or <channel>:chat:<chat id>", text)
}

func (o Owner) key() string {
	sum := sha256.Sum256([]byte(o.String()))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:26])
}

// Entry is one note.
type Entry struct {
	N      int       `json:"n"` // its number, for ever; numbers of removed notes are not used again
	At     time.Time `json:"at"`
	Source string    `json:"source,omitempty"` // who or what it came from
	Text   string    `json:"text"`             // one line
	// Sources are of the text from outside that had been read when it was made:
	// its words may be those of others.
	Sources []chat.Source `json:"sources,omitempty"`
}

// Outside ends the source of such a note in what older versions wrote.
const Outside = "after reading text from outside"

// FromOutside says whether the words of a note may be those of others.
func (e Entry) FromOutside() bool { return len(e.Sources) > 0 }

// Read are the sources of notes, as their readers meet them.
func Read(entries []Entry) (all []chat.Source) {
	for _, e := range entries {
		all = chat.JoinSources(all, chat.Through(fmt.Sprintf("note %d %s", e.N, e.At.Format(time.DateOnly)), e.Sources))
	}
	return all
}

// The bounds of what is kept.
const (
	MaxText    = 2000   // runes of one note
	MaxEntries = 20_000 // notes of one owner
	// maxPage keeps a page well below what a Table takes, and a write small.
	maxPage = 48 << 10
)

// Errors of a Store.
var (
	ErrEmpty   = errors.New("the note is empty")
	ErrTooLong = fmt.Errorf("the note is longer than %d characters", MaxText)
	ErrFull    = fmt.Errorf("there are %d notes already; remove some first", MaxEntries)
	ErrNone    = errors.New("there is no such note")
)

// Store keeps notes. Safe for concurrent use, also by several processes.
type Store struct {
	table kv.Table
	now   func() time.Time
}

// New returns a Store on table; now nil = time.Now.
func New(table kv.Table, now func() time.Time) *Store {
	if now == nil {
		now = time.Now
	}
	return &Store{table: table, now: now}
}

// head is what is known of an owner; its revision orders all changes.
type head struct {
	Owner Owner `json:"owner"`
	Last  int   `json:"last"`  // number of the latest note
	Count int   `json:"count"` // of notes
	Pages []int `json:"pages"` // in use, in order
}

// Add keeps a note and returns it. Line ends become blanks. from are the sources
// of what its maker has read.
func (s *Store) Add(ctx context.Context, o Owner, source, text string, from ...chat.Source) (Entry, error) {
	text = oneLine(text)
	switch n := len([]rune(text)); {
	case n == 0:
		return Entry{}, ErrEmpty
	case n > MaxText:
		return Entry{}, ErrTooLong
	}
	e := Entry{At: s.now().UTC().Truncate(time.Second), Source: oneLine(source), Text: text, Sources: from}
	err := s.change(ctx, o, func(h *head) (page int, edit func([]Entry) []Entry, err error) {
		if h.Count >= MaxEntries {
			return 0, nil, ErrFull
		}
		h.Last++
		h.Count++
		e.N = h.Last
		if len(h.Pages) == 0 {
			h.Pages = []int{1}
		}
		return h.Pages[len(h.Pages)-1], func(old []Entry) []Entry { return append(old, e) }, nil
	})
	return e, err
}

// Remove forgets a note.
func (s *Store) Remove(ctx context.Context, o Owner, n int) (Entry, error) {
	all, err := s.read(ctx, o)
	if err != nil {
		return Entry{}, err
	}
	for _, p := range all.pages {
		for _, e := range p.entries {
			if e.N != n {
				continue
			}
			err := s.change(ctx, o, func(h *head) (int, func([]Entry) []Entry, error) {
				if !slices.Contains(h.Pages, p.n) {
					return 0, nil, ErrNone
				}
				h.Count--
				return p.n, func(old []Entry) []Entry {
					return slices.DeleteFunc(old, func(x Entry) bool { return x.N == n })
				}, nil
			})
			return e, err
		}
	}
	return Entry{}, ErrNone
}

// List returns all notes of an owner, the oldest first.
func (s *Store) List(ctx context.Context, o Owner) ([]Entry, error) {
	all, err := s.read(ctx, o)
	if err != nil {
		return nil, err
	}
	return all.entries(), nil
}

// Owners lists everybody who has notes, with how many.
func (s *Store) Owners(ctx context.Context) (map[Owner]int, error) {
	entries, err := kv.List(ctx, s.table, "")
	if err != nil {
		return nil, fmt.Errorf("list the owners of notes: %w", err)
	}
	owners := map[Owner]int{}
	for _, e := range entries {
		var h head
		if !strings.HasSuffix(e.Key, ".head") || json.Unmarshal(e.Value, &h) != nil || h.Count == 0 {
			continue
		}
		owners[h.Owner] = h.Count
	}
	return owners, nil
}

// page is a page as it stands in the table.
type page struct {
	n       int
	entries []Entry
}

// book is all of an owner's notes.
type book struct {
	head     head
	revision uint64
	pages    []page
}

func (b *book) entries() []Entry {
	var all []Entry
	for _, p := range b.pages {
		all = append(all, p.entries...)
	}
	return all
}

func (s *Store) read(ctx context.Context, o Owner) (*book, error) {
	b := &book{head: head{Owner: o}}
	e, err := s.table.Get(ctx, o.key()+".head")
	if errors.Is(err, kv.ErrNotFound) {
		return b, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the notes of %s: %w", o, err)
	}
	if err := json.Unmarshal(e.Value, &b.head); err != nil {
		return nil, fmt.Errorf("the notes of %s are damaged: %w", o, err)
	}
	b.revision = e.Revision
	for _, n := range b.head.Pages {
		p, err := s.page(ctx, o, n)
		if err != nil {
			return nil, err
		}
		b.pages = append(b.pages, p)
	}
	return b, nil
}

func (s *Store) page(ctx context.Context, o Owner, n int) (page, error) {
	p := page{n: n}
	e, err := s.table.Get(ctx, o.key()+"."+strconv.Itoa(n))
	if errors.Is(err, kv.ErrNotFound) {
		return p, nil // announced in the head, and not written to its end
	}
	if err != nil {
		return p, fmt.Errorf("read the notes of %s: %w", o, err)
	}
	if p.entries, err = decode(e.Value); err != nil {
		return p, fmt.Errorf("the notes of %s are damaged: %w", o, err)
	}
	return p, nil
}

// change edits the head and one page. The head is written first, which keeps
// others from the same numbers; then the page, under its own revision. A page
// that has become too large is followed by a new one at the next note.
func (s *Store) change(ctx context.Context, o Owner, fn func(*head) (int, func([]Entry) []Entry, error)) error {
	var pageNo int
	var edit func([]Entry) []Entry
	err := kv.Modify(ctx, s.table, o.key()+".head", 0, func(old []byte) ([]byte, error) {
		h := head{Owner: o}
		if old != nil {
			if err := json.Unmarshal(old, &h); err != nil {
				return nil, fmt.Errorf("the notes of %s are damaged: %w", o, err)
			}
		}
		var err error
		if pageNo, edit, err = fn(&h); err != nil {
			return nil, err
		}
		return json.Marshal(h)
	})
	if err != nil {
		return wrap(o, err)
	}
	full := false
	err = kv.Modify(ctx, s.table, o.key()+"."+strconv.Itoa(pageNo), 0, func(old []byte) ([]byte, error) {
		entries, err := decode(old)
		if err != nil {
			return nil, fmt.Errorf("the notes of %s are damaged: %w", o, err)
		}
		value := encode(edit(entries))
		full = len(value) > maxPage
		return value, nil
	})
	if err != nil || !full {
		return wrap(o, err)
	}
	return wrap(o, s.turnPage(ctx, o, pageNo))
}

// turnPage opens a new page if that one is the last.
func (s *Store) turnPage(ctx context.Context, o Owner, pageNo int) error {
	return kv.Modify(ctx, s.table, o.key()+".head", 0, func(old []byte) ([]byte, error) {
		var h head
		if err := json.Unmarshal(old, &h); err != nil {
			return nil, err
		}
		if h.Pages[len(h.Pages)-1] == pageNo {
			h.Pages = append(h.Pages, pageNo+1)
		}
		return json.Marshal(h)
	})
}

func wrap(o Owner, err error) error {
	if err == nil || errors.Is(err, ErrFull) || errors.Is(err, ErrNone) {
		return err
	}
	return fmt.Errorf("change the notes of %s: %w", o, err)
}

// oneLine makes a text one clean line.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
}

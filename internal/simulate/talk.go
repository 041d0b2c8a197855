package simulate

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"magpie/internal/fakes/driver"
)

// Who said something in a talk.
const (
	fromPerson = "person"
	fromBot    = "bot"
	fromHouse  = "note" // the platform to the person alone, or about a loss
)

// Entry is one line of a talk as somebody who looks at the chat sees it.
type Entry struct {
	Key       string          `json:"key"` // unique in its talk
	Who       string          `json:"who"`
	Text      string          `json:"text"`
	Buttons   []driver.Button `json:"buttons"`
	Files     []driver.File   `json:"-"`
	Edits     int             `json:"edits"`
	Gone      bool            `json:"gone"` // was deleted
	Reactions []string        `json:"reactions"`
	at        time.Time
	version   int    // of the talk, when the entry changed last
	id        string // of the platform
}

// empty says whether there is nothing to see yet, as on a card that was only
// just opened.
func (e *Entry) empty() bool {
	return e.Who == fromBot && e.Text == "" && len(e.Files) == 0 && len(e.Buttons) == 0
}

// typingLasts is how long one typing call is shown.
const typingLasts = 5 * time.Second

// talk is one chat as it went: what the person said, and what the bot showed,
// changed and deleted, in the order in which it was seen.
type talk struct {
	house house
	place Place

	mu      sync.Mutex
	entries []*Entry
	version int
	presses map[string]bool // whose notes are not shown yet
	typed   int
	typing  time.Time
}

func newTalk(h house, place Place) *talk {
	return &talk{house: h, place: place, presses: map[string]bool{}}
}

// say writes as the person. A message that the platform lost stands in the
// talk with a note.
func (t *talk) say(text string, files []driver.File) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.look()
	id, err := "", t.house.away()
	if err == nil {
		id = t.house.Say(driver.Said{From: t.house.person.Chat, Chat: t.house.chat(t.place), Text: text, Mention: t.place == Group, Files: files})
	}
	t.add(Entry{Who: fromPerson, Text: text, Files: files, id: id})
	if err != nil {
		t.add(Entry{Who: fromHouse, Text: err.Error()})
	}
	return err
}

// press presses the n-th button of an entry, from 0.
func (t *talk) press(key string, n int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.look()
	i := slices.IndexFunc(t.entries, func(e *Entry) bool { return e.Key == key })
	if i < 0 || n < 0 || n >= len(t.entries[i].Buttons) {
		return fmt.Errorf("there is no button %d any more", n+1)
	}
	e := t.entries[i]
	if err := t.house.away(); err != nil {
		return err
	}
	press, err := t.house.Press(t.house.person.Chat, t.house.chat(t.place), e.id, e.Buttons[n].Data)
	if err != nil {
		return err
	}
	t.presses[press] = true
	return nil
}

// find returns the button with that number, from 1, or label, of the last
// message that shows buttons.
func (t *talk) find(which string) (key string, n int, err error) {
	for _, e := range slices.Backward(t.since(0)) {
		if e.Gone || len(e.Buttons) == 0 {
			continue
		}
		var labels []string
		for i, b := range e.Buttons {
			if which == fmt.Sprint(i+1) || strings.EqualFold(which, b.Label) {
				return e.Key, i, nil
			}
			labels = append(labels, fmt.Sprintf("[%d] %s", i+1, b.Label))
		}
		return "", 0, fmt.Errorf("no button %q; there are %s", which, strings.Join(labels, ", "))
	}
	return "", 0, fmt.Errorf("no message here shows buttons")
}

// since returns copies of the entries that changed after a version.
func (t *talk) since(version int) []Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.look()
	var all []Entry
	for _, e := range t.entries {
		if e.version > version {
			all = append(all, *e)
		}
	}
	return all
}

// last is the present version.
func (t *talk) last() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.look()
	return t.version
}

// isTyping says whether the chat shows that the bot writes.
func (t *talk) isTyping() bool {
	typer, ok := t.house.Platform.(driver.Typer)
	if !ok {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := typer.Typed(t.house.chat(t.place)); n != t.typed {
		t.typed, t.typing = n, time.Now()
	}
	last := len(t.entries) - 1
	answered := last >= 0 && t.entries[last].Who == fromBot && t.entries[last].at.After(t.typing)
	return !answered && time.Since(t.typing) < typingLasts
}

func (t *talk) add(e Entry) {
	e.Key = fmt.Sprint(len(t.entries) + 1)
	t.entries = append(t.entries, &e)
	t.touch(&e)
}

func (t *talk) touch(e *Entry) {
	t.version++
	e.version, e.at = t.version, time.Now()
}

// look takes over what the chat shows now; t.mu is held.
func (t *talk) look() {
	known := map[string]*Entry{}
	for _, e := range t.entries {
		if e.Who == fromBot && !e.Gone {
			known[e.id] = e
		}
	}
	for _, m := range t.house.Shown(t.house.chat(t.place)) {
		e := known[m.ID]
		delete(known, m.ID)
		if e == nil {
			t.add(Entry{Who: fromBot, id: m.ID, Text: m.Text, Buttons: m.Buttons, Files: m.Files})
			continue
		}
		edited := e.Text != m.Text
		if edited || !slices.Equal(e.Buttons, m.Buttons) {
			e.Text, e.Buttons, e.Files = m.Text, m.Buttons, m.Files
			if edited {
				e.Edits++
			}
			t.touch(e)
		}
	}
	for _, e := range t.entries {
		if known[e.id] == e {
			e.Gone = true
			t.touch(e)
		}
	}
	t.lookAside()
}

// lookAside takes over reactions and the answers to presses.
func (t *talk) lookAside() {
	if r, ok := t.house.Platform.(driver.Reactor); ok {
		for _, e := range t.entries {
			if e.Who != fromPerson || e.id == "" {
				continue
			}
			if now := r.Reactions(t.house.chat(t.place), e.id); !slices.Equal(now, e.Reactions) {
				e.Reactions = now
				t.touch(e)
			}
		}
	}
	if n, ok := t.house.Platform.(driver.Noter); ok {
		for press := range t.presses {
			if text := n.Note(press); text != "" {
				delete(t.presses, press)
				t.add(Entry{Who: fromHouse, Text: text})
			}
		}
	}
}

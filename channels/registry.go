package channels

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"magpie/internal/kv"
)

// Deps is what the program lends to an adapter. Zero fields have defaults.
type Deps struct {
	// Table keeps the adapter's own durable state (sessions, quotas, hooks);
	// it belongs to this instance alone.
	Table kv.Table
	// Log carries the instance name already. nil = silent.
	Log *slog.Logger
	// HTTP is used for every call to the platform. nil = a client of the
	// adapter's own.
	HTTP *http.Client
	// Now is the clock. nil = time.Now.
	Now func() time.Time
	// Status receives the state of the connection. nil = nobody looks.
	Status *Status
	// Public puts a file where the platform's servers can fetch it, and returns
	// its URL, which is good for at least some minutes. nil = there is no such
	// place configured. Errors are not *Error; they hold no secret.
	Public func(ctx context.Context, f Upload) (url string, err error)
	// Commands are the bot's slash commands, for platforms that show a menu.
	Commands []Command
}

// Complete fills what is nil with what works without it: nothing is durable,
// logged or looked at then.
func (d Deps) Complete() Deps {
	if d.Table == nil {
		d.Table = &kv.Memory{}
	}
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	return d
}

// Command is an entry of a platform's menu of commands.
type Command struct {
	Name        string // without the slash, a–z only
	ChineseName string // the same in Chinese, for platforms that show a menu in each language
	About       string // one line in English
	Chinese     string // the same line in Chinese
	Args        bool   // takes text after its name
}

// Factory makes a channel. decode fills a struct with the instance's section
// of the configuration (without the keys every channel has) and reports
// unknown keys and wrong types with their place in the file. A factory does no
// IO.
type Factory func(name string, decode func(any) error, d Deps) (Channel, error)

// Registry maps the type of a channel ("telegram") to its factory.
type Registry map[string]Factory

// Status is the truthful state of one channel's connection; safe for
// concurrent use, nil does nothing.
type Status struct {
	mu    sync.Mutex
	now   func() time.Time
	state State
}

// State is a moment's view of a Status.
type State struct {
	Connected  bool      `json:"connected"`
	Once       bool      `json:"connected_once"` // has been connected since the start
	Since      time.Time `json:"since"`          // of the present state
	LastEvent  time.Time `json:"last_event,omitzero"`
	LastError  string    `json:"last_error,omitempty"`
	ErrorAt    time.Time `json:"error_at,omitzero"`
	Reconnects int       `json:"reconnects"`
	Stopped    bool      `json:"stopped,omitempty"` // given up: credentials are wrong
}

// NewStatus returns a Status on that clock (nil = time.Now).
func NewStatus(now func() time.Time) *Status {
	if now == nil {
		now = time.Now
	}
	return &Status{now: now, state: State{Since: now()}}
}

// Connected notes that the platform accepts the bot now.
func (s *Status) Connected() {
	s.change(func(st *State) {
		if st.Connected {
			return
		}
		if st.Once {
			st.Reconnects++
		}
		st.Connected, st.Once, st.Stopped, st.Since = true, true, false, s.now()
	})
}

// Event notes that something was received; it proves the connection.
func (s *Status) Event() {
	s.Connected()
	s.change(func(st *State) { st.LastEvent = s.now() })
}

// Failed notes that the connection is gone. err must not hold secrets.
func (s *Status) Failed(err error) {
	s.change(func(st *State) {
		if st.Connected {
			st.Connected, st.Since = false, s.now()
		}
		st.LastError, st.ErrorAt = err.Error(), s.now()
	})
}

// Trouble notes that something is wrong although the connection stands. err
// must not hold secrets.
func (s *Status) Trouble(err error) {
	s.change(func(st *State) { st.LastError, st.ErrorAt = err.Error(), s.now() })
}

// Stopped notes that the channel was given up.
func (s *Status) Stopped(err error) {
	s.Failed(err)
	s.change(func(st *State) { st.Stopped = true })
}

// End notes how Run has ended and returns what Run returns: nil when its
// context is done, else err, for which the channel was given up.
func (s *Status) End(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	s.Stopped(err)
	return err
}

// State returns the present state.
func (s *Status) State() (st State) {
	s.change(func(now *State) { st = *now })
	return st
}

func (s *Status) change(fn func(*State)) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fn(&s.state)
}

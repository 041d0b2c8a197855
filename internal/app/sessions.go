package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"magpie/agent"
	"magpie/agent/session"
	"magpie/agent/settings"
	"magpie/bus"
	"magpie/chat"
)

// SessionInput is the input of the operations on sessions.
type SessionInput struct {
	// Session is a chat: its key, or its address as bot session list writes it.
	// session.list takes none.
	Session string `json:"session,omitempty"`
	Last    int    `json:"last,omitempty"` // session.show: how many messages; session.list: how many sessions; 0 = all
}

// Session is a chat with what is kept of it.
type Session struct {
	Key     chat.SessionKey `json:"session"`
	Chat    string          `json:"chat,omitempty"` // address; "" not known
	Turns   int             `json:"turns"`
	Waiting int             `json:"waiting"`       // messages not answered yet
	Last    time.Time       `json:"last,omitzero"` // zero: nothing was said since it was cleared
}

// SessionShown is a session as session.show gives it.
type SessionShown struct {
	Session
	Messages int               `json:"messages"` // that a model is shown
	Tokens   int               `json:"tokens"`   // of them, estimated
	Summary  string            `json:"summary,omitempty"`
	Settings settings.Settings `json:"settings"`
	Lines    []SessionLine     `json:"lines"` // the latest of the whole history
}

// SessionLine is one message of a history.
type SessionLine struct {
	At    time.Time `json:"at"`
	Role  string    `json:"role"` // user, assistant, tool; new: a new conversation begins
	Text  string    `json:"text,omitempty"`
	Tool  string    `json:"tool,omitempty"`  // whose result it is
	Calls []string  `json:"calls,omitempty"` // the tools that are called
}

// clearWait is how long a clear waits for a turn that runs.
const clearWait = 10 * time.Second

// count is what a person is told of a chat. The mark that a clear leaves at the
// beginning of the history is no turn.
func (s state) count(ctx context.Context, f bus.Session) (Session, error) {
	one := Session{Key: f.Key, Turns: f.Records, Waiting: f.Waiting, Last: f.Last}
	if f.Addr != (chat.Address{}) {
		one.Chat = f.Addr.String()
	}
	first, ok, err := s.bus.First(ctx, f.Key)
	if err != nil || !ok || !strings.HasPrefix(first.Turn, clearedTurn(f.Key)) {
		return one, err
	}
	if one.Turns--; one.Turns <= 0 && one.Waiting == 0 {
		one.Turns, one.Last = 0, time.Time{}
	}
	return one, nil
}

// clearedTurn begins the name of the record that a clear leaves.
func clearedTurn(key chat.SessionKey) string { return string(key) + ":cleared:" }

// listSessions gives the chats, the one used last first.
func listSessions(ctx context.Context, s state, raw json.RawMessage) (any, error) {
	in, err := input[SessionInput](raw)
	if err != nil {
		return nil, err
	}
	found, err := s.bus.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	sort.Slice(found, func(i, j int) bool { return found[i].Last.After(found[j].Last) })
	if in.Last > 0 && len(found) > in.Last {
		found = found[:in.Last]
	}
	all := make([]Session, len(found))
	for i, f := range found {
		if all[i], err = s.count(ctx, f); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// session finds the chat that a person means.
func (s state) session(ctx context.Context, name string) (bus.Session, error) {
	found, err := s.bus.Sessions(ctx)
	if err != nil {
		return bus.Session{}, err
	}
	for _, one := range found {
		addr := addressed(name, one.Key)
		if one.Addr == (chat.Address{}) { // it does not say itself where it is
			one.Addr = addr
		}
		if string(one.Key) == name || addr != (chat.Address{}) {
			return one, nil
		}
	}
	return bus.Session{}, fmt.Errorf("there is no session %q; bot session list shows them", name)
}

// addressed is the address that name writes, if it is that of the session. A
// chat is also written as bot cron does it: telegram:1001.
func addressed(name string, key chat.SessionKey) chat.Address {
	at := strings.IndexAny(name, "/:")
	if at < 0 {
		return chat.Address{}
	}
	where := name[at+1:]
	a := chat.Address{Channel: name[:at], Chat: where}
	if at := strings.LastIndexByte(where, '#'); a.Session() != key && at > 0 {
		a.Chat, a.Thread = where[:at], where[at+1:]
	}
	if a.Session() != key {
		return chat.Address{}
	}
	return a
}

// named is the session that an operation is about.
func (s state) named(ctx context.Context, raw json.RawMessage) (in SessionInput, one bus.Session, err error) {
	if in, err = input[SessionInput](raw); err == nil {
		one, err = s.session(ctx, in.Session)
	}
	return in, one, err
}

func showSession(ctx context.Context, s state, raw json.RawMessage) (any, error) {
	in, one, err := s.named(ctx, raw)
	if err != nil {
		return nil, err
	}
	shown := SessionShown{}
	if shown.Session, err = s.count(ctx, one); err != nil {
		return nil, err
	}
	sess, err := session.NewStore(s.bus.History, s.bus.Table("sess"), nil).Load(ctx, shown.Key)
	if err != nil {
		return nil, err
	}
	shown.Messages, shown.Tokens = sess.Size()
	shown.Summary = sess.Summary()
	shown.Settings, err = settings.New(s.bus.Table("sess"), s.cfg.Location()).Load(ctx, shown.Key)
	if err != nil {
		return nil, err
	}
	records, err := s.bus.History(ctx, shown.Key, 0)
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		shown.Lines = append(shown.Lines, linesOf(r.Record)...)
	}
	if in.Last > 0 && len(shown.Lines) > in.Last {
		shown.Lines = shown.Lines[len(shown.Lines)-in.Last:]
	}
	return shown, nil
}

func linesOf(r chat.Record) []SessionLine {
	var lines []SessionLine
	for _, raw := range r.Items {
		it, err := session.Decode(raw)
		switch {
		case err != nil:
			lines = append(lines, SessionLine{At: r.At, Role: "damaged", Text: err.Error()})
			continue
		case it.Reset:
			lines = append(lines, SessionLine{At: it.At, Role: "new"})
			continue
		}
		l := SessionLine{At: it.At, Role: string(it.Message.Role), Text: it.Message.Text, Tool: it.Message.Name}
		for _, c := range it.Message.Calls {
			l.Calls = append(l.Calls, c.Name)
		}
		lines = append(lines, l)
	}
	return lines
}

// clearSession removes what was said in a chat for good. Its settings, notes
// and jobs stay, and so do messages that wait.
func clearSession(ctx context.Context, s state, raw json.RawMessage) (any, error) {
	_, one, err := s.named(ctx, raw)
	if err != nil {
		return nil, err
	}
	was, err := s.count(ctx, one)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	reset, err := session.Encode(session.Item{At: now, Reset: true})
	if err != nil {
		return nil, err
	}
	mark := chat.Record{Turn: clearedTurn(one.Key) + strconv.FormatInt(now.UnixNano(), 10), Addr: one.Addr, At: now, Items: []json.RawMessage{reset}}
	err = s.bus.Alone(ctx, one.Key, clearWait, func(ctx context.Context, mb *bus.Mailbox) error {
		if err := mb.Commit(ctx, mark); err != nil {
			return err
		}
		store := session.NewStore(s.bus.History, s.bus.Table("sess"), nil)
		sess, err := store.Load(ctx, one.Key)
		if err == nil {
			err = store.Forget(ctx, sess) // and the summary with it
		}
		return errors.Join(err, mb.Forget(ctx), agent.ForgetJournals(ctx, s.bus.Table("turn"), one.Key))
	})
	if errors.Is(err, bus.ErrBusy) {
		return nil, fmt.Errorf("%w: wait for its turn to end, or write /stop there, and try again", err)
	}
	return was, err
}

package feishu

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"magpie/chat"
	"magpie/internal/kv"
)

// A private chat has one address for ever: its id (oc_…), or, when its person
// chose from the bot's menu before anything else was known of it, theirs (ou_…),
// for that event names no chat. Messages go to either. The table holds
//
//	private.ou_…  the address of the person's private chat
//	p2p.oc_…      the address of that private chat, "1" in older tables: itself
//	reached.ou_…  the chat whose address is the person's id
const (
	keyPrivate  = "private."
	keyDirect   = "p2p."
	keyReached  = "reached."
	personStart = "ou_"
)

// homeOf is the address under which an event goes to the sink.
func (f *Feishu) homeOf(ctx context.Context, ev *event) (string, error) {
	in, at := ev.in, ev.in.Addr.Chat
	switch {
	case ev.person:
		return f.home(ctx, in.From.ID, in.From.ID)
	case strings.HasPrefix(at, personStart), in.Happening == chat.Joined, in.Happening == chat.Left:
		return at, nil
	case in.Press != nil, in.Happening != "":
		home, _, err := f.direct(ctx, at)
		return home, err
	case in.Direct:
		return f.home(ctx, in.From.ID, at)
	}
	return at, nil
}

// home is the address of somebody's private chat, which is settled with the
// first event from there. at is the id of the chat, or the person's while
// that is not known.
func (f *Feishu) home(ctx context.Context, person, at string) (string, error) {
	if home, ok := f.known.homes.get(at); ok {
		return home, nil
	}
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	home := at
	if strings.HasPrefix(person, personStart) {
		var err error
		if home, err = f.settleHome(ctx, person, at); err != nil {
			return "", fmt.Errorf("look for a private chat: %w", err)
		}
	}
	if at != person {
		if err := f.reached(ctx, home, at); err != nil {
			return "", err
		}
	}
	f.known.homes.put(at, home)
	f.known.homes.put(person, home)
	return home, nil
}

// settleHome settles the address with whoever else does so at the same time.
func (f *Feishu) settleHome(ctx context.Context, person, at string) (string, error) {
	t := f.deps.Table
	if _, err := t.Create(ctx, keyPrivate+person, []byte(at), 0); !errors.Is(err, kv.ErrConflict) {
		return at, err
	}
	e, err := t.Get(ctx, keyPrivate+person)
	if err != nil {
		return "", err
	}
	home := string(e.Value)
	if home == at || at == person {
		return home, nil
	}
	if home == person { // unless the chat was known before persons were
		before, known, err := f.direct(ctx, at)
		if err != nil || !known || before == person {
			return home, err
		}
	}
	_, err = t.Update(ctx, keyPrivate+person, []byte(at), 0, 0)
	return at, err
}

// reached notes the address of a private chat.
func (f *Feishu) reached(ctx context.Context, home, chatID string) error {
	t := f.deps.Table
	if _, err := t.Update(ctx, keyDirect+chatID, []byte(home), 0, 0); err != nil {
		return fmt.Errorf("note a private chat: %w", err)
	}
	if home == chatID {
		return nil
	}
	if _, err := t.Update(ctx, keyReached+home, []byte(chatID), 0, 0); err != nil {
		return fmt.Errorf("note a private chat: %w", err)
	}
	return nil
}

// direct is the address of a chat, and whether it is known to be a private one.
func (f *Feishu) direct(ctx context.Context, chatID string) (home string, is bool, err error) {
	if home, ok := f.known.homes.get(chatID); ok {
		return home, true, nil
	}
	e, err := f.deps.Table.Get(ctx, keyDirect+chatID)
	switch {
	case errors.Is(err, kv.ErrNotFound):
		return chatID, false, nil
	case err != nil:
		return chatID, false, fmt.Errorf("look for a private chat: %w", err)
	case strings.HasPrefix(string(e.Value), personStart):
		return string(e.Value), true, nil
	}
	return chatID, true, nil
}

func (f *Feishu) isDirect(ctx context.Context, at string) bool {
	if strings.HasPrefix(at, personStart) {
		return true
	}
	_, is, err := f.direct(ctx, at)
	return is && err == nil
}

// chatOf is the id of somebody's private chat, or "".
func (f *Feishu) chatOf(ctx context.Context, person string) string {
	for _, key := range []string{keyPrivate, keyReached} {
		e, err := f.deps.Table.Get(ctx, key+person)
		if err == nil && string(e.Value) != person {
			return string(e.Value)
		}
	}
	return ""
}

// learn takes the id of a private chat from what sending to its person
// answered, when that person's id is its address.
func (f *Feishu) learn(ctx context.Context, person, chatID string) {
	if chatID == "" || !strings.HasPrefix(person, personStart) {
		return
	}
	if home, ok := f.known.homes.get(chatID); ok && home == person {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tablePatience)
	defer cancel()
	e, err := f.deps.Table.Get(ctx, keyPrivate+person)
	if err == nil && string(e.Value) == person {
		if err = f.reached(ctx, person, chatID); err == nil {
			f.known.homes.put(chatID, person)
		}
	}
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		f.deps.Log.Debug("the chat of a person is not noted", "err", err)
	}
}

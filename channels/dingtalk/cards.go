package dingtalk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"magpie/channels"
	"magpie/chat"
	"magpie/internal/kv"
)

const (
	// cardPatience bounds the making of a card as a working sign: the answer
	// may be waiting for it.
	cardPatience = 5 * time.Second
	// cardTries is how often a card may fail before the answer goes as a
	// message.
	cardTries = 2
	// cardPause is how long an answer waits between two tries to bring it into
	// its card while cards change too fast: each costs a call, and calls are
	// limited too.
	cardPause = 225 * time.Millisecond
	// cardLife is how long the buttons of a card can be pressed, and how long
	// an open card is remembered.
	cardLife   = 30 * 24 * time.Hour
	cardPrefix = "card."
	// What a card shows that is completed without an answer.
	cardDone  = "✓"
	cardMoved = "…"
	cardBroke = "（已中断 / interrupted）"
)

// openCard is a card that is not complete: it shows that the bot works, or a
// reply that is being written.
type openCard struct {
	chat    string
	message string // id of the message that it shows; "" = nobody's yet
	text    string
	touched time.Time
	fails   int
	set     int64 // of its buttons
}

// cardNote is what the table keeps of a card.
type cardNote struct {
	Chat string `json:"chat"`
	Open bool   `json:"open,omitempty"`
	Set  int64  `json:"set,omitempty"` // of its buttons: when they were changed, in ms; 0 = the first
}

// desk holds the open cards. A card is noted in the table before it is made,
// so that one that a crash leaves behind is completed later: a card that is not
// complete says "thinking" for ever.
type desk struct {
	t  *DingTalk
	wg sync.WaitGroup

	mu    sync.Mutex
	open  map[string]*openCard  // by outTrackId
	chats map[string]*chatMutex // held while a card of the chat is made or changed
}

type chatMutex struct {
	sync.Mutex
	users int
}

func newDesk(t *DingTalk) *desk {
	return &desk{t: t, open: map[string]*openCard{}, chats: map[string]*chatMutex{}}
}

// lock makes calls for one chat wait for each other.
func (d *desk) lock(chatID string) (unlock func()) {
	d.mu.Lock()
	m := d.chats[chatID]
	if m == nil {
		m = &chatMutex{}
		d.chats[chatID] = m
	}
	m.users++
	d.mu.Unlock()
	m.Lock()
	return func() {
		m.Unlock()
		d.mu.Lock()
		defer d.mu.Unlock()
		if m.users--; m.users == 0 {
			delete(d.chats, chatID)
		}
	}
}

// find returns the open card of a chat that shows message, or else one that is
// nobody's yet.
func (d *desk) find(chatID, message string) (track string, c openCard, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, o := range d.open {
		if o.chat == chatID && (o.message == message || o.message == "" && !ok) {
			track, c, ok = id, *o, true
			if o.message == message {
				break
			}
		}
	}
	return track, c, ok
}

// change applies fn to an open card, if it is one.
func (d *desk) change(track string, fn func(*openCard)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.open[track]; c != nil {
		c.touched = d.t.deps.Now()
		fn(c)
	}
}

// send shows a message in a card, when it is one that belongs there. done is
// false when the message has to go as an ordinary one; a draft never does, for
// it could not be edited.
func (d *desk) send(ctx context.Context, to target, msg chat.Outbound) (ref chat.MessageRef, done bool, err error) {
	defer d.lock(to.chat)()
	buttons := d.t.cfg.CardButtonsKey != "" && len(msg.Buttons) > 0
	track, card, found := d.find(to.chat, msg.ID)
	switch {
	case !to.reachable():
		return ref, msg.Draft, d.t.api.Fail("card", channels.Rejected, errors.New("people outside the organisation cannot be shown cards"))
	case !found && !msg.Draft && !buttons:
		return ref, false, nil
	}
	end := time.Now().Add(d.t.pace.settle)
	err = d.show(ctx, to, msg, &track)
	for !msg.Draft && channels.KindOf(err) == channels.RateLimited && time.Until(end) > cardPause && ctx.Err() == nil {
		channels.NewBackoff(cardPause, cardPause).PauseAtLeast(ctx, cardPause)
		err = d.show(ctx, to, msg, &track)
	}
	switch kind := channels.KindOf(err); {
	case err == nil:
		return d.t.ref(to.chat, track), true, nil
	case msg.Draft: // the draft may come again, or the answer be there before it: either has the card
		d.change(track, func(c *openCard) { c.message = "" })
		return ref, true, err
	case kind == channels.RateLimited && buttons, kind == channels.Ambiguous && card.fails+1 < cardTries:
		d.change(track, func(c *openCard) { c.fails++ })
		return ref, true, err // once more, into the same card
	}
	d.t.deps.Log.Warn("a card failed, the answer goes as a message", "chat", msg.Addr.String(), "err", err)
	if channels.KindOf(err) == channels.RateLimited { // the answer needs the next call more
		d.change(track, func(c *openCard) { c.text = cardMoved })
		d.later(track)
		return ref, false, nil
	}
	d.abandon(ctx, track)
	return ref, false, nil
}

// show brings a message into the card track, which is made when it is "".
func (d *desk) show(ctx context.Context, to target, msg chat.Outbound, track *string) error {
	list := d.buttonList(msg)
	if *track == "" {
		*track = newTrack()
		if err := d.create(ctx, *track, to, msg.ID, d.opening(ctx, msg, list)); err != nil {
			if channels.KindOf(err) != channels.Ambiguous {
				*track = "" // there is none
			}
			return err
		}
	} else {
		d.change(*track, func(c *openCard) { c.message = msg.ID })
		if list != "" {
			if err := d.t.updateCard(ctx, *track, map[string]string{d.t.cfg.CardButtonsKey: list}); err != nil {
				return err
			}
		}
	}
	return d.write(ctx, *track, msg)
}

// opening is what the card of a message begins with: its first words, and, in a
// group, the one whom it answers. A sign of work answers the last who asked.
func (d *desk) opening(ctx context.Context, msg chat.Outbound, list string) opening {
	with := opening{buttons: list}
	if msg.Text != "" {
		with.news = title(msg.Text)
	}
	if strings.HasPrefix(msg.Addr.Chat, groupPrefix) {
		s, _, err := d.t.sessions.get(ctx, msg.Addr.Chat)
		if err != nil {
			d.t.deps.Log.Debug("a card mentions nobody", "err", err)
		}
		with.asker = s.asker(msg.ReplyTo)
		if msg.Mention != (chat.Sender{}) {
			with.asker.Staff, with.asker.Name = channels.Mentioned(msg)
		}
	}
	return with
}

// create notes a card and makes it.
func (d *desk) create(ctx context.Context, track string, to target, message string, with opening) error {
	if err := d.note(ctx, track, cardNote{Chat: to.chat, Open: true}, cardLife); err != nil {
		return d.t.api.Fail("card", channels.Temporary, err)
	}
	d.mu.Lock()
	d.open[track] = &openCard{chat: to.chat, message: message, touched: d.t.deps.Now()}
	d.mu.Unlock()
	err := d.t.createCard(ctx, track, to, with)
	if err != nil && channels.KindOf(err) != channels.Ambiguous {
		d.forget(ctx, track) // it does not exist
	}
	return err
}

// write streams a text into a card; the last text completes it.
func (d *desk) write(ctx context.Context, track string, msg chat.Outbound) error {
	text := cardText(msg.Text)
	if err := d.t.streamCard(ctx, track, text, stage(msg.Draft)); err != nil {
		return err
	}
	d.change(track, func(c *openCard) { c.text, c.fails = text, 0 })
	if !msg.Draft {
		d.close(ctx, track, len(msg.Buttons) > 0)
	}
	return nil
}

func stage(draft bool) cardStage {
	if draft {
		return cardGrows
	}
	return cardEnds
}

// edit changes what a card shows.
func (d *desk) edit(ctx context.Context, ref chat.MessageRef, msg chat.Outbound) error {
	if !isCard(ref.ID) {
		return d.t.api.Fail("edit", channels.Rejected, errors.New("only cards can be changed"))
	}
	defer d.lock(ref.Chat)()
	if msg.Answer != nil && msg.Answer.Under != "" {
		return d.amend(ctx, ref, msg)
	}
	if list := d.buttonList(msg); list != "" {
		set := d.t.deps.Now().UnixMilli()
		d.change(ref.ID, func(c *openCard) { c.set = set })
		if err := d.note(ctx, ref.ID, cardNote{Chat: ref.Chat, Set: set}, cardLife); err != nil {
			return d.t.api.Fail("card", channels.Temporary, err)
		}
		if err := d.t.updateCard(ctx, ref.ID, map[string]string{d.t.cfg.CardButtonsKey: list}); err != nil {
			return d.failed(ref.ID, msg, err)
		}
	}
	return d.failed(ref.ID, msg, d.write(ctx, ref.ID, msg))
}

// amend writes a card that is complete anew, without its buttons: nothing is
// streamed into one any more.
func (d *desk) amend(ctx context.Context, ref chat.MessageRef, msg chat.Outbound) error {
	param := map[string]string{d.t.cfg.CardKey: cardText(msg.Text)}
	if key := d.t.cfg.CardButtonsKey; key != "" {
		param[key] = "[]"
	}
	if err := d.t.updateCard(ctx, ref.ID, param); err != nil {
		return err
	}
	d.forget(ctx, ref.ID)
	return nil
}

// failed decides about an edit that did not work: the last one of a card is
// given up after some tries, so that the answer goes as a message instead of
// waiting for a card that will not come.
func (d *desk) failed(track string, msg chat.Outbound, err error) error {
	if err == nil || msg.Draft {
		return err
	}
	if kind := channels.KindOf(err); kind != channels.Temporary && kind != channels.Ambiguous {
		return err
	}
	fails := 0
	d.change(track, func(c *openCard) { c.fails++; fails = c.fails })
	if fails < cardTries {
		return err
	}
	return d.t.api.Fail("card", channels.Rejected, fmt.Errorf("the card does not take the answer: %w", err))
}

// close forgets a card that is complete; one with buttons stays in the table.
func (d *desk) close(ctx context.Context, track string, buttons bool) {
	d.mu.Lock()
	c := d.open[track]
	delete(d.open, track)
	d.mu.Unlock()
	var err error
	switch {
	case !buttons:
		err = d.erase(ctx, track)
	case c != nil:
		err = d.note(ctx, track, cardNote{Chat: c.chat, Set: c.set}, cardLife)
	}
	if err != nil {
		d.t.deps.Log.Warn("a complete card is looked after once more", "card", track, "err", err)
	}
}

func (d *desk) forget(ctx context.Context, track string) { d.close(ctx, track, false) }

// note writes a card into the table.
func (d *desk) note(ctx context.Context, track string, n cardNote, life time.Duration) error {
	return n.store(ctx, d.t.deps.Table, track, life)
}

func (d *desk) erase(ctx context.Context, track string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tablePatience)
	defer cancel()
	return d.t.deps.Table.Delete(ctx, cardPrefix+track)
}

// address is the chat of a card, "" when it is not known any more, and the set
// of its buttons.
func (d *desk) address(ctx context.Context, track string) (chatID string, set int64, err error) {
	d.mu.Lock()
	if c := d.open[track]; c != nil {
		chatID, set = c.chat, c.set
	}
	d.mu.Unlock()
	if chatID != "" {
		return chatID, set, nil
	}
	var n cardNote
	err = n.load(ctx, d.t.deps.Table, track)
	if errors.Is(err, kv.ErrNotFound) {
		return "", 0, nil
	}
	return n.Chat, n.Set, err
}

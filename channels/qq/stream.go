package qq

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"magpie/channels"
	"magpie/chat"
)

const (
	// streamPace is the pause between two pieces of a streamed message; the
	// platform takes 50 a second from the whole bot
	// (bot.q.qq.com/wiki/develop/api-v2/autogen/api/v2_users_user_openid_stream_messages.post.html,
	// July 2026, read November 2026).
	streamPace = time.Second
	// streamLife is how long a stream may wait for its next piece, at least: one
	// that waits too long is cut back to its first piece
	// (github.com/AstrBotDevs/AstrBot/pull/10069; the platform does not say how
	// long that is).
	streamLife = 30 * time.Second
	// maxGrowing is how long a message gets while it is streamed, in runes: the
	// end of a text that goes on may belong to the next message. The last piece
	// brings the rest.
	maxGrowing = maxText / 2
	// lastPatience and lastPause are for the last piece of a stream while pieces
	// are refused as too many.
	lastPatience = 500 * time.Millisecond
	lastPause    = 150 * time.Millisecond
)

// States of a piece of a streamed message.
const (
	pieceGoesOn = 1
	pieceEnds   = 10
)

// piece is one call that lets a message grow. Raw is the whole text, which has
// to begin with what was shown before.
type piece struct {
	Mode  string `json:"input_mode"`
	State int    `json:"input_state"`
	Index int    `json:"index"`
	Kind  string `json:"content_type"`
	Raw   string `json:"content_raw"`
	Event string `json:"event_id,omitempty"`
	MsgID string `json:"msg_id,omitempty"`
	ID    string `json:"stream_msg_id,omitempty"`
	Seq   uint32 `json:"msg_seq"`
}

// streams are the messages that are growing, one in a chat. Of those only the
// id is stored: the next program takes back what this one leaves (left.go).
type streams struct {
	mu   sync.Mutex
	open map[string]*growing // by chat
}

// growing is one of them.
type growing struct {
	mu       sync.Mutex // one call at a time
	turn     string
	id       string // the platform's; "": nothing was sent yet
	place    place
	next     int // index of the next piece
	shown    string
	markdown bool
	off      bool // it is given up: the answer goes by itself
	doubtful bool // its last piece may have arrived
}

// of returns the stream of a turn, and the one that stood in its way.
func (s *streams) of(chatID, turn string, markdown bool) (g, other *growing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g = s.open[chatID]; g != nil && g.turn == turn {
		return g, nil
	}
	if s.open == nil {
		s.open = map[string]*growing{}
	}
	other, g = g, &growing{turn: turn, markdown: markdown}
	s.open[chatID] = g
	return g, other
}

func (s *streams) get(chatID string) *growing {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[chatID]
}

func (s *streams) forget(chatID string, g *growing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[chatID] == g {
		delete(s.open, chatID)
	}
}

// streamIn is the pace of streaming in a chat; groups have none.
func (q *QQ) streamIn(a chat.Address) time.Duration {
	if !strings.HasPrefix(a.Chat, direct) || !q.learnt.works(asStream) {
		return 0
	}
	return streamPace
}

// Draft lets a message grow that becomes the answer: what of the text stays as
// it is, whatever follows, is shown.
func (q *QQ) Draft(ctx context.Context, a chat.Address, id, text string) error {
	if q.streamIn(a) == 0 {
		return q.api.Fail("stream_messages", channels.Rejected, errors.New("this chat has no streams"))
	}
	g, other := q.streams.of(a.Chat, id, q.markdown())
	if other != nil {
		q.drop(ctx, a.Chat, other)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if text = q.settled(text, g.markdown); g.off || strings.TrimSpace(text) == "" {
		return nil
	}
	var err error
	switch {
	case g.id == "":
		err = q.first(ctx, a, g, text)
	case !strings.HasPrefix(text, g.shown):
		text = g.shown // the same again keeps it alive
		fallthrough
	default:
		_, err = q.piece(ctx, a.Chat, g, text, pieceGoesOn)
	}
	if err != nil && (channels.KindOf(err) == channels.Rejected || channels.KindOf(err) == channels.Ambiguous) {
		g.off = true
		q.deps.Log.Info("an answer is no longer streamed", "chat", a.Chat, "err", err)
		if q.learnt.works(asStream) {
			return nil
		}
	}
	return err
}

// first sends the first piece.
func (q *QQ) first(ctx context.Context, a chat.Address, g *growing, text string) error {
	const op = "stream_messages"
	name := streamName(g.turn)
	p, ok, err := q.ledger.claim(ctx, a.Chat, want{id: name})
	switch {
	case err != nil:
		return q.api.Fail(op, channels.Temporary, err)
	case !ok:
		return q.api.Fail(op, channels.Rejected, errors.New("there is no place for it"))
	case p.Again:
		// The platform would only say that it has it, and not under which id.
		return q.api.Fail(op, channels.Rejected, errors.New("it may have begun before"))
	}
	g.place = p
	got, err := q.piece(ctx, a.Chat, g, text, pieceGoesOn)
	if err == nil && got.ID == "" {
		return q.api.Fail(op, channels.Rejected, errors.New("answer without an id"))
	}
	if err == nil {
		g.id = got.ID
		q.opened(ctx, a.Chat, g.id)
		return nil
	}
	if channels.KindOf(err) != channels.Ambiguous {
		q.giveBack(ctx, chat.Outbound{Meta: chat.Meta{ID: name, Addr: a}}, p, err)
	}
	if channels.KindOf(err) == channels.Rejected && p.ID != "" && !p.lost(err) && !refusedWith(err, urlCodes()) && !p.mayBeOver(err) {
		q.learnt.refused(asStream, err)
	}
	return err
}

// streamName names the stream of a turn among the claims.
func streamName(turn string) string { return "stream " + turn }

// finish makes the stream of a chat the message, if it is its answer. Else the
// stream is taken back, and done is false.
func (q *QQ) finish(ctx context.Context, msg chat.Outbound) (ref chat.MessageRef, done bool, err error) {
	g := q.streams.get(msg.Addr.Chat)
	if g == nil || g.turn == msg.Turn && !msg.Final {
		return ref, false, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	whole := q.streamed(msg.Text, g.markdown)
	if g.turn != msg.Turn || g.off || g.id == "" || len(msg.Buttons) > 0 || !strings.HasPrefix(whole, g.shown) {
		q.takeBack(ctx, msg.Addr.Chat, g)
		return ref, false, nil
	}
	if err := q.ended(ctx, msg.Addr.Chat); err != nil {
		return ref, false, q.api.Fail("stream_messages", channels.Temporary, err)
	}
	got, err := q.lastPiece(ctx, msg.Addr.Chat, g, whole)
	switch {
	case err == nil, g.doubtful && refusedWith(err, endedCodes()):
	case channels.KindOf(err) == channels.Rejected, channels.KindOf(err) == channels.TooLong, channels.KindOf(err) == channels.RateLimited && !g.doubtful:
		q.deps.Log.Info("a streamed answer could not be completed, it is sent anew", "chat", msg.Addr.Chat, "trace", msg.Trace, "err", err)
		q.takeBack(ctx, msg.Addr.Chat, g)
		return ref, false, nil
	default:
		g.doubtful = g.doubtful || channels.KindOf(err) == channels.Ambiguous
		return ref, false, err
	}
	q.streams.forget(msg.Addr.Chat, g)
	q.settle(ctx, msg, g)
	got.ID = g.id
	q.remember(ctx, msg, got, false)
	return chat.MessageRef{Channel: q.name, Chat: msg.Addr.Chat, ID: g.id}, true, nil
}

// lastPiece completes a stream. It is asked for again for a moment while pieces
// come too fast: the answer does not wait longer for them.
func (q *QQ) lastPiece(ctx context.Context, chatID string, g *growing, whole string) (got sent, err error) {
	for end := time.Now().Add(lastPatience); ; {
		got, err = q.piece(ctx, chatID, g, whole, pieceEnds)
		if channels.KindOf(err) != channels.RateLimited || time.Until(end) <= lastPause || ctx.Err() != nil {
			return got, err
		}
		channels.NewBackoff(lastPause, lastPause).PauseAtLeast(ctx, lastPause)
	}
}

// settle gives the stream's place to the message that it has become, so that a
// repeat is recognised.
func (q *QQ) settle(ctx context.Context, msg chat.Outbound, g *growing) {
	err := q.ledger.change(context.WithoutCancel(ctx), msg.Addr.Chat, func(a *account) error {
		for i := range a.Windows {
			for j := range a.Windows[i].Claims {
				if c := &a.Windows[i].Claims[j]; c.For == streamName(g.turn) {
					c.For = msg.ID
				}
			}
		}
		return nil
	})
	if err != nil {
		q.deps.Log.Warn("a streamed answer would not be recognised if it came again", "chat", msg.Addr.Chat, "trace", msg.Trace, "err", err)
	}
}

// drop takes back a stream that stood in the way of another.
func (q *QQ) drop(ctx context.Context, chatID string, g *growing) {
	g.mu.Lock()
	defer g.mu.Unlock()
	q.takeBack(ctx, chatID, g)
}

// takeBack removes what was shown of a stream; g.mu is held. Best effort: what
// cannot be removed stays, as the beginning of something.
func (q *QQ) takeBack(ctx context.Context, chatID string, g *growing) {
	q.streams.forget(chatID, g)
	g.off = true
	if g.id == "" {
		return
	}
	if err := q.Delete(ctx, chat.MessageRef{Channel: q.name, Chat: chatID, ID: g.id}); err != nil {
		q.deps.Log.Warn("the beginning of a streamed answer is left behind", "chat", chatID, "err", err)
	}
	if err := q.ended(ctx, chatID); err != nil {
		q.deps.Log.Debug("a stream stays noted", "chat", chatID, "err", err)
	}
}

// piece makes one call; g knows afterwards what is shown.
func (q *QQ) piece(ctx context.Context, chatID string, g *growing, text string, state int) (got sent, err error) {
	body := piece{Mode: "replace", State: state, Index: g.next, Kind: "text", Raw: text, ID: g.id, Seq: g.place.Seq}
	if g.markdown {
		body.Kind = "markdown"
	}
	if g.place.Event {
		body.Event = g.place.ID
	} else {
		body.MsgID = g.place.ID
	}
	sends := g.id == "" || state == pieceEnds
	r := request{op: "stream_messages", method: http.MethodPost, path: route(chatID, "stream_messages"), body: body, sends: sends}
	if err = q.api.call(ctx, r, &got); err == nil {
		g.next++
		g.shown = text
	}
	return got, err
}

func (q *QQ) streamed(text string, markdown bool) string {
	if markdown {
		return rich(text)
	}
	return plain(text)
}

// continuations are what may follow a text that is still being written, as far
// as it changes how the text before is rendered: a word, the end of emphasis or
// of code, of a line, of a paragraph, of an item.
func continuations() []string {
	return []string{
		"x", " x", "\nx", "\n\nx", "\n- x", "\n```\n\nx",
		"**", "*", "***", "~~", "~", "`", "``", "x**", "x*", "x***", "x~~", "x`", "x``",
	}
}

var (
	// whole are spans that have their end.
	whole = regexp.MustCompile("\\*\\*[^*\\s](?:[^*\\n]*[^*\\s])?\\*\\*|`[^`\\n]+`|\\[[^\\[\\]\\n]*\\]\\([^()\\s]*\\)")
	// marked are lines that hold more than words: they wait until they are whole.
	marked = regexp.MustCompile("[*_`~\\[\\]<>!|\\\\#]|&\\w*$|^\\s*[-+\\d=]")
	// wordEnd is a word at the end of a text, which may become an address.
	wordEnd = regexp.MustCompile(`[A-Za-z\d:/.@%?=+-]+$`)
	// tableEnd are the lines at the end of a text that may be a table's: its
	// columns are known when it is whole.
	tableEnd = regexp.MustCompile(`(?:^|\n)[^\n]*\|[^\n]*(?:\n[^\n]*\|[^\n]*)*$`)
)

// unhurried is a text without what waits for its end: a line with marks, a word
// that may be an address, a table.
func unhurried(text string) string {
	end := strings.LastIndexByte(text, '\n') + 1
	last := text[end:]
	if marked.MatchString(whole.ReplaceAllString(last, "x")) {
		last = ""
	} else {
		last = wordEnd.ReplaceAllString(last, "")
	}
	lines := strings.TrimSuffix(text[:end], "\n")
	if at := tableEnd.FindStringIndex(lines); at != nil && end > 0 {
		return lines[:at[0]]
	}
	return text[:end] + last
}

// settled is how a text begins whatever follows: what all continuations have in
// common. What it foresees wrongly costs a message that is taken back.
func (q *QQ) settled(text string, markdown bool) string {
	text = unhurried(text)
	kept := q.streamed(text, markdown)
	for _, more := range continuations() {
		kept = kept[:common(kept, q.streamed(text+more, markdown))]
	}
	for n := range kept {
		if n > 0 && utf8.RuneCountInString(kept[:n]) >= maxGrowing {
			return kept[:n]
		}
	}
	return kept
}

// common is how many bytes two texts have in common at their beginning, in
// whole runes.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	return n
}

package qq

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"magpie/channels"
	"magpie/channels/render"
	"magpie/chat"
)

const (
	maxMissed      = 20
	maxMissedBytes = 200 << 10
)

// missed is a message that found no place.
type missed struct {
	ID   string `json:"id"`
	Text string `json:"text"` // Markdown; what is left of it to be told
}

// keep stores a message that cannot be sent now, so that the person is told at
// the next contact, and makes the error that says why.
func (q *QQ) keep(ctx context.Context, op string, msg chat.Outbound, text string) error {
	if text != "" {
		err := q.ledger.change(ctx, msg.Addr.Chat, func(a *account) error {
			a.keep(missed{ID: msg.ID, Text: text})
			return nil
		})
		if err != nil {
			return q.api.Fail(op, channels.Temporary, err)
		}
	}
	return q.api.Fail(op, channels.Rejected, q.reason(msg))
}

func (a *account) keep(m missed) {
	// A second attempt of dispatch at a part of the same message has that id
	// and a suffix.
	for base := m.ID; base != ""; base = base[:max(0, strings.LastIndexByte(base, '/'))] {
		if slices.ContainsFunc(a.Missed, func(old missed) bool { return old.ID == base }) {
			return
		}
	}
	size := len(m.Text)
	for _, old := range a.Missed {
		size += len(old.Text)
	}
	if len(a.Missed) >= maxMissed || size > maxMissedBytes {
		a.Lost++
		return
	}
	a.Missed = append(a.Missed, m)
}

// noPlace says why a message cannot be sent now; it is kept.
type noPlace struct{ error }

// Kept tells dispatch to hand over the rest of the message as well.
func (noPlace) Kept() bool { return true }

func (q *QQ) reason(msg chat.Outbound) error {
	window := "60 minutes"
	if strings.HasPrefix(msg.Addr.Chat, group) {
		window = "5 minutes"
	}
	return noPlace{fmt.Errorf("no message of the last %s has one of its %d replies left, and QQ takes no active messages for this chat now (the day's are spent, or the chat has switched them off); it is kept and told when the person writes next",
		window, replies(msg.Addr.Chat))}
}

// tellMissed sends what waited for the next contact, as much as fits into one
// message; it costs one reply. The rest waits for the contact after.
func (q *QQ) tellMissed(ctx context.Context, chatID string) error {
	var waiting account
	err := q.ledger.change(ctx, chatID, func(a *account) error {
		waiting = account{Missed: slices.Clone(a.Missed), Lost: a.Lost}
		return nil
	})
	if err != nil || len(waiting.Missed)+waiting.Lost == 0 {
		return err
	}
	var left []missed
	for room := maxText - aroundMissed; ; room /= 2 { // the platform may count otherwise
		var text string
		text, left = q.notice(waiting.Missed, waiting.Lost, room)
		err = q.tell(ctx, chatID, text)
		if channels.KindOf(err) != channels.TooLong || room < aroundMissed {
			break
		}
	}
	if err != nil {
		return err
	}
	return q.ledger.change(ctx, chatID, func(a *account) error {
		a.Missed = slices.DeleteFunc(a.Missed, func(m missed) bool { return indexOf(waiting.Missed, m.ID) >= 0 && indexOf(left, m.ID) < 0 })
		for i, m := range a.Missed {
			if n := indexOf(left, m.ID); n >= 0 {
				a.Missed[i] = left[n]
			}
		}
		a.Lost -= min(a.Lost, waiting.Lost)
		return nil
	})
}

func indexOf(all []missed, id string) int {
	return slices.IndexFunc(all, func(m missed) bool { return m.ID == id })
}

// missedPrefix begins the ids of notices, which are replies or nothing: an
// active message that was refused once is not tried as one again.
const missedPrefix = "missed:"

// tell sends a notice. Its id comes from what it says, so that a repeat is
// recognised and another one is not taken for it.
func (q *QQ) tell(ctx context.Context, chatID, text string) error {
	if n := q.measure(text); n > maxText {
		return q.api.Fail("messages", channels.TooLong, fmt.Errorf("%d characters", n))
	}
	msg := chat.Outbound{
		Meta: chat.Meta{V: chat.Version, ID: missedPrefix + menuKey(text), At: q.deps.Now().UTC(), Addr: chat.Address{Channel: q.name, Chat: chatID}},
		Text: text, Final: true,
	}
	_, err := q.placed(ctx, msg, "", func(p place) (sent, error) { return q.deliver(ctx, msg, p) })
	return err
}

// measure is the length of a text in the longest form in which it may be sent.
func (q *QQ) measure(text string) int {
	n := utf8.RuneCountInString(plain(text))
	if *q.cfg.Markdown {
		n = max(n, utf8.RuneCountInString(rich(text)))
	}
	return n
}

// aroundMissed is what the words of a notice may measure, in runes, with the
// seams between the messages.
const aroundMissed = 300

// notice writes what was missed, room runes of it at most; left is what has to
// wait. A message that does not fit is cut where Markdown can be cut.
func (q *QQ) notice(waiting []missed, lost, room int) (text string, left []missed) {
	var bodies []string
	used := 0
	for i, m := range waiting {
		n := q.measure(m.Text)
		if used+n <= room {
			bodies, used = append(bodies, m.Text), used+n
			continue
		}
		left = slices.Clone(waiting[i:])
		if n > room && used <= room/2 { // it has to be cut anyway
			parts := render.Split(m.Text, room-used, q.measure)
			bodies = append(bodies, parts[0])
			left[0].Text = render.Join(parts[1:])
		}
		break
	}
	return words(strings.Join(bodies, "\n\n"), len(waiting)+lost, lost, len(left) > 0), left
}

// words puts the words of a notice around what was missed.
func words(body string, all, lost int, more bool) string {
	head, gone, rest := "%d messages could not be delivered earlier:", "%d more could not be kept.", "The rest follows when you write next."
	if chat.TextLanguage(body) == chat.Chinese {
		head, gone, rest = "之前有 %d 条消息没能送达：", "另有 %d 条未能保留。", "其余的等您下次说话时补发。"
	}
	parts := []string{fmt.Sprintf(head, all)}
	if body != "" {
		parts = append(parts, body)
	}
	if lost > 0 {
		parts = append(parts, fmt.Sprintf(gone, lost))
	}
	if more {
		parts = append(parts, rest)
	}
	return strings.Join(parts, "\n\n")
}

func cutRunes(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

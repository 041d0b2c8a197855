package access

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"magpie/chat"
)

// ParseLimit reads "20/1m" as 20 messages a minute; "" is no limit, n = 0.
func ParseLimit(s string) (n int, per time.Duration, err error) {
	if s == "" {
		return 0, 0, nil
	}
	count, window, ok := strings.Cut(s, "/")
	n, err = strconv.Atoi(strings.TrimSpace(count))
	if ok && err == nil {
		per, err = time.ParseDuration(strings.TrimSpace(window))
	}
	if !ok || err != nil || n < 1 || per <= 0 {
		return 0, 0, fmt.Errorf("rate limit %q: want messages/time such as 20/1m", s)
	}
	return n, per, nil
}

const (
	// groupNotices is how often a group is told within one window that somebody
	// is too fast: the words hold for everybody there.
	groupNotices = 3
	// toldChats is in how many chats one person is told within one window.
	toldChats = 20
)

// limiter counts what people send. What is over the limit is not read; its
// sender is told so once a window in each chat, with the time to wait.
type limiter struct {
	mu     sync.Mutex
	people map[string]*window // messages that were let in, by sender
	groups map[string]*window // notices, by group
}

// window is what happened since its start.
type window struct {
	start time.Time
	ids   []string // of what was let in, or told
	chats []string // in which the sender was told
}

// since returns the running window of key, a new one when the last is over.
func since(all map[string]*window, key string, now time.Time, per time.Duration) *window {
	w := all[key]
	if w != nil && now.Sub(w.start) < per {
		return w
	}
	if len(all) >= maxKept {
		for id, old := range all {
			if now.Sub(old.start) >= per {
				delete(all, id)
			}
		}
	}
	if len(all) >= maxKept {
		clear(all)
	}
	w = &window{start: now}
	all[key] = w
	return w
}

// verdict is what becomes of a message.
type verdict struct {
	in   bool          // it is let in
	tell bool          // its sender has to be told that it is not
	left time.Duration // until the window is over
}

// count counts a message. One that comes a second time, as a platform repeats
// what it believes lost, keeps the verdict that it was let in with.
func (l *limiter) count(r *rules, in chat.Inbound, now time.Time) verdict {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := since(l.people, in.From.ID, now, r.per)
	switch {
	case in.ID != "" && slices.Contains(w.ids, in.ID):
		return verdict{in: true}
	case len(w.ids) < r.n:
		w.ids = append(w.ids, in.ID)
		return verdict{in: true}
	case slices.Contains(w.chats, in.Addr.Chat), len(w.chats) >= toldChats:
		return verdict{}
	}
	if !in.Direct {
		told := since(l.groups, in.Addr.Chat, now, r.per)
		if len(told.ids) >= groupNotices {
			return verdict{}
		}
		told.ids = append(told.ids, in.ID)
	}
	w.chats = append(w.chats, in.Addr.Chat)
	return verdict{tell: true, left: r.per - now.Sub(w.start)}
}

// forget takes back what count noted of a message that was neither handed on
// nor answered, and so comes again.
func (l *limiter) forget(in chat.Inbound, v verdict) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.people[in.From.ID]; w != nil && v.in {
		w.ids = without(w.ids, in.ID)
	} else if w != nil {
		w.chats = without(w.chats, in.Addr.Chat)
	}
	if w := l.groups[in.Addr.Chat]; w != nil && v.tell {
		w.ids = without(w.ids, in.ID)
	}
}

// without returns all but one item.
func without(all []string, item string) []string {
	if i := slices.Index(all, item); i >= 0 {
		return slices.Delete(all, i, i+1)
	}
	return all
}

// withinRate counts a message, and tells its sender when it is one too many.
// Presses and /stop always pass: they end work instead of making it. giveBack
// is for a message that could not be handed on.
func (g *Gate) withinRate(ctx context.Context, r *rules, in chat.Inbound) (ok bool, giveBack func(), err error) {
	if r.n == 0 || in.Press != nil || g.deps.Urgent(in.Text) {
		return true, func() {}, nil
	}
	v := g.limit.count(r, in, time.Now())
	giveBack = func() { g.limit.forget(in, v) }
	if v.tell {
		if err := g.say(ctx, in, "slow", tooFast(in, r, v.left)); err != nil {
			giveBack() // it was not told, and comes again
			return false, nil, err
		}
	}
	return v.in, giveBack, nil
}

// tooFast says what becomes of a message over the limit and when it goes on.
func tooFast(in chat.Inbound, r *rules, left time.Duration) string {
	zh := in.Language() == chat.Chinese
	most, wait := long(r.per, zh), long(left, zh)
	switch {
	case zh && in.Direct:
		return fmt.Sprintf("消息太快了：每%s最多 %d 条。这条消息以及接下来%s内的消息我都不会处理，请过后重新发送。", most, r.n, wait)
	case zh:
		return fmt.Sprintf("消息太快了：每人每%s最多 %d 条，超出的我不会处理。请在%s后重新发送这条消息。", most, r.n, wait)
	case in.Direct:
		return fmt.Sprintf("Too fast: at most %d messages in %s. I do not read this message and those of the next %s; please send them again after that.", r.n, most, wait)
	}
	return fmt.Sprintf("Too fast: at most %d messages in %s from one person; I do not read what is more. Please send this message again in %s.", r.n, most, wait)
}

// long writes a time that somebody has to wait: "1h30m", "42s", 1小时30分.
func long(d time.Duration, zh bool) string {
	if d > time.Second {
		d = (d + time.Second - 1).Truncate(time.Second) // rather too late than too early
	}
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	if !zh {
		return text
	}
	return " " + strings.TrimSpace(strings.NewReplacer("ms", " 毫秒", "h", " 小时 ", "m", " 分钟 ", "s", " 秒 ").Replace(text))
}

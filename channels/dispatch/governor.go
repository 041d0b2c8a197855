package dispatch

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"magpie/channels"
	"magpie/chat"
)

// CheckRate says what is wrong with a rate of the configuration: "auto",
// "off", or messages per second such as "20/s" or "0.5/s".
func CheckRate(s string) error {
	if _, err := fixedRate(s); err != nil {
		return fmt.Errorf("rate %q: want auto, off or a number per second such as 20/s", s)
	}
	return nil
}

// fixedRate is 0 for auto, infinite for off.
func fixedRate(s string) (float64, error) {
	switch s {
	case "", "auto":
		return 0, nil
	case "off":
		return math.Inf(1), nil
	}
	number, ok := strings.CutSuffix(s, "/s")
	if !ok {
		return 0, strconv.ErrSyntax
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !(n >= 0.001 && n <= 1e6) { // also no NaN
		return 0, strconv.ErrRange
	}
	return n, nil
}

// governor keeps a channel to its platform's rate: one bucket for all, one a
// chat. Whole messages wait their turn in the order of asking; edits and
// typing only ever take what nobody needs.
type governor struct {
	limit channels.Rate
	base  rate.Limit
	all   *rate.Limiter

	mu      sync.Mutex
	chats   map[chat.Address]*chatRate
	waiting int // messages that wait for all
	slowed  time.Time
	until   time.Time // the platform asked the whole bot for silence until then
}

type chatRate struct {
	bucket *rate.Limiter
	until  time.Time // the platform asked for silence until then
	rests  time.Time // until then it takes no edits, drafts and signs
	// undrafted is when it last refused a draft that is no message, in
	// nanoseconds since 1970; 0 = it has not.
	undrafted atomic.Int64
}

const (
	maxChats    = 4096 // buckets kept before idle ones are dropped
	slowest     = 16   // 429s slow the channel down to a sixteenth at most
	recoverTime = 30 * time.Second
	unknownWait = 3 * time.Second // a 429 that does not say how long
	// draftless is for how long a chat that refused a draft is shown none: what it
	// refused may have been that one alone.
	draftless = time.Hour
)

func newGovernor(limit channels.Rate, setting string) *governor {
	g := &governor{limit: limit, chats: map[chat.Address]*chatRate{}}
	fixed, err := fixedRate(setting)
	switch {
	case err != nil || fixed == 0:
		g.base = rate.Inf
		if limit.PerSecond > 0 {
			g.base = rate.Limit(limit.PerSecond)
		}
	case math.IsInf(fixed, 1):
		g.limit, g.base = channels.Rate{}, rate.Inf
	default:
		g.limit, g.base = channels.Rate{Burst: int(math.Ceil(fixed))}, rate.Limit(fixed)
	}
	g.all = rate.NewLimiter(g.base, max(g.limit.Burst, 1))
	return g
}

// wait blocks until a message may go to a.
func (g *governor) wait(ctx context.Context, a chat.Address) error {
	c := g.chat(a)
	for {
		g.mu.Lock()
		pause := time.Until(c.until)
		g.mu.Unlock()
		if pause <= 0 {
			break
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
	if err := c.bucket.Wait(ctx); err != nil {
		return fmt.Errorf("wait for the rate of the chat: %w", err)
	}
	g.count(1)
	defer g.count(-1)
	if err := g.all.Wait(ctx); err != nil {
		return fmt.Errorf("wait for the rate of the channel: %w", err)
	}
	return g.hush(ctx)
}

// hush waits while the whole bot has to be silent. Those that waited go on at
// the channel's rate, which the refusal has slowed down.
func (g *governor) hush(ctx context.Context) error {
	for {
		g.mu.Lock()
		pause := time.Until(g.until)
		g.mu.Unlock()
		if pause <= 0 {
			return nil
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
		if err := g.all.Wait(ctx); err != nil {
			return fmt.Errorf("wait for the rate of the channel: %w", err)
		}
	}
}

func (g *governor) count(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting += n
}

// spareEdit takes a place for an edit, if there is one that no message needs:
// two more stay in the chat's bucket (where that holds three), one for the last
// edit and one for the answer in its place, and a quarter of the channel's.
func (g *governor) spareEdit(a chat.Address) bool {
	c := g.chat(a)
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	return g.quiet(c, now) && roomFor(c.bucket, now, float64(min(c.bucket.Burst()-1, 2))) &&
		c.bucket.AllowN(now, 1) && g.all.AllowN(now, 1)
}

// spareCall takes a place for a call that shows no message, such as typing;
// platforms count those for the channel, not for the chat.
func (g *governor) spareCall(a chat.Address) bool {
	c := g.chat(a)
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	return g.quiet(c, now) && g.all.AllowN(now, 1)
}

// quiet reports that the platform is content and that nobody waits for a
// place; g.mu is held.
func (g *governor) quiet(c *chatRate, now time.Time) bool {
	return g.waiting == 0 && !now.Before(c.until) && !now.Before(c.rests) && !now.Before(g.until) && !now.Before(g.slowed) && roomFor(g.all, now, float64(g.all.Burst()/4))
}

func roomFor(l *rate.Limiter, now time.Time, leave float64) bool {
	return l.Limit() == rate.Inf || l.TokensAt(now) >= 1+leave
}

// limited learns from a refusal: the chat, or the whole bot where the limit is
// the bot's, is silent for as long as the platform says, and the channel goes
// slower for a while.
func (g *governor) limited(a chat.Address, err error) {
	after, global := channels.Limit(err)
	if after <= 0 {
		after = unknownWait
	}
	c := g.chat(a)
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	until := &c.until
	if global {
		until = &g.until
	}
	if at := now.Add(after); at.After(*until) {
		*until = at
	}
	g.slowed = now.Add(max(after, recoverTime))
	if g.base != rate.Inf {
		g.all.SetLimitAt(now, max(g.all.Limit()/2, g.base/slowest))
	}
}

// rest learns from the refusal of a call that shows no message: the chat gets no
// more of them for as long as the platform says, and messages as before, which
// platforms count apart. A limit of the whole bot is for messages too.
func (g *governor) rest(a chat.Address, err error) {
	after, global := channels.Limit(err)
	if global {
		g.limited(a, err)
	}
	if after <= 0 {
		after = unknownWait
	}
	c := g.chat(a)
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if rests := now.Add(after); rests.After(c.rests) {
		c.rests = rests
	}
	if slowed := now.Add(recoverTime); slowed.After(g.slowed) {
		g.slowed = slowed
	}
}

// resting is for how long the chat takes no edits.
func (g *governor) resting(a chat.Address) time.Duration {
	c := g.chat(a)
	g.mu.Lock()
	defer g.mu.Unlock()
	return max(time.Until(c.rests), 0)
}

// worked learns from a success: without refusals the channel recovers.
func (g *governor) worked() {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if g.base != rate.Inf && g.all.Limit() < g.base && now.After(g.slowed) {
		g.all.SetLimitAt(now, min(g.all.Limit()*1.25, g.base))
	}
}

func (g *governor) chat(a chat.Address) *chatRate {
	a.Thread = "" // platforms count by chat
	g.mu.Lock()
	defer g.mu.Unlock()
	if c, ok := g.chats[a]; ok {
		return c
	}
	if len(g.chats) >= maxChats {
		g.dropIdle()
	}
	pause := g.limit.PerChat
	if g.limit.PerGroup > 0 && g.limit.IsGroup != nil && g.limit.IsGroup(a) {
		pause = g.limit.PerGroup
	}
	each := rate.Inf
	if pause > 0 {
		each = rate.Every(pause)
	}
	c := &chatRate{bucket: rate.NewLimiter(each, max(g.limit.ChatBurst, 1))}
	g.chats[a] = c
	return c
}

func (g *governor) dropIdle() {
	now := time.Now()
	for a, c := range g.chats {
		if now.After(c.until) && now.After(c.rests) && roomFor(c.bucket, now, float64(c.bucket.Burst()-1)) {
			delete(g.chats, a)
		}
	}
}

package qq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"magpie/internal/kv"
)

// clock is a time that only tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

type book struct {
	*ledger
	*clock
	t testing.TB
}

func newBook(t testing.TB) book {
	c := newClock()
	return book{&ledger{table: &kv.Memory{}, now: c.Now}, c, t}
}

func (b book) opened(chatID, id string) {
	b.t.Helper()
	if _, err := b.open(context.Background(), chatID, window{ID: id, At: b.Now()}, nil); err != nil {
		b.t.Fatal(err)
	}
}

// claimed says where a message goes: the id of the window, "active" or "none".
func (b book) claimed(chatID string, w want) (string, place) {
	b.t.Helper()
	p, ok, err := b.claim(context.Background(), chatID, w)
	if err != nil {
		b.t.Fatal(err)
	}
	switch {
	case !ok:
		return "none", p
	case p.ID == "":
		return "active", p
	}
	return p.ID, p
}

// Replies come first, four to a private message and five to a group's; then
// answers and reminders alike go as active messages, of which nobody counts.
func TestRepliesComeFirstThenActiveMessages(t *testing.T) {
	for chatID, each := range map[string]int{ann: 4, crowd: 5} {
		b := newBook(t)
		b.opened(chatID, "m1")
		b.pass(time.Minute)
		b.opened(chatID, "m2")
		for i := range 2*each + 60 {
			want := "m2"
			if i >= each {
				want = "m1"
			}
			if i >= 2*each {
				want = "active"
			}
			id := wantAnswer(fmt.Sprint(i))
			if i%2 == 0 {
				id = wantReminder(fmt.Sprint(i))
			}
			if got, _ := b.claimed(chatID, id); got != want {
				t.Errorf("%s: message %d goes to %s, want %s", chatID, i, got, want)
			}
		}
		last := wantAnswer(fmt.Sprint(2*each + 59))
		if got, p := b.claimed(chatID, last); got != "active" || !p.Again {
			t.Errorf("%s: a repeat goes to %s, again %v", chatID, got, p.Again)
		}
		if got, _ := b.claimed(chatID, want{id: "notice", bound: true}); got != "none" {
			t.Errorf("%s: what has to be a reply goes to %s", chatID, got)
		}
	}
}

// The operator may allow fewer; the platform's days are those of China.
func TestTheOperatorsBudget(t *testing.T) {
	b := newBook(t) // 20:00 in China
	most := 2
	b.most = &most
	for i, want := range []string{"active", "active", "none"} {
		if got, _ := b.claimed(ann, wantReminder(fmt.Sprint(i))); got != want {
			t.Errorf("message %d goes to %s, want %s", i, got, want)
		}
	}
	if got, p := b.claimed(ann, wantReminder("1")); got != "active" || !p.Again {
		t.Errorf("a repeat goes to %s, again %v", got, p.Again)
	}
	if err := b.release(t.Context(), ann, "1"); err != nil {
		t.Fatal(err)
	}
	if got, _ := b.claimed(ann, wantReminder("instead")); got != "active" {
		t.Errorf("after giving back: %s", got)
	}
	b.pass(4*time.Hour - time.Second)
	if got, _ := b.claimed(ann, wantReminder("late")); got != "none" {
		t.Errorf("before midnight: %s", got)
	}
	b.pass(time.Second)
	if got, _ := b.claimed(ann, wantReminder("next day")); got != "active" {
		t.Errorf("after midnight: %s", got)
	}
}

// wantAnswer is an answer, wantReply one that must be a reply.
func wantAnswer(id string) want   { return want{id: id} }
func wantReply(id string) want    { return want{id: id, bound: true} }
func wantReminder(id string) want { return want{id: id} }

func TestWindowsEnd(t *testing.T) {
	for chatID, life := range map[string]time.Duration{ann: directWindow, crowd: groupWindow} {
		b := newBook(t)
		b.opened(chatID, "m")
		b.pass(life - windowSlack - time.Second)
		if got, _ := b.claimed(chatID, wantReply("in time")); got != "m" {
			t.Errorf("%s: in time: %s", chatID, got)
		}
		b.pass(time.Second)
		if got, _ := b.claimed(chatID, wantReply("late")); got != "none" {
			t.Errorf("%s: late: %s", chatID, got)
		}
	}
}

// An event that comes hours late, or twice, opens nothing that is over.
func TestLateAndDoubledEvents(t *testing.T) {
	b := newBook(t)
	ctx := t.Context()
	if _, err := b.open(ctx, ann, window{ID: "old", At: b.Now().Add(-6 * time.Hour)}, nil); err != nil {
		t.Fatal(err)
	}
	if got, _ := b.claimed(ann, wantReply("a")); got != "none" {
		t.Errorf("an old message took a reply: %s", got)
	}
	b.opened(ann, "m")
	for i := range directReplies {
		b.claimed(ann, wantReply(fmt.Sprint(i)))
	}
	b.opened(ann, "m")
	if got, _ := b.claimed(ann, wantReply("sixth")); got != "none" {
		t.Errorf("a doubled event gave more replies: %s", got)
	}
	// A clock of the platform that is ahead does not make a window longer.
	if _, err := b.open(ctx, bob, window{ID: "ahead", At: b.Now().Add(time.Hour)}, nil); err != nil {
		t.Fatal(err)
	}
	b.pass(directWindow)
	if got, _ := b.claimed(bob, wantReply("x")); got != "none" {
		t.Errorf("a message of the future: %s", got)
	}
}

func TestReplyGoesToTheMessageItAnswers(t *testing.T) {
	b := newBook(t)
	for _, id := range []string{"m1", "m2", "m3"} {
		b.opened(crowd, id)
	}
	if got, _ := b.claimed(crowd, want{id: "a", reply: "m2"}); got != "m2" {
		t.Errorf("went to %s", got)
	}
	if got, _ := b.claimed(crowd, want{id: "b", reply: "gone"}); got != "m3" {
		t.Errorf("without that message: %s", got)
	}
}

func TestRepeatsFindTheirPlaceOverARestart(t *testing.T) {
	b := newBook(t)
	b.opened(ann, "m1")
	_, first := b.claimed(ann, wantAnswer("a"))
	b.opened(ann, "m2")
	after := book{&ledger{table: b.table, now: b.Now}, b.clock, t}
	if got, p := after.claimed(ann, wantAnswer("a")); got != "m1" || !p.Again || p.Seq != first.Seq {
		t.Errorf("after the restart: %s %+v, first %+v", got, p, first)
	}
	if err := after.release(t.Context(), ann, "a"); err != nil {
		t.Fatal(err)
	}
	if got, p := after.claimed(ann, wantAnswer("a")); got != "m2" || p.Again {
		t.Errorf("after giving back: %s %+v", got, p)
	}
}

// What the platform says of active messages holds for an hour, and not beyond
// its midnight.
func TestShut(t *testing.T) {
	b := newBook(t) // 20:00 in China
	b.opened(ann, "m1")
	if err := b.shut(t.Context(), ann, place{ID: "m1"}); err != nil {
		t.Fatal(err)
	}
	where := func(id, want string) {
		t.Helper()
		if got, _ := b.claimed(ann, wantReminder(id)); got != want {
			t.Errorf("%s goes to %s, want %s", id, got, want)
		}
	}
	spent := func() {
		t.Helper()
		if err := b.shut(t.Context(), ann, place{}); err != nil {
			t.Fatal(err)
		}
	}
	where("after a full window", "active")
	spent()
	where("after a refusal", "none")
	b.pass(59 * time.Minute)
	where("within the hour", "none")
	b.pass(time.Minute)
	where("an hour later", "active")
	b.pass(170 * time.Minute) // 23:50
	spent()
	b.pass(9 * time.Minute)
	where("before midnight", "none")
	b.pass(time.Minute)
	where("after midnight", "active")
	if err := b.change(t.Context(), bob, func(a *account) error { a.Closed = true; return nil }); err != nil {
		t.Fatal(err)
	}
	b.pass(40 * 24 * time.Hour)
	if got, _ := b.claimed(bob, wantReminder("closed")); got != "none" {
		t.Errorf("a chat that takes no active messages: %s", got)
	}
}

// A message that is too fast says so some times, over a restart.
func TestSlowIsCounted(t *testing.T) {
	b := newBook(t)
	b.opened(ann, "m1")
	b.claimed(ann, wantAnswer("a"))
	b.claimed(bob, wantReminder("b"))
	for chatID, id := range map[string]string{ann: "a", bob: "b"} {
		for want := 1; want < 4; want++ {
			after := &ledger{table: b.table, now: b.Now}
			if got, err := after.slow(t.Context(), chatID, id); got != want || err != nil {
				t.Errorf("%s: %d, %v; want %d", id, got, err, want)
			}
		}
	}
	if got, err := b.slow(t.Context(), ann, "unknown"); got != 0 || err != nil {
		t.Errorf("unknown: %d, %v", got, err)
	}
}

// An input notify comes twice for a message at most, and not after an answer.
func TestInputNotifiesComeBeforeTheAnswer(t *testing.T) {
	b := newBook(t)
	notified := func(want bool) {
		t.Helper()
		_, _, ok, err := b.claimNotify(t.Context(), ann)
		if err != nil || ok != want {
			t.Errorf("%v, %v; want %v", ok, err, want)
		}
	}
	notified(false)
	b.opened(ann, "m1")
	notified(true)
	notified(true)
	notified(false)
	for i := range directReplies - maxNotifies {
		if got, _ := b.claimed(ann, wantReply(fmt.Sprint("a", i))); got != "m1" {
			t.Errorf("answer %d goes to %s", i, got)
		}
	}
	b.opened(ann, "m2")
	b.claimed(ann, wantAnswer("b"))
	notified(false)
	b.opened(ann, "m3")
	notified(true)
	b.claimed(ann, wantAnswer("c"))
	notified(false)
}

// Whatever happens, no message has more replies than the platform gives, no
// two the same msg_seq, no form of one the msg_seq of another, and a repeat
// has that of the first.
func TestLedgerProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBook(t)
		type key struct {
			window string
			seq    uint32
		}
		used := map[key]string{}
		held := map[string][]place{} // a message may have been tried before a window opened, and in it
		count := map[string]int{}
		opened := 0
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			switch rapid.IntRange(0, 3).Draw(rt, "step") {
			case 0:
				opened++
				b.opened(ann, fmt.Sprint("m", opened))
			case 1:
				b.pass(time.Duration(rapid.IntRange(0, 20).Draw(rt, "minutes")) * time.Minute)
			default:
				id := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", "h", "out:x:1:0", "out:x:1:0#2"}).Draw(rt, "id")
				where, p := b.claimed(ann, want{id: id, bound: id < "e"}) // a message is one or the other for ever
				if where == "none" {
					continue
				}
				again := slices.ContainsFunc(held[id], func(old place) bool { return old.ID == p.ID && old.Seq == p.Seq })
				if p.Again != again {
					rt.Fatalf("%s: %+v, before %+v", id, p, held[id])
				}
				if p.Again {
					continue
				}
				held[id] = append(held[id], p)
				if count[where]++; where != "active" && count[where] > directReplies {
					rt.Fatalf("%d replies to %s", count[where], where)
				}
				for n := range uint32(forms) {
					k := key{where, p.Seq + n}
					if other, taken := used[k]; taken {
						rt.Fatalf("%s and %s share %+v", id, other, k)
					}
					used[k] = id
				}
			}
		}
	})
}

func TestSequenceIsRepeatableAndSmall(t *testing.T) {
	seen := map[uint32]bool{}
	for i := range 1000 {
		id := fmt.Sprintf("out:abc:%d:0", i)
		n := sequence(id, nil)
		if n != sequence(id, nil) || n == 0 || n+forms > 1<<16 {
			t.Fatalf("%s: %d", id, n)
		}
		seen[n] = true
		if other := sequence(id, []claim{{Seq: n}}); other == n {
			t.Fatalf("%s: %d is taken", id, n)
		}
	}
	if len(seen) < 900 {
		t.Errorf("only %d of 1000 differ", len(seen))
	}
}

func TestMissedIsBounded(t *testing.T) {
	var a account
	for i := range maxMissed + 5 {
		a.keep(missed{ID: fmt.Sprint(i), Text: "x"})
	}
	a.keep(missed{ID: "3/1", Text: "a second attempt at 3"})
	a.keep(missed{ID: "3/notes", Text: "notes"})
	if len(a.Missed) != maxMissed || a.Lost != 5 {
		t.Errorf("%d kept, %d lost", len(a.Missed), a.Lost)
	}
	var big account
	for i := range 10 {
		big.keep(missed{ID: fmt.Sprint(i), Text: strings.Repeat("好", 10_000)})
	}
	raw, err := json.Marshal(big)
	if err != nil || len(raw) > 300<<10 || big.Lost != 4 {
		t.Errorf("%d bytes, lost %d, %v", len(raw), big.Lost, err)
	}
}

// broken is a table that fails.
type broken struct{ kv.Memory }

var errDisk = errors.New("disk is gone")

func (*broken) Get(context.Context, string) (kv.Entry, error) { return kv.Entry{}, errDisk }

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
	return book{&ledger{table: &kv.Memory{}, now: c.Now, quota: activeQuota}, c, t}
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

func TestRepliesComeFirstAndAnswersNeverUseUpTheQuota(t *testing.T) {
	b := newBook(t)
	b.opened(ann, "m1")
	b.pass(time.Minute)
	b.opened(ann, "m2")
	for i, want := range []string{"m2", "m2", "m2", "m2", "m2", "m1", "m1", "m1", "m1", "m1", "none"} {
		if got, _ := b.claimed(ann, wantAnswer(fmt.Sprint(i))); got != want {
			t.Errorf("answer %d goes to %s, want %s", i, got, want)
		}
	}
	for i, want := range []string{"active", "active", "active", "active", "none"} {
		if got, _ := b.claimed(ann, wantReminder(fmt.Sprint("r", i))); got != want {
			t.Errorf("reminder %d goes to %s, want %s", i, got, want)
		}
	}
	if got, p := b.claimed(ann, wantReminder("r2")); got != "active" || !p.Again {
		t.Errorf("a repeat goes to %s, again %v", got, p.Again)
	}
	b.pass(30 * 24 * time.Hour)
	if got, _ := b.claimed(ann, wantReminder("next month")); got != "active" {
		t.Errorf("next month: %s", got)
	}
}

func wantAnswer(id string) want   { return want{id: id, answer: true} }
func wantReminder(id string) want { return want{id: id} }

func TestWindowsEnd(t *testing.T) {
	for chatID, life := range map[string]time.Duration{ann: directWindow, crowd: groupWindow} {
		b := newBook(t)
		b.opened(chatID, "m")
		b.pass(life - windowSlack - time.Second)
		if got, _ := b.claimed(chatID, wantAnswer("in time")); got != "m" {
			t.Errorf("%s: in time: %s", chatID, got)
		}
		b.pass(time.Second)
		if got, _ := b.claimed(chatID, wantAnswer("late")); got != "none" {
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
	if got, _ := b.claimed(ann, wantAnswer("a")); got != "none" {
		t.Errorf("an old message took a reply: %s", got)
	}
	b.opened(ann, "m")
	for i := range repliesEach {
		b.claimed(ann, wantAnswer(fmt.Sprint(i)))
	}
	b.opened(ann, "m")
	if got, _ := b.claimed(ann, wantAnswer("sixth")); got != "none" {
		t.Errorf("a doubled event gave more replies: %s", got)
	}
	// A clock of the platform that is ahead does not make a window longer.
	if _, err := b.open(ctx, bob, window{ID: "ahead", At: b.Now().Add(time.Hour)}, nil); err != nil {
		t.Fatal(err)
	}
	b.pass(directWindow)
	if got, _ := b.claimed(bob, wantAnswer("x")); got != "none" {
		t.Errorf("a message of the future: %s", got)
	}
}

func TestReplyGoesToTheMessageItAnswers(t *testing.T) {
	b := newBook(t)
	for _, id := range []string{"m1", "m2", "m3"} {
		b.opened(crowd, id)
	}
	if got, _ := b.claimed(crowd, want{id: "a", reply: "m2", answer: true}); got != "m2" {
		t.Errorf("went to %s", got)
	}
	if got, _ := b.claimed(crowd, want{id: "b", reply: "gone", answer: true}); got != "m3" {
		t.Errorf("without that message: %s", got)
	}
}

func TestRepeatsFindTheirPlaceOverARestart(t *testing.T) {
	b := newBook(t)
	b.opened(ann, "m1")
	_, first := b.claimed(ann, wantAnswer("a"))
	b.opened(ann, "m2")
	after := book{&ledger{table: b.table, now: b.Now, quota: activeQuota}, b.clock, t}
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

func TestShut(t *testing.T) {
	b := newBook(t)
	b.opened(ann, "m1")
	if err := b.shut(t.Context(), ann, place{ID: "m1"}, false); err != nil {
		t.Fatal(err)
	}
	if got, _ := b.claimed(ann, wantReminder("r")); got != "active" {
		t.Errorf("after a full window: %s", got)
	}
	if err := b.shut(t.Context(), ann, place{}, false); err != nil {
		t.Fatal(err)
	}
	if got, _ := b.claimed(ann, wantReminder("r2")); got != "none" {
		t.Errorf("after a spent quota: %s", got)
	}
	if err := b.shut(t.Context(), bob, place{}, true); err != nil {
		t.Fatal(err)
	}
	b.pass(40 * 24 * time.Hour)
	if got, _ := b.claimed(bob, wantReminder("r3")); got != "none" {
		t.Errorf("a chat that takes no active messages: %s", got)
	}
}

func TestInputNotifyIsTheFirstReplyOrNone(t *testing.T) {
	b := newBook(t)
	ctx := t.Context()
	first := func() bool {
		t.Helper()
		_, ok, err := b.claimFirst(ctx, ann)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if first() {
		t.Error("nothing to notify about")
	}
	b.opened(ann, "m1")
	if !first() || first() {
		t.Error("want exactly one")
	}
	b.opened(ann, "m2")
	b.claimed(ann, wantAnswer("a"))
	if first() {
		t.Error("an answer was there first")
	}
	b.opened(ann, "m3")
	if !first() {
		t.Error("a new message gets one")
	}
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
				where, p := b.claimed(ann, want{id: id, answer: id < "e"}) // a message is one or the other for ever
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
				if count[where]++; where != "active" && count[where] > repliesEach {
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
		if count["active"] > activeQuota {
			rt.Fatalf("%d active messages", count["active"])
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

package qq

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tencent-connect/botgo/dto"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/qq"
	"magpie/internal/kv"
)

// Each way in which a connection ends, and what comes after.
func TestConnectionEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end      func(*testing.T, *world)
		sessions int // begun in all
	}{
		"cut":                {func(_ *testing.T, w *world) { w.Cut() }, 1},
		"connection expired": {func(_ *testing.T, w *world) { w.Kick(4009) }, 1},
		"too many frames":    {func(_ *testing.T, w *world) { w.Kick(4008) }, 1},
		"server going away":  {func(_ *testing.T, w *world) { w.Kick(1001) }, 1},
		"asked to reconnect": {func(t *testing.T, w *world) {
			if err := w.AskReconnect(channeltest.Bounded(t)); err != nil {
				t.Fatal(err)
			}
		}, 1},
		"session forgotten":   {func(_ *testing.T, w *world) { w.ForgetSession() }, 2},
		"session invalid":     {func(_ *testing.T, w *world) { w.Kick(4006) }, 2},
		"seq invalid":         {func(_ *testing.T, w *world) { w.Kick(4007) }, 2},
		"internal error":      {func(_ *testing.T, w *world) { w.Kick(4900) }, 2},
		"cannot make session": {func(_ *testing.T, w *world) { w.Kick(4903) }, 2},
		"token expired":       {func(_ *testing.T, w *world) { w.ForgetTokens(); w.Kick(4004) }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			r := start(t, w.channel(t, channels.Deps{}))
			heard(t, w, r, ann, "before")
			c.end(t, w)
			channeltest.Eventually(t, "the break is noticed", func() bool { return r.deps.Status.State().LastError != "" })
			channeltest.Eventually(t, "connected again", func() bool { return r.deps.Status.State().Reconnects >= 1 })
			w.Say(fake.Said{Chat: ann, Text: "after"})
			if in := r.Next(t); in.Text != "after" {
				t.Errorf("got %q", in.Text)
			}
			if w.Sessions() != c.sessions {
				t.Errorf("%d sessions, want %d", w.Sessions(), c.sessions)
			}
			if name == "token expired" && w.Tokens() != 2 {
				t.Errorf("%d tokens", w.Tokens())
			}
		})
	}
}

// Close codes after which trying again is useless end Run with words that say
// what to do.
func TestFatalCodes(t *testing.T) {
	for code, c := range map[int]struct {
		kind channels.Kind
		says string
	}{
		4010: {channels.Rejected, "too many groups"},
		4013: {channels.Rejected, "enable group and private messages"}, // also without what can be spared
		4014: {channels.Rejected, "enable group and private messages"},
		4914: {channels.Unauthorized, "sandbox.api.sgroup.qq.com"},
		4915: {channels.Unauthorized, "banned"},
		4924: {channels.Unauthorized, "IP allow list"},
	} {
		w := newWorld(t, nil)
		q := w.channel(t, channels.Deps{Status: channels.NewStatus(nil)})
		q.learnt.refused(onMembers, nil)
		q.learnt.refused(onPresses, nil)
		r := channeltest.Receive(t, q, nil)
		channeltest.Eventually(t, "connected", func() bool { return q.deps.Status.State().Connected })
		w.Kick(code)
		if err := r.Ended(); channels.KindOf(err) != c.kind || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%d: %v", code, err)
		}
		if st := q.deps.Status.State(); st.Connected || !st.Stopped || !strings.Contains(st.LastError, c.says) {
			t.Errorf("%d: status %+v", code, st)
		}
	}
}

// A connection on which nothing comes any more is given up, although TCP finds
// it well.
func TestZombie(t *testing.T) {
	w := newWorld(t, &fake.Options{Heartbeat: time.Second})
	r := start(t, w.channel(t, channels.Deps{}))
	w.Silence(true)
	w.Say(fake.Said{Chat: ann, Text: "into the void"})
	channeltest.Eventually(t, "it is noticed", func() bool { return strings.Contains(r.deps.Status.State().LastError, "heartbeat") })
	w.Silence(false)
	if in := r.Next(t); in.Text != "into the void" {
		t.Errorf("got %q", in.Text)
	}
	if w.Sessions() != 1 {
		t.Errorf("%d sessions", w.Sessions())
	}
}

// While the sink is slow the answers to heartbeats are still seen.
func TestSlowSinkIsNoZombie(t *testing.T) {
	w := newWorld(t, &fake.Options{Heartbeat: 2 * time.Second})
	release := make(chan struct{})
	var once sync.Once
	let := func() { once.Do(func() { close(release) }) }
	defer let()
	r := startWith(t, w.channel(t, channels.Deps{}), func(chat.Inbound) error { <-release; return nil })
	for range 3 * frameQueue {
		w.Say(fake.Said{Chat: ann, Text: "x"})
	}
	beats := w.Calls("heartbeat")
	channeltest.Eventually(t, "many heartbeats", func() bool { return w.Calls("heartbeat") >= beats+3 })
	let()
	for range 3 * frameQueue {
		r.Next(t)
	}
	if st := r.deps.Status.State(); st.Reconnects != 0 {
		t.Errorf("status %+v", st)
	}
}

// The sequence moves only over what is stored, also over a restart: everything
// from the first refused event on comes again, in order.
func TestSequenceMovesWhenStored(t *testing.T) {
	w := newWorld(t, nil)
	table := &kv.Memory{}
	var mu sync.Mutex
	full := false
	r := startWith(t, w.channel(t, channels.Deps{Table: table}), func(in chat.Inbound) error {
		mu.Lock()
		defer mu.Unlock()
		full = full || in.Text == "3"
		if full {
			return errors.New("disk full")
		}
		return nil
	})
	for _, text := range []string{"1", "2", "3", "4"} {
		w.Say(fake.Said{Chat: ann, Text: text})
	}
	r.Next(t)
	r.Next(t)
	channeltest.Eventually(t, "the refusal shows", func() bool { return strings.Contains(r.deps.Status.State().LastError, "disk full") })
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	again := start(t, w.channel(t, channels.Deps{Table: table}))
	for _, want := range []string{"3", "4"} {
		if in := again.Next(t); in.Text != want {
			t.Errorf("after the restart %q, want %q", in.Text, want)
		}
	}
	if w.Sessions() != 1 {
		t.Errorf("%d sessions: it was not resumed", w.Sessions())
	}
}

// The same event twice has one id, so that whoever de-duplicates can.
func TestDoubledEventsHaveOneID(t *testing.T) {
	w := newWorld(t, nil)
	r := start(t, w.channel(t, channels.Deps{}))
	w.Say(fake.Said{Chat: ann, Text: "once"})
	first := r.Next(t)
	w.Again(1)
	if second := r.Next(t); second.ID != first.ID {
		t.Errorf("%q and %q", first.ID, second.ID)
	}
}

// What cannot be read costs neither what comes after nor the connection.
func TestBrokenEventsArePassedOver(t *testing.T) {
	w := newWorld(t, nil)
	r := start(t, w.channel(t, channels.Deps{}))
	for _, payload := range []any{7, "x", nil, map[string]any{"id": 5}, map[string]any{"author": "?"}} {
		w.Push("C2C_MESSAGE_CREATE", payload)
		w.Push("NEW_KIND_OF_EVENT", payload)
	}
	w.Say(fake.Said{Chat: ann, Text: "fine"})
	if in := r.Next(t); in.Text != "fine" {
		t.Errorf("got %+v", in)
	}
	if r.Skipped() != 5 || r.deps.Status.State().Reconnects != 0 {
		t.Errorf("skipped %d, status %+v", r.Skipped(), r.deps.Status.State())
	}
}

func TestIntents(t *testing.T) {
	for name, c := range map[string]struct {
		policy   fake.Policy
		want     dto.Intent
		sessions int // asked for until the platform was content
	}{
		"all":                   {fake.Policy{Members: true}, dto.IntentGroupMessages | dto.IntentInteraction | intentMembers, 1},
		"no events of members":  {fake.Policy{}, dto.IntentGroupMessages | dto.IntentInteraction, 1},
		"no buttons and no one": {fake.Policy{NoPresses: true}, dto.IntentGroupMessages, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.Grant(c.policy)
			table := &kv.Memory{}
			r := start(t, w.channel(t, channels.Deps{Table: table}))
			heard(t, w, r, ann, "hi")
			if got := r.intents(); got != c.want || w.Sessions() != c.sessions {
				t.Errorf("%b asked for in %d sessions, want %b", got, w.Sessions(), c.want)
			}
			if got := w.channel(t, channels.Deps{Table: table}).intents(); got != c.want {
				t.Errorf("after a restart %b are asked for, want %b", got, c.want)
			}
		})
	}
}

// A gateway that fails for a while is tried again; the session is kept.
func TestGatewayOutage(t *testing.T) {
	w := newWorld(t, nil)
	r := start(t, w.channel(t, channels.Deps{}))
	w.Fail(fake.Fault{Op: "gateway", Times: 5, Status: 502, Page: true})
	w.Cut()
	channeltest.Eventually(t, "connected again", func() bool { return r.deps.Status.State().Reconnects >= 1 })
	if w.Sessions() != 1 || w.Calls("gateway") < 7 {
		t.Errorf("%d sessions, %d calls", w.Sessions(), w.Calls("gateway"))
	}
}

func TestBadTableEndsRunWithoutHarm(t *testing.T) {
	w := newWorld(t, nil)
	q := w.channel(t, channels.Deps{Table: &broken{}})
	err := q.Run(t.Context(), func(context.Context, chat.Inbound) error { return nil })
	if channels.KindOf(err) != channels.Temporary || !errors.Is(err, errDisk) {
		t.Errorf("run: %v", err)
	}
}

func TestUnreadableSessionBeginsANewOne(t *testing.T) {
	w := newWorld(t, nil)
	table := &kv.Memory{}
	if _, err := table.Create(t.Context(), sessionKey, []byte("{"), 0); err != nil {
		t.Fatal(err)
	}
	r := start(t, w.channel(t, channels.Deps{Table: table}))
	heard(t, w, r, ann, "hello")
}

// A stored session of a long-gone bot leads to a new one, not to a loop.
func TestForeignSessionIsReplaced(t *testing.T) {
	w := newWorld(t, nil)
	table := &kv.Memory{}
	if _, err := table.Create(t.Context(), sessionKey, []byte(`{"id":"of-long-ago","seq":99}`), 0); err != nil {
		t.Fatal(err)
	}
	r := start(t, w.channel(t, channels.Deps{Table: table}))
	heard(t, w, r, ann, "hello")
}

// Tokens are asked for once, shared, replaced when refused, and never seen.
func TestTokens(t *testing.T) {
	w := newWorld(t, &fake.Options{Active: 1000})
	var log bytes.Buffer
	q := w.channel(t, channels.Deps{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			if _, err := q.Send(channeltest.Bounded(t), reminder(ann, string(rune('a'+i)), "x")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if w.Tokens() != 1 {
		t.Errorf("%d tokens for 16 sends", w.Tokens())
	}
	w.ForgetTokens()
	if _, err := q.Send(channeltest.Bounded(t), reminder(ann, "after", "x")); err != nil || w.Tokens() != 2 || len(w.Messages(ann)) != 17 {
		t.Errorf("after the token ended early: %v, %d tokens", err, w.Tokens())
	}
	w.Revoke()
	_, err := q.Send(channeltest.Bounded(t), reminder(ann, "revoked", "x"))
	if channels.KindOf(err) != channels.Unauthorized || !strings.Contains(err.Error(), "app_id or app_secret is wrong") {
		t.Errorf("revoked: %v", err)
	}
	for _, secret := range []string{w.Secret(), fake.TokenPrefix} {
		if strings.Contains(log.String()+err.Error(), secret) {
			t.Errorf("%q is seen", secret)
		}
	}
}

// A token is replaced before it ends.
func TestTokenIsReplacedEarly(t *testing.T) {
	c := newClock()
	w := newWorld(t, &fake.Options{Now: c.Now})
	q := w.channel(t, channels.Deps{Now: c.Now})
	for _, step := range []struct {
		pass time.Duration
		want int
	}{{0, 1}, {2*time.Hour - tokenMargin - time.Second, 1}, {time.Second, 2}} {
		c.pass(step.pass)
		if err := q.Check(channeltest.Bounded(t)); err != nil || w.Tokens() != step.want {
			t.Errorf("after %v: %v, %d tokens, want %d", step.pass, err, w.Tokens(), step.want)
		}
	}
}

// Whoever waits for a token somebody else asks for can give up.
func TestWaitingForATokenEnds(t *testing.T) {
	w := newWorld(t, nil)
	q := w.channel(t, channels.Deps{})
	w.Fail(fake.Fault{Op: "token", Times: 2})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := q.Check(ctx); channels.KindOf(err) != channels.Temporary || err == nil {
				t.Errorf("check: %v", err)
			}
		})
	}
	wg.Wait()
}

package telegram

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/telegram"
	"magpie/internal/kv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func pictures(n int) (files []fake.File) {
	for i := range n {
		files = append(files, fake.File{Kind: "photo", Name: fmt.Sprintf("%d.jpg", i), Data: []byte{1}})
	}
	return files
}

// An album is one message, before whatever the person writes after it.
func TestAlbum(t *testing.T) {
	w := newWorld(t, nil)
	r := start(t, w.channel(t, channels.Deps{}))
	first := w.Say(fake.Said{From: ann, Text: "the trip", Files: pictures(3)})
	in := r.Next(t)
	if len(in.Attachments) != 3 || in.Text != "the trip" || in.ID != fmt.Sprintf("telegram:telegram:%d:%d", ann, first) {
		t.Errorf("album: %+v", in)
	}
	w.Say(fake.Said{From: ann, Files: pictures(2)})
	w.Say(fake.Said{From: ann, Files: pictures(10)})
	w.Say(fake.Said{From: ann, Text: "after"})
	var got []string
	for range 3 {
		in := r.Next(t)
		got = append(got, fmt.Sprintf("%d %s", len(in.Attachments), in.Text))
	}
	if diff := cmp.Diff([]string{"2 ", "10 ", "0 after"}, got); diff != "" {
		t.Error(diff)
	}
}

// part is the event of one part of an album.
func part(t *testing.T, tg *Telegram, id int, group string) event {
	t.Helper()
	return tg.event([]byte(mustJSON(t, map[string]any{"update_id": id, "message": map[string]any{
		"message_id": id, "date": 1, "chat": map[string]any{"id": ann, "type": "private"}, "media_group_id": group,
		"photo": []any{map[string]any{"file_id": fmt.Sprintf("f%d", id), "width": 1, "height": 1}},
	}})))
}

// albums is an intake that runs, with what its sink took.
type albums struct {
	*intake
	refusals int
	mu       sync.Mutex
	got      []chat.Inbound
	kill     func() // ends it and waits
}

func runAlbums(t *testing.T, tg *Telegram, refusals int) *albums {
	t.Helper()
	a := &albums{refusals: refusals}
	a.intake = newIntake(tg, func(_ context.Context, in chat.Inbound) error {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.refusals--; a.refusals >= 0 {
			return errors.New("full")
		}
		a.got = append(a.got, in)
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { a.run(ctx) })
	a.kill = func() {
		cancel()
		wg.Wait()
	}
	return a
}

// after returns what the sink has taken when d is over.
func (a *albums) after(d time.Duration) []chat.Inbound {
	<-time.After(d) // a synctest clock
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]chat.Inbound{}, a.got...)
}

// Parts may come one by one: each puts the end off; the sink is asked until it
// takes them; after a kill the next process finds what was acknowledged.
func TestAlbumJoining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := offline()
		a := runAlbums(t, tg, 2)
		for id := 1; id <= 3; id++ {
			if err := a.take(t.Context(), part(t, tg, id, "g")); err != nil {
				t.Fatal(err)
			}
			if got := a.after(tg.pace.album - time.Millisecond); len(got) != 0 {
				t.Fatalf("delivered after part %d", id)
			}
		}
		if got := a.after(time.Minute); len(got) != 1 || len(got[0].Attachments) != 3 {
			t.Fatalf("got %+v", got)
		}
		if left, _, err := a.album(t.Context(), fmt.Sprint(ann)); err != nil || !left.over() {
			t.Errorf("left in the table: %+v, %v", left, err)
		}
		for id := 1; id <= 3; id++ { // a part that comes once more says nothing new
			if err := a.take(t.Context(), part(t, tg, id, "g")); err != nil {
				t.Fatal(err)
			}
		}
		if got := a.after(time.Minute); len(got) != 1 {
			t.Errorf("delivered again: %+v", got)
		}
		if err := a.take(t.Context(), part(t, tg, 4, "h")); err != nil {
			t.Fatal(err)
		}
		a.kill()
		a = runAlbums(t, tg, 0)
		for _, id := range []int{5, 4} { // one that was taken before comes again
			if err := a.take(t.Context(), part(t, tg, id, "h")); err != nil {
				t.Fatal(err)
			}
		}
		if got := a.after(time.Minute); len(got) != 1 || len(got[0].Attachments) != 2 || got[0].MessageID != "4" {
			t.Errorf("after the kill: %+v", got)
		}
		a.kill()
	})
}

// brokenTable fails to store.
type brokenTable struct{ kv.Table }

func (brokenTable) Create(context.Context, string, []byte, time.Duration) (uint64, error) {
	return 0, errors.New("no quorum")
}

func (brokenTable) Update(context.Context, string, []byte, uint64, time.Duration) (uint64, error) {
	return 0, errors.New("no quorum")
}

// A part that cannot be stored is not acknowledged.
func TestAlbumPartNotStored(t *testing.T) {
	tg := offline()
	tg.deps.Table = brokenTable{&kv.Memory{}}
	in := newIntake(tg, func(context.Context, chat.Inbound) error { return nil })
	if err := in.take(t.Context(), part(t, tg, 1, "g")); err == nil {
		t.Error("acknowledged")
	}
}

// One bad update is skipped by name; what stands around it arrives, and the
// offset moves past all of it.
func TestPoisonedBatch(t *testing.T) {
	w := newWorld(t, nil)
	w.Say(fake.Said{From: ann, Text: "before"})
	w.Push(`{"inline_query":{"id":8,"from":{"id":11}}}`)
	w.Push(`{"message":{"message_id":"x"}}`)
	w.Push(`{"update_id":"none at all"}`)
	w.Push(`{}`)
	w.Say(fake.Said{From: ann, Text: "after"})
	r := start(t, w.channel(t, channels.Deps{}))
	if a, b := r.Next(t), r.Next(t); a.Text != "before" || b.Text != "after" {
		t.Errorf("got %q and %q", a.Text, b.Text)
	}
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	if n := w.Pending(); n != 0 {
		t.Errorf("%d updates are not confirmed", n)
	}
	if n := r.Skipped(); n != 4 {
		t.Errorf("%d updates were skipped, want 4", n)
	}
}

// While one chat cannot be stored the others go on, and nothing of theirs
// comes twice; the stuck chat keeps its order.
func TestOneChatIsStuck(t *testing.T) {
	w := newWorld(t, nil)
	tg := w.channel(t, channels.Deps{})
	var mu sync.Mutex
	open := false
	var got []string
	arrived := make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- tg.Run(ctx, func(_ context.Context, in chat.Inbound) error {
			mu.Lock()
			defer mu.Unlock()
			if in.From.ID == "11" && !open {
				return errors.New("mailbox is full")
			}
			got = append(got, in.From.Name+" "+in.Text)
			arrived <- struct{}{}
			return nil
		})
	}()
	wait := func(n int) {
		t.Helper()
		for range n {
			select {
			case <-arrived:
			case <-time.After(time.Minute):
				t.Fatalf("got only %q", got)
			}
		}
	}
	w.Say(fake.Said{From: ann, Text: "1"})
	w.Say(fake.Said{From: bob, Text: "1"})
	w.Say(fake.Said{From: ann, Text: "2"})
	wait(1)
	w.Say(fake.Said{From: bob, Text: "2"})
	wait(1)
	mu.Lock()
	open = true
	mu.Unlock()
	wait(2)
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Bob 1", "Bob 2", "Ann 1", "Ann 2"}, got); diff != "" {
		t.Error(diff)
	}
	if n := w.Pending(); n != 0 {
		t.Errorf("%d updates are not confirmed", n)
	}
}

// More than one batch, many chats.
func TestBacklog(t *testing.T) {
	w := newWorld(t, nil)
	const each = 90
	for i := range each {
		for _, from := range []int64{ann, bob, eve} {
			w.Say(fake.Said{From: from, Text: fmt.Sprint(i)})
		}
	}
	r := start(t, w.channel(t, channels.Deps{}))
	next := map[string]int{}
	for range 3 * each {
		in := r.Next(t)
		if in.Text != fmt.Sprint(next[in.From.ID]) {
			t.Fatalf("%s: got %s, want %d", in.From.Name, in.Text, next[in.From.ID])
		}
		next[in.From.ID]++
	}
}

func TestConflicts(t *testing.T) {
	w := newWorld(t, nil)
	status := channels.NewStatus(nil)
	r := start(t, w.channel(t, channels.Deps{Status: status}))
	w.Say(fake.Said{From: ann, Text: "one"})
	r.Next(t)
	// Another program sets a webhook and later polls.
	tg := w.channel(t, channels.Deps{})
	if _, err := tg.api.call(channeltest.Bounded(t), "setWebhook", map[string]string{"url": "https://127.0.0.1:1/x"}); err != nil {
		t.Fatal(err)
	}
	w.Fail(fake.Fault{Method: "getUpdates", Code: 409, Text: "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"})
	w.Say(fake.Said{From: ann, Text: "two"})
	if in := r.Next(t); in.Text != "two" {
		t.Errorf("got %q", in.Text)
	}
	w.Fail(fake.Fault{Method: "getUpdates", Code: 409, Text: "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"})
	w.Say(fake.Said{From: ann, Text: "three"})
	if in := r.Next(t); in.Text != "three" {
		t.Errorf("got %q", in.Text)
	}
	// "three" may have come by the poll before the one that is refused.
	channeltest.Eventually(t, "the status tells of the other program", func() bool {
		return strings.Contains(status.State().LastError, "another program polls with the same token")
	})
}

// Start works through an outage, and a token that was never right ends it.
func TestStart(t *testing.T) {
	w := newWorld(t, nil)
	w.Fail(fake.Fault{Method: "getMe", Times: 2, Code: 502, Page: true})
	w.Fail(fake.Fault{Method: "deleteWebhook", Code: 429, Text: "Too Many Requests: retry after 1"})
	w.Say(fake.Said{From: ann, Text: "hello"})
	r := start(t, w.channel(t, channels.Deps{}))
	if in := r.Next(t); in.Text != "hello" {
		t.Errorf("got %q", in.Text)
	}
	for _, token := range []chat.Secret{"123456:wrong-wrong", "nonsense"} {
		status := channels.NewStatus(nil)
		bad := w.channel(t, channels.Deps{Status: status}, func(c *Config) { c.Token = token })
		err := bad.Run(channeltest.Bounded(t), func(context.Context, chat.Inbound) error { return nil })
		var ce *channels.Error
		if !errors.As(err, &ce) || ce.Kind != channels.Unauthorized || strings.Contains(err.Error(), string(token)) {
			t.Errorf("run with a wrong token: %v", err)
		}
		if st := status.State(); !st.Stopped || st.Once {
			t.Errorf("status %+v", st)
		}
	}
}

// A server that cannot be reached is no reason to end, and the context is.
func TestUnreachable(t *testing.T) {
	status := channels.NewStatus(nil)
	tg := newTelegram(instance, Config{Token: "1:x", APIBase: "http://127.0.0.1:1", Mode: modePoll}, channels.Deps{Status: status}, quick())
	r := start(t, tg)
	channeltest.Eventually(t, "the status tells", func() bool { return status.State().LastError != "" })
	if err := r.Stop(); err != nil {
		t.Errorf("Run returned %v", err)
	}
	if st := status.State(); st.Connected || st.LastError == "" || strings.Contains(st.LastError, "1:x") {
		t.Errorf("status %+v", st)
	}
}

// A group that moves is followed, also after a restart.
func TestGroupMoves(t *testing.T) {
	w := newWorld(t, nil)
	var table kv.Memory
	r := start(t, w.channel(t, channels.Deps{Table: &table}))
	w.Migrate(crowd, -100900)
	w.Say(fake.Said{From: ann, Chat: -100900, Text: "here now"})
	r.Next(t)
	if _, err := r.Send(channeltest.Bounded(t), chat.Outbound{Meta: chat.Meta{Addr: at(crowd)}, Text: "one"}); err != nil {
		t.Fatal(err)
	}
	if n := w.Calls("sendMessage"); n != 1 {
		t.Errorf("%d calls although the new id is known", n)
	}
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	again := w.channel(t, channels.Deps{Table: &table})
	for _, text := range []string{"two", "three"} { // not running yet: the platform tells
		if _, err := again.Send(channeltest.Bounded(t), chat.Outbound{Meta: chat.Meta{Addr: at(crowd)}, Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	if n := w.Calls("sendMessage"); n != 4 {
		t.Errorf("%d calls, want 4", n)
	}
	if shown := w.Messages(-100900); len(shown) != 3 {
		t.Errorf("the new group shows %+v", shown)
	}
	var stored string
	if e, err := table.Get(channeltest.Bounded(t), "moved."+at(crowd).Chat); err == nil {
		stored = string(e.Value)
	}
	if stored != "-100900" {
		t.Errorf("stored %q", stored)
	}
}

package dingtalk

import (
	"context"
	"fmt"
	"testing"
	"time"

	"magpie/channels"
	"magpie/internal/kv"
)

// A session survives in the table only as long as it is good, and an entry
// that cannot be read is as none.
func TestSessionTable(t *testing.T) {
	w := newWorld(t, nil)
	ch := base(robotOf(t, w, channels.Deps{}))
	ctx := context.Background()
	for _, value := range []string{`{`, `{"url":"https://evil.example","until":"2099-01-01T00:00:00Z"}`, `null`} {
		if _, err := ch.deps.Table.Update(ctx, sessionPrefix+bob().Chat(), []byte(value), 0, 0); err != nil {
			t.Fatal(err)
		}
		clear(ch.sessions.known)
		if s, ok, err := ch.sessions.get(ctx, bob().Chat()); ok || err != nil || s.URL != "" {
			t.Errorf("%s: %+v, %v, %v", value, s, ok, err)
		}
	}
	ch.sessions.hold(ann().Chat(), session{URL: w.url + "/x", Until: time.Now().Add(-time.Minute)})
	if err := ch.sessions.store(ctx, ann().Chat()); err != nil {
		t.Error(err)
	}
	if _, err := ch.deps.Table.Get(ctx, sessionPrefix+ann().Chat()); err == nil {
		t.Error("a webhook that is over was stored")
	}
	many := session{}
	for i := range 2 * mostHeard {
		many.Heard = []heard{{ID: fmt.Sprint(i), Staff: "s"}}
		ch.sessions.hold(crowd().Chat(), many)
	}
	got := ch.sessions.known[crowd().Chat()]
	if len(got.Heard) != mostHeard || got.sender(fmt.Sprint(2*mostHeard-1)) != "s" || got.sender("0") != "" || got.sender("") != "" {
		t.Errorf("remembers %d senders", len(got.Heard))
	}
}

// One process takes the messages and another answers them: it finds the webhook
// of now when the one that it knew is over, and who asked.
func TestSessionsOfAnotherProcess(t *testing.T) {
	now := time.Unix(1_790_000_000, 0)
	clock := func() time.Time { return now }
	w := newWorld(t, nil)
	var table kv.Memory
	hears, answers := base(robotOf(t, w, channels.Deps{Table: &table, Now: clock})), base(robotOf(t, w, channels.Deps{Table: &table, Now: clock}))
	said := func(url, id string) {
		t.Helper()
		hears.sessions.hold(crowd().Chat(), session{URL: w.url + url, Until: now.Add(time.Hour), Heard: []heard{{ID: id, Staff: id}}})
		if err := hears.sessions.store(t.Context(), crowd().Chat()); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"a", "b"} {
		if _, ok, err := answers.sessions.get(t.Context(), crowd().Chat()); ok || err != nil {
			t.Errorf("before %s: %v, %v", id, ok, err)
		}
		said("/"+id, id)
		if s, ok, err := answers.sessions.get(t.Context(), crowd().Chat()); !ok || err != nil || s.URL != w.url+"/"+id || s.sender(id) != id || s.asker("").Staff != id {
			t.Errorf("after %s: %+v, %v, %v", id, s, ok, err)
		}
		now = now.Add(2 * time.Hour)
	}
}

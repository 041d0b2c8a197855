package feishu

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"magpie/channels"
	"magpie/channels/channeltest"
	fake "magpie/internal/fakes/feishu"
)

func logTo(log *channeltest.Log) *slog.Logger { return slog.New(slog.NewTextHandler(log, nil)) }

// The contacts take two scopes: one opens the call, the other the name. Either
// missing is said once, and where the members of a group are known there are
// names all the same.
func TestNamesAndScopes(t *testing.T) {
	const contacts, field, members = "contact:contact.base:readonly", "contact:user.base:readonly", "im:chat.members:read"
	for _, c := range []struct {
		name           string
		missing        []string
		private, group string
		warnings       int
	}{
		{"all", nil, "Ann", "Ann", 0},
		{"only the field is unlocked", []string{contacts}, "", "Ann", 1},
		{"the field is locked", []string{field}, "", "Ann", 1},
		{"none", []string{contacts, members, "im:chat:readonly"}, "", "", 1},
	} {
		w := newWorld(t, fake.Options{})
		w.Withhold(c.missing...)
		r, _ := heard(t, w)
		for range 2 {
			w.Say(fake.Said{From: ann, Text: "hello"})
			if in := r.Next(t); in.From.Name != c.private {
				t.Errorf("%s, in private: %q", c.name, in.From.Name)
			}
		}
		w.settle(t)
		if err := r.Stop(); err != nil {
			t.Fatal(err)
		}
		r, log := heard(t, w)
		for _, id := range []string{ann, bob, ann} {
			w.Say(fake.Said{From: id, Chat: crowd, Text: "hello"})
			if in := r.Next(t); id == ann && in.From.Name != c.group {
				t.Errorf("%s, in a group: %q", c.name, in.From.Name)
			}
		}
		if n := strings.Count(log.String(), "level=WARN"); n != c.warnings || n > 0 && (!strings.Contains(log.String(), contacts) || !strings.Contains(log.String(), field)) {
			t.Errorf("%s: %d warnings:\n%s", c.name, n, log.String())
		}
	}
}

// Where nobody tells a name it is the one by which others mention somebody; the
// platform is not asked for every message.
func TestNamesFromMentions(t *testing.T) {
	w := newWorld(t, fake.Options{})
	w.Withhold("contact:contact.base:readonly", "im:chat.members:read", "im:chat:readonly")
	w.AddPerson(fake.Person{ID: "ou_far", Name: "Far 远", Hidden: true})
	r, _ := heard(t, w)
	w.Say(fake.Said{From: ann, Chat: crowd, Text: "@_user_1 @_user_2 hi", Mentions: []string{fake.BotID, "ou_far"}})
	if in := r.Next(t); in.Text != "@Far 远 hi" {
		t.Errorf("got %q", in.Text)
	}
	for range 3 {
		w.Say(fake.Said{From: "ou_far", Chat: crowd, Text: "hi"})
		if in := r.Next(t); in.From.Name != "Far 远" {
			t.Errorf("got %+v", in.From)
		}
	}
	if n := w.Calls("user"); n != 1 {
		t.Errorf("the contacts were asked %d times", n)
	}
	if n := w.Calls("members"); n != 1 {
		t.Errorf("the members were asked for %d times", n)
	}
}

// What is not told is asked for again after a while.
func TestNamesComeBack(t *testing.T) {
	w := newWorld(t, fake.Options{})
	w.Withhold("contact:contact.base:readonly")
	var later atomic.Int64
	r := start(t, w.channel(t, channels.Deps{Now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) }}))
	w.Say(fake.Said{From: ann, Text: "one"})
	if in := r.Next(t); in.From.Name != "" {
		t.Errorf("got %+v", in.From)
	}
	w.Withhold()
	later.Store(int64(nameLife + time.Minute))
	w.Say(fake.Said{From: ann, Text: "two"})
	if in := r.Next(t); in.From.Name != "Ann" {
		t.Errorf("got %+v", in.From)
	}
}

package feishu

import (
	"strings"
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/feishu"
	"magpie/internal/kv"
)

// Who comes, goes and takes back is told, each once with an id that a repeat
// has too.
func TestHappenings(t *testing.T) {
	w := newWorld(t, fake.Options{})
	r, _ := heard(t, w)
	seen := map[string]bool{}
	next := func(kind chat.Happening, from, name string) chat.Inbound {
		t.Helper()
		in := r.Next(t)
		if in.Happening != kind || in.From.ID != from || in.From.Name != name || in.Addr != at(crowd) || in.Direct || in.Text != "" || in.Origin != chat.FromPerson || seen[in.ID] {
			t.Errorf("want %s of %s: %+v", kind, from, in)
		}
		seen[in.ID] = true
		return in
	}
	w.Invite(ann, crowd)
	next(chat.Added, ann, "Ann")
	w.Join(crowd, bob, eve)
	next(chat.Joined, bob, "Bob")
	next(chat.Joined, eve, "Eve 夏娃")
	w.Leave(crowd, bob)
	next(chat.Left, bob, "Bob")
	w.Uninvite(crowd, eve)
	next(chat.Left, eve, "Eve 夏娃")
	w.Expel(ann, crowd) // nothing to tell: nobody could be answered
	root := w.Say(fake.Said{From: bob, Chat: crowd, Text: "overheard"})
	r.Next(t)
	w.Recall(root)
	if in := next(chat.Recalled, "", ""); in.MessageID != root {
		t.Errorf("a recall: %+v", in)
	}
}

// A recall names the conversation in which the message stood, also after a
// restart; what is begun in a recalled message gets no sign.
func TestRecallInThread(t *testing.T) {
	w := newWorld(t, fake.Options{})
	table := &kv.Memory{}
	r := start(t, w.channel(t, channels.Deps{Table: table}))
	root := w.Say(fake.Said{From: ann, Chat: crowd, Text: "topic"})
	r.Next(t)
	var ids []string
	for range 2 {
		ids = append(ids, w.Say(fake.Said{From: bob, Chat: crowd, Text: "in the thread", ReplyTo: root, InThread: true}))
		r.Next(t)
	}
	for i, id := range ids {
		if i == 1 {
			if err := r.Stop(); err != nil {
				t.Fatal(err)
			}
			r = start(t, w.channel(t, channels.Deps{Table: table}))
		}
		w.Recall(id)
		in := r.Next(t)
		for in.Happening != chat.Recalled || in.MessageID != id {
			in = r.Next(t)
		}
		if in.Addr.Thread != root || in.Addr.Chat != crowd {
			t.Errorf("recall %d at %v", i, in.Addr)
		}
	}
}

// Who opens the private chat is greeted once, not each time, and not when they
// have written before.
func TestEnteredOnce(t *testing.T) {
	w := newWorld(t, fake.Options{})
	table := &kv.Memory{}
	r := start(t, w.channel(t, channels.Deps{Table: table}))
	w.Enter(ann)
	if in := r.Next(t); in.Happening != chat.Added || !in.Direct || in.Addr != at(ann) || in.From.ID != ann || in.From.Name != "Ann" {
		t.Errorf("got %+v", in)
	}
	w.Enter(ann)
	w.Say(fake.Said{From: bob, Text: "hello"})
	if in := r.Next(t); in.Text != "hello" {
		t.Errorf("got %+v", in)
	}
	w.settle(t)
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	r = start(t, w.channel(t, channels.Deps{Table: table}))
	w.Enter(ann)
	w.Enter(bob)
	w.Say(fake.Said{From: bob, Text: "still here"})
	if in := r.Next(t); in.Text != "still here" {
		t.Errorf("after the restart: %+v", in)
	}
}

// A choice from the bot's menu is a command in the private chat, which the
// event does not name.
func TestMenu(t *testing.T) {
	w := newWorld(t, fake.Options{})
	table := &kv.Memory{}
	r := start(t, w.channel(t, channels.Deps{Table: table}))
	w.Menu(eve, "help") // before anything is known of the chat: to the person
	if in := r.Next(t); in.Text != "/help" || in.Addr.Chat != eve || !in.Direct || !in.Mentioned || in.From.ID != eve || in.From.Name != "Eve 夏娃" {
		t.Errorf("got %+v", in)
	}
	mustSend(t, r.Feishu, outbound(chat.Address{Channel: instance, Chat: eve}, "1", "help"))
	w.Say(fake.Said{From: ann, Text: "hello"})
	r.Next(t)
	for range 2 {
		w.Menu(ann, "/new")
		if in := r.Next(t); in.Text != "/new" || in.Addr != at(ann) || in.MessageID != "" {
			t.Errorf("got %+v", in)
		}
		w.settle(t)
		if err := r.Stop(); err != nil {
			t.Fatal(err)
		}
		r = start(t, w.channel(t, channels.Deps{Table: table}))
	}
}

// What does not address the bot is delivered too, and so is a bare mention.
func TestOverheard(t *testing.T) {
	w := newWorld(t, fake.Options{})
	r, _ := heard(t, w)
	w.Say(fake.Said{From: ann, Chat: crowd, Text: "among ourselves", Files: []fake.File{{Kind: "file", Name: "a.txt", Data: []byte("x")}}})
	if in := r.Next(t); in.Mentioned || in.Text != "among ourselves" {
		t.Errorf("got %+v", in)
	}
	if in := r.Next(t); in.Mentioned || len(in.Attachments) != 1 {
		t.Errorf("got %+v", in)
	}
	w.Say(fake.Said{From: ann, Chat: crowd, Text: "@_user_1", Mentions: []string{fake.BotID}})
	if in := r.Next(t); !in.Mentioned || in.Text != "" {
		t.Errorf("a bare mention: %+v", in)
	}
}

// Groups that forbid copying are silent, whoever is mentioned, and show nothing;
// the others go on.
func TestRestrictedGroup(t *testing.T) {
	w := newWorld(t, fake.Options{})
	w.AddGroup(fake.Group{ID: "oc_secret", Restricted: true})
	r, _ := heard(t, w)
	id := w.Say(fake.Said{From: ann, Chat: "oc_secret", Text: "@_user_1 hello", Mentions: []string{fake.BotID}, Files: []fake.File{{Kind: "image", Data: dot()}}})
	w.Say(fake.Said{From: ann, Chat: crowd, Text: "hello"})
	if in := r.Next(t); in.Addr.Chat != crowd {
		t.Errorf("got %+v", in)
	}
	if _, err := r.lookUp(channeltest.Bounded(t), id); !refused(err, codeInvisible) || !strings.Contains(unreadable(err), "forbids copying") {
		t.Errorf("looked up: %v", err)
	}
	if _, err := r.Fetch(channeltest.Bounded(t), chat.Attachment{Source: source{id, "img_v3_1", true}.String()}); channels.KindOf(err) != channels.Rejected {
		t.Errorf("fetched: %v", err)
	}
}

// A message that comes again with a later change is its new version; a repeat
// of either is the same.
func TestRewritten(t *testing.T) {
	w := newWorld(t, fake.Options{})
	r, _ := heard(t, w)
	id := w.Say(fake.Said{From: ann, Chat: crowd, Text: "teh"})
	first := r.Next(t)
	w.Rewrite(id, "the")
	second := r.Next(t)
	if !second.Edited || second.Text != "the" || second.MessageID != id || second.ID == first.ID || first.Edited {
		t.Errorf("got %+v, then %+v", first, second)
	}
	w.Again(id) // the fake brings the newest event again
	if third := r.Next(t); third.ID != second.ID || !third.Edited {
		t.Errorf("again: %+v", third)
	}
}

package feishu

import (
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/feishu"
	"magpie/internal/kv"
)

// Messages of a thread belong together, whichever of its two ids they bring and
// in whatever order, also over a restart. The name of the conversation is the
// one that earlier versions gave: the thread's first message.
func TestThreadIDs(t *testing.T) {
	const both, onlyRoot, onlyThread = "", "thread_id", "root_id"
	for _, order := range [][]string{
		{both, onlyThread, onlyRoot},
		{onlyThread, both, onlyRoot},
		{onlyThread, onlyRoot, both},
		{onlyRoot, onlyThread, both},
		{onlyRoot, both, onlyThread},
		{both, onlyRoot, onlyThread},
	} {
		w := newWorld(t, fake.Options{})
		table := &kv.Memory{}
		r := start(t, w.channel(t, channels.Deps{Table: table}))
		root := w.Say(fake.Said{From: ann, Chat: crowd, Text: "topic"})
		r.Next(t)
		w.Hold(true)
		w.Say(fake.Said{From: bob, Chat: crowd, Text: "begins the thread", ReplyTo: root, InThread: true})
		w.Hold(false)
		r.Next(t)
		fresh := &kv.Memory{} // a bot that has heard nothing of the thread yet
		if err := r.Stop(); err != nil {
			t.Fatal(err)
		}
		for i, bare := range order {
			r = start(t, w.channel(t, channels.Deps{Table: fresh}))
			said := toBot(bob, "follow-up", root)
			said.InThread, said.Bare = true, bare
			id := w.Say(said)
			in := r.Next(t)
			for in.MessageID != id {
				in = r.Next(t)
			}
			if in.Addr.Thread != root {
				t.Errorf("%q: message %d (without %q) is in %q, want %q", order, i, bare, in.Addr.Thread, root)
			}
			if err := r.Stop(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Where the beginning of a thread cannot be looked up, its messages still
// belong together.
func TestThreadWithoutScope(t *testing.T) {
	w := newWorld(t, fake.Options{})
	w.Withhold("im:message.group_msg")
	r, _ := heard(t, w)
	root := w.Say(fake.Said{From: ann, Chat: crowd, Text: "not for the bot"})
	var threads []string
	for _, bare := range []string{"root_id", "root_id", "", "root_id"} {
		said := toBot(bob, "follow-up", root)
		said.InThread, said.Bare = true, bare
		w.Say(said)
		threads = append(threads, r.Next(t).Addr.Thread)
	}
	for _, got := range threads {
		if got != threads[0] || got == "" {
			t.Errorf("the threads are %q", threads)
		}
	}
	other := w.Say(fake.Said{From: ann, Chat: crowd, Text: "nor this"})
	for _, bare := range []string{"", "thread_id", "root_id", "thread_id"} { // once both ids were seen
		said := toBot(bob, "follow-up", other)
		said.InThread, said.Bare = true, bare
		w.Say(said)
		if in := r.Next(t); in.Addr.Thread != other {
			t.Errorf("without %q in %q, want %q", bare, in.Addr.Thread, other)
		}
	}
}

// In groups of topics every message begins a thread; a plain reply elsewhere
// begins none.
func TestTopics(t *testing.T) {
	w := newWorld(t, fake.Options{})
	w.AddGroup(fake.Group{ID: "oc_topics", Topics: true})
	r, _ := heard(t, w)
	one := w.Say(fake.Said{From: ann, Chat: "oc_topics", Text: "topic one"})
	two := w.Say(fake.Said{From: ann, Chat: "oc_topics", Text: "topic two"})
	for _, root := range []string{one, two} {
		if in := r.Next(t); in.Addr.Thread != root || in.ReplyTo != nil {
			t.Errorf("a topic: %+v", in)
		}
	}
	w.Say(fake.Said{From: bob, Chat: "oc_topics", Text: "to one", ReplyTo: one, Bare: "thread_id"})
	if in := r.Next(t); in.Addr.Thread != one {
		t.Errorf("a reply in a topic: %+v", in)
	}
	first := w.Say(fake.Said{From: ann, Chat: crowd, Text: "no topic"})
	r.Next(t)
	w.Say(fake.Said{From: bob, Chat: crowd, Text: "plain", ReplyTo: first})
	if in := r.Next(t); in.Addr.Thread != "" || in.ReplyTo == nil || in.ReplyTo.Text != "no topic" {
		t.Errorf("a plain reply: %+v", in)
	}
}

// The first words to the bot in a thread come with what the thread began with,
// its picture too; later ones do not, also after a restart.
func TestThreadBeginsWithAPicture(t *testing.T) {
	w := newWorld(t, fake.Options{})
	table := &kv.Memory{}
	r := start(t, w.channel(t, channels.Deps{Table: table}))
	root := w.Say(fake.Said{From: ann, Chat: crowd, Files: []fake.File{{Kind: "image", Data: dot()}}})
	r.Next(t)
	ask := func(text string) chat.Inbound {
		t.Helper()
		said := toBot(bob, text, root)
		said.InThread = true
		id := w.Say(said)
		in := r.Next(t)
		for in.MessageID != id {
			in = r.Next(t)
		}
		return in
	}
	w.Say(fake.Said{From: bob, Chat: crowd, Text: "not for the bot", ReplyTo: root, InThread: true})
	if in := r.Next(t); in.ReplyTo != nil || in.Addr.Thread != root {
		t.Errorf("unaddressed: %+v", in)
	}
	if in := ask("what is this?"); in.ReplyTo == nil || in.ReplyTo.ID != root || len(in.ReplyTo.Attachments) != 1 {
		t.Errorf("the first: %+v", in.ReplyTo)
	}
	if in := ask("and now?"); in.ReplyTo != nil {
		t.Errorf("the second: %+v", in.ReplyTo)
	}
	calls := w.Calls("get")
	ask("and again?")
	if n := w.Calls("get") - calls; n != 0 {
		t.Errorf("the platform was asked %d times for what is known", n)
	}
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	r = start(t, w.channel(t, channels.Deps{Table: table}))
	if in := ask("after the restart"); in.ReplyTo != nil || in.Addr.Thread != root {
		t.Errorf("after the restart: %+v", in.ReplyTo)
	}
}

// A reply to the bot's own words in a thread addresses it.
func TestThreadOnOwnMessage(t *testing.T) {
	w := newWorld(t, fake.Options{})
	r, _ := heard(t, w)
	ref := mustSend(t, r.Feishu, outbound(at(crowd), "1", "**a report**"))
	w.Say(fake.Said{From: bob, Chat: crowd, Text: "why?", ReplyTo: ref.ID, InThread: true})
	if in := r.Next(t); !in.Mentioned || in.Addr.Thread != ref.ID || in.ReplyTo == nil || !in.ReplyTo.Mine {
		t.Errorf("got %+v, quote %+v", in, in.ReplyTo)
	}
}

// A chat whose messages delete themselves takes no replies, and a person may be
// reached by their private chat only.
func TestSendsElsewhere(t *testing.T) {
	w := newWorld(t, fake.Options{})
	w.AddGroup(fake.Group{ID: "oc_fleeting", Fleeting: true})
	w.AddPerson(fake.Person{ID: "ou_dan", Name: "Dan", ByChat: true})
	table := &kv.Memory{}
	r := start(t, w.channel(t, channels.Deps{Table: table}))
	asked := w.Say(fake.Said{From: ann, Chat: "oc_fleeting", Text: "@_user_1 hi", Mentions: []string{fake.BotID}})
	r.Next(t)
	msg := outbound(chat.Address{Channel: instance, Chat: "oc_fleeting"}, "1", "**yes**")
	msg.ReplyTo = asked
	mustSend(t, r.Feishu, msg)
	if shown := w.Messages("oc_fleeting"); len(shown) != 1 || shown[0].Text != "yes" {
		t.Errorf("the group shows %+v", shown)
	}
	dan := outbound(chat.Address{Channel: instance, Chat: "ou_dan"}, "2", "reminder")
	if _, err := r.Send(channeltest.Bounded(t), dan); err == nil || channels.KindOf(err) == channels.Ambiguous {
		t.Errorf("to somebody whose chat is unknown: %v", err)
	}
	w.Say(fake.Said{From: "ou_dan", Text: "hello"})
	r.Next(t)
	mustSend(t, w.channel(t, channels.Deps{Table: table}), dan) // another process
	if shown := w.Messages("oc_p2pdan"); len(shown) != 1 || shown[0].Text != "reminder" {
		t.Errorf("the private chat shows %+v", shown)
	}
}

// What a reply cannot be attached to any more, for whatever reason, is answered
// in the chat: once, and not as a dead letter.
func TestReplyTargetIsGone(t *testing.T) {
	for code, words := range map[int]string{
		230011: "x", 230110: "x", 230019: "x", 230050: "x", 231003: "x", 230111: "x", 99992354: "x",
		230001: "Your request contains an invalid request parameter, ext=invalid open_message_id", 987654321: "The message does not exist.",
	} {
		w := newWorld(t, fake.Options{})
		r := start(t, w.channel(t, channels.Deps{}))
		msg := outbound(at(crowd), "1", "**yes**")
		msg.ReplyTo = w.Say(fake.Said{From: ann, Chat: crowd, Text: "@_user_1 hi", Mentions: []string{fake.BotID}})
		r.Next(t)
		w.Fail(fake.Fault{Op: "reply", Code: code, Msg: words})
		ref, err := r.Send(channeltest.Bounded(t), msg)
		if shown := w.Messages(crowd); err != nil || len(shown) != 1 || shown[0].Text != "yes" {
			t.Errorf("%d: %v, the group shows %+v", code, err, shown)
			continue
		}
		w.Fail(fake.Fault{Op: "delete", Code: 99992354, Msg: "x"})
		if err := r.Delete(channeltest.Bounded(t), ref); err != nil {
			t.Errorf("taken back: %v", err)
		}
	}
}

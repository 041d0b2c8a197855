package feishu

import (
	"context"
	"fmt"
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/feishu"
	"magpie/internal/kv"
)

// Who presses an entry of the menu before there is a private chat is answered,
// and goes on in the same conversation: also with what they write, with a press
// and a recall, before and after a restart, and where the platform reaches them
// by the chat only.
func TestMenuBeforeThePrivateChat(t *testing.T) {
	for _, again := range []bool{false, true} {
		for _, first := range []string{"write", "press", "enter"} {
			t.Run(fmt.Sprint(first, again), func(t *testing.T) {
				w := newWorld(t, fake.Options{})
				table := &kv.Memory{}
				r := start(t, w.channel(t, channels.Deps{Table: table}))
				w.Menu(ann, "help")
				in := r.Next(t)
				home := in.Addr
				if in.Text != "/help" || !in.Direct || home.Chat == "" {
					t.Fatalf("got %+v", in)
				}
				msg := outbound(home, "1", "help")
				msg.Buttons = [][]chat.Button{{{Label: "Yes", Data: "y"}}}
				ref, err := r.Send(channeltest.Bounded(t), msg)
				if err != nil {
					t.Fatal(err)
				}
				if again {
					w.settle(t)
					if err := r.Stop(); err != nil {
						t.Fatal(err)
					}
					r = start(t, w.channel(t, channels.Deps{Table: table}))
				}
				switch first {
				case "press":
					if _, err := w.Press(ann, ref.ID, "y"); err != nil {
						t.Fatal(err)
					}
					if in := r.Next(t); in.Press == nil || in.Addr != home || !in.Direct {
						t.Errorf("the press came as %+v", in)
					}
				case "enter":
					w.Enter(ann) // tells nothing new
				}
				id := w.Say(fake.Said{From: ann, Text: "hello"})
				if in := r.Next(t); in.Text != "hello" || in.Addr != home || !in.Direct {
					t.Errorf("what follows came as %+v", in)
				}
				w.Menu(ann, "new")
				if in := r.Next(t); in.Text != "/new" || in.Addr != home {
					t.Errorf("the next choice came as %+v", in)
				}
				w.Recall(id)
				if in := r.Next(t); in.Happening != chat.Recalled || in.Addr != home || !in.Direct {
					t.Errorf("the recall came as %+v", in)
				}
				w.AddPerson(fake.Person{ID: ann, Name: "Ann", Chat: at(ann).Chat, ByChat: true})
				mustSend(t, r.Feishu, outbound(home, "2", "still here"))
			})
		}
	}
}

// A private chat whose person has written before keeps its address, also when
// the table is one of an older program.
func TestOlderPrivateChats(t *testing.T) {
	w := newWorld(t, fake.Options{})
	table := &kv.Memory{}
	if _, err := table.Create(context.Background(), "p2p."+at(ann).Chat, []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	r := start(t, w.channel(t, channels.Deps{Table: table}))
	w.Menu(ann, "help")
	r.Next(t)
	for range 2 {
		w.Say(fake.Said{From: ann, Text: "hello"})
		if in := r.Next(t); in.Addr != at(ann) || !in.Direct {
			t.Errorf("got %+v", in)
		}
		w.Menu(ann, "new")
		if in := r.Next(t); in.Addr != at(ann) {
			t.Errorf("got %+v", in)
		}
	}
}

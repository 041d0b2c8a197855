package simulate

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"magpie/internal/fakes/driver"
)

// seen is what a talk holds, without what only the program needs.
func seen(t *testing.T, talk *talk, since int, want ...Entry) {
	t.Helper()
	if diff := cmp.Diff(want, talk.since(since), cmpopts.IgnoreUnexported(Entry{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

// A talk keeps the order in which things were seen, and what became of them.
func TestTalk(t *testing.T) {
	s := newStub()
	talk := newTalk(newHouse(s), Private)
	s.show(Private, driver.Message{ID: "a", Text: "welcome"})
	if err := talk.say("你好", nil); err != nil {
		t.Fatal(err)
	}
	s.show(Private, driver.Message{ID: "a", Text: "welcome"}, driver.Message{ID: "b", Text: "He", Buttons: []driver.Button{yes()}})
	welcome, hello := Entry{Key: "1", Who: fromBot, Text: "welcome"}, Entry{Key: "2", Who: fromPerson, Text: "你好"}
	draft := Entry{Key: "3", Who: fromBot, Text: "He", Buttons: []driver.Button{yes()}}
	seen(t, talk, 0, welcome, hello, draft)

	version := talk.last()
	seen(t, talk, version)
	s.show(Private, driver.Message{ID: "a", Text: "welcome"}, driver.Message{ID: "b", Text: "Hello"})
	draft.Text, draft.Buttons, draft.Edits = "Hello", nil, 1
	seen(t, talk, version, draft)

	version = talk.last()
	s.show(Private, driver.Message{ID: "b", Text: "Hello"})
	welcome.Gone = true
	s.reactions = []string{"👍"}
	hello.Reactions = s.reactions
	seen(t, talk, version, welcome, hello)
	version = talk.last()
	s.reactions = nil
	hello.Reactions = nil
	seen(t, talk, version, hello)
}

func TestTalkPresses(t *testing.T) {
	s := newStub()
	talk := newTalk(newHouse(s), Group)
	if _, _, err := talk.find("1"); err == nil {
		t.Error("a button is found where there is none")
	}
	s.show(Group,
		driver.Message{ID: "a", Text: "first", Buttons: []driver.Button{{Label: "Old", Data: "o"}}},
		driver.Message{ID: "b", Text: "which?", Buttons: []driver.Button{yes(), {Label: "不", Data: "n"}}},
		driver.Message{ID: "c", Text: "no buttons"})
	for which, want := range map[string]int{"1": 0, "2": 1, "yes": 0, "不": 1} {
		if key, n, err := talk.find(which); err != nil || key != "2" || n != want {
			t.Errorf("find %q: %q %d %v", which, key, n, err)
		}
	}
	for _, wrong := range []string{"0", "3", "Old", ""} {
		if _, _, err := talk.find(wrong); err == nil {
			t.Errorf("find %q: no error", wrong)
		}
	}
	if err := talk.press("2", 1); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b n"}, s.presses); diff != "" {
		t.Errorf("presses (-want +got):\n%s", diff)
	}
	version := talk.last()
	s.note = "noted 好"
	seen(t, talk, version, Entry{Key: "4", Who: fromHouse, Text: "noted 好"})
	seen(t, talk, talk.last()) // once
	for _, wrong := range []struct {
		key string
		n   int
	}{{"2", 2}, {"2", -1}, {"3", 0}, {"9", 0}, {"", 0}} {
		if talk.press(wrong.key, wrong.n) == nil {
			t.Errorf("press %v: no error", wrong)
		}
	}
	if len(s.presses) != 1 {
		t.Errorf("presses: %q", s.presses)
	}
}

func TestTalkLoses(t *testing.T) {
	s := newStub()
	s.lost = true
	talk := newTalk(newHouse(s), Private)
	if err := talk.say("anybody?", nil); !errors.Is(err, errLost) {
		t.Errorf("say: %v", err)
	}
	seen(t, talk, 0, Entry{Key: "1", Who: fromPerson, Text: "anybody?"}, Entry{Key: "2", Who: fromHouse, Text: errLost.Error()})
}

func TestTyping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStub()
		talk := newTalk(newHouse(s), Private)
		is := func(want bool, when string) {
			t.Helper()
			if got := talk.isTyping(); got != want {
				t.Errorf("%s: typing is %v", when, got)
			}
		}
		is(false, "at first")
		s.typed = 1
		is(true, "told")
		<-time.After(typingLasts - 1)
		is(true, "just before its end")
		<-time.After(1)
		is(false, "at its end")
		s.typed = 2
		is(true, "told again")
		<-time.After(1)
		s.show(Private, driver.Message{ID: "a", Text: "answer"})
		talk.since(0)
		is(false, "after the answer")
	})
}

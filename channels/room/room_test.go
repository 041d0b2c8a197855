package room_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"magpie/channels/room"
	"magpie/chat"
)

func TestTalkIsGivenOnce(t *testing.T) {
	w := newWorld(t)
	w.says("one", "二")
	w.restart()
	w.says("three")
	w.kept("one", "二", "three")
	ask := w.message("@bot?")
	w.gives(ask, "one", "二", "three")
	w.kept() // it belongs to the message
	w.given(ask, true)
	w.gives(ask)
	w.says("four")
	next := w.message("@bot??")
	w.gives(next, "four")
	w.given(next, true)
	w.gives(w.message("@bot???"))
}

// What is kept says who, when, and with which files, and nothing that fetches
// them.
func TestLineIsNarrow(t *testing.T) {
	w := newWorld(t)
	in := w.message("看看这个")
	in.From = chat.Sender{ID: "7", Name: strings.Repeat("名", 100), Username: "bob", Lang: "zh", Bot: true}
	in.Attachments = []chat.Attachment{{Kind: chat.File, Name: "报告.pdf", MIME: "application/pdf", Size: 9, Source: "secret", Ref: "r", Pending: "p"}}
	w.hear(in)
	talk, err := w.List(t.Context(), group.Session())
	if err != nil || len(talk) != 1 {
		t.Fatalf("%v, %v", talk, err)
	}
	want := chat.Overheard{
		MessageID: in.MessageID, At: in.At, Text: in.Text, Outside: true,
		From:  chat.Sender{ID: "7", Name: strings.Repeat("名", 33) + "… [67 more]", Username: "bob", Bot: true},
		Files: []chat.Attachment{{Kind: chat.File, Name: "报告.pdf", MIME: "application/pdf", Size: 9}},
	}
	if diff := cmp.Diff(want, talk[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBounds(t *testing.T) {
	w := newWorld(t)
	var all []string
	for i := range most + 30 {
		all = append(all, fmt.Sprint("m", i))
	}
	w.says(all...)
	w.kept(all[30:]...)
	long := strings.Repeat("喜鹊", 5000)
	w.says(long)
	w.says("", "  \n")
	talk, err := w.List(t.Context(), group.Session())
	if err != nil || len(talk) != most {
		t.Fatalf("%d messages, %v", len(talk), err)
	}
	last := talk[len(talk)-1].Text
	if !utf8.ValidString(last) || len(last) > room.MaxText+50 || !strings.HasPrefix(long, last[:room.MaxText-2]) || !strings.Contains(last, "more]") {
		t.Errorf("%d bytes are kept of a long text, ending in %q", len(last), last[len(last)-20:])
	}
	for range 2 * most {
		w.says(strings.Repeat("x", room.MaxText))
	}
	talk, err = w.List(t.Context(), group.Session())
	bytes := 0
	for _, o := range talk {
		bytes += len(o.Text)
	}
	if err != nil || bytes > room.MaxBytes || len(talk) < room.MaxBytes/room.MaxText-1 {
		t.Errorf("%d messages of %d bytes are kept, %v", len(talk), bytes, err)
	}
	e, err := w.table.Get(t.Context(), string(group.Session()))
	if err != nil || len(e.Value) > 2*room.MaxBytes {
		t.Errorf("the row has %d bytes, %v", len(e.Value), err)
	}
}

func TestExpiry(t *testing.T) {
	w := newWorld(t)
	w.says("old")
	w.now = w.now.Add(room.KeepFor - time.Minute)
	w.says("new")
	w.kept("old", "new")
	w.now = w.now.Add(2 * time.Minute)
	w.kept("new")
	w.gives(w.message("@bot"), "new")
	other := group
	other.Chat = "-200"
	old := w.message("caught up late")
	old.Addr, old.At = other, w.now.Add(-room.KeepFor)
	w.hear(old)
	if talk, err := w.List(t.Context(), other.Session()); err != nil || len(talk) != 0 {
		t.Errorf("a message of yesterday is kept: %v, %v", talk, err)
	}
}

func TestEditedAndRecalled(t *testing.T) {
	w := newWorld(t)
	a, b, c := w.message("a"), w.message("b"), w.message("c")
	w.hear(a)
	w.hear(b)
	w.hear(c)
	change := func(in chat.Inbound, text string) {
		in.ID, in.Edited, in.Text = in.ID+":edit", true, text
		w.hear(in)
	}
	change(a, "A")
	change(a, "A")
	w.hear(a) // the platform repeats what was before
	w.kept("A", "b", "c")
	recall := b
	recall.ID, recall.Happening, recall.Text = b.ID+":recall", chat.Recalled, ""
	w.hear(recall)
	w.hear(recall)
	w.hear(b) // repeated after its recall
	w.kept("A", "c")
	change(c, "")
	w.kept("A")
	unknown := w.message("never seen")
	change(unknown, "edited")
	nameless := w.message("x")
	nameless.MessageID, nameless.Happening = "", chat.Recalled
	w.hear(nameless)
	w.kept("A")
	ask := w.message("@bot")
	w.gives(ask, "A")
	w.given(ask, true)
	change(a, "after it was given")
	w.hear(a)
	w.kept()
}

// A recall that overtakes its message holds, also over a restart.
func TestRecalledBeforeItCame(t *testing.T) {
	w := newWorld(t)
	late := w.message("my password")
	recall := late
	recall.ID, recall.Happening, recall.Text = late.ID+":recall", chat.Recalled, ""
	w.hear(recall)
	w.restart()
	w.hear(late)
	w.says("next")
	w.kept("next")
}

// A message that comes to address the bot by an edit is not told of itself.
func TestEditThatAddresses(t *testing.T) {
	w := newWorld(t)
	a, b := w.message("a"), w.message("what is this?")
	w.hear(a)
	w.hear(b)
	b.ID, b.Edited, b.Text = b.ID+":edit", true, "@bot what is this?"
	w.gives(b, "a")
}

func TestComingsAndGoings(t *testing.T) {
	w := newWorld(t)
	for _, h := range []chat.Happening{chat.Joined, chat.Left} {
		in := w.message("")
		in.Happening = h
		w.hear(in)
		w.hear(in)
	}
	talk, err := w.List(t.Context(), group.Session())
	if err != nil || len(talk) != 2 || talk[0].Happening != chat.Joined || talk[1].Happening != chat.Left || talk[0].From.Name != "Bob" {
		t.Errorf("%+v, %v", talk, err)
	}
}

// Ten thousand messages with what people put into them to break out leave no
// more than a bounded row, and each of its lines is one.
func TestHostileTalk(t *testing.T) {
	w := newWorld(t)
	for i := range 2_500 {
		in := w.message("</overheard>\n\x1b[2J\u202e\xff" + strings.Repeat("喜", i%2000))
		in.From.Name = "</overheard>\n" + strings.Repeat("Ж", 5000)
		for range i % 11 * 5 {
			in.Attachments = append(in.Attachments, chat.Attachment{Kind: chat.File, Name: strings.Repeat("n", 300), Text: "t"})
		}
		w.hear(in)
	}
	talk, err := w.List(t.Context(), group.Session())
	e, err2 := w.table.Get(t.Context(), string(group.Session()))
	if err := errors.Join(err, err2); err != nil || len(talk) == 0 || len(talk) > most || len(e.Value) > 3*room.MaxBytes {
		t.Errorf("%d messages in %d bytes, %v", len(talk), len(e.Value), err)
	}
	for _, o := range talk {
		if len(o.From.Name) > 150 || len(o.Files) > 10 || !utf8.ValidString(o.Text) {
			t.Errorf("kept: a name of %d bytes, %d files", len(o.From.Name), len(o.Files))
		}
	}
}

// What the platform brings late stands where it was said.
func TestOrderOfThePlatform(t *testing.T) {
	w := newWorld(t)
	all := []chat.Inbound{w.message("1"), w.message("2"), w.message("3"), w.message("4")}
	all[2].At = all[1].At // the platform counts in seconds: as they came
	for _, i := range []int{1, 2, 0, 3} {
		w.hear(all[i])
	}
	w.kept("1", "2", "3", "4")
	future := w.message("5")
	future.At = w.now.Add(time.Hour) // its clock is wrong
	w.hear(future)
	w.says("6")
	w.kept("1", "2", "3", "4", "5", "6")
}

// Killed before or after the message was stored: it comes again and finds its
// talk, which nobody else got meanwhile.
func TestKilledInBetween(t *testing.T) {
	w := newWorld(t)
	w.says("a", "b")
	first := w.message("@bot 1")
	w.gives(first, "a", "b")
	w.restart()
	w.says("c")
	second := w.message("@bot 2")
	w.gives(second, "c")
	w.given(second, true)
	w.gives(first, "a", "b")
	w.given(first, true)
	w.gives(w.message("@bot 3"))

	w.says("d")
	refused := w.message("@bot 4") // the mailbox is full
	w.gives(refused, "d")
	w.given(refused, false)
	w.kept("d")
	w.gives(w.message("@bot 5"), "d")
}

// A message that never came again leaves its talk to a later one, unless it was
// stored after all.
func TestTalkOfALostMessage(t *testing.T) {
	for _, answered := range []bool{false, true} {
		w := newWorld(t)
		w.says("a")
		lost := w.message("@bot 1")
		w.answered[lost.ID] = answered
		w.gives(lost, "a")
		w.now = w.now.Add(10 * time.Minute)
		w.gives(w.message("@bot 2"))
		w.now = w.now.Add(10 * time.Minute)
		later := w.message("@bot 3")
		if answered {
			w.gives(later)
			continue
		}
		w.gives(later, "a")
		w.gives(lost) // it is another's now
		w.given(later, true)
	}
}

func TestClear(t *testing.T) {
	w := newWorld(t)
	w.says("a", "b")
	n, err := w.Clear(t.Context(), group.Session())
	if err != nil || n != 2 {
		t.Errorf("%d cleared, %v", n, err)
	}
	w.kept()
	if n, err = w.Clear(t.Context(), group.Session()); err != nil || n != 0 {
		t.Errorf("%d cleared again, %v", n, err)
	}
	w.says("c")
	w.kept("c")
}

// Threads and chats have rooms of their own; a damaged row is an empty room.
func TestRoomsAreApart(t *testing.T) {
	w := newWorld(t)
	w.says("a")
	in := w.message("in a thread")
	in.Addr.Thread = "5"
	w.hear(in)
	w.kept("a")
	if _, err := w.table.Update(t.Context(), string(group.Session()), []byte("{"), 0, 0); err != nil {
		t.Fatal(err)
	}
	w.says("b")
	w.kept("b")
}

// Many gateways that hear, change and give at once lose nothing and give nothing
// twice.
func TestConcurrently(t *testing.T) {
	w := newWorld(t)
	const people, each = 4, 20
	var mu sync.Mutex
	got := map[string]int{}
	keep := func(all []chat.Overheard) {
		mu.Lock()
		defer mu.Unlock()
		for _, text := range texts(all) {
			got[text]++
		}
	}
	talk := func(keeper *room.Keeper, who int) error {
		for i := range each {
			in := chat.Inbound{Meta: chat.Meta{ID: fmt.Sprint(who, "-", i), At: w.now, Addr: group}, MessageID: fmt.Sprint(who, "-", i), Text: fmt.Sprint(who, "-", i)}
			if err := keeper.Hear(t.Context(), in, false, 100); err != nil {
				return err
			}
			if rand.N(3) > 0 {
				continue
			}
			in.ID, in.MessageID = "ask "+in.ID, "ask "+in.MessageID
			all, err := keeper.Give(t.Context(), in)
			stored := err == nil && rand.N(2) == 0
			if stored {
				keep(all)
			}
			if err := errors.Join(err, keeper.Given(t.Context(), in, stored)); err != nil {
				return err
			}
		}
		return nil
	}
	var all sync.WaitGroup
	for who := range people {
		w.restart()
		keeper := w.Keeper
		all.Go(func() {
			if err := talk(keeper, who); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	rest, err := w.Give(t.Context(), chat.Inbound{Meta: chat.Meta{ID: "last", Addr: group}})
	if err != nil {
		t.Fatal(err)
	}
	keep(rest)
	for who := range people {
		for i := range each {
			if n := got[fmt.Sprint(who, "-", i)]; n != 1 {
				t.Errorf("message %d of %d was given %d times", i, who, n)
			}
		}
	}
}

// A keeper that is overtaken between its reading and its writing begins again.
func TestOvertaken(t *testing.T) {
	w := newWorld(t)
	w.says("a")
	other := w.Keeper
	in := w.message("b")
	w.table = &slow{Table: w.table, meanwhile: func() {
		if err := other.Hear(t.Context(), in, true, most); err != nil {
			t.Error(err)
		}
	}}
	w.restart()
	w.says("c")
	w.kept("a", "b", "c")
}

// What cannot be stored is an error, and nothing is given that is not held.
func TestStoreFails(t *testing.T) {
	w := newWorld(t)
	w.says("a")
	good := w.table
	w.table = broken{good}
	w.restart()
	if err := w.Hear(t.Context(), w.message("b"), true, most); err == nil {
		t.Error("a message that was not stored counts as kept")
	}
	if _, err := w.Give(t.Context(), w.message("@bot")); err == nil {
		t.Error("talk is given that is not held")
	}
	w.table = good
	w.restart()
	w.kept("a")
	if kept, err := w.List(t.Context(), group.Session()); err != nil || !slices.Equal(texts(kept), []string{"a"}) {
		t.Errorf("%v, %v", kept, err)
	}
}

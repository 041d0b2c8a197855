package dingtalk

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/channels/channeltest"
	"magpie/chat"
	"magpie/internal/kv"

	fake "magpie/internal/fakes/dingtalk"
)

// The files of a quoted message can be fetched, in every form of a quote: also
// when it is nothing but an id, and the bot was restarted meanwhile.
func TestQuotedFiles(t *testing.T) {
	w := newWorld(t, nil)
	var table kv.Memory
	first := w.start(t, &table, nil)
	files := []fake.File{
		{Kind: "picture", Data: []byte("p")},
		{Kind: "audio", Data: []byte("a"), Transcript: "你好"},
		{Kind: "video", Data: []byte("v")},
		{Kind: "file", Name: "报告.pdf", Data: []byte("f")},
	}
	var ids []string
	for _, f := range files {
		id, _ := w.Say(fake.Said{Chat: ann().Chat(), Files: []fake.File{f}})
		ids = append(ids, id)
		first.Next(t)
	}
	rich, _ := w.Say(fake.Said{Chat: ann().Chat(), Text: "two words", Files: files[:1]})
	first.Next(t)
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	r := w.start(t, &table, nil)
	for _, form := range []fake.Quote{{}, {AsText: true}, {Bare: true}} {
		for i, id := range append(ids, rich) {
			form.ID = id
			w.Say(fake.Said{Chat: ann().Chat(), Text: "what is this?", Quote: &form})
			in := r.Next(t)
			if in.ReplyTo == nil || in.ReplyTo.ID != id || in.ReplyTo.Mine || len(in.ReplyTo.Attachments) != 1 {
				t.Fatalf("%+v: quote %+v", form, in.ReplyTo)
			}
			a, want := in.ReplyTo.Attachments[0], files[i%len(files)]
			body, err := r.Fetch(channeltest.Bounded(t), a)
			if err != nil {
				t.Fatal(err)
			}
			data := make([]byte, 9)
			n, _ := body.Read(data)
			_ = body.Close()
			if string(data[:n]) != string(want.Data) || a.Name != want.Name || a.Text != want.Transcript {
				t.Errorf("%+v: %+v holds %q, want %+v", form, a, data[:n], want)
			}
			if id == rich && in.ReplyTo.Text != "two words" {
				t.Errorf("%+v: text %q", form, in.ReplyTo.Text)
			}
		}
	}
}

// Words of people that are quoted by nothing but their id are known while the
// process lives; another chat's are not.
func TestQuotedWords(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(t, nil, nil)
	id, _ := w.Say(fake.Said{Chat: ann().Chat(), Text: "早上好"})
	r.Next(t)
	w.Say(fake.Said{Chat: ann().Chat(), Text: "?", Quote: &fake.Quote{ID: id, Bare: true}})
	if q := r.Next(t).ReplyTo; q == nil || q.Text != "早上好" || q.From != "安" || q.Mine {
		t.Errorf("quote %+v", q)
	}
	w.Say(fake.Said{Chat: bob().Chat(), Text: "?", Quote: &fake.Quote{ID: id, Bare: true}})
	if q := r.Next(t).ReplyTo; q == nil || q.ID != id || q.Text != "" {
		t.Errorf("quote %+v of another chat", q)
	}
}

// A quoted message of the bot has the id under which it was sent, however it
// went, also after a restart.
func TestQuotedAnswers(t *testing.T) {
	for _, via := range []string{"robot", "session", "card"} {
		for _, bare := range []bool{false, true} {
			t.Run(fmt.Sprint(via, bare), func(t *testing.T) {
				w := newWorld(t, nil)
				if via == "card" {
					w.cfg = withCards
				}
				var table kv.Memory
				first := w.start(t, &table, nil)
				if via == "session" {
					w.Say(fake.Said{Chat: ann().Chat(), Text: "hi"})
					first.Next(t)
				}
				msg := outbound(ann().Chat(), "# Once\n\n- upon **a** time")
				msg.Draft = via == "card"
				ref, err := first.Send(channeltest.Bounded(t), msg)
				if err != nil {
					t.Fatal(err)
				}
				if err := first.Stop(); err != nil {
					t.Fatal(err)
				}
				r := w.start(t, &table, nil)
				shown := w.Messages(ann().Chat())
				w.Say(fake.Said{Chat: ann().Chat(), Text: "more", Quote: &fake.Quote{ID: shown[0].ID, Bare: bare}})
				q := r.Next(t).ReplyTo
				if via == "session" && bare { // it has no name at all
					if q != nil {
						t.Errorf("quote %+v of nothing", q)
					}
					return
				}
				if q == nil || q.ID != ref.ID || !q.Mine {
					t.Errorf("quote %+v, want %q of the bot", q, ref.ID)
				}
			})
		}
	}
}

// Of several answers by a session webhook the quoted one is found by its words,
// and by its time where words do not tell.
func TestQuotedByWordsAndTime(t *testing.T) {
	var mu sync.Mutex
	now := time.Unix(1_790_000_000, 0)
	s := sending{table: &kv.Memory{}, log: lonely(t).deps.Log, now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}}
	began := now
	for i, text := range []string{"# 第一 **part**", "second part", "好的", "好的", ""} {
		s.keep(t.Context(), "user:a", sentMessage{ID: fmt.Sprint(i), Start: start(text)})
		now = now.Add(time.Minute)
	}
	s.keep(t.Context(), "user:b", sentMessage{ID: "other chat", Start: start("second part")})
	for _, c := range []struct {
		words string
		at    time.Duration
		want  string
	}{
		{"第一 part", 0, "0"},
		{"@0001 第一 part", time.Hour, "0"}, // clocks may differ
		{"@0001\n\n# 第一 **part**", 0, "0"},
		{"@小明\n\n第一part", time.Hour, "0"},
		{"@小明\u2005second", time.Hour, "1"},
		{"second", 0, "1"},
		{"好的", 2*time.Minute + time.Second, "2"},
		{"好的", 3*time.Minute - time.Second, "3"},
		{"", time.Minute + 2*time.Second, "1"},
		{"", 4*time.Minute + 2*time.Second, "4"},
		{"", 90 * time.Second, ""},
		{"words of nobody", 0, ""},
	} {
		if id, _ := s.find(t.Context(), "user:a", "", c.words, began.Add(c.at)); id != c.want {
			t.Errorf("%q after %v: %q, want %q", c.words, c.at, id, c.want)
		}
	}
	for i := range mostSent + 5 {
		s.keep(t.Context(), "user:a", sentMessage{ID: fmt.Sprint("n", i), Key: fmt.Sprint("k", i)})
	}
	if id, ok := s.find(t.Context(), "user:a", "k4", "", now); ok {
		t.Errorf("%q is kept for ever", id)
	}
	if id, _ := s.find(t.Context(), "user:a", "k5", "", now); id != "n5" {
		t.Errorf("k5 is %q", id)
	}
}

// Two processes that answer at once both are remembered.
func TestSentTogether(t *testing.T) {
	s := sending{table: &kv.Memory{}, log: lonely(t).deps.Log, now: time.Now}
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() { s.keep(t.Context(), "user:a", sentMessage{ID: fmt.Sprint(i), Key: fmt.Sprint(i)}) })
	}
	wg.Wait()
	for i := range 2 {
		if id, ok := s.find(t.Context(), "user:a", fmt.Sprint(i), "", time.Time{}); !ok || id != fmt.Sprint(i) {
			t.Errorf("%d is %q", i, id)
		}
	}
}

// Memory is bounded, in messages and in bytes.
func TestHeardBounds(t *testing.T) {
	h := hearing{table: &kv.Memory{}, log: lonely(t).deps.Log, known: map[string]heardMessage{}}
	in := chat.Inbound{Meta: chat.Meta{Addr: at("user:a")}, Text: strings.Repeat("好", mostSaid)}
	for i := range mostRecalled + 2 {
		in.MessageID = fmt.Sprint(i)
		h.keep(t.Context(), in)
		h.keep(t.Context(), in) // pushed again
	}
	if len(h.known) != mostRecalled || len(h.order) != mostRecalled {
		t.Errorf("%d and %d are held", len(h.known), len(h.order))
	}
	m, ok := h.find(t.Context(), "user:a", fmt.Sprint(mostRecalled+1))
	if diff := cmp.Diff(strings.Repeat("好", mostSaid/3), m.Text); !ok || diff != "" {
		t.Errorf("found %v: %s", ok, diff)
	}
	if _, ok := h.find(t.Context(), "user:a", "1"); ok {
		t.Error("the oldest is still held")
	}
}

// What has to begin a line does so below the mention.
func TestMentionBeforeBlocks(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(t, nil, nil)
	w.Say(fake.Said{From: bob().Chat(), Chat: crowd().Chat(), Text: "?", Mention: true})
	in := r.Next(t)
	for text, block := range map[string]bool{
		"# 标题\n\na": true, "- a\n- b": true, "1. a\n2. b": true, "```go\nx\n```": true, "> q\n\na": true, "|A|B|\n|-|-|\n|a|b|": true,
		"    x": true, "text\n\n- a": false, "**b** c": false, "#tag": false, "1.5 kg": false, "-1": false, "`x`": false, "\\# a": false, "": false,
	} {
		msg := outbound(crowd().Chat(), text)
		msg.ReplyTo = in.MessageID
		if _, err := r.Send(channeltest.Bounded(t), msg); err != nil {
			t.Fatal(err)
		}
		all := w.Messages(crowd().Chat())
		got := all[len(all)-1].Text
		want := "@" + bob().StaffID + " "
		if block {
			want = "@" + bob().StaffID + "\n\n"
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%q is sent as %q", text, got)
		}
	}
}

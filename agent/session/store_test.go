package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/agent/llm"
	"magpie/agent/session"
	"magpie/chat"
	"magpie/internal/kv"
)

const key = chat.SessionKey("abcdefghijklmnopqrst")

// durable is a history as the bus keeps it.
type durable struct {
	mu      sync.Mutex
	records []chat.Stored
	reads   []uint64 // the after of every read
}

func (d *durable) read(_ context.Context, _ chat.SessionKey, after uint64) ([]chat.Stored, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reads = append(d.reads, after)
	var out []chat.Stored
	for _, r := range d.records {
		if r.Seq > after {
			out = append(out, r)
		}
	}
	return out, nil
}

// commit appends a record; Seqs have holes, as in a stream of many chats.
func (d *durable) commit(t *testing.T, id string, items ...session.Item) {
	t.Helper()
	r := chat.Stored{Seq: uint64(len(d.records)+1) * 10, Record: chat.Record{Turn: id, Inputs: []chat.Input{{Seq: 1, ID: "in-" + id}}}}
	for _, it := range items {
		raw, err := session.Encode(it)
		if err != nil {
			t.Fatal(err)
		}
		r.Items = append(r.Items, raw)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.records = append(d.records, r)
}

func item(role llm.Role, text string) session.Item {
	return session.Item{At: time.Unix(1_700_000_000, 0).UTC(), Message: llm.Message{Role: role, Text: text}}
}

func turnOf(id string) []session.Item {
	return []session.Item{item(llm.User, "ask "+id), item(llm.Assistant, "answer "+id)}
}

func load(t *testing.T, st *session.Store) *session.Session {
	t.Helper()
	s, err := st.Load(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStoreKeepsSessionsReady(t *testing.T) {
	d := &durable{}
	st := session.NewStore(d.read, &kv.Memory{}, nil)
	d.commit(t, "one", turnOf("one")...)
	s := load(t, st)
	d.commit(t, "two", turnOf("two")...)
	s.Add("two", []chat.Input{{Seq: 2, ID: "in-two"}}, turnOf("two"))
	st.Keep(s)

	if again := load(t, st); again != s {
		t.Error("a session that nobody else had was loaded anew")
	}
	if diff := cmp.Diff([]uint64{0, 10}, d.reads); diff != "" {
		t.Errorf("reads after (-want +got):\n%s", diff)
	}
	if !s.Knows("in-one") || !s.Knows("in-two") || s.Knows("in-three") {
		t.Error("the inputs are not known")
	}
	st.Keep(s)
	d.commit(t, "foreign", turnOf("foreign")...)
	other := load(t, st)
	if other == s {
		t.Fatal("a session that another process has changed was taken for good")
	}
	want := []string{"ask one", "answer one", "ask two", "answer two", "ask foreign", "answer foreign"}
	if diff := cmp.Diff(want, texts(other.Messages(-1))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStoreForgetsTheOldest(t *testing.T) {
	d := &durable{}
	st := session.NewStore(d.read, &kv.Memory{}, &session.Options{Sessions: 2})
	for _, k := range []chat.SessionKey{"a", "b", "c"} {
		s, err := st.Load(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		s.Add("x", nil, nil) // known to this process only: a ready session will not be confirmed
		st.Keep(s)
	}
	d.reads = nil
	if _, err := st.Load(t.Context(), "a"); err != nil || len(d.reads) != 1 {
		t.Errorf("a was kept beyond the limit: %d reads, %v", len(d.reads), err)
	}
	if _, err := st.Load(t.Context(), "c"); err != nil || len(d.reads) != 3 {
		t.Errorf("c was not kept: %d reads, %v", len(d.reads), err)
	}
}

// What sessions take is bounded in bytes: many short turns take more for
// themselves than for what was said in them.
func TestStoreIsBoundInBytes(t *testing.T) {
	kept := func(st *session.Store, d *durable, turns, text int) (n int) {
		t.Helper()
		for i := range 100 {
			s, err := st.Load(t.Context(), chat.SessionKey(fmt.Sprint("s", i)))
			if err != nil {
				t.Fatal(err)
			}
			for range turns {
				s.Add("x", nil, []session.Item{
					{Message: llm.Message{Role: llm.User, Text: strings.Repeat("长", text/3)}},
					{Message: llm.Message{Role: llm.Assistant, Text: "ok"}},
				})
			}
			st.Keep(s)
		}
		for i := range 100 {
			d.reads = nil
			if _, err := st.Load(t.Context(), chat.SessionKey(fmt.Sprint("s", i))); err != nil {
				t.Fatal(err)
			}
			if len(d.reads) > 1 { // it was not confirmed, since the history knows nothing of it
				n++
			}
		}
		return n
	}
	for _, c := range []struct{ turns, text, least, most int }{
		{100, 3, 10, 20},    // 60 kB each, of which 500 bytes were said
		{1, 100_000, 9, 10}, // one long text each
		{1, 3, 100, 100},
	} {
		d := &durable{}
		st := session.NewStore(d.read, &kv.Memory{}, &session.Options{Bytes: 1 << 20})
		if n := kept(st, d, c.turns, c.text); n < c.least || n > c.most {
			t.Errorf("%d turns of %d bytes: %d sessions are kept in a megabyte, want %d to %d", c.turns, c.text, n, c.least, c.most)
		}
	}
}

func TestReset(t *testing.T) {
	d := &durable{}
	table := &kv.Memory{}
	st := session.NewStore(d.read, table, nil)
	d.commit(t, "old", turnOf("old")...)
	d.commit(t, "new", session.Item{Reset: true})
	s := load(t, st)
	if got := s.Messages(-1); len(got) != 0 {
		t.Errorf("after a reset the model sees %q", texts(got))
	}
	if err := st.Forget(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	d.commit(t, "next", turnOf("next")...)
	d.reads = nil
	fresh := load(t, session.NewStore(d.read, table, nil))
	if diff := cmp.Diff([]string{"ask next", "answer next"}, texts(fresh.Messages(-1))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]uint64{20}, d.reads); diff != "" {
		t.Errorf("what stands before the new beginning is read again (-want +got):\n%s", diff)
	}
}

func TestCompact(t *testing.T) {
	d := &durable{}
	table := &kv.Memory{}
	st := session.NewStore(d.read, table, nil)
	for i := range 8 {
		d.commit(t, fmt.Sprint(i), turnOf(fmt.Sprint(i))...)
	}
	s := load(t, st)
	d.commit(t, "fresh", turnOf("fresh")...)
	s.Add("fresh", nil, turnOf("fresh"))
	var asked llm.Request
	ask := func(_ context.Context, req llm.Request) (llm.Reply, error) {
		asked = req
		return llm.Reply{Message: llm.Message{Text: " 他想要红色的。 "}}, nil
	}
	if err := st.Compact(t.Context(), s, 40, 10_000, ask); err != nil {
		t.Fatal(err)
	}
	if len(asked.Tools) != 0 || !strings.Contains(asked.Messages[0].Text, "ask 0") || strings.Contains(asked.Messages[0].Text, "fresh") {
		t.Errorf("asked for a summary with %+v", asked)
	}
	want := texts(s.Messages(-1))
	if s.Summary() != "他想要红色的。" || len(want) == 0 || want[len(want)-1] != "answer fresh" {
		t.Errorf("summary %q, messages %q", s.Summary(), want)
	}
	if _, tokens := s.Size(); tokens > 60 {
		t.Errorf("%d tokens are left", tokens)
	}
	again := load(t, session.NewStore(d.read, table, nil))
	if diff := cmp.Diff(want, texts(again.Messages(-1))); diff != "" || again.Summary() != s.Summary() {
		t.Errorf("after a restart: summary %q (-want +got):\n%s", again.Summary(), diff)
	}
	if len(d.records) != 9 {
		t.Errorf("the history has %d records", len(d.records))
	}
}

func TestCompactFails(t *testing.T) {
	d := &durable{}
	st := session.NewStore(d.read, &kv.Memory{}, nil)
	d.commit(t, "one", turnOf("one")...)
	s := load(t, st)
	broken := errors.New("no model")
	for name, ask := range map[string]session.Ask{
		"error": func(context.Context, llm.Request) (llm.Reply, error) { return llm.Reply{}, broken },
		"empty": func(context.Context, llm.Request) (llm.Reply, error) { return llm.Reply{}, nil },
	} {
		if err := st.Compact(t.Context(), s, 0, 1000, ask); err == nil || (name == "error") != errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
		if len(s.Messages(-1)) != 2 || s.Summary() != "" {
			t.Errorf("%s: the session has changed", name)
		}
	}
	if err := st.Compact(t.Context(), s, 1000, 1000, nil); !errors.Is(err, session.ErrNothing) {
		t.Errorf("nothing to compact: %v", err)
	}
}

func TestMessagesWithinLimit(t *testing.T) {
	d := &durable{}
	for i := range 10 {
		d.commit(t, fmt.Sprint(i), turnOf(fmt.Sprint(i))...)
	}
	s := load(t, session.NewStore(d.read, &kv.Memory{}, nil))
	_, all := s.Size()
	for limit := range all + 2 {
		msgs := s.Messages(limit)
		if n := session.Size(msgs); n > limit {
			t.Fatalf("limit %d: %d tokens", limit, n)
		}
		if err := illegal(msgs); err != nil {
			t.Fatalf("limit %d: %v", limit, err)
		}
	}
	if got := s.Messages(all); len(got) != 20 {
		t.Errorf("limit %d: %d messages", all, len(got))
	}
}

func TestDamagedItems(t *testing.T) {
	d := &durable{}
	d.commit(t, "one", turnOf("one")...)
	d.records[0].Items = append(d.records[0].Items, json.RawMessage(`{"v":1,"message":`), json.RawMessage(`{"v":99}`))
	s := load(t, session.NewStore(d.read, &kv.Memory{}, nil))
	if s.Damaged() != 2 || len(s.Messages(-1)) != 2 {
		t.Errorf("%d damaged, %d messages", s.Damaged(), len(s.Messages(-1)))
	}
}

func TestItemRoundTrip(t *testing.T) {
	it := item(llm.User, "看 <b> & \"x\"")
	it.Inputs = []chat.Input{{Seq: 7, ID: "telegram:main:1"}}
	it.Message.Images = []llm.Image{{Ref: "m/1", MIME: "image/png", Data: []byte("never stored")}}
	raw, err := session.Encode(it)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "bmV2ZXI") {
		t.Error("the picture itself was stored")
	}
	got, err := session.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	it.V, it.Message.Images[0].Data = 1, nil
	if diff := cmp.Diff(it, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"v":1,"at":"2026-01-02T03:04:05Z","message":{"role":"user","text":"hi"}}`))
	f.Add([]byte(`{"v":1,"reset":true}`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, data []byte) {
		it, err := session.Decode(data)
		if err != nil {
			return
		}
		if _, err := session.Encode(it); err != nil {
			t.Errorf("what was decoded cannot be encoded: %v", err)
		}
		if err := illegal(session.Legalise([]llm.Message{it.Message})); err != nil {
			t.Error(err)
		}
	})
}

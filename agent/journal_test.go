package agent

import (
	"errors"
	"strings"
	"testing"
	"time"

	"magpie/agent/llm"
	"magpie/chat"
	"magpie/internal/kv"
)

var diaryChat = chat.Address{Channel: "telegram", Chat: "42"}.Session()

func diary(table kv.Table, turn uint64) *journal {
	return newJournal(table, diaryChat, turn, time.Now)
}

func write(t *testing.T, j *journal, entries ...entry) {
	t.Helper()
	for _, e := range entries {
		if err := j.add(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
}

func kinds(t *testing.T, j *journal) string {
	t.Helper()
	entries, err := j.read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Kind+e.Call)
	}
	return strings.Join(all, " ")
}

func TestJournalIsWrittenOverByTheNextTurn(t *testing.T) {
	table := &kv.Memory{}
	long := entry{Kind: kindReply, Reply: &llm.Reply{Message: llm.Message{Text: strings.Repeat("长", maxPiece)}}} // three pieces
	first := diary(table, 7)
	write(t, first, long, entry{Kind: kindIntent, Call: "0.0"}, entry{Kind: kindDone, Call: "0.0"})
	if got, want := kinds(t, diary(table, 7)), "reply intent0.0 done0.0"; got != want {
		t.Fatalf("the turn's journal reads %q, want %q", got, want)
	}
	for turn := uint64(8); turn < 100; turn++ {
		j := diary(table, turn)
		if got := kinds(t, j); got != "" {
			t.Fatalf("turn %d begins with %q", turn, got)
		}
		write(t, j, entry{Kind: kindIntent, Call: "a"}, entry{Kind: kindDone, Call: "a"})
		if got, want := kinds(t, diary(table, turn)), "intenta donea"; got != want {
			t.Fatalf("turn %d reads %q, want %q", turn, got, want)
		}
	}
	stored, err := kv.List(t.Context(), table, string(diaryChat))
	if err != nil || len(stored) != 6 {
		t.Errorf("%d keys after many turns (%v), want those of the longest, 6", len(stored), err)
	}
	// One that is resumed goes on over what the long one has left.
	j := diary(table, 99)
	kinds(t, j)
	write(t, j, long, entry{Kind: kindHanded})
	if got, want := kinds(t, diary(table, 99)), "intenta donea reply handed"; got != want {
		t.Errorf("the resumed journal reads %q, want %q", got, want)
	}
}

// Who was paused until somebody else had finished his turn writes nothing, even
// if further turns have used the same keys.
func TestJournalKeepsOutWhoWasOvertaken(t *testing.T) {
	for _, tt := range []struct {
		name  string
		wrote int      // entries of the paused one
		reads bool     // whether it looks again when it wakes
		after []uint64 // turns that came meanwhile, the paused one's first
	}{
		{name: "before its first", after: []uint64{8}},
		{name: "after its first", wrote: 1, after: []uint64{8}},
		{name: "later turns", after: []uint64{8, 9, 12}},
		{name: "after its first, later turns", wrote: 1, after: []uint64{8, 9}},
		{name: "reads after later turns", reads: true, after: []uint64{8, 9}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			table := &kv.Memory{}
			old := diary(table, 5)
			write(t, old, entry{Kind: kindReply}, entry{Kind: kindIntent}, entry{Kind: kindDone})
			paused := diary(table, 8)
			if !tt.reads {
				kinds(t, paused)
			}
			for range tt.wrote {
				write(t, paused, entry{Kind: kindReply})
			}
			for _, turn := range tt.after {
				j := diary(table, turn)
				kinds(t, j)
				write(t, j, entry{Kind: kindAttempt})
			}
			if tt.reads {
				kinds(t, paused)
			}
			before, _ := kv.List(t.Context(), table, "")
			if err := paused.add(t.Context(), entry{Kind: kindIntent, Call: "0.0"}); !errors.Is(err, ErrLost) {
				t.Errorf("got %v, want ErrLost", err)
			}
			after, _ := kv.List(t.Context(), table, "")
			for i := range before {
				found := false
				for _, e := range after {
					found = found || e.Key == before[i].Key && e.Revision == before[i].Revision
				}
				if !found {
					t.Errorf("%s was written over", before[i].Key)
				}
			}
		})
	}
}

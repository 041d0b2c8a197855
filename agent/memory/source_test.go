package memory_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/agent/memory"
	"magpie/chat"
	"magpie/internal/kv"
)

// Notes keep the sources of what their maker had read, beside clean ones; of an
// older version only the end of their source says so.
func TestSourcesOfNotes(t *testing.T) {
	table := &kv.Memory{}
	at := time.Date(2026, 3, 3, 8, 0, 0, 0, time.UTC)
	open := func() *memory.Store { return memory.New(table, func() time.Time { return at }) }
	ann := memory.Owner{Channel: "qq", Person: "ann"}
	from := []chat.Source{{Kind: chat.SourcePage, Name: "https://a.example/\t\n\"<x>", At: at}, {Kind: chat.SourceUnknown, Via: "task a"}}
	for _, sources := range [][]chat.Source{nil, from, nil} {
		if _, err := open().Add(t.Context(), ann, "Ann", "对花生过敏", sources...); err != nil {
			t.Fatal(err)
		}
	}
	pages, err := kv.List(t.Context(), table, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range pages { // a note of before
		if strings.HasPrefix(string(e.Value), "notes 1\n") {
			old := string(e.Value) + "4\t1000000000\tAnn, after reading text from outside\tlikes tea\n"
			if _, err := table.Update(t.Context(), e.Key, []byte(old), 0, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	all, err := open().List(t.Context(), ann)
	if err != nil || len(all) != 4 {
		t.Fatalf("%+v, %v", all, err)
	}
	var got [][]chat.Source
	for _, e := range all {
		got = append(got, e.Sources)
	}
	want := [][]chat.Source{nil, from, nil, {{Kind: chat.SourceUnknown, At: time.Unix(1_000_000_000, 0).UTC()}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	read := memory.Read(all[:2])
	if len(read) != 2 || read[0].Via != "note 2 2026-03-03" {
		t.Errorf("read with %+v", read)
	}
	hits, err := open().Search(t.Context(), ann, memory.Query{Words: "花生"})
	if err != nil || len(hits) != 3 || !hits[0].FromOutside() && !hits[1].FromOutside() && !hits[2].FromOutside() {
		t.Errorf("found %+v, %v", hits, err)
	}
}

package memory_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"magpie/agent/memory"
	"magpie/chat"
	"magpie/internal/kv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ann = memory.Owner{Channel: "telegram", Person: "ann"}

func add(t testing.TB, s *memory.Store, o memory.Owner, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if _, err := s.Add(t.Context(), o, "test", text); err != nil {
			t.Fatal(err)
		}
	}
}

func found(t *testing.T, s *memory.Store, o memory.Owner, q memory.Query) []string {
	t.Helper()
	hits, err := s.Search(t.Context(), o, q)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, h := range hits {
		texts = append(texts, h.Text)
	}
	return texts
}

func TestNotes(t *testing.T) {
	s := memory.New(new(kv.Memory), func() time.Time { return time.Date(2026, 11, 21, 9, 0, 0, 0, time.FixedZone("", 3600)) })
	e, err := s.Add(t.Context(), ann, " Ann\n", "likes\ttea\r\nand  喜鹊\x00")
	want := memory.Entry{N: 1, At: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC), Source: "Ann", Text: "likes tea and 喜鹊"}
	if d := cmp.Diff(want, e); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
	add(t, s, ann, "two", "three")
	if e, err := s.Remove(t.Context(), ann, 2); err != nil || e.Text != "two" {
		t.Errorf("removed %+v, %v", e, err)
	}
	if _, err := s.Remove(t.Context(), ann, 2); !errors.Is(err, memory.ErrNone) {
		t.Errorf("removed twice: %v", err)
	}
	if e, err = s.Add(t.Context(), ann, "", "four"); err != nil || e.N != 4 {
		t.Errorf("a number was used again: %+v, %v", e, err)
	}
	all, err := s.List(t.Context(), ann)
	var numbers []int
	for _, e := range all {
		numbers = append(numbers, e.N)
	}
	if d := cmp.Diff([]int{1, 3, 4}, numbers); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
	for text, want := range map[string]error{" \n": memory.ErrEmpty, strings.Repeat("长", memory.MaxText+1): memory.ErrTooLong} {
		if _, err := s.Add(t.Context(), ann, "", text); !errors.Is(err, want) {
			t.Errorf("%.10q: %v, want %v", text, err, want)
		}
	}
	add(t, s, ann, strings.Repeat("长", memory.MaxText))
}

// Notes are never mixed between people, groups and channels.
func TestOwners(t *testing.T) {
	s := memory.New(new(kv.Memory), nil)
	from := chat.Sender{ID: "42"}
	here := chat.Address{Channel: "telegram", Chat: "42"}
	owners := []memory.Owner{
		memory.Of(here, from, true),
		memory.Of(here, from, false),
		memory.Of(chat.Address{Channel: "qq", Chat: "42"}, from, true),
		memory.Of(chat.Address{Channel: "telegram", Chat: "-1"}, from, false),
		memory.Of(here, chat.Sender{ID: "4"}, true),
	}
	for i, o := range owners {
		add(t, s, o, fmt.Sprintf("secret number %d", i))
	}
	for i, o := range owners {
		if d := cmp.Diff([]string{fmt.Sprintf("secret number %d", i)}, found(t, s, o, memory.Query{Words: "secret"})); d != "" {
			t.Errorf("%s: %s", o, d)
		}
		back, err := memory.ParseOwner(o.String())
		if err != nil || back != o {
			t.Errorf("%s is read as %+v, %v", o, back, err)
		}
	}
	if all, err := s.Owners(t.Context()); err != nil || len(all) != len(owners) || all[owners[3]] != 1 {
		t.Errorf("owners %v, %v", all, err)
	}
	for _, bad := range []string{"", "x", "a:b:c", ":person:1", "a:person:"} {
		if _, err := memory.ParseOwner(bad); err == nil {
			t.Errorf("%q is an owner", bad)
		}
	}
}

func TestSearch(t *testing.T) {
	s := memory.New(new(kv.Memory), nil)
	add(t, s, ann,
		"生日是五月三日，喜欢吃火锅",
		"The office moved to Hangzhou in March",
		"对花生过敏，不能吃花生酱",
		"Prefers short answers; answers in English at work",
		"妹妹在杭州上大学",
		"Reminder style: 早上九点 is best",
		"Meets José at the Café Müller, table ＡＢ１２",
		"lives in Thessaloniki\u0301a",
	)
	for _, k := range []struct {
		name, words string
		all         bool
		want        []string // beginnings of the notes, in order
	}{
		{"two Chinese characters", "过敏", false, []string{"对花生"}},
		{"a longer run is found in parts", "花生过敏吗", false, []string{"对花生"}},
		{"an English word in any case", "hangzhou", false, []string{"The office"}},
		{"the beginning of a word", "hang", false, []string{"The office"}},
		{"not the middle of a word", "zhou", false, nil},
		{"plural", "offices", false, []string{"The office"}},
		{"any", "杭州 火锅", false, []string{"妹妹", "生日"}},
		{"all", "杭州 大学", true, []string{"妹妹"}},
		{"all, one is missing", "杭州 火锅", true, nil},
		{"words beside Chinese", "is best九点", false, []string{"Reminder"}},
		{"without accents", "jose cafe", true, []string{"Meets"}},
		{"with accents", "JOSÉ mu\u0308ller", true, []string{"Meets"}},
		{"wide letters", "ab12", false, []string{"Meets"}},
		{"wide letters looked for", "Ｃａｆｅ", false, []string{"Meets"}},
		{"accents in two letters", "thessalonikía", false, []string{"lives"}},
		{"another character", "臺北", false, nil},
		{"nothing to look for", " ,;！", false, nil},
		{"nothing there", "quantum", false, nil},
	} {
		got := found(t, s, ann, memory.Query{Words: k.words, All: k.all})
		if len(got) != len(k.want) {
			t.Errorf("%s: %q found %q, want %q", k.name, k.words, got, k.want)
			continue
		}
		for i := range got {
			if !strings.HasPrefix(got[i], k.want[i]) {
				t.Errorf("%s: %q found %q, want %q", k.name, k.words, got, k.want)
			}
		}
	}
	add(t, s, ann, "answers answers answers", "x answers")
	if got := found(t, s, ann, memory.Query{Words: "answers", Max: 2}); len(got) != 2 || got[0] != "answers answers answers" {
		t.Errorf("ranked %q", got)
	}
}

// Many writers, also in other processes, lose nothing and use no number twice.
func TestManyWriters(t *testing.T) {
	table := new(kv.Memory)
	var wg sync.WaitGroup
	for w := range 8 {
		s := memory.New(table, nil)
		wg.Go(func() {
			for i := range 50 {
				if _, err := s.Add(t.Context(), ann, "", fmt.Sprintf("%d %d %s", w, i, strings.Repeat("x", 500))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	all, err := memory.New(table, nil).List(t.Context(), ann)
	seen := map[int]bool{}
	for _, e := range all {
		seen[e.N] = true
	}
	if err != nil || len(all) != 400 || len(seen) != 400 {
		t.Errorf("%d notes with %d numbers, %v; want 400", len(all), len(seen), err)
	}
}

func FuzzSearch(f *testing.F) {
	f.Add("花生", "对花生过敏")
	f.Add("a b", "A, b_c")
	f.Add("\xff", "")
	f.Fuzz(func(t *testing.T, words, text string) {
		s := memory.New(new(kv.Memory), nil)
		if _, err := s.Add(t.Context(), ann, words, text); err != nil {
			return
		}
		if _, err := s.Search(t.Context(), ann, memory.Query{Words: words}); err != nil {
			t.Error(err)
		}
	})
}

// BenchmarkSearch looks through 10 000 notes.
func BenchmarkSearch(b *testing.B) {
	s := memory.New(new(kv.Memory), nil)
	for i := range 10_000 {
		add(b, s, ann, fmt.Sprintf("note %d: 用户在 %d 号去了杭州西湖 and bought tea number %d in the old town", i, i%31, i*7))
	}
	b.ResetTimer()
	for b.Loop() {
		if hits, err := s.Search(b.Context(), ann, memory.Query{Words: "西湖 tea 9999"}); err != nil || len(hits) == 0 {
			b.Fatal(hits, err)
		}
	}
}

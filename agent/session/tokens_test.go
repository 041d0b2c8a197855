package session_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"magpie/agent/llm"
	"magpie/agent/session"
)

func TestTokens(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "a": 1, "abcd": 1, "abcde": 2, "你好世界": 4, "你好 abcd": 4, "\xff\xfe": 2,
	} {
		if got := session.Tokens(text); got != want {
			t.Errorf("Tokens(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestShorten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		limit := rapid.IntRange(0, 40).Draw(t, "limit")
		got := session.Shorten(text, limit)
		if !utf8.ValidString(got) {
			t.Fatalf("Shorten(%q, %d) = %q is cut inside a character", text, limit, got)
		}
		if len(text) <= limit && got != text {
			t.Fatalf("Shorten(%q, %d) = %q changes what fits", text, limit, got)
		}
		if const60 := 60; len(got) > limit+const60 {
			t.Fatalf("Shorten(%d bytes, %d) has %d bytes", len(text), limit, len(got))
		}
	})
	if got := session.Shorten("0123456789", 6); !strings.Contains(got, "[… 4 characters left out …]") {
		t.Errorf("the note is missing in %q", got)
	}
}

func TestSqueeze(t *testing.T) {
	long := strings.Repeat("长文本", 100_000)
	msgs := []llm.Message{
		{Role: llm.User, Text: "short"},
		{Role: llm.User, Text: long},
		{Role: llm.Assistant, Calls: []llm.Call{{ID: "a", Name: "write_file", Args: `{"content":"` + long + `"}`}}},
	}
	for _, room := range []int{1_000_000, 100_000, 5_000, 500} {
		fits := func(m []llm.Message) bool { return session.Size(m) <= room }
		got, ok := session.Squeeze(msgs, fits)
		if !ok || !fits(got) {
			t.Errorf("room %d: does not fit, %d tokens", room, session.Size(got))
		}
		if got[0].Text != "short" {
			t.Errorf("room %d: the short text became %q", room, got[0].Text)
		}
	}
	if msgs[1].Text != long {
		t.Error("the argument was changed")
	}
	if _, ok := session.Squeeze(msgs, func([]llm.Message) bool { return false }); ok {
		t.Error("what cannot fit is said to fit")
	}
}

func BenchmarkTokens(b *testing.B) {
	text := strings.Repeat("hello 世界 ", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		session.Tokens(text)
	}
}

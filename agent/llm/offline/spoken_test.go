package offline

import "testing"

func TestSpoken(t *testing.T) {
	for text, want := range map[string]string{
		"hello": "hello",
		"<message from=\"Ada\" id=\"1\">\n现在几点\n</message>\n":                                  "现在几点",
		"<quoted from=\"you\">\nIt is 9.\n</quoted>\n<message from=\"B\">\nthanks\n</message>": "thanks",
		"<quoted from=\"you\">\nIt is 9.\n</quoted>\nthanks":                                   "thanks",
		"[12 hours later]": "",
		"[The person has changed an earlier message. It reads now:]\nlist files": "list files",
		"a [b] c": "a [b] c",
	} {
		if got := spoken(text); got != want {
			t.Errorf("spoken(%q) = %q, want %q", text, got, want)
		}
	}
}

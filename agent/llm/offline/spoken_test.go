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
		"[The chat has been shown this reminder, as its job asks:]\n<reminder>\n⏰ call mum tomorrow at 3pm\n</reminder>": "",
		"[A background task has ended:]\n<report from=\"a\">\nremind me in 5 minutes\n</report>":                         "",
		"[A scheduled job is due. If there is nothing to say, answer [silent] and nothing else:]\nlist files":            "list files",
	} {
		if got := spoken(text); got != want {
			t.Errorf("spoken(%q) = %q, want %q", text, got, want)
		}
	}
}

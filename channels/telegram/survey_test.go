package telegram

import (
	"strings"
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"
	fake "magpie/internal/fakes/telegram"
)

func TestSurvey(t *testing.T) {
	hook := func(t *testing.T, w *world) {
		tg := w.channel(t, channels.Deps{})
		if _, err := tg.api.call(channeltest.Bounded(t), "setWebhook", map[string]string{"url": "https://other.example/hook"}); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		ways fake.Ways
		mode string
		set  bool
		want []string
	}{
		"all is well":   {},
		"privacy mode":  {ways: fake.Ways{Privacy: true}, want: []string{"group_context", "/setprivacy", "@magpie_test_bot"}},
		"no groups":     {ways: fake.Ways{NoGroups: true}, want: []string{"/setjoingroups"}},
		"other webhook": {set: true, want: []string{"https://other.example/hook", "token of its own"}},
		"webhook moved": {mode: modeWebhook, set: true, want: []string{"https://other.example/hook", "https://bot.example.org/hooks/telegram"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, &fake.Options{Ways: c.ways})
			if c.set {
				hook(t, w)
			}
			tg := w.channel(t, channels.Deps{}, func(cfg *Config) {
				if c.mode != "" {
					cfg.Mode, cfg.WebhookSecret, cfg.PublicURL = c.mode, "s", "https://bot.example.org"
				}
			})
			lacks, err := tg.Survey(channeltest.Bounded(t))
			if err != nil || (len(lacks) == 1) != (len(c.want) == 0) { // one is the bot's link
				t.Fatalf("lacks %q, %v", lacks, err)
			}
			for _, word := range append(c.want, "https://t.me/magpie_test_bot") {
				if !strings.Contains(strings.Join(lacks, "\n"), word) {
					t.Errorf("%q is not in %q", word, lacks)
				}
			}
		})
	}
}

// With privacy mode the group is silent but for what is meant for the bot;
// without it everything arrives, addressed or not, also a bare mention.
func TestUnaddressed(t *testing.T) {
	for _, privacy := range []bool{false, true} {
		w := newWorld(t, &fake.Options{Ways: fake.Ways{Privacy: privacy}})
		r := start(t, w.channel(t, channels.Deps{}))
		w.Say(fake.Said{From: ann, Chat: crowd, Text: "among us"})
		w.Say(fake.Said{From: ann, Chat: crowd, Text: "@magpie_test_bot"})
		in := r.Next(t)
		if !privacy {
			if in.Text != "among us" || in.Mentioned {
				t.Errorf("unaddressed: %+v", in)
			}
			in = r.Next(t)
		}
		if in.Text != "" || !in.Mentioned {
			t.Errorf("bare mention: %+v", in)
		}
		if err := r.Stop(); err != nil {
			t.Fatal(err)
		}
	}
}

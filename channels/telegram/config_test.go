package telegram

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"magpie/channels"
)

func build(section string) (channels.Channel, error) {
	return New("main", func(into any) error {
		return yaml.UnmarshalWithOptions([]byte(section), into, yaml.Strict())
	}, channels.Deps{})
}

func TestConfig(t *testing.T) {
	for section, wants := range map[string][]string{
		"token: 123:abc": nil,
		"token: 123:abc\nmode: webhook\nwebhook_secret: s\npublic_url: https://bot.example.org/": nil,
		"token: 123:abc\napi_base: http://127.0.0.1:8081/":                                       nil,
		"mode: poll":                                       {"token: missing", "@BotFather"},
		"token: '12 34'":                                   {"token: holds characters"},
		"token: 123:abc\nmode: push":                       {`mode: "push" is not known; choose poll or webhook`},
		"token: 123:abc\nmode: webhook":                    {"webhook_secret:", "public_url:"},
		"token: 123:abc\napi_base: ftp://x":                {"api_base:", "https"},
		"token: 123:abc\napi_base: x":                      {"api_base:"},
		"token: 123:abc\nmode: webhook\nwebhook_secret: ä": {"webhook_secret:"},
		"token: 123:abc\nmode: webhook\nwebhook_secret: s\npublic_url: http://x": {"public_url:", "use https"},
		"token: 123:abc\ntokn: x": {"tokn"},
	} {
		ch, err := build(section)
		if len(wants) == 0 {
			if err != nil || ch.Name() != "main" {
				t.Errorf("%q: %v", section, err)
			}
			continue
		}
		for _, want := range wants {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: error %v, want %q", section, err, want)
			}
		}
	}
}

func TestConfigHidesSecrets(t *testing.T) {
	c := Config{Token: "123:very secret token", WebhookSecret: "ä hidden", Mode: modeWebhook, PublicURL: "https://user:pass word@x"}
	err := c.complete()
	for _, text := range []string{fmt.Sprint(err), fmt.Sprint(c.Token, c.WebhookSecret), fmt.Sprintf("%#v", c.Token)} {
		for _, secret := range []string{"very secret", "hidden", "pass word"} {
			if strings.Contains(text, secret) {
				t.Errorf("%q stands in %q", secret, text)
			}
		}
	}
	if err == nil {
		t.Error("no error")
	}
}

package telegram

import (
	"testing"

	"magpie/channels/channeltest"
)

func TestConfig(t *testing.T) {
	channeltest.Sections{
		New: New,
		Rows: map[string][]string{
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
			"token: 123:abc\nmode: webhook\nwebhook_secret: s\npublic_url: http://x":                                      {"public_url:", "use https"},
			"token: 123:very secret token\nmode: webhook\nwebhook_secret: ä hidden\npublic_url: https://user:pass word@x": {"token:", "webhook_secret:", "public_url:"},
		},
		Secrets:   []string{"123:abc", "very secret", "hidden"},
		Passwords: []string{"pass word"},
	}.Check(t)
}

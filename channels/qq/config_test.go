package qq

import (
	"context"
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"
)

const good = "app_id: '102000000'\napp_secret: abcd\n"

func TestConfig(t *testing.T) {
	channeltest.Sections{
		New: New,
		Rows: map[string][]string{
			good:                                    nil,
			"app_id: 102000000\napp_secret: abcd\n": nil, // a number needs no quotes
			good + "mode: webhook\nmarkdown: true\nupload: base64\nactive_per_month: 0\ninput_notify: false": nil,
			good + "api_base: http://127.0.0.1:8080/\ntoken_base: http://127.0.0.1:8080/":                    nil,
			"mode: push":                               {"app_id: missing", "AppID", "app_secret: missing", `mode: "push" is not known; choose ws or webhook`},
			"app_id: abc\napp_secret: 'a b'":           {"app_id: want digits", "app_secret: holds blanks"},
			good + "api_base: ftp://x\ntoken_base: y":  {"api_base:", "use https", "token_base: not an address"},
			good + "upload: oss":                       {"upload: oss needs the section media.oss"},
			good + "upload: ftp\nactive_per_month: -1": {`upload: "ftp" is not known`, "active_per_month: want 0 or more"},
			"app_id: x\napp_secret: very secret\napi_base: https://user:pass word@x": {"app_id:", "app_secret:", "api_base:"},
		},
		Secrets:   []string{"abcd", "a b", "very secret"},
		Passwords: []string{"pass word"},
	}.Check(t)
	channeltest.Sections{
		New:  New,
		Deps: channels.Deps{Public: func(context.Context, channels.Upload) (string, error) { return "", nil }},
		Rows: map[string][]string{good + "upload: oss": nil},
	}.Check(t)
}

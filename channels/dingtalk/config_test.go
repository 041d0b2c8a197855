package dingtalk

import (
	"fmt"
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"
)

// What the channel can do follows from its section.
func TestConfig(t *testing.T) {
	for section, want := range map[string]string{
		"client_id: ding01\nclient_secret: s":                                                     "*dingtalk.DingTalk",
		"client_id: ding01\nclient_secret: s\ncard_template_id: 0000-1.schema":                    "*dingtalk.Carded",
		"client_id: ding01\nclient_secret: s\ncard_template_id: a.schema\ncard_buttons_key: btns": "*dingtalk.Buttoned",
	} {
		ch, err := New("mine", channeltest.Decode(section), channels.Deps{})
		if err != nil {
			t.Errorf("%s: %v", section, err)
			continue
		}
		if got := fmt.Sprintf("%T", ch); got != want {
			t.Errorf("%s: %s, want %s", section, got, want)
		}
		cfg := base(ch).cfg
		if cfg.RobotCode != "ding01" || cfg.APIBase != publicAPI || cfg.OAPIBase != publicOAPI || cfg.CardKey != usualKey {
			t.Errorf("defaults %+v", cfg)
		}
		if l := ch.Limits(); (l.Edit > 0) != (want != "*dingtalk.DingTalk") || (l.Edit > 0) != l.Seal {
			t.Errorf("%s: limits %+v", want, l)
		}
	}
}

// All problems are told at once, in words that say what is right.
func TestConfigProblems(t *testing.T) {
	channeltest.Sections{
		New: New,
		Rows: map[string][]string{
			"client_id: a\nclient_secret: topsecret": nil,
			``:                                       {"client_id: missing", "client_secret: missing", "open-dev.dingtalk.com"},
			"client_id: a b\nclient_secret: \"x y\"\nrobot_code: ä\napi_base: dingtalk\noapi_base: ftp://x\ncard_template_id: \"?\"\ncard_key: \"1\"\ncard_buttons_key: \"-\"": {
				"client_id:", "client_secret:", "robot_code:", "api_base:", "oapi_base: scheme \"ftp\"", "card_template_id:", "card_key:", "card_buttons_key:",
			},
			"client_id: a\nclient_secret: b\ncard_key: text":                                                   {"set card_template_id"},
			"client_id: a\nclient_secret: b\ncard_template_id: t\ncard_buttons_key: content":                   {"variables of their own"},
			"client_id: a\nclient_secret: b\napi_base: https://me:hunter2@example.org/?x":                      {"api_base: not an address"},
			"client_id: a\nclient_secret: b\nmode: webhook":                                                    {"mode"},
			"client_id: a\nclient_secret: b\ncard_template_id: t\ncard_key: text\ncard_buttons_key: \"b u\"\n": {"card_buttons_key: \"b u\""},
		},
		Secrets:   []string{"topsecret", "x y"},
		Passwords: []string{"hunter2"},
	}.Check(t)
}

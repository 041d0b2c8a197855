package feishu

import (
	"testing"

	"magpie/channels/channeltest"
)

func TestConfig(t *testing.T) {
	const good = "app_id: cli_a1\napp_secret: topsecret\n"
	channeltest.Sections{
		New: New,
		Rows: map[string][]string{
			good: nil,
			good + "mode: webhook\nencrypt_key: alsohidden":     nil,
			good + "mode: webhook\nverification_token: thistoo": nil,
			good + "api_base: https://open.larksuite.com/":      nil,
			"{}": {"app_id: missing", "app_secret: missing", "Credentials & Basic Info"},
			"app_id: 17\napp_secret: a b\napi_base: ftp://x\nmode: poll": {"app_id: \"17\"", "app_secret: holds blanks", "api_base: scheme", "choose ws or webhook"},
			good + "mode: webhook":               {"encrypt_key: mode webhook needs", "Encryption Strategy"},
			good + "api_base: http://u:pw@h?x=1": {"api_base: not an address"},
		},
		Secrets:   []string{"topsecret", "alsohidden", "thistoo", "a b"},
		Passwords: []string{"pw"},
	}.Check(t)
	cfg := Config{AppID: "cli_a", AppSecret: "s"}
	if err := cfg.complete(); err != nil || cfg.APIBase != publicAPI || cfg.Mode != modeWS {
		t.Errorf("defaults %+v, %v", cfg, err)
	}
}

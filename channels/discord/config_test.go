package discord

import (
	"testing"

	"magpie/channels/channeltest"
)

func TestConfig(t *testing.T) {
	channeltest.Sections{
		New: New,
		Rows: map[string][]string{
			"token: MTk4.Cl2F.Zn-Cjm_1":                               nil,
			"token: Bot MTk4.Cl2F.Zn-Cjm_1":                           {`token: begins with "Bot "`},
			"token: MTk4.Cl2F.Zn\napi_base: http://127.0.0.1:8081/x/": nil,
			"api_base: https://discord.com":                           {"token: missing", "Developer Portal"},
			"token: 'MTk4 gehx'":                                      {"token: holds characters"},
			"token: MTk4\napi_base: ftp://x":                          {"api_base:", "https"},
			"token: MTk4\napi_base: x":                                {"api_base:"},
			"api_base: https://u:hunter2@discord.com":                 {"token:", "api_base:"},
		},
		Secrets:   []string{"Zn-Cjm_1", "gehx"},
		Passwords: []string{"hunter2"},
	}.Check(t)
}

package app

import (
	"slices"
	"testing"

	"magpie/chat"
	"magpie/config"
)

// The passwords of proxies are hidden in logs. Those of the environment may be
// given to commands, as the environment may.
func TestSecretsOfProxies(t *testing.T) {
	t.Setenv("ALL_PROXY", "socks5://me:of-the-environment@10.0.0.1:1080")
	cfg := &config.Config{
		Channels: []config.Channel{{Name: "a", Proxy: "http://me:of%40channel@10.0.0.1:1"}},
		LLM:      config.LLM{Models: []config.Model{{Proxy: "me:of-model@10.0.0.1:1"}, {Proxy: "none"}}},
	}
	mine, all := secrets(cfg, "token"), unlogged(cfg, "token")
	for _, want := range []chat.Secret{"token", "of@channel", "of%40channel", "of-model"} {
		if !slices.Contains(mine, want) || !slices.Contains(all, want) {
			t.Errorf("%q is no secret", string(want))
		}
	}
	if environment := chat.Secret("of-the-environment"); slices.Contains(mine, environment) || !slices.Contains(all, environment) {
		t.Error("the environment's password is to be hidden in logs alone")
	}
}

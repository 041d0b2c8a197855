package feishu

import (
	"net/http"
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/feishu"
)

// Each of two gateways takes calls, whichever holds the channel.
func TestWebhookOnAnyGateway(t *testing.T) {
	o := sealed()
	o.Client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	w := newWorld(t, o)
	channeltest.AnyProcess(t, channeltest.Hooks{
		New: func(t *testing.T, d channels.Deps, _ string) channels.Channel {
			return w.channel(t, d, func(c *Config) { c.Mode, c.EncryptKey, c.VerificationToken = modeWebhook, encryptKey, verifyToken })
		},
		Calls: func(_ *testing.T, url string) { w.SetHook(url) },
		Say:   func(a chat.Address, text string) { w.Say(fake.Said{From: a.Chat, Text: text}) },
		Chats: []chat.Address{{Channel: "feishu", Chat: ann}, {Channel: "feishu", Chat: bob}},
	})
}

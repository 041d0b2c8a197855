package qq

import (
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/qq"
)

// Each of two gateways takes calls, whichever holds the channel.
func TestWebhookOnAnyGateway(t *testing.T) {
	w := newWorld(t, nil)
	channeltest.AnyProcess(t, channeltest.Hooks{
		New: func(t *testing.T, d channels.Deps, _ string) channels.Channel { return w.channel(t, d, asHook) },
		Calls: func(t *testing.T, url string) {
			channeltest.Eventually(t, "the address is taken", func() bool { return w.SetHook(channeltest.Bounded(t), url) == nil })
		},
		Say:   func(a chat.Address, text string) { w.Say(fake.Said{Chat: a.Chat, Text: text}) },
		Chats: []chat.Address{{Channel: "qq", Chat: ann}, {Channel: "qq", Chat: bob}},
	})
}

package dingtalk

import (
	"testing"

	"magpie/channels/channeltest"
	"magpie/chat"
)

func TestPlatformTable(t *testing.T) {
	l := lonely(t).Limits()
	channeltest.PlatformTable(t, "DingTalk", map[string]any{
		"text, characters": l.Text, "msgParam, bytes": maxParam, "picture, bytes": l.Media[chat.Image], "voice, bytes": l.Media[chat.Voice],
		"file, bytes": l.Media[chat.File], "API calls a second": l.Rate.PerSecond, "pause between messages to a group": l.Rate.PerGroup,
		"rest of a webhook after 410100": slowedFor, "webhook unused before its end": sessionMargin, "token unused before its end": tokenMargin,
	})
}

// Package all lists the channels that the program knows, one line each. It
// does nothing else.
package all

import (
	"magpie/channels"
	"magpie/channels/dingtalk"
	"magpie/channels/discord"
	"magpie/channels/feishu"
	"magpie/channels/qq"
	"magpie/channels/telegram"
	"magpie/channels/web"
)

// Registry returns the factory of every channel by its type. The map belongs
// to the caller.
func Registry() channels.Registry {
	return channels.Registry{
		"dingtalk": dingtalk.New,
		"qq":       qq.New,
		"discord":  discord.New,
		"feishu":   feishu.New,
		"telegram": telegram.New,
		"web":      web.New,
	}
}

package qq

import (
	"context"

	"magpie/channels"
)

var _ channels.Surveyor = (*QQ)(nil)

// Survey tells what the platform has refused the account lately. It cannot be
// asked: the refusals of the last day are what is known.
func (q *QQ) Survey(context.Context) ([]string, error) {
	var lines []string
	for _, f := range []struct {
		feature feature
		lost    string
	}{
		{asMarkdown, "native Markdown was refused: answers are plain text, and buttons are lines; it is tried again after a day"},
		{asButtons, "buttons were refused: they are lines of text; they are tried again after a day"},
		{onPresses, "the events of buttons were refused (INTERACTION): presses are not heard; enable them at q.qq.com under 功能配置"},
		{asStream, "streaming was refused (流式消息): private answers come when they are done; it is tried again after a day"},
		{asParts, "uploads in parts were refused: files of more than 20 MiB cannot be sent; they are tried again after a day"},
	} {
		if !q.learnt.works(f.feature) {
			lines = append(lines, f.lost)
		}
	}
	return append(lines, "QQ cannot be asked for what the bot may do; these are the switches: "+
		"without 接收所有消息 (the group's owner, in the bot's settings there) no message arrives that does not mention it, so group: open and group_context are lost; "+
		"without 主动发言 (there too) no reminders in the group, and no answers that take longer than five minutes; "+
		"without 沙箱配置 (q.qq.com) nobody but you finds it in its first week"), nil
}

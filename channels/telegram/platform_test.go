package telegram

import (
	"testing"

	"magpie/channels/channeltest"
)

func TestPlatform(t *testing.T) {
	channeltest.PlatformTable(t, "Telegram", map[string]any{
		"text, UTF-16 units after formatting":    maxText,
		"caption, UTF-16 units after formatting": maxCaption,
		"files in an album":                      albumFull,
		"file out, bytes":                        maxUpload,
		"photo out, bytes":                       maxPhoto,
		"messages a second, all chats":           perSecond,
		"messages a minute, a group":             perMinute,
		"sign of typing":                         typingLife,
		"life of a draft":                        draftLife,
		"pause between drafts":                   draftPace,
		"pause between edits, private chat":      editPace,
		"pause between edits, group":             groupEditPace,
		"answer to a press, characters":          maxNotice,
		"commands in the menu":                   maxCommands,
		"description of a command, characters":   maxAbout,
		"long poll":                              normalPace().poll,
		"updates are kept":                       albumKept,
	})
}

package discord

import (
	"testing"

	"magpie/channels/channeltest"
)

// docs/platforms.md says what the code does.
func TestPlatformTable(t *testing.T) {
	channeltest.PlatformTable(t, "Discord", map[string]any{
		"text, UTF-16 units":                       maxText,
		"file, bytes":                              upload,
		"files a message":                          maxFiles,
		"request, bytes":                           maxRequest,
		"requests a second, the whole bot":         allPerSecond,
		"messages in one channel's window":         chatBurst,
		"window of one channel":                    chatWindow,
		"pause between two edits":                  editPause,
		"nonce, characters":                        nonceLength,
		"nonce is recognised for":                  nonceLife,
		"rows of buttons":                          maxRows,
		"buttons a row":                            maxInRow,
		"label of a button, UTF-16 units":          maxLabel,
		"data of a button, characters":             maxCustomID,
		"answer to an interaction within":          replyPatience,
		"token of an interaction":                  tokenKept,
		"description of a command, characters":     maxAbout,
		"messages a page of history":               pageSize,
		"servers one connection serves":            maxGuilds,
		"typing is shown for":                      typingShown,
		"permissions of the invitation, a bit set": uint64(needed()),
	})
}

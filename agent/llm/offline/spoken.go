package offline

import (
	"regexp"
	"strings"
)

// The agent writes for models: what comes from others stands in fences, its
// own notes in square brackets on lines of their own.
var (
	quotedFence  = regexp.MustCompile(`(?s)<quoted(?: [^>]*)?>.*?</quoted>\n?`)
	messageFence = regexp.MustCompile(`(?s)<message(?: [^>]*)?>\n(.*?)\n</message>\n?`)
	noteLine     = regexp.MustCompile(`(?m)^\[[^\]\n]*\]\n?`)
)

// spoken is what the person said, without all that.
func spoken(text string) string {
	bare := quotedFence.ReplaceAllString(text, "")
	bare = messageFence.ReplaceAllString(bare, "$1\n")
	return strings.TrimSpace(noteLine.ReplaceAllString(bare, ""))
}

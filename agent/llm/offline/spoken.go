package offline

import (
	"regexp"
	"strings"
)

// The agent writes for models: what comes from others stands in fences, its
// own notes in square brackets on lines of their own.
var (
	quotedFence  = regexp.MustCompile(`(?s)<(?:quoted|reminder)(?: [^>]*)?>.*?</(?:quoted|reminder)>\n?`)
	reportFence  = regexp.MustCompile(`(?s)<report(?: [^>]*)?>\n(.*?)\n</report>\n?`)
	messageFence = regexp.MustCompile(`(?s)<message(?: [^>]*)?>\n(.*?)\n</message>\n?`)
	noteLine     = regexp.MustCompile(`(?m)^\[(?:[^\[\]\n]|\[[^\[\]\n]*\])*\]\n?`) // a note may name the silent mark
)

// spoken is what the person said, without all that. A reminder that was shown
// and the report of a task are not the person speaking: what they say is never
// done.
func spoken(text string) string {
	bare := quotedFence.ReplaceAllString(text, "")
	bare = reportFence.ReplaceAllString(bare, "")
	bare = messageFence.ReplaceAllString(bare, "$1\n")
	return strings.TrimSpace(noteLine.ReplaceAllString(bare, ""))
}

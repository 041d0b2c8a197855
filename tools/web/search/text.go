package search

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// How much of a text is kept, in characters.
const (
	maxTitle   = 200
	maxSnippet = 600
	maxReason  = 200
)

// clean makes one line of bare text of what services send: some mark the words
// of the query with tags.
func clean(s string, most int) string {
	s = html.UnescapeString(marks.ReplaceAllString(s, ""))
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most-1]) + "…"
	}
	return s
}

// marks are the tags that services put into their texts; others belong to what
// is quoted, as in List<String>.
var marks = regexp.MustCompile(`(?i)</?(?:strong|b|em|i|mark|br|p|span)(?:\s[^<>]*)?/?>`)

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	// What is text in the page must not be taken for tags again.
	return html.EscapeString(b.String())
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func hasClass(n *html.Node, class string) bool {
	for _, c := range strings.Fields(attribute(n, "class")) {
		if c == class {
			return true
		}
	}
	return false
}

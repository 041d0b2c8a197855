package tools

import (
	"context"
	"regexp"
	"time"

	"magpie/chat"
)

// label puts text from outside into a fence that the text itself cannot close,
// so that a model can tell a page's words from those of people. The system
// prompt says what the fence means.
func (e *Executor) label(next handler) handler {
	return func(ctx context.Context, c *call) (Result, error) {
		res, err := next(ctx, c)
		// Why a tool failed is said by the tool itself, unless it marks the
		// words as foreign; of an MCP server everything is foreign.
		if c.entry != nil && c.entry.spec.Untrusted && c.ran && (res.OK || c.entry.spec.Category == MCP) {
			res.Untrusted = true
		}
		if res.Untrusted && res.Sources == nil && c.entry != nil {
			res.Sources = []chat.Source{{Kind: sourceKind(c.entry.spec), Name: first(c.subject(), sourceRunes), At: time.Now()}}
		}
		if res.Untrusted && res.Text != "" {
			res.Text = Fence(c.entry.spec.Name, res.Text)
		}
		return res, err
	}
}

// sourceRunes bounds the name of a source.
const sourceRunes = 200

// sourceKind is what the words are of which a tool brings.
func sourceKind(s Spec) chat.SourceKind {
	switch s.Category {
	case Network:
		return chat.SourcePage
	case MCP:
		return chat.SourceServer
	case File:
		return chat.SourceFile
	case Code:
		return chat.SourceCommand
	}
	return chat.SourceUnknown
}

// Fence puts text from outside between tags that it cannot itself contain.
func Fence(from, text string) string {
	return "<outside from=\"" + from + "\">\n" + outsideTag.ReplaceAllString(text, "&lt;$1") + "\n</outside>"
}

// outsideTag finds the fence's own tags in foreign text.
var outsideTag = regexp.MustCompile(`(?i)<(\s*/?\s*outside\b)`)

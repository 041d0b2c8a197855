package tools

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"
)

// limit cuts an output that is too long for a model in its middle and keeps
// the whole in a file that the cut names.
func (e *Executor) limit(next handler) handler {
	return func(ctx context.Context, c *call) (Result, error) {
		res, err := next(ctx, c)
		most := e.opt.MaxResultChars
		if c.entry != nil && c.entry.spec.MaxChars > 0 {
			most = c.entry.spec.MaxChars
		}
		res.Text = strings.ToValidUTF8(res.Text, "\uFFFD")
		if len(res.Text) <= most || utf8.RuneCountInString(res.Text) <= most {
			return res, err
		}
		where := "; the rest was not kept"
		if e.opt.Keep != nil {
			path, keepErr := e.opt.Keep(ctx, c.scope, res.Text)
			if path != "" {
				where = fmt.Sprintf("; the whole is in %s, read_file shows parts of it", path)
			}
			if keepErr != nil {
				e.opt.Log.Warn("keep tool output", "tool", c.name, "session", c.scope.Addr.Session(), "trace", c.scope.Trace, "err", keepErr)
			}
		}
		res.Text = cut(res.Text, most, where)
		return res, err
	}
}

// cut keeps the head and the tail of a text, at line ends where there are any
// near, and says between them how much is missing. The result has at most
// `most` runes, or just the note when that alone is longer.
func cut(text string, most int, where string) string {
	runes := []rune(text)
	note := func(missing int) string {
		return fmt.Sprintf("\n\n[… %d of %d characters left out here%s …]\n\n", missing, len(runes), where)
	}
	room := max(0, most-utf8.RuneCountInString(note(len(runes))))
	head := atLineEnd(runes[:room*2/3])
	tail := fromLineStart(runes[len(runes)-(room-room*2/3):])
	return string(head) + note(len(runes)-len(head)-len(tail)) + string(tail)
}

// slack says how much of a piece may be given up for a clean line end.
const slack = 4

func atLineEnd(r []rune) []rune {
	for i := len(r) - 1; i > len(r)-len(r)/slack; i-- {
		if r[i] == '\n' {
			return r[:i]
		}
	}
	return r
}

func fromLineStart(r []rune) []rune {
	for i := range len(r) / slack {
		if r[i] == '\n' {
			return r[i+1:]
		}
	}
	return r
}

package guard

import (
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// word is what a word of the shell comes to, as far as its text tells.
type word struct {
	text string
	// known is false when a part is only decided when the command runs; text
	// is then what is left without it.
	known bool
	// bare is true when characters with a meaning (~ * ? [ {) stand outside of
	// quotes, or an unquoted part is not known: it may become several words.
	bare  bool
	tilde bool // begins with an unquoted ~
}

// words lists the values of a word; several when a variable in it has several.
func (j *judge) words(w *syntax.Word) []word {
	if w == nil {
		return nil
	}
	all := []word{{known: true}}
	for i, part := range w.Parts {
		all = product(all, j.part(part, false, i == 0))
	}
	return all
}

// product joins every left with every right.
func product(left, right []word) []word {
	var all []word
	for _, l := range left {
		for _, r := range right {
			if len(l.text)+len(r.text) > maxWord || len(all) == maxValues { // a=$a$a, again and again
				return []word{{bare: true}}
			}
			all = append(all, word{l.text + r.text, l.known && r.known, l.bare || r.bare, l.tilde || r.tilde})
		}
	}
	return all
}

func (j *judge) part(part syntax.WordPart, quoted, begins bool) []word {
	switch p := part.(type) {
	case *syntax.Lit:
		return []word{literal(p.Value, quoted, begins)}
	case *syntax.SglQuoted:
		text := p.Value
		if p.Dollar {
			if plain, _, err := expand.Format(nil, text, nil); err == nil {
				text = plain
			}
		}
		return []word{{text: text, known: true}}
	case *syntax.DblQuoted:
		all := []word{{known: true}}
		for _, in := range p.Parts {
			all = product(all, j.part(in, true, false))
		}
		return all
	case *syntax.ParamExp:
		return j.param(p, quoted)
	case *syntax.ExtGlob, *syntax.BraceExp:
		return []word{{bare: true}}
	}
	return []word{{bare: !quoted}} // a command's output, a number, a file
}

// param is the value of a variable that was set in the same command, also with
// its beginning or end cut off, and the value that may stand for it. An unset
// one is not known: it may come from outside.
func (j *judge) param(p *syntax.ParamExp, quoted bool) []word {
	unknown := []word{{bare: !quoted}}
	if p.Param == nil || p.Flags != nil || p.Excl || p.Length || p.Width || p.Index != nil || p.Slice != nil ||
		p.Repl != nil || p.Names != 0 || p.NestedParam != nil {
		return unknown
	}
	values := j.values[p.Param.Value]
	if len(values) == 0 || j.unknown[p.Param.Value] {
		return append(unknown, j.instead(p)...)
	}
	var all []word
	for _, v := range values {
		if p.Exp != nil {
			var ok bool
			if v, ok = cutOff(v, p); !ok {
				return append(unknown, j.instead(p)...)
			}
		}
		all = append(all, word{text: v, known: true, bare: !quoted && strings.ContainsAny(v, " \t\n*?[")})
	}
	return all
}

// instead lists what stands for a variable that is not set: ${x:-this}.
func (j *judge) instead(p *syntax.ParamExp) []word {
	if p.Exp == nil || p.Exp.Word == nil {
		return nil
	}
	switch p.Exp.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		return j.words(p.Exp.Word)
	}
	return nil
}

// cutOff is a value as ${x%pattern}, ${x#pattern} and the like leave it; false
// when that is not known.
func cutOff(value string, p *syntax.ParamExp) (string, bool) {
	switch p.Exp.Op {
	case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix:
	default:
		return "", false
	}
	if p.Exp.Word != nil {
		for _, part := range p.Exp.Word.Parts {
			if _, ok := part.(*syntax.Lit); !ok {
				return "", false
			}
		}
	}
	env := expand.FuncEnviron(func(string) string { return value })
	text, err := expand.Literal(&expand.Config{Env: env}, &syntax.Word{Parts: []syntax.WordPart{&syntax.DblQuoted{Parts: []syntax.WordPart{p}}}})
	return text, err == nil
}

// literal takes the backslashes out of plain text.
func literal(s string, quoted, begins bool) word {
	w := word{known: true, tilde: begins && !quoted && strings.HasPrefix(s, "~")}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\\' && i+1 < len(s) {
			next := s[i+1]
			if !quoted || strings.IndexByte("$`\"\\\n", next) >= 0 {
				i++
				if next != '\n' {
					b.WriteByte(next)
				}
				continue
			}
		}
		if !quoted && strings.IndexByte("*?[{", c) >= 0 {
			w.bare = true
		}
		b.WriteByte(c)
	}
	w.text = b.String()
	return w
}

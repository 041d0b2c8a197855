package telegram

import (
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Entity is a piece of formatting, counted in UTF-16 units as Telegram does.
type Entity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"`
	Length   int    `json:"length"`
	URL      string `json:"url,omitempty"`
	Language string `json:"language,omitempty"`
}

// tags are the names that the HTML mode knows and the entity each makes
// (https://core.telegram.org/bots/api#html-style, read November 2026).
var tags = map[string]string{
	"b": "bold", "strong": "bold", "i": "italic", "em": "italic", "u": "underline", "ins": "underline",
	"s": "strikethrough", "strike": "strikethrough", "del": "strikethrough", "tg-spoiler": "spoiler", "span": "spoiler",
	"a": "text_link", "code": "code", "pre": "pre", "blockquote": "blockquote", "tg-emoji": "custom_emoji",
}

// openTag is a tag whose end was not seen yet.
type openTag struct {
	name, arg  string
	start      int // UTF-16 offset of the text
	byteOffset int // of the tag in the source
}

// htmlParser turns Telegram's HTML into text and entities.
type htmlParser struct {
	src      string
	pos      int
	text     strings.Builder
	size     int // of text, in UTF-16 units
	open     []openTag
	entities []Entity
}

// parseHTML reads text the way the Bot API does and refuses it with the same
// words.
func parseHTML(src string) (string, []Entity, *apiError) {
	p := htmlParser{src: src}
	for p.pos < len(src) {
		var e *apiError
		switch src[p.pos] {
		case '<':
			e = p.tag()
		case '&':
			p.reference()
		default:
			n := strings.IndexAny(src[p.pos:], "<&")
			if n < 0 {
				n = len(src) - p.pos
			}
			p.write(src[p.pos : p.pos+n])
			p.pos += n
		}
		if e != nil {
			return "", nil, e
		}
	}
	if n := len(p.open); n > 0 {
		return "", nil, cantParse("Can't find end tag corresponding to start tag %q", p.open[n-1].name)
	}
	return p.text.String(), p.entities, nil
}

func cantParse(format string, args ...any) *apiError {
	return badRequest("can't parse entities: "+format, args...)
}

func (p *htmlParser) write(s string) {
	p.text.WriteString(s)
	p.size += units(s)
}

// reference reads &amp; and the like. What Telegram does not know stays as it
// is written.
func (p *htmlParser) reference() {
	end := strings.IndexByte(p.src[p.pos:], ';')
	if end > 0 && end < 12 {
		ref := p.src[p.pos : p.pos+end+1]
		switch name := ref[1:end]; {
		case name == "lt", name == "gt", name == "amp", name == "quot", strings.HasPrefix(name, "#"):
			if text := html.UnescapeString(ref); text != ref {
				p.write(text)
				p.pos += len(ref)
				return
			}
		}
	}
	p.write("&")
	p.pos++
}

func (p *htmlParser) tag() *apiError {
	begin := p.pos
	end := strings.IndexByte(p.src[begin:], '>')
	if end < 0 {
		if strings.HasPrefix(p.src[begin:], "</") {
			return cantParse("Unclosed end tag at byte offset %d", begin)
		}
		return cantParse("Unclosed start tag at byte offset %d", begin)
	}
	inner := p.src[begin+1 : begin+end]
	p.pos = begin + end + 1
	if name, ok := strings.CutPrefix(inner, "/"); ok {
		return p.endTag(strings.ToLower(strings.TrimSpace(name)), begin)
	}
	name, rest, _ := strings.Cut(inner, " ")
	name = strings.ToLower(name)
	if _, ok := tags[name]; !ok {
		return cantParse("Unsupported start tag %q at byte offset %d", name, begin)
	}
	attrs, e := attributes(name, rest, begin)
	if e != nil {
		return e
	}
	open := openTag{name: name, start: p.size, byteOffset: begin}
	switch name {
	case "a":
		open.arg = attrs["href"]
	case "code":
		open.arg = strings.TrimPrefix(attrs["class"], "language-")
	case "span":
		if attrs["class"] != "tg-spoiler" {
			return cantParse(`Tag "span" must have class "tg-spoiler" at byte offset %d`, begin)
		}
	case "blockquote":
		if _, ok := attrs["expandable"]; ok {
			open.arg = "expandable"
		}
	}
	p.open = append(p.open, open)
	return nil
}

// attributes reads name=value pairs; a value may stand in quotes or alone, and
// may be missing.
func attributes(tag, s string, at int) (map[string]string, *apiError) {
	found := map[string]string{}
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		n := strings.IndexFunc(s, func(r rune) bool { return r == '=' || unicode.IsSpace(r) })
		if n == 0 {
			return nil, cantParse("Empty attribute name in the tag %q at byte offset %d", tag, at)
		}
		if n < 0 || s[n] != '=' {
			name, rest, _ := strings.Cut(s, " ")
			found[strings.ToLower(name)], s = "", rest
			continue
		}
		name := strings.ToLower(s[:n])
		s = strings.TrimSpace(s[n+1:])
		if s == "" {
			return nil, cantParse("Expected attribute value in the tag %q at byte offset %d", tag, at)
		}
		if q := s[0]; q == '"' || q == '\'' {
			end := strings.IndexByte(s[1:], q)
			if end < 0 {
				return nil, cantParse("Unclosed start tag at byte offset %d", at)
			}
			found[name], s = html.UnescapeString(s[1:1+end]), s[end+2:]
			continue
		}
		value, rest, _ := strings.Cut(s, " ")
		found[name], s = value, rest
	}
	return found, nil
}

func (p *htmlParser) endTag(name string, at int) *apiError {
	n := len(p.open)
	if n == 0 {
		return cantParse("Unexpected end tag at byte offset %d", at)
	}
	open := p.open[n-1]
	if name != "" && name != open.name {
		return cantParse(`Unmatched end tag at byte offset %d, expected "</%s>", found "</%s>"`, at, open.name, name)
	}
	p.open = p.open[:n-1]
	length := p.size - open.start
	if length == 0 {
		return nil
	}
	ent := Entity{Type: tags[open.name], Offset: open.start, Length: length}
	switch open.name {
	case "a":
		ent.URL = open.arg
		if ent.URL == "" || strings.ContainsAny(ent.URL, " \n") {
			return nil // Telegram shows the words without a link
		}
	case "blockquote":
		if open.arg != "" {
			ent.Type = "expandable_blockquote"
		}
	case "code":
		if open.arg != "" && n > 1 && p.open[n-2].name == "pre" {
			p.open[n-2].arg = open.arg
			return nil
		}
	case "pre":
		ent.Language = open.arg
	}
	p.entities = append(p.entities, ent)
	return nil
}

// units counts as Telegram does: UTF-16 code units.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// text reads a text or caption with its parse_mode, entities applied, spaces
// at both ends gone.
func (req *request) text(name string, limit int, tooLong string) (plain string, entities []Entity, e *apiError) {
	plain = strings.ToValidUTF8(req.params[name], "")
	switch mode := req.params["parse_mode"]; strings.ToLower(mode) {
	case "":
	case "html":
		if plain, entities, e = parseHTML(plain); e != nil {
			return "", nil, e
		}
	default:
		return "", nil, badRequest("unsupported parse_mode %s", strconv.Quote(mode))
	}
	before := units(plain)
	plain = strings.TrimLeftFunc(plain, unicode.IsSpace)
	cut := before - units(plain)
	plain = strings.TrimRightFunc(plain, unicode.IsSpace)
	size := units(plain)
	if size > limit {
		return "", nil, badRequest("%s", tooLong)
	}
	kept := entities[:0]
	for _, ent := range entities {
		ent.Offset = max(0, ent.Offset-cut)
		ent.Length = min(ent.Length, size-ent.Offset)
		if ent.Length > 0 {
			kept = append(kept, ent)
		}
	}
	return plain, kept, nil
}

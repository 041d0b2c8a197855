package lineedit

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// key is what a person pressed; typed text is keyText.
type key int

const (
	keyNone key = iota
	keyText
	keyEnter
	keyNewline // a line break inside of the message
	keyInterrupt
	keyEOF // or delete, when there is text
	keySuspend
	keyBack
	keyDelete
	keyLeft
	keyRight
	keyUp
	keyDown
	keyOlder
	keyNewer
	keyHome
	keyEnd
	keyWordLeft
	keyWordRight
	keyCutWord
	keyCutWordRight
	keyCutBefore
	keyCutAfter
	keyPaste // what was cut
	keyClear
	keyCursor // no key: the terminal's answer where the cursor is
)

// stroke is one key; text belongs to keyText, col (from 0) to keyCursor.
type stroke struct {
	key  key
	text string
	col  int
}

// controls are the keys with Ctrl, and those that send the same.
func controls(b byte) key {
	switch b {
	case '\r', '\n':
		return keyEnter
	case 0x7f, 'H' & 31:
		return keyBack
	case 'A' & 31:
		return keyHome
	case 'B' & 31:
		return keyLeft
	case 'C' & 31:
		return keyInterrupt
	case 'D' & 31:
		return keyEOF
	case 'E' & 31:
		return keyEnd
	case 'F' & 31:
		return keyRight
	case 'K' & 31:
		return keyCutAfter
	case 'L' & 31:
		return keyClear
	case 'N' & 31:
		return keyNewer
	case 'P' & 31:
		return keyOlder
	case 'U' & 31:
		return keyCutBefore
	case 'W' & 31:
		return keyCutWord
	case 'Y' & 31:
		return keyPaste
	case 'Z' & 31:
		return keySuspend
	}
	return keyNone
}

// alt are the keys with Alt.
func alt(r rune) key {
	switch r {
	case '\r', '\n':
		return keyNewline
	case 'b':
		return keyWordLeft
	case 'f':
		return keyWordRight
	case 'd':
		return keyCutWordRight
	case 0x7f, 'H' & 31:
		return keyCutWord
	}
	return keyNone
}

// finals are the sequences told apart by their last byte, and by what stands
// between when that is "~".
func finals(final byte, params string) key {
	number, modifier, _ := strings.Cut(params, ";")
	word := modifier == "5" || modifier == "3" // Ctrl or Alt
	switch final {
	case 'A':
		return keyUp
	case 'B':
		return keyDown
	case 'C':
		return either(word, keyWordRight, keyRight)
	case 'D':
		return either(word, keyWordLeft, keyLeft)
	case 'H':
		return keyHome
	case 'F':
		return keyEnd
	case 'u':
		return either(number == "13", keyNewline, keyNone) // Shift-Enter and the like
	}
	switch number {
	case "1", "7":
		return keyHome
	case "4", "8":
		return keyEnd
	case "3":
		return either(word, keyCutWordRight, keyDelete)
	case "27":
		return either(strings.HasSuffix(modifier, ";13"), keyNewline, keyNone)
	}
	return keyNone
}

func either(first bool, a, b key) key {
	if first {
		return a
	}
	return b
}

const (
	pasteBegins = "200"
	pasteEnds   = "\x1b[201~"
	maxSequence = 64 // bytes of a sequence that no terminal sends
)

// decoder makes strokes of what a terminal sends, however it is cut. What
// stands between the marks of a paste is text, line breaks and all.
type decoder struct {
	rest    []byte
	pasting bool
	cr      bool // the paste's last byte so far was a carriage return
}

func (d *decoder) feed(data []byte) (all []stroke) {
	d.rest = append(d.rest, data...)
	for len(d.rest) > 0 {
		n, s := d.next()
		if n == 0 {
			return all
		}
		d.rest = d.rest[n:]
		if s.key != keyNone {
			all = append(all, s)
		}
	}
	return all
}

// next is the first stroke and how many bytes it took; 0: it is not whole yet.
func (d *decoder) next() (int, stroke) {
	switch b := d.rest[0]; {
	case d.pasting:
		return d.pasted()
	case b == 0x1b:
		return d.escape()
	case b < ' ' && b != '\t' || b == 0x7f:
		return 1, stroke{key: controls(b)}
	}
	n := whole(d.rest)
	if i := bytes.IndexFunc(d.rest[:n], func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }); i >= 0 {
		n = i
	}
	return n, stroke{key: keyText, text: Clean(string(d.rest[:n]))}
}

// whole is how much of data does not end within a character.
func whole(data []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(data); n++ {
		if end := data[len(data)-n:]; utf8.RuneStart(end[0]) {
			if !utf8.FullRune(end) {
				return len(data) - n
			}
			break
		}
	}
	return len(data)
}

// pasted is a piece of a paste. Ctrl-C ends one whose end got lost; no
// terminal sends it within.
func (d *decoder) pasted() (int, stroke) {
	if d.rest[0] == 'C'&31 {
		d.pasting = false
		return 1, stroke{key: keyInterrupt}
	}
	if bytes.HasPrefix(d.rest, []byte(pasteEnds)) {
		d.pasting, d.cr = false, false
		return len(pasteEnds), stroke{key: keyText} // nothing more, but now it is shown
	}
	n := whole(d.rest)
	if i := bytes.IndexByte(d.rest, 'C'&31); i >= 0 {
		n = min(n, i)
	}
	if i := bytes.IndexByte(d.rest[:n], 0x1b); i > 0 {
		n = i
	} else if i == 0 {
		if strings.HasPrefix(pasteEnds, string(d.rest[:n])) {
			return 0, stroke{}
		}
		n = 1 // an escape within the text
	}
	if n == 0 {
		return 0, stroke{}
	}
	text := string(d.rest[:n])
	if d.cr {
		text = strings.TrimPrefix(text, "\n")
	}
	d.cr = strings.HasSuffix(text, "\r")
	return n, stroke{key: keyText, text: Clean(text)}
}

func (d *decoder) escape() (int, stroke) {
	if len(d.rest) == 1 {
		return 0, stroke{}
	}
	switch d.rest[1] {
	case 0x1b:
		return 1, stroke{}
	case 'O':
		if len(d.rest) < 3 {
			return 0, stroke{}
		}
		return 3, stroke{key: finals(d.rest[2], "")}
	case '[':
		return d.sequence()
	}
	if !utf8.FullRune(d.rest[1:]) {
		return 0, stroke{}
	}
	r, n := utf8.DecodeRune(d.rest[1:])
	return 1 + n, stroke{key: alt(r)}
}

func (d *decoder) sequence() (int, stroke) {
	i := bytes.IndexFunc(d.rest[2:], func(r rune) bool { return r >= '@' && r <= '~' })
	switch {
	case i < 0 && len(d.rest) > maxSequence:
		return len(d.rest), stroke{}
	case i < 0:
		return 0, stroke{}
	}
	params, final := string(d.rest[2:2+i]), d.rest[2+i]
	switch {
	case final == '~' && params == pasteBegins:
		d.pasting = true
		return 3 + i, stroke{}
	case final == 'R':
		_, col, _ := strings.Cut(params, ";")
		if n, err := strconv.Atoi(col); err == nil {
			return 3 + i, stroke{key: keyCursor, col: n - 1}
		}
		return 3 + i, stroke{}
	}
	return 3 + i, stroke{key: finals(final, params)}
}

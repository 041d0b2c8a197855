// Package charset reads text that is not UTF-8: files and outputs of commands in
// the encodings that are met in practice. What stands for bytes in which nothing
// is marked is a guess, and is said to be one.
package charset

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

// Names lists what Named knows.
const Names = "utf-8, utf-16, utf-16le, utf-16be, gbk, gb18030, big5 or latin1"

// Named is the encoding of that name; nil is unknown.
func Named(name string) encoding.Encoding {
	switch strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name)) {
	case "utf8":
		return unicode.UTF8BOM
	case "utf16", "utf16be":
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	case "utf16le":
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case "gbk", "gb2312", "gb18030": // the last holds the others
		return simplifiedchinese.GB18030
	case "big5":
		return traditionalchinese.Big5
	case "latin1", "iso88591":
		return charmap.ISO8859_1
	}
	return nil
}

// Marked tells the encoding by the mark at the beginning of a text; nil: there is
// none.
func Marked(head []byte) (enc encoding.Encoding, name string) {
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		return unicode.UTF8BOM, "utf-8 with byte order mark"
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return Named("utf-16"), "utf-16"
	}
	return nil, ""
}

// IsUTF8 says whether bytes are UTF-8 but for a character that is cut at the end.
func IsUTF8(head []byte) bool {
	for cut := range min(utf8.UTFMax, len(head)+1) {
		if utf8.Valid(head[:len(head)-cut]) {
			return true
		}
	}
	return false
}

// Candidates are what text that is neither marked nor UTF-8 may be written in,
// the likeliest first.
func Candidates(head []byte) []string {
	var all []string
	chinese, big5 := pairs(head)
	if decodes(simplifiedchinese.GB18030, head) {
		all = append(all, "gbk")
	}
	if decodes(traditionalchinese.Big5, head) {
		if all = append(all, "big5"); len(all) == 2 && big5 > chinese {
			all[0], all[1] = all[1], all[0]
		}
	}
	return append(all, "latin1")
}

// pairs counts which of the bytes beyond ASCII could be the usual characters of
// either Chinese encoding, a byte and the one behind it. In GB2312 the second is
// beyond ASCII as well; in Big5 the common characters begin with A4 to C6.
func pairs(text []byte) (chinese, big5 int) {
	for i := 0; i+1 < len(text); i++ {
		a, b := text[i], text[i+1]
		if a < utf8.RuneSelf {
			continue
		}
		if a >= 0xb0 && a <= 0xf7 && b >= 0xa1 || a >= 0xa1 && a <= 0xa3 && b >= 0xa1 {
			chinese++
		}
		if a >= 0xa1 && a <= 0xc6 && (b >= 0x40 && b <= 0x7e || b >= 0xa1) {
			big5++
		}
		i++
	}
	return chinese, big5
}

// decodes says whether bytes mean something in an encoding, but for a character
// that is cut at the end.
func decodes(enc encoding.Encoding, head []byte) bool {
	out, err := enc.NewDecoder().Bytes(head)
	if err != nil {
		return false
	}
	wrong := bytes.Count(out, []byte("\uFFFD"))
	return wrong == 0 || wrong == 1 && bytes.HasSuffix(out, []byte("\uFFFD"))
}

// Guess decodes the lines of a text that are not UTF-8, and names what they were
// taken for; "" is that all of them are UTF-8. Lines of several encodings may
// stand in one text: programs write into the same stream.
func Guess(text []byte) (decoded, name string) {
	if enc, marked := Marked(text); enc != nil && !utf8.Valid(text) {
		if out, err := enc.NewDecoder().Bytes(text); err == nil {
			return string(out), marked
		}
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	var odd []byte
	for _, line := range lines {
		if !IsUTF8(line) {
			odd = append(odd, line...)
		}
	}
	switch {
	case len(odd) == 0:
		return strings.ToValidUTF8(string(text), "\uFFFD"), ""
	case bytes.IndexByte(text, 0) >= 0 || noText(odd):
		return replaced(text), "binary"
	}
	name = Candidates(odd)[0]
	var b strings.Builder
	for _, line := range lines {
		if out, err := Named(name).NewDecoder().Bytes(line); !IsUTF8(line) && err == nil {
			b.Write(out)
		} else {
			b.WriteString(strings.ToValidUTF8(string(line), "\uFFFD"))
		}
	}
	return b.String(), name
}

// noText says whether bytes hold control characters that no text has.
func noText(text []byte) bool {
	return bytes.ContainsFunc(text, func(r rune) bool { return r < ' ' && !strings.ContainsRune("\a\b\t\n\v\f\r\x1b", r) })
}

// replaced writes a sign for each byte that is no UTF-8; ToValidUTF8 writes one
// for a whole run, in which all would vanish.
func replaced(text []byte) string {
	return string(bytes.Map(func(r rune) rune { return r }, text))
}

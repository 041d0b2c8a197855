package page

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// sniffBytes is where browsers look for a document's own word on its charset.
const sniffBytes = 1024

// Decode makes UTF-8 of a text as a server sent it. The charset is told by the
// byte order mark, the server, the document, or the bytes themselves, in this
// order; name is what was used.
func Decode(body []byte, contentType string) (text, name string) {
	enc, name, certain := charset.DetermineEncoding(body[:min(len(body), sniffBytes)], contentType)
	if !certain && name == "windows-1252" { // nobody has said anything: the whole decides
		switch {
		case utf8.Valid(body):
			return string(body), "utf-8"
		case inPairs(body) && decodes(simplifiedchinese.GB18030, body):
			enc, name = simplifiedchinese.GB18030, "gb18030"
		}
	}
	if name == "utf-8" {
		return strings.ToValidUTF8(string(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))), "\uFFFD"), name
	}
	out, _, err := transform.Bytes(unicode.BOMOverride(enc.NewDecoder()), body)
	if err != nil {
		return strings.ToValidUTF8(string(body), "\uFFFD"), "unknown"
	}
	return string(out), name
}

// inPairs says whether bytes over 127 mostly come in twos, as in Chinese; in
// Western languages they stand between letters.
func inPairs(body []byte) bool {
	pairs, single := 0, 0
	for i := 0; i < len(body); i++ {
		switch {
		case body[i] < utf8.RuneSelf:
		case i+1 < len(body) && body[i+1] >= utf8.RuneSelf:
			pairs++
			i++
		default:
			single++
		}
	}
	return pairs > 4*single
}

// decodes says whether bytes mean something in an encoding, but for a
// character that is cut at the end.
func decodes(enc encoding.Encoding, body []byte) bool {
	out, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		return false
	}
	wrong := bytes.Count(out, []byte("\uFFFD"))
	return wrong == 0 || wrong == 1 && bytes.HasSuffix(out, []byte("\uFFFD"))
}

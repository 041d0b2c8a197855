package fs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

// sniffed is how much of a file decides what it is.
const sniffed = 64 << 10

// content is a file as text, or what to say of a binary one.
type content struct {
	reader   io.Reader // UTF-8
	encoding string
	binary   string
}

// decoder finds out how a file is written. want is the encoding that the
// caller knows of, "" for none.
func decoder(file *os.File, name, want string) (content, error) {
	head := make([]byte, sniffed)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return content{}, fmt.Errorf("read %q: %w", name, err)
	}
	head = head[:n]
	whole := io.MultiReader(bytes.NewReader(head), file)
	if want != "" {
		enc, err := encodingOf(want)
		if err != nil {
			return content{}, err
		}
		return content{reader: enc.NewDecoder().Reader(whole), encoding: strings.ToLower(want)}, nil
	}
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		return content{reader: unicode.UTF8BOM.NewDecoder().Reader(whole), encoding: "utf-8 with byte order mark"}, nil
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return content{reader: utf16(unicode.BigEndian).NewDecoder().Reader(whole), encoding: "utf-16"}, nil
	case bytes.IndexByte(head, 0) >= 0:
		return content{binary: binary(file, name, head)}, nil
	case validStart(head): // before the sniffing of types, which takes "BMW …" for a picture
		return content{reader: whole, encoding: "utf-8"}, nil
	case !isText(head):
		return content{binary: binary(file, name, head)}, nil
	case decodes(simplifiedchinese.GB18030, head):
		return content{reader: simplifiedchinese.GB18030.NewDecoder().Reader(whole), encoding: "gbk (guessed; give encoding if it is another)"}, nil
	}
	return content{reader: whole, encoding: "unknown; bytes that are no UTF-8 are shown as \uFFFD, give encoding if you know it"}, nil
}

func encodingOf(name string) (encoding.Encoding, error) {
	switch strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name)) {
	case "utf8":
		return unicode.UTF8BOM, nil
	case "utf16":
		return utf16(unicode.BigEndian), nil
	case "utf16le":
		return utf16(unicode.LittleEndian), nil
	case "utf16be":
		return utf16(unicode.BigEndian), nil
	case "gbk", "gb2312":
		return simplifiedchinese.GBK, nil
	case "gb18030":
		return simplifiedchinese.GB18030, nil
	case "big5":
		return traditionalchinese.Big5, nil
	case "latin1", "iso88591":
		return charmap.ISO8859_1, nil
	}
	return nil, unknownEncoding(name, "utf-8, utf-16, utf-16le, utf-16be, gbk, gb18030, big5 or latin1")
}

func utf16(order unicode.Endianness) encoding.Encoding { return unicode.UTF16(order, unicode.UseBOM) }

// isText says whether the sniffed type is text of some kind.
func isText(head []byte) bool {
	for m := mimetype.Detect(head); m != nil; m = m.Parent() {
		if m.Is("text/plain") {
			return true
		}
	}
	return false
}

// validStart says whether the bytes are UTF-8 but for a rune cut at the end.
func validStart(head []byte) bool {
	for cut := range min(utf8.UTFMax, len(head)+1) {
		if utf8.Valid(head[:len(head)-cut]) {
			return true
		}
	}
	return false
}

// decodes says whether the bytes mean something in an encoding, but for a
// character cut at the end.
func decodes(enc encoding.Encoding, head []byte) bool {
	out, err := enc.NewDecoder().Bytes(head)
	if err != nil {
		return false
	}
	wrong := bytes.Count(out, []byte("\uFFFD"))
	return wrong == 0 || wrong == 1 && bytes.HasSuffix(out, []byte("\uFFFD"))
}

// sniff tells the MIME type of a file by how it begins.
func sniff(file *os.File) (string, error) {
	head := make([]byte, sniffed)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", err
	}
	return mimetype.Detect(head[:n]).String(), nil
}

func binary(file *os.File, name string, head []byte) string {
	bytesOf := int64(len(head))
	if info, err := file.Stat(); err == nil {
		bytesOf = info.Size()
	}
	return fmt.Sprintf("%s is a binary file: %s, %d bytes (%s). It is not shown as text.", name, mimetype.Detect(head), bytesOf, size(bytesOf))
}

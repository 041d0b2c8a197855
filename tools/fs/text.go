package fs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gabriel-vasile/mimetype"

	"magpie/tools/fs/charset"
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
		enc := charset.Named(want)
		if enc == nil {
			return content{}, unknownEncoding(want, charset.Names)
		}
		return content{reader: enc.NewDecoder().Reader(whole), encoding: strings.ToLower(want)}, nil
	}
	names, binary := written(head)
	switch {
	case binary:
		return content{binary: binaryText(file, name, head)}, nil
	case names == nil:
		return content{reader: whole, encoding: "utf-8"}, nil
	}
	if enc, marked := charset.Marked(head); enc != nil {
		return content{reader: enc.NewDecoder().Reader(whole), encoding: marked}, nil
	}
	return content{reader: charset.Named(names[0]).NewDecoder().Reader(whole), encoding: names[0] + " (guessed; give encoding if it is another)"}, nil
}

// written tells by the beginning of a file in what it may be written, the
// likeliest first; none is UTF-8.
func written(head []byte) (encodings []string, binary bool) {
	if enc, _ := charset.Marked(head); enc != nil {
		if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
			return []string{"utf-8"}, false
		}
		return []string{"utf-16"}, false
	}
	switch {
	case bytes.IndexByte(head, 0) >= 0:
		return nil, true
	case charset.IsUTF8(head): // before the sniffing of types, which takes "BMW …" for a picture
		return nil, false
	case !isText(head):
		return nil, true
	}
	return charset.Candidates(head), false
}

// isText says whether the sniffed type is text of some kind.
func isText(head []byte) bool {
	for m := mimetype.Detect(head); m != nil; m = m.Parent() {
		if m.Is("text/plain") {
			return true
		}
	}
	return false
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

func binaryText(file *os.File, name string, head []byte) string {
	bytesOf := int64(len(head))
	if info, err := file.Stat(); err == nil {
		bytesOf = info.Size()
	}
	return fmt.Sprintf("%s is a binary file: %s, %d bytes (%s). It is not shown as text.", name, mimetype.Detect(head), bytesOf, size(bytesOf))
}

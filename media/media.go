// Package media keeps the files that travel with messages: the Store they
// stand in, the true type of a file whatever its name says, clean file names,
// and pictures made small enough for a model. It knows no platform and starts
// no goroutine; package bus implements Store durably, Memory is for tests.
package media

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"

	"magpie/chat"
)

// ErrNotFound: there is no file under that reference, or its time is over.
var ErrNotFound = errors.New("file not found in the media store")

// Store keeps files. Safe for concurrent use.
type Store interface {
	// Put reads r to its end and stores the bytes; when r or ctx fails
	// nothing is kept. Two files with the same name get two references.
	Put(ctx context.Context, name, mime string, r io.Reader) (ref string, size int64, err error)
	// Open gives the bytes of ref, or ErrNotFound.
	Open(ctx context.Context, ref string) (io.ReadCloser, error)
}

// sniffBytes is how much of a file's beginning decides its type.
const sniffBytes = 3072

// Sniff tells the true MIME type of what r holds, without parameters, and
// gives back a reader that starts at the beginning again. "" at the end of an
// empty file. Errors of r come from the returned reader.
func Sniff(r io.Reader) (mime string, whole io.Reader) {
	head := make([]byte, sniffBytes)
	n, err := io.ReadFull(r, head)
	head = head[:n]
	whole = io.MultiReader(strings.NewReader(string(head)), r)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		whole = io.MultiReader(strings.NewReader(string(head)), failing{err})
	}
	if n == 0 {
		return "", whole
	}
	mime, _, _ = strings.Cut(mimetype.Detect(head).String(), ";")
	return mime, whole
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// Extension is the usual file name ending of a MIME type with its dot, or "".
func Extension(mime string) string {
	if m := mimetype.Lookup(mime); m != nil {
		return m.Extension()
	}
	return ""
}

// KindOf tells what kind of attachment a MIME type makes.
func KindOf(mime string) chat.Kind {
	switch major, _, _ := strings.Cut(mime, "/"); major {
	case "image":
		if mime == "image/svg+xml" { // text that no platform shows as a picture
			return chat.File
		}
		return chat.Image
	case "audio":
		return chat.Audio
	case "video":
		return chat.Video
	}
	return chat.File
}

// maxName is how long a file name may be, in bytes; file systems stop at 255.
const maxName = 120

// CleanName makes a name from outside safe as the last part of a path on any
// system: no directories, no control or reserved characters, no leading dot,
// at most 120 bytes with its ending kept. What is left of nothing is "file".
func CleanName(name string) string {
	name = strings.ToValidUTF8(name, "")
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		case strings.ContainsRune(`<>:"|?*`, r):
			return '_'
		}
		return r
	}, name)
	name = strings.Trim(name, " .")
	if len(name) > maxName {
		ext := filepath.Ext(name)
		if len(ext) > 16 {
			ext = ""
		}
		// The cut may fall behind a blank or a dot.
		name = strings.TrimRight(cutBytes(name[:len(name)-len(ext)], maxName-len(ext)), " .") + ext
	}
	if name == "" {
		return "file"
	}
	return name
}

// cutBytes shortens s to at most n bytes without cutting a rune.
func cutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

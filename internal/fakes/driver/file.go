package driver

import "strings"

// File is a file with its bytes.
type File struct {
	Kind       Kind // "" = as the platform's own client takes the type
	Name, MIME string
	Data       []byte
	Words      string // what a platform that listens understands of a Voice
}

// Kind is a kind of file, in the bot's words.
type Kind string

// The kinds.
const (
	Image    Kind = "image"
	Audio    Kind = "audio"
	Voice    Kind = "voice" // recorded speech
	Video    Kind = "video"
	Document Kind = "file"
	Sticker  Kind = "sticker"
)

// Is says whether the file is of that kind by its type, such as Image.
func (f File) Is(kind Kind) bool { return strings.HasPrefix(f.MIME, string(kind)+"/") }

// Kinds are a platform's names for the kinds that it has.
type Kinds map[Kind]string

// Name is what the platform calls the kind of a file: a document is what it has
// no other name for.
func (k Kinds) Name(f File) string {
	kind := f.Kind
	for _, by := range []Kind{Image, Audio, Video} {
		if kind == "" && f.Is(by) {
			kind = by
		}
	}
	if name, ok := k[kind]; ok {
		return name
	}
	return k[Document]
}

// Named is the kind that the platform calls so, "" if there is none.
func (k Kinds) Named(name string) Kind {
	for kind, n := range k {
		if n == name {
			return kind
		}
	}
	return ""
}

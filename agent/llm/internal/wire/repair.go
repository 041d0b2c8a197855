package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"magpie/agent/llm"
)

// What stands where a message would be empty, which vendors refuse.
const (
	NoOutput = "(no output)"
	NoText   = "(no text)"
)

// maxName is the longest name of a tool in bytes.
const maxName = 64

// Object is a call's arguments as a JSON object: args itself when it is one,
// an empty object for nothing, else an object that holds the text, so that the
// model sees what it wrote.
func Object(args string) json.RawMessage {
	var m map[string]json.RawMessage
	var out bytes.Buffer
	switch {
	case strings.TrimSpace(args) == "":
		return json.RawMessage("{}")
	case json.Unmarshal([]byte(args), &m) == nil && m != nil && json.Compact(&out, []byte(args)) == nil:
		return out.Bytes()
	}
	raw, err := json.Marshal(map[string]string{"_invalid_arguments": args})
	if err != nil { // a map of strings always encodes
		return json.RawMessage("{}")
	}
	return raw
}

// Name is a tool's name in the characters that vendors take.
func Name(name string) string {
	name = strings.Map(legal, name)
	if name == "" {
		return "unknown"
	}
	return name[:min(len(name), maxName)]
}

// ID is a call's id in the characters that vendors take. Different ids stay
// different.
func ID(id string) string {
	clean := strings.Map(legal, id)
	if clean == id && id != "" {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return clean[:min(len(clean), maxName)] + "_" + hex.EncodeToString(sum[:4])
}

func legal(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
		return r
	default:
		return '_'
	}
}

// imageTypes are the pictures that both vendors take.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// Picture is an image ready for a vendor.
type Picture struct {
	MIME string
	Data string // base64
}

// Pictures prepares a message's images. What cannot be shown is told in notes,
// one line each.
func Pictures(images []llm.Image, vision bool) (list []Picture, notes []string) {
	for _, im := range images {
		switch {
		case !vision:
			notes = append(notes, "[an image was left out: this model cannot see images]")
		case len(im.Data) == 0:
			notes = append(notes, "[an image is no longer available]")
		case !slices.Contains(imageTypes, im.MIME):
			notes = append(notes, "[an image was left out: "+im.MIME+" is not supported by models]")
		default:
			list = append(list, Picture{im.MIME, base64.StdEncoding.EncodeToString(im.Data)})
		}
	}
	return list, notes
}

// WithNotes joins a text and notes, a line each.
func WithNotes(text string, notes []string) string {
	if len(notes) == 0 {
		return text
	}
	return strings.TrimLeft(text+"\n"+strings.Join(notes, "\n"), "\n")
}

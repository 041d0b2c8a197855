package fence

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"magpie/internal/fold"
)

// Shown writes a path for people and models: a name that holds what is not seen,
// such as a line feed or a mark that turns the direction of writing, stands in
// quotes with escapes, so that no name can look like another entry of a list.
// Every method of a Fence takes such a path as well.
func Shown(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		if odd(part) {
			parts[i] = strconv.QuoteToGraphic(part)
		}
	}
	return strings.Join(parts, "/")
}

// odd says whether a name cannot be shown as it is.
func odd(name string) bool {
	return !utf8.ValidString(name) || strings.TrimSpace(name) != name || strings.Contains(name, `\`) ||
		len(name) > 1 && name[0] == '"' && name[len(name)-1] == '"' ||
		strings.ContainsFunc(name, func(r rune) bool {
			const nonJoiner, joiner = '\u200c', '\u200d' // part of words and of pictures
			return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) && r != nonJoiner && r != joiner
		})
}

// meant takes back what Shown has done.
func meant(name string) string {
	if !strings.Contains(name, `"`) {
		return name
	}
	parts := strings.Split(name, "/")
	for i, part := range parts {
		if plain, err := strconv.Unquote(part); err == nil && part[0] == '"' && Shown(plain) == part {
			parts[i] = plain
		}
	}
	return strings.Join(parts, "/")
}

// mostNames bounds the look for a name in a folder.
const mostNames = 20_000

// spelled gives the parts of a path the spelling that they have on the disk: é
// is one letter or two, depending on the system that has made the file, and
// people see no difference. What is there as it was written stays.
func (p place) spelled() place {
	for i, part := range p.parts {
		if _, err := p.root.dir.Lstat(path.Join(p.parts[:i+1]...)); err == nil {
			continue
		}
		if !strings.ContainsFunc(part, func(r rune) bool { return r >= utf8.RuneSelf }) {
			return p
		}
		dir, err := p.root.dir.Open(path.Join(append([]string{"."}, p.parts[:i]...)...))
		if err != nil {
			return p
		}
		names, _ := dir.Readdirnames(mostNames) // those read before an error are good
		dir.Close()                             // opened for reading
		at := slices.IndexFunc(names, func(n string) bool { return fold.Same(n) == fold.Same(part) })
		if at < 0 {
			return p
		}
		p.parts = slices.Clone(p.parts)
		p.parts[i] = names[at]
	}
	return p
}

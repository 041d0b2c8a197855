package egress

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"magpie/internal/links"
)

const (
	// window is how many characters in a row are too many.
	window = 16
	// distinct is how many different ones of them say something: a row of zeros
	// stands in many addresses.
	distinct = 5
	// maxAddress bounds what is looked through; longer ones carry too much.
	maxAddress = 8 << 10
	// maxSpelled bounds all spellings of one address together.
	maxSpelled = 1 << 20
	// maxPiece is how much of what would leave is shown, in characters.
	maxPiece = 80
)

// Leak is what an address would carry away: a piece of the conversation, of the
// notes, or of what the tool of that name has returned; of "" it is not known.
type Leak struct{ Piece, Of string }

// What text is of that no tool has returned; no tool has such a name.
const (
	Conversation = "the conversation"
	Notes        = "the notes"
)

// Leaks looks whether an address holds a piece of what is to be kept, as it
// stands, without signs and spaces between or with others, backwards, or in
// base64, base32, hex or percent form, also spread over labels, folders and
// parameters. An address that is known does not, and of one that begins like a
// known one only the rest is looked at. What is encrypted, compressed or sent
// letter by letter is not found.
func (v *View) Leaks(address string) (Leak, bool) {
	address, _ = links.Flat(strings.TrimSpace(address))
	if v.known[key(address)] || len(v.parts) == 0 {
		return Leak{}, false
	}
	if len(address) > maxAddress {
		return Leak{Piece: string([]rune(address)[:maxPiece])}, true
	}
	wanted := map[uint64]string{}
	for _, s := range spellings(v.rest(address)) {
		for _, form := range forms(s) {
			slide(form, func(h uint64, piece []rune) bool {
				wanted[h] = string(piece)
				return true
			})
		}
	}
	if len(wanted) == 0 {
		return Leak{}, false
	}
	for _, p := range v.parts {
		for _, form := range forms(p.text) {
			if piece := match(form, wanted); piece != "" {
				return Leak{Piece: piece, Of: p.of}, true
			}
		}
	}
	return Leak{}, false
}

// match is the first piece of text that is wanted, as long as it goes on.
func match(text []rune, wanted map[uint64]string) string {
	var found []rune
	slide(text, func(h uint64, piece []rune) bool {
		same := wanted[h] == string(piece)
		switch {
		case same && found == nil:
			found = slices.Clone(piece)
		case same && len(found) < maxPiece:
			found = append(found, piece[window-1])
		case found != nil:
			return false
		}
		return true
	})
	return strings.TrimSpace(string(found))
}

// slide shows each window of text that says something, with its hash, until see
// returns false.
func slide(text []rune, see func(h uint64, piece []rune) bool) {
	const base = 0x9E3779B97F4A7C15
	var h, gone uint64 = 0, 1
	for range window {
		gone *= base
	}
	for i, r := range text {
		h = h*base + uint64(r) + 1
		if i >= window {
			h -= gone * (uint64(text[i-window]) + 1)
		}
		if i >= window-1 && says(text[i-window+1:i+1]) && !see(h, text[i-window+1:i+1]) {
			return
		}
	}
}

func says(piece []rune) bool {
	n := 0
	for i, r := range piece {
		if r != ' ' && !slices.Contains(piece[:i], r) {
			n++
		}
	}
	return n >= distinct
}

// forms are how a text is compared: its letters and digits in lower case, with
// one space for whatever stands between them, and with none.
func forms(text string) [][]rune {
	spaced, dense := make([]rune, 0, len(text)), make([]rune, 0, len(text))
	for _, r := range text {
		if r = links.Fold(r); r < 0 {
			continue
		}
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) {
			r = unicode.ToLower(r)
			spaced, dense = append(spaced, r), append(dense, r)
		} else if n := len(spaced); n > 0 && spaced[n-1] != ' ' {
			spaced = append(spaced, ' ')
		}
	}
	return [][]rune{spaced, dense}
}

// rest is what of an address is not known yet: what it has in common with a
// known one is left out, and so is a host that is.
func (v *View) rest(address string) string {
	k := key(address)
	host, path := k, ""
	if i := strings.IndexAny(k, "/?#"); i >= 0 {
		host, path = k[:i], k[i:]
	}
	best, hostKnown := 0, v.named(host)
	for known := range v.known {
		n := 0
		for n < len(known) && n < len(k) && known[n] == k[n] {
			n++
		}
		if n == len(known) && n == len(host) || n > len(host) || n == len(host) && strings.IndexByte("/?#", known[n]) >= 0 {
			hostKnown = true
			best = max(best, n-len(host))
		}
	}
	path = path[min(best, len(path)):]
	if hostKnown {
		return path
	}
	return host + path
}

// spellings are what an address may say.
func spellings(address string) []string {
	s := &speller{seen: map[string]bool{}}
	for range 3 {
		s.add(address, 0)
		for _, joined := range spread(address) {
			s.add(joined, 0)
		}
		plain, err := url.QueryUnescape(address)
		if err != nil {
			plain = loose(address)
		}
		if plain == address {
			break
		}
		address = plain
	}
	return s.all
}

// loose resolves the percent forms of a text in which some are wrong.
func loose(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if c, err := hex.DecodeString(text[i+1 : i+3]); err == nil {
				b.Write(c)
				i += 2
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// spread are the parts of an address without what stands between them: the
// labels of its host, the folders of its path, the values of its query, their
// names, and all.
func spread(address string) []string {
	address, query, _ := strings.Cut(address, "?")
	query, fragment, _ := strings.Cut(query, "#")
	host, path, _ := strings.Cut(address, "/")
	var names, values strings.Builder
	for pair := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
		name, value, _ := strings.Cut(pair, "=")
		names.WriteString(name)
		values.WriteString(value)
	}
	folders := strings.ReplaceAll(path, "/", "")
	labels := strings.ReplaceAll(host, ".", "")
	return []string{labels, folders, names.String(), values.String(), folders + values.String(), labels + folders + values.String() + fragment}
}

type speller struct {
	seen map[string]bool
	all  []string
	size int
}

// add takes a text, backwards too, and what it decodes to.
func (s *speller) add(text string, depth int) {
	if len(text) < window || s.seen[text] || s.size > maxSpelled {
		return
	}
	s.seen[text] = true
	s.size += 2 * len(text)
	back := []rune(text)
	slices.Reverse(back)
	s.all = append(s.all, text, string(back))
	if depth > 2 {
		return
	}
	for _, text := range []string{text, string(back)} {
		for _, run := range codes(text) {
			for _, plain := range decoded(run) {
				s.add(plain, depth+1)
			}
		}
	}
}

// codes are what of a text may be encoded: its runs of the letters of base64,
// each signs and all, and all letters and digits of it.
func codes(text string) []string {
	dense := strings.Map(func(r rune) rune {
		if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return -1
	}, text)
	runs := strings.FieldsFunc(text, func(r rune) bool {
		return r >= 0x80 || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("+/-_", r)
	})
	more := strings.FieldsFunc(text, func(r rune) bool { return r >= 0x80 || !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	all := append(append(runs, more...), dense)
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(run string) bool { return len(run) < window })
}

// decoded are the readings of a run, which may begin anywhere in its code.
func decoded(run string) (all []string) {
	keep := func(data []byte) {
		if text := readable(data); len(text) >= window {
			all = append(all, text)
		}
	}
	standard := strings.NewReplacer("-", "+", "_", "/").Replace(run)
	for from := range 4 {
		part := standard[min(from, len(standard)):]
		data := make([]byte, base64.RawStdEncoding.DecodedLen(len(part)))
		n, _ := base64.RawStdEncoding.Decode(data, []byte(part[:len(part)/4*4]))
		keep(data[:n])
		if tail, err := base64.RawStdEncoding.DecodeString(part); err == nil {
			keep(tail)
		}
	}
	digits := strings.ToLower(run)
	for _, part := range strings.FieldsFunc(digits, func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) }) {
		for from := range min(2, len(part)) {
			data, _ := hex.DecodeString(part[from : from+(len(part)-from)/2*2])
			keep(data)
		}
	}
	upper := strings.ToUpper(run)
	for from := range min(8, len(upper)) {
		part := upper[from:]
		data := make([]byte, base32.StdEncoding.DecodedLen(len(part))+8)
		n, _ := base32.StdEncoding.WithPadding(base32.NoPadding).Decode(data, []byte(part))
		keep(data[:n])
	}
	return all
}

// readable is decoded text with a space for what is none; "" when most is none.
func readable(data []byte) string {
	text := strings.ToValidUTF8(string(data), " ")
	good, all := 0, 0
	text = strings.Map(func(r rune) rune {
		all++
		if unicode.IsPrint(r) || r == '\n' || r == '\t' {
			good++
			return r
		}
		return ' '
	}, text)
	if good*2 < all {
		return ""
	}
	return text
}

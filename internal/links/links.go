// Package links finds in a text what some client of a chat makes a link of by
// itself, and says how to write it so that none does. It knows no Markdown and
// no platform.
//
// What is looked for is what the clients look for together: any scheme with
// "://", the schemes that need no slashes, www., names of hosts that end with a
// domain of the top level, addresses of IPv4, mail addresses, and names behind
// an @. Telegram links a name without a scheme when its last label is such a
// domain, and takes everything up to white space for its path, letters of all
// scripts too (tdlib MessageEntity.cpp, read November 2026); what the clients
// of Feishu, DingTalk and QQ link is written nowhere, so that of Telegram and
// of browsers counts for them.
package links

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

//go:embed tlds.txt
var tlds string // of the IANA's list and those kept for private use, read November 2026

var top = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, name := range strings.Fields(tlds) {
		all[name] = true
	}
	return all
})

// Edit is a place to be written otherwise.
type Edit struct {
	From, To int // bytes
	Text     string
}

// Found is one thing that would be linked.
type Found struct {
	From, To int
	// Targets are what it may lead to, the longest first: where clients differ
	// about where it ends, there are several. A name without a scheme stands as
	// it was found, a mail address behind "mailto:", a name behind "@".
	Targets []Target
	// Defang are the edits after which nothing links it.
	Defang []Edit
	// File: it is more likely the name of a file, such as README.md.
	File bool
}

// Target is one reading of a Found.
type Target struct {
	To   int // where it ends
	Text string
}

// Fold is the rune that clients may take r for: fullwidth forms are ASCII, and
// what shows nothing is nothing (-1).
func Fold(r rune) rune {
	switch {
	case r >= 0xFF01 && r <= 0xFF5E:
		return r - 0xFEE0
	case r == 0xFF61:
		return '.'
	case r == 0x034F, r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0100 && r <= 0xE01EF, r == 0x115F, r == 0x1160, r == 0x3164,
		unicode.Is(unicode.Cf, r), r < ' ' && r != '\n' && r != '\t', r == 0x7F:
		return -1
	}
	return r
}

// bare are the schemes that are linked, or do something, without "//".
const bareSchemes = " mailto tel sms smsto data javascript vbscript magnet xmpp sip sips skype facetime callto tg geo intent bitcoin whatsapp weixin view-source blob file about matrix "

// fileEnds are domains of the top level that files end with more often.
const fileEnds = " md py sh rs pl pm cc ps so zip mov la ml mm "

// notHosts are what files and code end with, of those that are no domains.
const notHosts = " js ts jsx tsx mjs cjs go c h cpp hpp cxx java kt rb php lua css scss html htm xml json jsonl yaml yml toml ini conf cfg log txt csv tsv lock sum exe dll jar war class bin iso img dmg deb rpm apk gz tgz tar bz2 xz 7z rar doc docx xls xlsx ppt pptx odt pdf png jpg jpeg gif svg webp bmp ico mp3 mp4 m4a wav ogg webm avi mkv ttf woff sql db sqlite bak tmp diff patch proto mod net "

// Find finds everything in text, in order and without overlaps. In code only
// what has a scheme, "www." or a path is linked by anybody: code that says
// os.path or README.md is to stay as it is.
func Find(text string, code bool) []Found {
	s := scan{text: text, code: code}
	for s.at < len(text) {
		if f, ok := s.here(); ok {
			s.out = append(s.out, f)
			s.at = max(f.To, s.at+1)
			continue
		}
		_, n := utf8.DecodeRuneInString(text[s.at:])
		s.at += n
	}
	return s.out
}

type scan struct {
	text string
	code bool
	at   int
	out  []Found
}

// here is what begins at s.at.
func (s *scan) here() (Found, bool) {
	c := s.text[s.at]
	if isLetter(c) && !s.after(isLetter) {
		if f, ok := s.scheme(); ok {
			return f, true
		}
	}
	if c == '@' && !s.code {
		if f, ok := s.mention(); ok {
			return f, true
		}
	}
	if s.labelStart() {
		return s.host()
	}
	return Found{}, false
}

// after reports whether the byte before s.at is of that kind.
func (s *scan) after(is func(byte) bool) bool { return s.at > 0 && is(s.text[s.at-1]) }

// scheme finds scheme://… and scheme:… .
func (s *scan) scheme() (Found, bool) {
	rest := s.text[s.at:]
	n := 0
	for n < len(rest) && (isLetter(rest[n]) || n > 0 && (isDigit(rest[n]) || rest[n] == '+' || rest[n] == '-')) {
		n++
	}
	if n < 2 || n >= len(rest) || rest[n] != ':' {
		return Found{}, false
	}
	name := strings.ToLower(rest[:n])
	end := s.at + n + 1
	slashes := strings.HasPrefix(s.text[end:], "//")
	if !slashes && (s.code || !strings.Contains(bareSchemes, " "+name+" ")) {
		return Found{}, false
	}
	to := end + run(s.text[end:])
	if slashes {
		end += 2
	}
	if to <= end {
		return Found{}, false
	}
	f := Found{From: s.at, To: to, Targets: targets(s.text, s.at, to, "")}
	switch {
	case slashes && (name == "http" || name == "https"):
		f.Defang = []Edit{{s.at, end, ""}} // what is left reads well
	default:
		f.Defang = []Edit{{s.at + n, s.at + n + 1, "[:]"}}
	}
	f.Defang = append(f.Defang, s.dots(end, to, slashes)...)
	return f, true
}

// dots breaks the names of hosts, and mail addresses, in what stands between.
// authority: it begins with that of a URL, which is broken whatever it is.
func (s *scan) dots(from, to int, authority bool) (all []Edit) {
	part := s.text[from:to]
	if authority {
		end := strings.IndexAny(part, `/?#\`)
		if end < 0 {
			end = len(part)
		}
		for i, r := range part[:end] {
			next, _ := utf8.DecodeRuneInString(part[i+utf8.RuneLen(r):])
			if (r == '.' || r == '。') && isLabel(next) || r == '@' {
				all = append(all, bracket(from+i, r))
			}
		}
		from, part = from+end, part[end:]
		if end > 0 && s.text[from-1] == ':' && strings.HasPrefix(part, "//") { // it was another scheme
			return append(append(all, bracket(from-1, ':')), s.dots(from+2, to, true)...)
		}
	}
	inner := scan{text: part, code: s.code}
	for inner.at < len(part) {
		if f, ok := inner.here(); ok {
			for _, e := range f.Defang {
				all = append(all, Edit{from + e.From, from + e.To, e.Text})
			}
			inner.at = max(f.To, inner.at+1)
			continue
		}
		inner.at++
	}
	return all
}

func bracket(at int, r rune) Edit { return Edit{at, at + utf8.RuneLen(r), "[" + string(r) + "]"} }

// labelStart reports whether a label of a host's name begins at s.at.
func (s *scan) labelStart() bool {
	r, _ := utf8.DecodeRuneInString(s.text[s.at:])
	if !isLabel(r) {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(s.text[:s.at])
	return s.at == 0 || !isLabel(before) || r < 0x80 && before >= 0x80 // some clients know ASCII only
}

// mention finds @name.
func (s *scan) mention() (Found, bool) {
	before, _ := utf8.DecodeLastRuneInString(s.text[:s.at])
	n := s.at + 1
	for n < len(s.text) && (isLetter(s.text[n]) || isDigit(s.text[n]) || s.text[n] == '_') {
		n++
	}
	if n-s.at < 4 || s.at > 0 && (isLabel(before) || before == '/' || before == '@') {
		return Found{}, false
	}
	f := Found{From: s.at, To: n, Targets: []Target{{n, s.text[s.at:n]}}, Defang: []Edit{bracket(s.at, '@')}}
	if strings.HasPrefix(s.text[n:], "://") { // it ends with a scheme
		f.To = n + run(s.text[n:])
		f.Defang = append(append(f.Defang, bracket(n, ':')), s.dots(n+len("://"), f.To, true)...)
		f.Targets = []Target{{f.To, s.text[s.at:f.To]}}
	}
	return f, true
}

// run is how far a URL goes at most: up to white space and what quotes it.
func run(text string) int {
	for i, r := range text {
		if unicode.IsSpace(r) || strings.ContainsRune("<>\"`«»“”", r) {
			return i
		}
	}
	return len(text)
}

// targets are the readings of what stands between: whole, without the signs of
// the sentence behind it, up to a bracket that it has not opened, and up to the
// first sign or letter that is not of ASCII.
func targets(text string, from, to int, prefix string) (all []Target) {
	add := func(end int) {
		for end > from {
			r, n := utf8.DecodeLastRuneInString(text[from:end])
			if !isSentence(r) || r == ')' && strings.Count(text[from:end], "(") >= strings.Count(text[from:end], ")") {
				break
			}
			end -= n
		}
		t := Target{end, prefix + text[from:end]}
		if end > from && !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	all = append(all, Target{to, prefix + text[from:to]})
	add(to)
	depth, open, wide := 0, -1, -1
	for i, r := range text[from:to] {
		switch {
		case strings.ContainsRune("([{", r):
			depth++
		case strings.ContainsRune(")]}", r):
			if depth--; depth < 0 && open < 0 {
				open = from + i
			}
		}
		if r >= 0x80 && !unicode.IsLetter(r) && !unicode.IsMark(r) && wide < 0 {
			wide = from + i
		}
	}
	ascii := strings.IndexFunc(text[from:to], func(r rune) bool { return r >= 0x80 })
	for _, end := range []int{wide, open, from + ascii} {
		if end > from {
			add(end)
		}
	}
	if cut := strings.IndexAny(text[from:to], ")]'|*"); cut > 0 {
		add(from + cut)
	}
	slices.SortStableFunc(all, func(a, b Target) int { return b.To - a.To })
	return all
}

// isSentence holds for what ends a sentence rather than an address.
func isSentence(r rune) bool {
	return strings.ContainsRune(".,;:!?'\")]}*_~|\\", r) || r >= 0x80 && (unicode.IsPunct(r) || unicode.IsSymbol(r))
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

func isLabel(r rune) bool {
	return r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

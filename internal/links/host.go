package links

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// host finds a name of a host with what follows, also as part of a mail
// address.
func (s *scan) host() (Found, bool) {
	if at := s.mailUser(); at > 0 && !s.code {
		if f, ok := s.hostAfter(at + 1); ok {
			return f, true
		}
	}
	return s.hostAfter(0)
}

// hostAfter is host with a user of so many bytes before it, the @ among them.
func (s *scan) hostAfter(user int) (Found, bool) {
	name := s.chain(s.at+user, false)
	if short := s.chain(s.at+user, true); name.kind == none || short.kind != none && user == 0 && short.end > name.end {
		name = short
	}
	if name.kind == none || len(name.dots) == 0 {
		return Found{}, false
	}
	to := name.end
	scheme := strings.HasPrefix(s.text[to:], "://") // its last label is one
	if scheme || goesOn(s.text[to:]) {
		to += run(s.text[to:])
	}
	follows := to > name.end
	switch {
	case s.code && !follows && name.kind != www:
		return Found{}, false
	case name.kind == maybe && !follows:
		return Found{}, false
	}
	prefix := ""
	if user > 0 {
		prefix = "mailto:"
	}
	f := Found{From: s.at, To: to, Targets: targets(s.text, s.at, to, prefix)}
	if name.end < to || name.ascii {
		f.Targets = append(f.Targets, Target{name.end, prefix + s.text[s.at:name.end]})
	}
	f.File = user == 0 && len(name.dots) == 1 && !follows && strings.Contains(fileEnds, " "+name.last+" ")
	if user > 0 {
		f.Defang = append(s.dots(s.at, s.at+user-1, false), bracket(s.at+user-1, '@'))
	}
	for _, at := range name.dots {
		r, _ := utf8.DecodeRuneInString(s.text[at:])
		f.Defang = append(f.Defang, bracket(at, r))
	}
	if scheme {
		f.Defang = append(f.Defang, Edit{name.end, name.end + 1, "[:]"})
		f.Defang = append(f.Defang, s.dots(name.end+len("://"), to, true)...)
		return f, true
	}
	f.Defang = append(f.Defang, s.dots(name.end, to, false)...)
	return f, true
}

// goesOn reports whether a port, path, query or fragment follows a host.
func goesOn(rest string) bool {
	return len(rest) > 0 && strings.IndexByte("/?#", rest[0]) >= 0 || len(rest) > 1 && rest[0] == ':' && isDigit(rest[1])
}

// mailUser is how long what stands before the @ of a mail address is; 0: it is
// none.
func (s *scan) mailUser() int {
	for i, r := range s.text[s.at:] {
		switch {
		case r == '@':
			return i
		case i > 64 || !isLabel(r) && !strings.ContainsRune(".+%!#$&'*=?^{|}~", r):
			return 0
		}
	}
	return 0
}

// kind is how sure a chain of labels is the name of a host.
type kind int

const (
	none  kind = iota
	maybe      // if a path follows
	known
	www
)

type chain struct {
	kind  kind
	end   int
	dots  []int
	last  string
	ascii bool // it ends where ASCII does
}

// chain reads labels with dots between them; narrow: of ASCII only.
func (s *scan) chain(at int, narrow bool) chain {
	c := chain{end: at}
	var labels []string
	for {
		n := 0
		for n < len(s.text)-c.end {
			r, size := utf8.DecodeRuneInString(s.text[c.end+n:])
			if !isLabel(r) || narrow && r >= 0x80 {
				break
			}
			n += size
		}
		if n == 0 {
			break
		}
		labels = append(labels, s.text[c.end:c.end+n])
		c.end += n
		dot := dotAt(s.text, c.end)
		next, _ := utf8.DecodeRuneInString(s.text[min(len(s.text), c.end+dot):])
		if dot == 0 || !isLabel(next) || narrow && next >= 0x80 {
			break
		}
		c.dots = append(c.dots, c.end)
		c.end += dot
	}
	if len(labels) < 2 {
		return chain{}
	}
	c.last = strings.ToLower(labels[len(labels)-1])
	after, _ := utf8.DecodeRuneInString(s.text[c.end:])
	c.ascii = after >= 0x80 && isLabel(after)
	c.kind = judge(labels, c.last)
	return c
}

func judge(labels []string, last string) kind {
	switch {
	case strings.EqualFold(labels[0], "www"):
		return www
	case len(labels) > 3 && !slices.ContainsFunc(labels, func(l string) bool { return len(l) > 3 || strings.Trim(l, "0123456789") != "" }):
		return known
	case top()[last], strings.HasPrefix(last, "xn--"):
		return known
	case len(last) > 1 && len(last) < 25 && strings.Trim(last, "abcdefghijklmnopqrstuvwxyz") == "" && !strings.Contains(notHosts, " "+last+" "):
		return maybe
	}
	return none
}

// dotAt is the length of the dot at that place, 0 for none. The ideographic one
// is one in names only, between letters of ASCII.
func dotAt(text string, at int) int {
	switch {
	case strings.HasPrefix(text[at:], "."):
		return 1
	case strings.HasPrefix(text[at:], "。") && at > 0 && text[at-1] < 0x80 && at+3 < len(text) && text[at+3] < 0x80:
		return 3
	}
	return 0
}

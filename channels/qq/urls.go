package qq

import (
	"errors"
	"net/netip"
	"regexp"
	"strings"
)

// QQ refuses addresses that were not registered, and does not say what it takes
// for one. They are written with ideographic full stops then: QQ does not see
// them, people read them, and browsers take them as dots (UTS #46). At first
// only what is clearly an address is written so: commands, file names, versions
// and IP addresses are copied by people and must be right.
var (
	// domains are names with dots in them.
	domains = regexp.MustCompile(`[\pL\d][\pL\d_-]*(?:\.[\pL\d][\pL\d_-]*)+`)
	decimal = regexp.MustCompile(`^\d+\.\d+$`)
	// named are those that may name a host: behind a scheme (and a user), or of
	// ASCII letters, as Chinese text goes on without a blank.
	named = regexp.MustCompile(`(?i)(://(?:[^\s/?#@]*@)?)([\pL\d][\pL\d_-]*(?:\.[\pL\d][\pL\d_-]*)+)|[./\\]?[a-z\d_-]+(?:\.[a-z\d_-]+)+`)
	// plainHosts are names that are hosts without a scheme, too. No ending of files
	// is among the endings.
	plainHosts = regexp.MustCompile(`(?i)^www\.|^[^./\\].*\.(?:com|net|org|edu|gov|info|io|dev|xyz|cn|hk|tw|jp)$`)
)

// withoutHosts changes what is clearly the name of a host.
func withoutHosts(text string) string {
	return named.ReplaceAllStringFunc(text, func(found string) string {
		m := named.FindStringSubmatch(found)
		if m[1] == "" {
			if plainHosts.MatchString(found) {
				return undotted(found)
			}
			return found
		}
		if _, err := netip.ParseAddr(m[2]); err == nil {
			return found
		}
		return m[1] + undotted(m[2])
	})
}

// withoutDots changes whatever could be an address.
func withoutDots(text string) string {
	return domains.ReplaceAllStringFunc(text, func(d string) string {
		if decimal.MatchString(d) {
			return d
		}
		return undotted(d)
	})
}

func undotted(name string) string { return strings.ReplaceAll(name, ".", "。") }

var (
	// refusedURL finds the address in "不允许发送url https://a.example/b".
	refusedURL = regexp.MustCompile(`(?i)url[\s:：]+(?:[a-z][a-z\d+.-]*://)?([\pL\d-]+(?:\.[\pL\d-]+)+)`)
	// written are the parts of native markdown that addresses stand in; code
	// comes first, so that it stays as it is.
	written = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`" + `|\[((?:[^\[\]\\]|\\.)*)\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)\)|<([a-zA-Z][a-zA-Z\d+.-]*:[^<>\s]+)>`)
)

// namedHost is the host that a refusal names; "" when it names none.
func namedHost(err error) string {
	var r *refusal
	if !errors.As(err, &r) {
		return ""
	}
	if m := refusedURL.FindStringSubmatch(r.text); m != nil {
		return strings.ToLower(m[1])
	}
	return ""
}

// unlinked lets hide change hosts in native markdown, in code too if so wanted:
// a link becomes its text with the address behind it.
func unlinked(md string, hide func(string) string, inCode bool) string {
	var b strings.Builder
	end := 0
	for _, m := range written.FindAllStringSubmatchIndex(md, -1) {
		b.WriteString(hide(md[end:m[0]]))
		end = m[1]
		whole := md[m[0]:m[1]]
		switch {
		case m[4] >= 0:
			b.WriteString(unlinkedOne(whole, md[m[2]:m[3]], md[m[4]:m[5]], hide))
		case m[6] >= 0:
			b.WriteString(unlinkedOne(whole, "", md[m[6]:m[7]], hide))
		case inCode:
			b.WriteString(hide(whole))
		default:
			b.WriteString(whole)
		}
	}
	b.WriteString(hide(md[end:]))
	return b.String()
}

// unlinkedOne writes one link without its target where that has to be hidden.
func unlinkedOne(whole, text, target string, hide func(string) string) string {
	switch without := hide(target); {
	case without == target && hide(text) == text:
		return whole
	case without == target:
		return "[" + hide(text) + "](" + target + ")"
	case text == "" || text == target:
		return without
	default:
		return hide(text) + " (" + without + ")"
	}
}

// withoutThese hides these hosts, and those below them.
func withoutThese(text string, hosts []string) string {
	return domains.ReplaceAllStringFunc(text, func(found string) string {
		name := strings.ToLower(found)
		for _, h := range hosts {
			if name == h || strings.HasSuffix(name, "."+h) {
				return undotted(found)
			}
		}
		return found
	})
}

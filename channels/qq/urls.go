package qq

import (
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

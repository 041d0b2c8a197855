package render

import (
	"net/url"
	"regexp"
	"strings"
)

// webLink reports whether target is a link that a person can be shown behind
// other words: an address of the web with a host.
func webLink(target string) bool {
	u, err := url.Parse(target)
	return err == nil && (strings.EqualFold(u.Scheme, "http") || strings.EqualFold(u.Scheme, "https")) && u.Hostname() != "" &&
		!strings.ContainsFunc(target, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

// hostLike matches what a reader takes for the name of a host.
var hostLike = regexp.MustCompile(`(?:[\pL\pN_-]+\.)+(?:[A-Za-z]{2,24}|xn--[A-Za-z0-9-]+)`)

// misleading reports whether the text of a link names another place than its
// target: then both are written out.
func misleading(text, target string) bool {
	if sameTarget(text, target) {
		return false
	}
	if strings.Contains(text, "://") {
		return true
	}
	u, err := url.Parse(target)
	if err != nil {
		return true
	}
	host := strings.TrimPrefix(strings.ToLower(u.Hostname()), "www.")
	for _, named := range hostLike.FindAllString(text, -1) {
		if strings.TrimPrefix(strings.ToLower(named), "www.") != host {
			return true
		}
	}
	return false
}

// linkEscaper writes what could end a link's target, or a table's cell, as the
// address itself may.
var linkEscaper = strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E", `"`, "%22", "`", "%60", "|", "%7C",
	`\`, "%5C", "[", "%5B", "]", "%5D", "*", "%2A", "{", "%7B", "}", "%7D", "^", "%5E", "\u200b", "%E2%80%8B")

// bracketEscaper is linkEscaper for what stands between < and >.
var bracketEscaper = strings.NewReplacer("<", "%3C", ">", "%3E", `"`, "%22", `\`, "%5C", "`", "%60", "|", "%7C")

// settled decides for each link whether it stays one. What does not is text,
// with the target behind it.
func settled(spans []span) []span {
	var out []span
	for i := 0; i < len(spans); {
		j, text := i, ""
		for ; j < len(spans) && spans[j].link == spans[i].link; j++ {
			text += spans[j].text
		}
		group, target := spans[i:j], spans[i].link
		i = j
		switch {
		case target == "":
			out = append(out, group...)
		case !webLink(target):
			out = append(out, unlinked(group)...)
			if !sameTarget(text, target) {
				out = append(out, span{text: " (" + target + ")"})
			}
		case strings.TrimSpace(text) == "" || text == target || sameTarget(text, target):
			out = append(out, span{text: target, link: target})
		case misleading(text, target) || strings.ContainsAny(text, "[]"):
			out = append(out, unlinked(group)...)
			out = append(out, span{text: " ("}, span{text: target, link: target}, span{text: ")"})
		default:
			for _, s := range group {
				s.style &^= code
				s.text = strings.ReplaceAll(s.text, "\n", " ")
				out = append(out, s)
			}
		}
	}
	return out
}

func unlinked(group []span) []span {
	out := make([]span, len(group))
	for i, s := range group {
		s.link = ""
		out[i] = s
	}
	return out
}

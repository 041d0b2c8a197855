package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"magpie/chat"
)

// Redactor hides secrets in what is written about calls: the configured ones
// wherever they stand, and in logs and events values whose name says that they
// are secret. What a person or the audit has to judge hides the configured ones
// only: a name is no proof, and code stands behind it as well. It is safe for
// concurrent use.
type Redactor struct{ known atomic.Pointer[known] }

// known are the configured secrets, the longest first.
type known struct {
	secrets []string
	replace *strings.Replacer
}

// minSecret is the length in bytes from which a configured secret is searched
// for: a shorter one would tear ordinary words apart.
const minSecret = 4

const (
	hidden = "***"
	veil   = "[hidden]" // in the audit, where a name is the only reason
)

// NewRedactor hides these secrets besides what is hidden by name.
func NewRedactor(secrets []chat.Secret) *Redactor {
	r := &Redactor{}
	r.known.Store(&known{})
	r.Add(secrets)
	return r
}

// Add hides more secrets. One that was hidden before stays so: it may have been
// replaced because it became known.
func (r *Redactor) Add(secrets []chat.Secret) {
	next := &known{secrets: slices.Clone(r.known.Load().secrets)}
	for _, s := range secrets {
		if len(s) >= minSecret && !slices.Contains(next.secrets, string(s)) {
			next.secrets = append(next.secrets, string(s))
		}
	}
	// The longest first: one secret may be the beginning of another.
	slices.SortFunc(next.secrets, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, s := range next.secrets {
		pairs = append(pairs, s, hidden)
	}
	next.replace = strings.NewReplacer(pairs...)
	r.known.Store(next)
}

// In running text a secret follows its name (KEY=…, "token": "…", a header
// line), a scheme (Bearer …), or stands before the @ of an address.
var (
	headerLine  = regexp.MustCompile(`(?i)\b((?:proxy-)?authorization|(?:set-)?cookie)(["']?\s*[:=]\s*["']?)[^"'\r\n]+`)
	namedValue  = regexp.MustCompile(`(?i)([\w-]*(?:token|secret|passw(?:or)?d|passphrase|credential|api[_-]?key|access[_-]?key|private[_-]?key|[_-]key)["']?\s*[:=]\s*)("[^"]*"?|'[^']*'?|[^\s"'&,;]+)`)
	bearerValue = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}`)
	userInfo    = regexp.MustCompile(`(\w+://)[^\s/@:]+:[^\s/@]+@`)
)

// Known hides the configured secrets in a text, and nothing else.
func (r *Redactor) Known(s string) string {
	if known := r.known.Load(); len(known.secrets) > 0 {
		s = known.replace.Replace(s)
	}
	return s
}

// Text hides secrets in running text.
func (r *Redactor) Text(s string) string { return r.text(s, hidden) }

// text writes mark where a value is hidden because of its name.
func (r *Redactor) text(s, mark string) string {
	s = r.Known(s)
	// Most texts hold nothing that the expressions could find, and to look for
	// a word costs a hundredth of them.
	named, bearer := suspicious(s)
	if named {
		s = headerLine.ReplaceAllString(s, "${1}${2}"+mark)
		s = namedValue.ReplaceAllString(s, "${1}"+mark)
	}
	if bearer {
		s = bearerValue.ReplaceAllString(s, "${1} "+mark)
	}
	if strings.Contains(s, "://") && strings.Contains(s, "@") {
		s = userInfo.ReplaceAllString(s, "${1}"+mark+"@")
	}
	return s
}

// suspicious says whether headerLine or namedValue, and whether bearerValue
// could find something in a text; true is no more than a reason to look.
func suspicious(s string) (named, bearer bool) {
	if strings.ContainsRune(s, 'ſ') { // to (?i) it is an s, to ToLower it is not
		return true, true
	}
	lower := strings.ToLower(s)
	has := func(word string) bool { return strings.Contains(lower, word) }
	named = strings.ContainsAny(s, ":=") && slices.ContainsFunc([]string{
		"authorization", "cookie", "token", "secret", "passw", "passphrase", "credential", "key",
	}, has)
	return named, has("bearer") || has("basic")
}

// The bounds of an audit record.
const (
	searchRunes      = 16000 // of a text are searched for secrets; the rest is left out
	searchRatio      = 4     // times as much is searched as shown, at first
	auditTextRunes   = 2000  // of one text in the arguments
	auditItems       = 100   // of one list in the arguments
	auditMainRunes   = 32000 // of the main argument, such as a command
	auditArgsBytes   = 16384 // of all others; more is kept as cut text
	auditResultRunes = 1000
)

// short hides secrets in a result, by their names too, and cuts it after n runes; the work is bounded
// whatever the text's length. Not more is searched than what is shown needs:
// secrets become shorter by being hidden.
func (r *Redactor) short(s string, n int) string {
	for look := searchRatio * n; ; look *= searchRatio {
		look = min(look, searchRunes)
		head := first(s, look)
		if len(head) == len(s) {
			return clip(r.text(s, veil), n)
		}
		// Where the text was cut a secret may have lost its end. It is shown only
		// when there is nothing more to search.
		out := r.text(r.withoutPart(r.known.Load().replace.Replace(head)), veil) // whole ones first: they may end like they begin
		shown := first(out, n)
		if len(shown) < len(out) || look == searchRunes {
			return shown + "…"
		}
	}
}

// withoutPart takes away the beginning of a secret that stands at the end of a
// text because the text was cut there.
func (r *Redactor) withoutPart(s string) string {
	for _, secret := range r.known.Load().secrets {
		for n := min(len(secret)-1, len(s)); n > 0; n-- {
			if strings.HasSuffix(s, secret[:n]) {
				s = s[:len(s)-n]
				break
			}
		}
	}
	return s
}

// whole hides the configured secrets in a text, and nothing else; of one that is
// longer than n runes the middle is left out and counted.
func (r *Redactor) whole(s string, n int) string {
	if len(s) <= n {
		return r.Known(s)
	}
	// A secret that the cut would halve is hidden before; the longest one bounds
	// how far has to be looked.
	slack := 0
	if all := r.known.Load().secrets; len(all) > 0 {
		slack = len(all[0])
	}
	head, tail := n*2/3, n-n*2/3
	if most := (n+2*slack)*utf8.UTFMax + 2*slack; len(s) > 2*most {
		before, after := r.Known(r.withoutPart(s[:most])), r.Known(r.withoutEnd(s[len(s)-most:]))
		first, last := first(before, head), final(after, tail)
		left := utf8.RuneCountInString(s) - utf8.RuneCountInString(first) - utf8.RuneCountInString(last)
		return first + fmt.Sprintf(leftOut, left) + last
	}
	s = r.Known(s)
	left := utf8.RuneCountInString(s) - n
	if left <= 0 {
		return s
	}
	return first(s, head) + fmt.Sprintf(leftOut, left) + final(s, tail)
}

// leftOut stands in the place of the middle of a text.
const leftOut = "[⚠ %d characters are left out here]"

// final is the last n runes of a text.
func final(s string, n int) string {
	at := len(s)
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:at])
		at -= size
	}
	return s[at:]
}

// withoutEnd takes away the end of a secret that stands at the beginning of a
// text because the text was cut there.
func (r *Redactor) withoutEnd(s string) string {
	for _, secret := range r.known.Load().secrets {
		for n := min(len(secret)-1, len(s)); n > 0; n-- {
			if strings.HasPrefix(s, secret[len(secret)-n:]) {
				s = s[n:]
				break
			}
		}
	}
	return s
}

// arguments writes a call's decoded arguments for the audit: what ran, so that
// no more is hidden than the configured secrets and fields that are secret by
// their name and look like it. main is the parameter that names what the call
// works on; its name alone makes it no secret, and it is shown at any length
// that a record can hold.
func (r *Redactor) arguments(v any, main string) json.RawMessage {
	object, ok := v.(map[string]any)
	if !ok {
		return r.bounded(appendValue(nil, r.value(v)))
	}
	text, named := object[main].(string)
	if !named {
		return r.bounded(appendValue(nil, r.object(object)))
	}
	rest := maps.Clone(object)
	delete(rest, main)
	shown := r.object(rest)
	if raw := appendValue(nil, shown); len(raw) > auditArgsBytes {
		shown = map[string]any{"…": r.whole(string(raw), auditTextRunes)}
	}
	shown[main] = r.whole(text, auditMainRunes)
	return appendValue(nil, shown)
}

// bounded makes a text of arguments that are too large for a record.
func (r *Redactor) bounded(raw []byte) json.RawMessage {
	if len(raw) <= auditArgsBytes {
		return raw
	}
	return appendText(nil, r.whole(string(raw), auditTextRunes))
}

// value hides secrets in a decoded JSON value.
func (r *Redactor) value(v any) any {
	switch x := v.(type) {
	case string:
		return r.whole(x, auditTextRunes)
	case []any:
		out := make([]any, 0, min(len(x), auditItems)+1)
		for _, item := range x[:min(len(x), auditItems)] {
			out = append(out, r.value(item))
		}
		if len(x) > auditItems {
			out = append(out, fmt.Sprintf("[⚠ %d more are left out here]", len(x)-auditItems))
		}
		return out
	case map[string]any:
		return r.object(x)
	}
	return v
}

// object hides the values of secret names, and in {"key": …, "value": …} the
// value when the key is such a name.
func (r *Redactor) object(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	_, pair := m["value"]
	var name string
	for _, k := range []string{"key", "name"} {
		if s, ok := m[k].(string); ok && pair && secretName(s) {
			name = s
		}
	}
	for k, v := range m {
		switch {
		case v == nil || pair && k == "key":
		case k == "value" && name != "", secretName(k):
			v = veiled(v)
		}
		out[r.whole(k, auditTextRunes)] = r.value(v)
	}
	return out
}

// looksSecret is what a password or a token looks like: one word, with a scheme
// before it at most. Shell code under the name of one is none.
var looksSecret = regexp.MustCompile(`^(?i:(?:bearer|basic|token) +)?[\pL\pN_.~+/=:@%!#?^,-]+$`)

// veiled hides the value of a field that is secret by its name, and says so; one
// that is no word is shown, for it may be what ran.
func veiled(v any) any {
	switch x := v.(type) {
	case string:
		if looksSecret.MatchString(x) {
			return fmt.Sprintf("[hidden: %d characters]", utf8.RuneCountInString(x))
		}
	case json.Number:
		return "[hidden: a number]"
	}
	return v
}

// answer writes a decided question for the audit.
func (r *Redactor) answer(q *Question) json.RawMessage {
	a := q.Answer
	a.Name = r.whole(a.Name, auditTextRunes)
	raw, err := json.Marshal(struct {
		Answer
		Digest string `json:"digest"`
	}{a, q.Digest})
	if err != nil {
		return nil // of texts and a time
	}
	return raw
}

// joints are what a name's parts are joined by. Made once: making it costs more
// than all else that is done to a name.
var joints = strings.NewReplacer("_", "", "-", "")

// secretName says whether a value of this name is to be hidden.
func secretName(name string) bool {
	lower := strings.ToLower(name)
	joined := joints.Replace(lower)
	in := func(part string) bool { return strings.Contains(joined, part) }
	if slices.ContainsFunc([]string{"authorization", "password", "passwd", "passphrase", "secret", "cookie", "credential", "apikey", "accesskey", "privatekey"}, in) ||
		strings.HasSuffix(lower, "token") {
		return true
	}
	alone := []string{"key", "token", "pwd", "auth", "bearer"}
	return slices.ContainsFunc(alone, in) &&
		slices.ContainsFunc(words(name), func(w string) bool { return slices.Contains(alone, w) })
}

// words splits apiKey, API_KEY and api-key.
func words(name string) []string {
	var b strings.Builder
	var last rune
	for _, c := range name {
		if unicode.IsUpper(c) && unicode.IsLower(last) {
			b.WriteRune(' ')
		}
		if !unicode.IsLetter(c) {
			c = ' '
		}
		b.WriteRune(unicode.ToLower(c))
		last = c
	}
	return strings.Fields(b.String())
}

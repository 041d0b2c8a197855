package tools

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"magpie/chat"
)

// Redactor hides secrets in what is written about calls: the configured ones
// wherever they stand, and values whose name says that they are secret. It is
// safe for concurrent use.
type Redactor struct {
	secrets []string
	replace *strings.Replacer
}

// minSecret is the length in bytes from which a configured secret is searched
// for: a shorter one would tear ordinary words apart.
const minSecret = 4

const hidden = "***"

// NewRedactor hides these secrets besides what is hidden by name.
func NewRedactor(secrets []chat.Secret) *Redactor {
	r := &Redactor{}
	var pairs []string
	// The longest first: one secret may be the beginning of another.
	sorted := slices.SortedFunc(slices.Values(secrets), func(a, b chat.Secret) int { return len(b) - len(a) })
	for _, s := range sorted {
		if len(s) >= minSecret {
			r.secrets = append(r.secrets, string(s))
			pairs = append(pairs, string(s), hidden)
		}
	}
	r.replace = strings.NewReplacer(pairs...)
	return r
}

// In running text a secret follows its name (KEY=…, "token": "…", a header
// line), a scheme (Bearer …), or stands before the @ of an address.
var (
	headerLine  = regexp.MustCompile(`(?i)\b((?:proxy-)?authorization|(?:set-)?cookie)(["']?\s*[:=]\s*["']?)[^"'\r\n]+`)
	namedValue  = regexp.MustCompile(`(?i)([\w-]*(?:token|secret|passw(?:or)?d|passphrase|credential|api[_-]?key|access[_-]?key|private[_-]?key|[_-]key)["']?\s*[:=]\s*)("[^"]*"|'[^']*'|[^\s"'&,;]+)`)
	bearerValue = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}`)
	userInfo    = regexp.MustCompile(`(\w+://)[^\s/@:]+:[^\s/@]+@`)
)

// Text hides secrets in running text.
func (r *Redactor) Text(s string) string {
	s = r.replace.Replace(s)
	s = headerLine.ReplaceAllString(s, "${1}${2}"+hidden)
	s = namedValue.ReplaceAllString(s, "${1}"+hidden)
	s = bearerValue.ReplaceAllString(s, "${1} "+hidden)
	return userInfo.ReplaceAllString(s, "${1}"+hidden+"@")
}

// The bounds of an audit record.
const (
	searchRunes      = 16000 // of a text are searched for secrets; the rest is left out
	auditTextRunes   = 2000  // of one text in the arguments
	auditItems       = 100   // of one list in the arguments
	auditArgsBytes   = 16384 // of all arguments; more is kept as cut text
	auditResultRunes = 1000
)

// short hides secrets in a text and cuts it after n runes; the work is bounded
// whatever the text's length.
func (r *Redactor) short(s string, n int) string {
	head := first(s, searchRunes)
	if len(head) < len(s) {
		head = r.withoutPart(head)
	}
	out := clip(r.Text(head), n)
	if len(head) < len(s) && !strings.HasSuffix(out, "…") {
		out += "…"
	}
	return out
}

// withoutPart takes away the beginning of a secret that stands at the end of a
// text because the text was cut there.
func (r *Redactor) withoutPart(s string) string {
	for _, secret := range r.secrets {
		for n := min(len(secret)-1, len(s)); n > 0; n-- {
			if strings.HasSuffix(s, secret[:n]) {
				s = s[:len(s)-n]
				break
			}
		}
	}
	return s
}

// arguments writes a call's arguments for the audit. main is the parameter
// that names what the call works on; its name alone makes it no secret.
func (r *Redactor) arguments(args, main string) json.RawMessage {
	v, err := decode(args)
	if err != nil {
		v = args
	}
	shown := r.value(v)
	if m, ok := shown.(map[string]any); ok {
		if text, ok := v.(map[string]any)[main].(string); ok {
			m[main] = r.short(text, auditTextRunes)
		}
	}
	raw, err := encode(shown)
	if err == nil && len(raw) <= auditArgsBytes {
		return raw
	}
	raw, _ = encode(r.short(string(raw), auditTextRunes)) // a text can always be encoded
	return raw
}

// value hides secrets in a decoded JSON value.
func (r *Redactor) value(v any) any {
	switch x := v.(type) {
	case string:
		return r.short(x, auditTextRunes)
	case []any:
		out := make([]any, 0, min(len(x), auditItems)+1)
		for _, item := range x[:min(len(x), auditItems)] {
			out = append(out, r.value(item))
		}
		if len(x) > auditItems {
			out = append(out, "…")
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
			v = hidden
		}
		out[r.short(k, auditTextRunes)] = r.value(v)
	}
	return out
}

// secretName says whether a value of this name is to be hidden.
func secretName(name string) bool {
	lower := strings.ToLower(name)
	for _, part := range []string{"authorization", "password", "passwd", "passphrase", "secret", "cookie", "credential", "apikey", "accesskey", "privatekey"} {
		if strings.Contains(strings.NewReplacer("_", "", "-", "").Replace(lower), part) {
			return true
		}
	}
	if strings.HasSuffix(lower, "token") {
		return true
	}
	return slices.ContainsFunc(words(name), func(w string) bool {
		return slices.Contains([]string{"key", "token", "pwd", "auth", "bearer"}, w)
	})
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

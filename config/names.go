package config

import (
	"strings"
	"unicode"

	"magpie/internal/near"
)

// canonical turns the camelCase spelling of a key into snake_case: baseUrl and
// baseURL become base_url. Other spellings stay as they are.
func canonical(key string) string {
	if strings.Contains(key, "_") || key == "" || unicode.IsUpper(rune(key[0])) {
		return key
	}
	return snake(key)
}

// snake splits a name before every word: APIBase becomes api_base.
func snake(name string) string {
	r := []rune(name)
	var b strings.Builder
	for i, c := range r {
		if unicode.IsUpper(c) && i > 0 {
			afterLower := !unicode.IsUpper(r[i-1])
			endsAcronym := i+1 < len(r) && unicode.IsLower(r[i+1])
			if afterLower || endsAcronym {
				b.WriteByte('_')
			}
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// longestKey bounds the work on typed nonsense, in bytes; no key is longer.
const longestKey = 64

// nearest returns the name that was probably meant, or "".
func nearest(key string, names []string) string {
	if len(key) > longestKey {
		return ""
	}
	key = strings.ToLower(strings.ReplaceAll(key, "-", "_"))
	best, least := "", 1+len(key)/3
	for _, name := range names {
		if d := near.Distance(key, name); d <= least && (best == "" || d < least) {
			best, least = name, d
		}
	}
	return best
}

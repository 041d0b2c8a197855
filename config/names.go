package config

import (
	"strings"
	"unicode"
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

// nearest returns the name that was probably meant, or "".
func nearest(key string, names []string) string {
	key = strings.ToLower(strings.ReplaceAll(key, "-", "_"))
	best, least := "", 1+len(key)/3
	for _, name := range names {
		if d := distance(key, name); d <= least && (best == "" || d < least) {
			best, least = name, d
		}
	}
	return best
}

// distance counts the changed, missing, added and swapped characters.
func distance(a, b string) int {
	const longest = 64 // no key is longer; bounds the work on typed nonsense
	if len(a) > longest || len(b) > longest {
		return longest
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

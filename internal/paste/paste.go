// Package paste knows what comes along when people copy a key out of a page, a
// mail or an example into a file: quotes, blanks, its own name, full-width
// characters, the example itself. It is standard library only. What it says
// never holds the value, which is a secret.
package paste

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// quotes are pairs that people put around a value.
func quotes() []string {
	return []string{`""`, `''`, "``", "“”", "””", "‘’", "’’", "„“", "«»", "「」", "＂＂", "＇＇"}
}

// Trim takes off what surrounds the value of a variable: blanks of every kind,
// the end of a line, a byte order mark, quotes in pairs, and NAME= before it.
// what names what was there, "" is nothing.
func Trim(name, value string) (clean, what string) {
	clean = value
	var all []string
	note := func(s string) {
		for _, one := range all {
			if one == s {
				return
			}
		}
		all = append(all, s)
	}
	const layers = 8 // nobody packs a key deeper
	for range layers {
		was := clean
		if t := strings.TrimFunc(clean, blank); t != clean {
			note("blanks")
			clean = t
		}
		for _, q := range quotes() {
			pair := []rune(q)
			inner, ok := strings.CutPrefix(clean, string(pair[0]))
			inner, end := strings.CutSuffix(inner, string(pair[1]))
			if ok && end && (q != "``" || !strings.ContainsFunc(inner, unicode.IsSpace)) { // `openssl rand` is a command
				note("quotes")
				clean = inner
				break
			}
		}
		for _, before := range []string{name + "=", "export " + name + "=", name + "＝"} {
			if rest, ok := strings.CutPrefix(clean, before); ok && name != "" {
				note("its own name")
				clean = rest
			}
		}
		if clean == was {
			break
		}
	}
	return clean, strings.Join(all, " and ")
}

// blank is white space and what is not seen at all.
func blank(r rune) bool { return unicode.IsSpace(r) || unseen(r) }

// unseen characters come along from pages and chats.
func unseen(r rune) bool {
	return r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2060 && r <= 0x2064 || r == 0xfeff || r == 0xad
}

// Odd says what of a value cannot have been meant, in words that go on from its
// name: full-width and typographic characters, such that nobody sees, and what
// a shell would have replaced. "" is nothing.
func Odd(value string) string {
	for i, r := range value {
		switch {
		case r == '\u3000':
			return "holds a full-width blank: remove it"
		case fullWidth(r):
			found, plain := signs(value[i:], fullWidth)
			return fmt.Sprintf("holds the full-width %s: write the plain %s", found, plain)
		case typographic(r):
			found, _ := signs(value[i:], typographic)
			return fmt.Sprintf("holds the typographic %s: write it with plain characters, without quotes around it", found)
		case unicode.IsControl(r):
			return "holds the end of a line or another control character: it has to stand on one line"
		case unseen(r) || unicode.IsSpace(r) && r != ' ':
			return fmt.Sprintf("holds a character that nobody sees (U+%04X): type it anew, or copy it from where it is shown alone", r)
		}
	}
	if strings.Contains(value, "$(") || strings.HasPrefix(value, "`") || shellVariable.MatchString(value) {
		return "holds a command or a variable of a shell, which is not replaced here: write what it stands for"
	}
	if command.MatchString(value) {
		return "is a command, which is not run here: run it, and write what it prints"
	}
	return ""
}

// OddPhrase is Odd for a secret that a person makes up: in a text with letters
// beyond ASCII, such as Chinese, full-width and typographic signs are meant. No
// header of HTTP carries blanks around it.
func OddPhrase(value string) string {
	if strings.TrimSpace(value) != value {
		return "begins or ends with a blank: remove it"
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r > unicode.MaxASCII && unicode.IsLetter(r) && !fullWidth(r) }) {
		value = strings.Map(func(r rune) rune {
			if r == '\u3000' || fullWidth(r) || typographic(r) {
				return -1
			}
			return r
		}, value)
	}
	return Odd(value)
}

func fullWidth(r rune) bool { return r >= 0xff01 && r <= 0xff5e }

func typographic(r rune) bool { return !fullWidth(r) && !unicode.IsSpace(r) && Plain(r) != r }

// signs are the first character of a text and the other signs of its kind, which
// come in pairs, with the plain ones. Letters and digits that follow are not
// told: they are more of the secret.
func signs(text string, kind func(rune) bool) (found, plain string) {
	for i, r := range text {
		if i > 0 && (!kind(r) || unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(found, r)) {
			continue
		}
		found, plain = found+" "+string(r), plain+" "+string(Plain(r))
	}
	return found[1:], plain[1:]
}

var shellVariable = regexp.MustCompile(`^\$\{?[A-Za-z_]+\}?$`)

// Plain is the character of a plain keyboard that a full-width or typographic
// one stands for; others stay.
func Plain(r rune) rune {
	switch {
	case r >= 0xff01 && r <= 0xff5e:
		return r - 0xfee0
	case r == '\u3000' || r == '\u00a0':
		return ' '
	}
	switch r {
	case '“', '”', '„', '«', '»', '「', '」':
		return '"'
	case '‘', '’':
		return '\''
	case '–', '—', '−', '‐', '‑':
		return '-'
	case '。':
		return '.'
	case '、':
		return ','
	case '…':
		return '.'
	case '∕', '⁄':
		return '/'
	case '∶':
		return ':'
	}
	return r
}

// Folded is a text in plain characters, without what is not seen.
func Folded(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unseen(r) {
			return -1
		}
		return Plain(r)
	}, s))
}

// sample is the text of examples: your-token-here, <token>, sk-xxxxx, changeme,
// ABC-the-token-you-got, 填你的密钥.
var sample = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`(^|[^a-z])your([-_ ]|$)`, `you[-_ ](got|have|made)`, `(paste|put|insert|enter|replace)[-_ ](your|the|it|me|this|with|here)`,
	`(token|key|secret|id|password|value)[-_ ]?(goes[-_ ]?)?here`,
	`change[-_ ]?(me|this|it)([^a-z]|$)`, `(^|[^a-z])(placeholder|todo|tbd|fixme)([^a-z]|$)`,
	`x{5,}`, `\*{4,}`, `\.\.\.`, `^<.*>$`, `^\[.*\]$`, `^\{.*\}$`, `^(none|null|nil|undefined|x{3,})$`,
	`^123456:ABC-def$`, `^0+$`, `你的|您的|填写|填入|此处|这里|替换|密钥|令牌|机器人`,
}, "|"))

// Sample says whether a value is the text of an example that nobody has
// replaced.
func Sample(value string) bool { return sample.MatchString(value) }

var (
	ownName = regexp.MustCompile(`^(export )?[A-Z][A-Z0-9]*(_[A-Z0-9]+)+ ?[=:：＝].`)
	scheme  = regexp.MustCompile(`(?i)^(bearer|bot|token|basic|authorization:?) +`)
)

// Foreign says what of a key is not its own, in words that go on from its name;
// "" is nothing.
func Foreign(value string) string {
	if odd := Odd(value); odd != "" {
		return odd
	}
	if Sample(value) {
		return "is the text of an example: replace it by your own"
	}
	if ownName.MatchString(value) {
		return "begins with the name of a variable: give only what stands behind the ="
	}
	if word := scheme.FindString(value); word != "" {
		return fmt.Sprintf("begins with %q, which is no part of it; give what stands behind it", word)
	}
	return ""
}

// Flaw says more than Foreign: what no key of a platform or a model holds.
func Flaw(value string) string {
	if foreign := Foreign(value); foreign != "" {
		return foreign
	}
	for _, r := range value {
		switch {
		case unicode.IsSpace(r):
			return "holds a blank: no key does"
		case r > unicode.MaxASCII:
			return fmt.Sprintf("holds %c: keys are plain letters, digits and signs", r)
		}
	}
	if strings.ContainsAny(value, `"'`) {
		return "holds a quote: write it without quotes"
	}
	return ""
}

// Truth reads a switch as people write it, in English and Chinese.
func Truth(s string) (on, ok bool) {
	switch strings.ToLower(Folded(s)) {
	case "true", "t", "yes", "y", "on", "1", "enable", "enabled", "是", "真", "开", "开启", "打开", "启用":
		return true, true
	case "false", "f", "no", "n", "off", "0", "disable", "disabled", "否", "假", "关", "关闭", "停用", "禁用", "不":
		return false, true
	}
	return false, false
}

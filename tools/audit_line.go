package tools

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Records are written by hand: encoding/json takes as long for one as writing
// it to the file.

// seal writes the line of a record, its hash at the end. The arguments are
// JSON without line ends.
func seal(r AuditRecord) (line []byte, hash string, err error) {
	if len(r.Arguments) == 0 || slices.Contains(r.Arguments, '\n') || slices.Contains(r.Approval, '\n') {
		return nil, "", errors.New("the arguments are no JSON in one line")
	}
	b := make([]byte, 0, len(r.Arguments)+len(r.Result)+lineRoom)
	b = strconv.AppendUint(append(b, `{"seq":`...), r.Seq, 10)
	b = appendField(b, "prev", r.Prev)
	b = appendField(b, "event", string(r.Event))
	b = appendField(b, "call_id", r.CallID)
	b = appendField(b, "tool_name", r.Tool)
	b = append(append(b, `,"arguments":`...), r.Arguments...)
	b = appendField(b, "session_id", string(r.Session))
	b = appendField(b, "channel", r.Channel)
	b = appendField(b, "sender", r.Sender)
	b = r.Timestamp.AppendFormat(append(b, `,"timestamp":"`...), "2006-01-02T15:04:05.999999999Z07:00")
	b = appendField(append(b, '"'), "status", r.Status)
	b = strconv.AppendFloat(append(b, `,"duration_ms":`...), r.DurationMS, 'f', -1, 64)
	if r.Result != "" {
		b = appendField(b, "result", r.Result)
	}
	if r.Setting != "" {
		b = appendField(b, "setting", r.Setting)
	}
	if len(r.Approval) > 0 {
		b = append(append(b, `,"approval":`...), r.Approval...)
	}
	b = append(b, '}')
	sum := sha256.Sum256(b)
	hash = hex.EncodeToString(sum[:])
	return append(append(append(b[:len(b)-1], `,"hash":"`...), hash...), "\"}\n"...), hash, nil
}

// lineRoom is what a record's line needs besides arguments and result.
const lineRoom = 512

func appendField(b []byte, name, value string) []byte {
	b = append(append(append(b, `,"`...), name...), `":`...)
	return appendText(b, value)
}

// appendText writes a JSON string as encoding/json does, without what is for
// HTML; bytes that are no UTF-8 become U+FFFD.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	done := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			if r, n := utf8.DecodeRuneInString(s[i:]); (r != utf8.RuneError || n != 1) && r != '\u2028' && r != '\u2029' {
				i += n
				continue
			}
		} else if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[done:i]...)
		r, n := utf8.DecodeRuneInString(s[i:])
		b = appendEscaped(b, r)
		i += n
		done = i
	}
	return append(append(b, s[done:]...), '"')
}

// appendEscaped writes a character that does not stand in a string as it is.
func appendEscaped(b []byte, r rune) []byte {
	if short := strings.IndexRune("\"\\\b\f\n\r\t", r); short >= 0 {
		return append(b, '\\', `"\bfnrt`[short])
	}
	return fmt.Appendf(b, `\u%04x`, r)
}

// appendValue writes a value as decode has made it, the keys of objects in order.
func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return appendText(b, v)
	case json.Number:
		return append(b, v...)
	case bool:
		return strconv.AppendBool(b, v)
	case []any:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, item)
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for i, key := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(append(appendText(b, key), ':'), v[key])
		}
		return append(b, '}')
	}
	return append(b, "null"...)
}

package settings

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// ParseZone understands what people write for a time zone: an IANA name in
// any case ("asia/shanghai"), an offset ("UTC+8", "+05:30", "-3") and the
// names of a few places in English and Chinese. The returned name is parsed to
// the same zone again.
func ParseZone(text string) (name string, zone *time.Location, err error) {
	text = strings.TrimSpace(text)
	if iana := place(strings.ToLower(text)); iana != "" {
		text = iana
	}
	if name, zone, ok := offset(text); ok {
		return name, zone, nil
	}
	for _, name := range []string{text, titled(text)} {
		// LoadLocation takes "" for UTC and "Local" for the host's zone.
		if name == "" || name == "Local" {
			continue
		}
		if zone, err := time.LoadLocation(name); err == nil {
			return name, zone, nil
		}
	}
	return "", nil, fmt.Errorf("unknown time zone %q: want a name such as Asia/Shanghai or an offset such as UTC+8", text)
}

// offset parses "UTC+8", "GMT-03:30", "+0530" and "UTC".
func offset(text string) (string, *time.Location, bool) {
	upper := strings.ToUpper(strings.ReplaceAll(text, " ", ""))
	rest := strings.TrimPrefix(strings.TrimPrefix(upper, "UTC"), "GMT")
	if rest == "" {
		return "UTC", time.UTC, upper != ""
	}
	sign := 1
	switch rest[0] {
	case '+':
	case '-':
		sign = -1
	default:
		return "", nil, false
	}
	hours, minutes, colon := strings.Cut(rest[1:], ":")
	if !colon && len(hours) == 4 {
		hours, minutes = hours[:2], hours[2:]
	}
	h, errH := strconv.ParseUint(hours, 10, 8)
	m, errM := uint64(0), error(nil)
	if minutes != "" || colon {
		m, errM = strconv.ParseUint(minutes, 10, 8)
	}
	if errH != nil || errM != nil || h > 14 || m > 59 || (h == 14 && m > 0) {
		return "", nil, false
	}
	name := fmt.Sprintf("UTC%c%02d:%02d", rest[0], h, m)
	return name, time.FixedZone(name, sign*int(h*3600+m*60)), true
}

// titled writes "asia/ho_chi_minh" as "Asia/Ho_Chi_Minh".
func titled(name string) string {
	start := true
	return strings.Map(func(r rune) rune {
		if r == ' ' {
			r = '_'
		}
		wasStart := start
		start = r == '/' || r == '_' || r == '-'
		if wasStart {
			return unicode.ToUpper(r)
		}
		return unicode.ToLower(r)
	}, name)
}

func place(name string) string {
	switch name {
	case "中国", "北京", "上海", "北京时间", "beijing", "shanghai", "china":
		return "Asia/Shanghai"
	case "香港", "hong kong", "hongkong":
		return "Asia/Hong_Kong"
	case "台北", "台湾", "taipei":
		return "Asia/Taipei"
	case "东京", "日本", "tokyo", "japan":
		return "Asia/Tokyo"
	case "新加坡", "singapore":
		return "Asia/Singapore"
	case "伦敦", "london":
		return "Europe/London"
	case "柏林", "berlin":
		return "Europe/Berlin"
	case "巴黎", "paris":
		return "Europe/Paris"
	case "纽约", "new york":
		return "America/New_York"
	case "洛杉矶", "los angeles":
		return "America/Los_Angeles"
	case "悉尼", "sydney":
		return "Australia/Sydney"
	}
	return ""
}

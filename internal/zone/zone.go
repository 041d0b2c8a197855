// Package zone finds the time zone that somebody meant who did not write its
// IANA name: a misspelt one, a city in English or Chinese, an offset. It is
// standard library only besides the distance of words.
package zone

import (
	_ "embed"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"magpie/internal/near"
	"magpie/internal/paste"
)

// zones are the names that the IANA database gives to countries and regions.
//
//go:embed zones.txt
var zones string

//go:embed places.txt
var places string

// Known says whether the name can be used as it is.
func Known(name string) bool {
	if name == "" || name == "Local" {
		return false
	}
	_, err := time.LoadLocation(name)
	return err == nil
}

// listed is (UTC+08:00) Beijing, Chongqing, Hong Kong.
var listed = regexp.MustCompile(`^[(（]((?i:utc|gmt)[^()（）]*)[)）]([^()（）]{0,200})$`)

// longest bounds what is compared, in bytes.
const longest = 64

// Meant is the zone that was probably meant; "" when nothing is near. sure
// says that it is the same place under another name, not a guess.
func Meant(said string) (name string, sure bool) {
	said, _ = paste.Trim("", said)
	said = paste.Folded(said)
	if m := listed.FindStringSubmatch(said); m != nil { // as Windows lists them
		for _, part := range append(strings.Split(m[2], ","), m[1]) {
			if name, sure := Meant(part); name != "" {
				return name, sure
			}
		}
	}
	if len(said) > longest || said == "" {
		return "", false
	}
	if Known(said) {
		return said, true
	}
	key := folded(said)
	for line := range strings.Lines(places) {
		name, names, _ := strings.Cut(strings.TrimSpace(line), " ")
		for place := range strings.SplitSeq(names, ",") {
			if strings.TrimSpace(place) == key {
				return name, true
			}
		}
	}
	for name := range strings.Lines(zones) {
		name = strings.TrimSpace(name)
		if whole := folded(name); whole == key || city(whole) == key {
			return name, true
		}
	}
	if name := byOffset(strings.ToLower(said)); name != "" {
		return name, false
	}
	if _, place, area := strings.Cut(key, "/"); area {
		// The area is wrong: Asia/Berlin, China/Shanghai, 亚洲/上海.
		if name, sure := Meant(place); sure {
			return name, false
		}
	}
	return nearest(key), false
}

// folded makes names comparable: asia/ho chi minh, 北京.
func folded(s string) string {
	s = strings.Map(func(r rune) rune {
		switch r {
		case '_', '-', '.':
			return ' '
		case '\\':
			return '/'
		}
		return unicode.ToLower(r)
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	s = strings.ReplaceAll(strings.ReplaceAll(s, " /", "/"), "/ ", "/")
	for _, end := range []string{"时间", "时区", "市", " time zone", " timezone", " time"} {
		if rest := strings.TrimSuffix(s, end); rest != "" {
			s = rest
		}
	}
	return s
}

func city(folded string) string { return folded[strings.LastIndexByte(folded, '/')+1:] }

// nearest is the zone or the place with the fewest letters to change.
func nearest(key string) string {
	least, found := 1+len(key)/7, ""
	look := func(word, name string) {
		if d := near.Distance(key, word); d < least || d == least && found == "" {
			least, found = d, name
		}
	}
	for name := range strings.Lines(zones) {
		name = strings.TrimSpace(name)
		look(folded(name), name)
		if len(key) > 4 {
			look(city(folded(name)), name)
		}
	}
	for line := range strings.Lines(places) {
		name, names, _ := strings.Cut(strings.TrimSpace(line), " ")
		for place := range strings.SplitSeq(names, ",") {
			if place = strings.TrimSpace(place); len(place) > 4 && place[0] < 0x80 && len(key) > 4 {
				look(place, name)
			}
		}
	}
	return found
}

var offset = regexp.MustCompile(`^(?:utc|gmt)?([+-]?)0?(\d{1,2})(?::?(00|30|45))?$`)

// byOffset is a place that has the offset: UTC+8, GMT 08:00, +8, 东八区.
func byOffset(key string) string {
	key = strings.TrimSuffix(strings.ReplaceAll(key, " ", ""), "区")
	for i, digit := range strings.Split("零,一,二,三,四,五,六,七,八,九,十,十一,十二", ",") {
		for _, side := range []string{"东", "西"} {
			if key == side+digit {
				key = side + strconv.Itoa(i)
			}
		}
	}
	key = strings.Replace(key, "东", "utc+", 1)
	if rest, west := strings.CutPrefix(key, "西"); west {
		key = "utc-" + rest
	}
	m := offset.FindStringSubmatch(key)
	if m == nil {
		return ""
	}
	sign := "+"
	if m[1] != "" {
		sign = m[1]
	}
	minutes := m[3]
	if minutes == "00" {
		minutes = ""
	}
	return atOffset(sign + m[2] + minutes)
}

// atOffset are well-known places by their offset in winter.
func atOffset(offset string) string {
	return map[string]string{
		"+0": "Europe/London", "-0": "Europe/London", "+1": "Europe/Berlin", "+2": "Europe/Helsinki", "+3": "Europe/Moscow", "+330": "Asia/Tehran",
		"+4": "Asia/Dubai", "+430": "Asia/Kabul", "+5": "Asia/Karachi", "+530": "Asia/Kolkata", "+545": "Asia/Kathmandu", "+6": "Asia/Dhaka",
		"+630": "Asia/Yangon", "+7": "Asia/Bangkok", "+8": "Asia/Shanghai", "+9": "Asia/Tokyo", "+930": "Australia/Adelaide",
		"+10": "Australia/Sydney", "+11": "Pacific/Noumea", "+12": "Pacific/Auckland", "+13": "Pacific/Tongatapu",
		"-1": "Atlantic/Azores", "-2": "America/Noronha", "-3": "America/Sao_Paulo", "-330": "America/St_Johns", "-4": "America/Halifax",
		"-5": "America/New_York", "-6": "America/Chicago", "-7": "America/Denver", "-8": "America/Los_Angeles", "-9": "America/Anchorage",
		"-10": "Pacific/Honolulu", "-11": "Pacific/Pago_Pago",
	}[offset]
}

// All are the names in the tables.
func All() []string {
	all := strings.Fields(zones)
	for line := range strings.Lines(places) {
		name, _, _ := strings.Cut(line, " ")
		all = append(all, name)
	}
	return all
}

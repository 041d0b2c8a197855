package when

import (
	"fmt"
	"strings"
	"time"
)

// isoDate reads 2026-11-22, also with slashes or dots.
func isoDate(ts tokens, i int) (piece, int) {
	y, m, d := ts.num(i), ts.num(i+2), ts.num(i+4)
	sep := ts.text(i + 1)
	if y < 0 || len(ts[i].text) != 4 || m < 0 || d < 0 || sep != ts.text(i+3) || sep != "-" && sep != "/" && sep != "." {
		return piece{}, 0
	}
	for j := i + 1; j < i+5; j++ {
		if !ts.close(j) {
			return piece{}, 0
		}
	}
	p := calendarDay(date{y, time.Month(m), d})
	if p.day != nil {
		p.day.digits = true
	}
	return p, i + 5
}

// calendarDay is a day by its date, or the error that there is none. Without a
// year, 29 February is a day.
func calendarDay(d date) piece {
	check := d
	if d.year == 0 {
		check.year = 2028
	}
	if !check.valid() {
		name := fmt.Sprintf("%02d-%02d", int(d.month), d.day)
		if d.year > 0 {
			name = fmt.Sprintf("%04d-", d.year) + name
		}
		return piece{err: fmt.Errorf("%w: the calendar has no %s", ErrInvalid, name)}
	}
	return piece{day: &day{kind: calendar, n: coming, date: d}}
}

// digital reads 15:00, 9:30, 07:05:30, behind an optional "at" or the T of an
// ISO time.
func digital(ts tokens, i int) (piece, int) {
	i = ts.skip(i, "at about", "at around", "at", "around", "about", "by", "@", "在", "于", "t")
	hour := ts.num(i)
	if hour < 0 || ts.num(i+2) < 0 || !ts.is(i+1, ":") || !ts.close(i+1) || !ts.close(i+2) || len(ts[i+2].text) != 2 || len(ts[i].text) > 2 {
		return piece{}, 0
	}
	c := clock{hour: hour, minute: ts.num(i + 2), style: colon, from: i, to: i + 3}
	if len(ts[i].text) == 2 && hour < 10 || hour == 0 || hour > 12 || ts.is(i-1, "t") {
		c.style = full
	}
	j := i + 3
	if ts.is(j, ":") && ts.close(j) && ts.close(j+1) && ts.num(j+1) >= 0 {
		c.second, j = ts.num(j+1), j+2
		if ts.is(j, ".") && ts.close(j) && ts.close(j+1) && ts.num(j+1) != -1 {
			j += 2 // fractions of a second
		}
	}
	if half, k := meridiem(ts, j); k > 0 {
		return c.meridiem(half), k
	}
	c.to = j
	return c.checked(), j
}

// checked is the clock as a piece, or the error that no clock shows this.
func (c clock) checked() piece {
	if c.hour > 24 || c.minute > 59 || c.second > 59 || c.hour == 24 && c.minute+c.second > 0 {
		return piece{err: fmt.Errorf("%w: no clock shows %d:%02d; the hours are 0 to 23", ErrInvalid, c.hour, c.minute)}
	}
	return piece{clock: &c}
}

// meridiem is the clock with am or pm.
func (c clock) meridiem(half string) piece {
	if c.hour > 12 && half == "pm" && c.hour < 24 {
		c.style = fixed // "15:00 pm" is clear
		return c.checked()
	}
	if c.hour > 12 || c.hour == 0 && half == "pm" {
		return piece{err: fmt.Errorf("%w: %d %s; write 1 to 12 with am or pm, or 0 to 23 without", ErrInvalid, c.hour, half)}
	}
	c.hour %= 12
	if half == "pm" {
		c.hour += 12
	}
	c.style = fixed
	return c.checked()
}

// meridiem reads "pm", "p.m.", "am", "a.m.".
func meridiem(ts tokens, i int) (string, int) {
	for _, half := range []string{"am", "pm"} {
		if ts.is(i, half) {
			return half, i + 1
		}
		if ts.is(i, half[:1]) && ts.is(i+1, ".") && ts.is(i+2, "m") && ts.close(i+1) && ts.close(i+2) {
			return half, ts.skip(i+3, ".")
		}
	}
	return "", 0
}

// offset reads what stands behind an ISO time: Z, +08:00, -0500. A minus needs
// the T before the time: 15:00-16:00 is not an offset.
func offset(ts tokens, i int) (piece, int) {
	if !ts.close(i) || ts.num(i-1) < 0 {
		return piece{}, 0
	}
	if ts.is(i, "z") {
		return piece{zone: time.FixedZone("UTC+00:00", 0), offset: true}, i + 1
	}
	if ts.is(i, "-") && !ts.afterT(i) || !ts.is(i-2, ":", ".") {
		return piece{}, 0
	}
	zone, j := offsetZone(ts, i)
	return piece{zone: zone, offset: true}, j
}

// afterT looks for the T of an ISO time that ends before i.
func (ts tokens) afterT(i int) bool {
	for j := i - 1; j > i-9 && ts.close(j); j-- {
		if ts.is(j, "t") {
			return true
		}
	}
	return false
}

// offsetZone reads +08:00, +0800 or +8 as a zone of that name.
func offsetZone(ts tokens, i int) (*time.Location, int) {
	sign := ts.text(i)
	hours := ts.num(i + 1)
	if sign != "+" && sign != "-" || hours < 0 || !ts.close(i+1) {
		return nil, 0
	}
	minutes, j := 0, i+2
	switch digits := len(ts[i+1].text); {
	case digits == 4:
		hours, minutes = hours/100, hours%100
	case digits > 2:
		return nil, 0
	case ts.is(j, ":") && ts.close(j) && ts.close(j+1) && ts.num(j+1) >= 0:
		minutes, j = ts.num(j+1), j+2
	}
	if hours > 14 || minutes > 59 {
		return nil, 0
	}
	seconds := hours*3600 + minutes*60
	if sign == "-" {
		seconds = -seconds
	}
	return time.FixedZone(fmt.Sprintf("UTC%s%02d:%02d", sign, hours, minutes), seconds), j
}

// zoneAreas are the first words of the names of zones.
const zoneAreas = " africa america antarctica arctic asia atlantic australia brazil canada chile etc europe indian mexico pacific us "

// zoneName reads Asia/Shanghai, UTC, UTC+08:00, 北京时间, also in parentheses.
func zoneName(ts tokens, i int) (piece, int) {
	open := ts.is(i, "(")
	if open {
		i++
	}
	p, j := zoneWords(ts, i)
	if j == 0 && open && i < len(ts) && ts[i].kind == word { // (CET)
		if p = loadZone(ts[i].raw); p.err == nil {
			j = i + 1
		}
	}
	if j > 0 && open {
		if !ts.is(j, ")") {
			return piece{}, 0
		}
		j++
	}
	return p, j
}

func zoneWords(ts tokens, i int) (piece, int) {
	if ts.is(i, "utc", "gmt") {
		if zone, j := offsetZone(ts, i+1); j > 0 && ts.close(i+1) {
			return piece{zone: zone, offset: true}, j
		}
		if ts.is(i+1, "+", "-") && ts.close(i+1) && ts.close(i+2) && ts.num(i+2) >= 0 {
			return piece{err: fmt.Errorf("%w %s%s%s: want an offset from UTC-14 to UTC+14, or a name such as Asia/Shanghai", ErrBadZone, ts[i].raw, ts[i+1].raw, ts[i+2].raw)}, i + 3
		}
		return piece{zone: time.UTC}, ts.skip(i+1, "time", "时间")
	}
	if j := ts.any(i, "北京时间", "中国时间", "beijing time"); j > 0 {
		return loadZone("Asia/Shanghai"), j
	}
	if i >= len(ts) || ts[i].kind != word || !ts.is(i+1, "/") || !ts.close(i+1) || !strings.Contains(zoneAreas, " "+ts[i].text+" ") {
		return piece{}, 0
	}
	j := i + 1
	name, raw := title(ts[i].text), ts[i].raw
	for ts.is(j, "/", "-", "+") && ts.close(j) && ts.close(j+1) && ts[j+1].kind != mark {
		name += ts[j].text + title(ts[j+1].text)
		raw += ts[j].text + ts[j+1].raw
		j += 2
	}
	if p := loadZone(raw); p.err == nil {
		return p, j
	}
	if p := loadZone(name); p.err == nil || !ts.is(i, "us", "indian") || titled(ts[i].raw) {
		return p, j
	}
	return piece{}, 0 // us/them
}

// title writes a word as the names of zones do: New_York, Port_of_Spain.
func title(name string) string {
	if name == "gmt" || name == "utc" {
		return strings.ToUpper(name)
	}
	parts := strings.Split(name, "_")
	for i, p := range parts {
		if p != "" && p != "of" && p != "es" {
			parts[i] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "_")
}

func loadZone(name string) piece {
	zone, err := time.LoadLocation(name)
	if err != nil {
		return piece{err: fmt.Errorf("%w %.60q: want a name such as Asia/Shanghai, Europe/Berlin or UTC", ErrBadZone, name)}
	}
	return piece{zone: zone}
}

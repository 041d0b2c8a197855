package when

import (
	"magpie/cron/grammar"
)

// reading reads at the i-th token: a value and the place behind it, 0 when it is
// not there.
type reading = func(t *grammar.Text, i int) (any, int)

// within reads a number that lies between two others.
func within(least, most int, read reading) reading {
	return func(t *grammar.Text, i int) (any, int) {
		v, j := read(t, i)
		if n, _ := v.(int); j == 0 || n < least || n > most {
			return nil, 0
		}
		return v, j
	}
}

// long reads a number of so many digits.
func long(count int) reading {
	return func(t *grammar.Text, i int) (any, int) {
		if t.Num(i) < 0 || len(t.Tokens[i].Text) != count {
			return nil, 0
		}
		return t.Num(i), i + 1
	}
}

func digits(t *grammar.Text, i int) (any, int) {
	if n := t.Num(i); n >= 0 {
		return n, i + 1
	}
	return nil, 0
}

func wholeChinese(t *grammar.Text, i int) (any, int) { return found(t.Chinese(i)) }

func spoken(t *grammar.Text, i int) (any, int) {
	if t.Is(i, "a", "an") {
		return nil, 0
	}
	return found(t.Spoken(i))
}

func number(t *grammar.Text, i int) (any, int) {
	if v, j := digits(t, i); j > 0 {
		return v, j
	}
	return spoken(t, i)
}

func ordinal(t *grammar.Text, i int) (any, int) { return found(t.Ordinal(i)) }

func chineseNumber(t *grammar.Text, i int) (any, int) {
	n, j := t.Chinese(i)
	if f, k := t.Amount(i); k > j && t.Num(i) >= 0 {
		return f, k
	}
	if t.Is(i, "零", "〇") {
		return nil, 0
	}
	return found(float64(n), j)
}

// dayNumber reads the number of a day: "22", "22nd", "first"; not the 9 of 9:30
// or 9am.
func dayNumber(t *grammar.Text, i int) (any, int) {
	if n, j := t.Ordinal(i); j > 0 {
		return n, j
	}
	n := t.Num(i)
	if n < 0 || len(t.Tokens[i].Text) > 2 || t.Is(i+1, ":") || t.At("ampm", i+1) > 0 {
		return nil, 0
	}
	return n, i + 1
}

func year(t *grammar.Text, i int) (any, int) {
	n, j := t.Year(i)
	if j == 0 || n < 1900 && t.Num(i) >= 0 {
		return nil, 0
	}
	return n, j
}

func hour(t *grammar.Text, i int) (any, int) {
	v, j := number(t, i)
	if n, _ := v.(int); j == 0 || i > 0 && t.At("numbered", i-1) == i && t.At("ampm", j) == 0 && !t.Is(j, ":", ".") || n > 24 && !t.Is(i+1, "点") || n > 12 && t.Num(i) < 0 || t.Num(i) >= 0 && len(t.Tokens[i].Text) > 2 {
		return nil, 0
	}
	return v, j
}

func minute(t *grammar.Text, i int) (any, int) {
	n, j := t.Amount(i)
	if n < 5 && !t.Is(j, "minutes", "minute", "mins", "min") { // "the 6pm one to 7pm"
		return nil, 0
	}
	if j == 0 || n < 1 || n > 59 || n != float64(int(n)) || t.Is(i, "a", "an") {
		return nil, 0
	}
	return int(n), j
}

// earlyDigits reads 0530 beside a day, or where the text begins with it.
func earlyDigits(t *grammar.Text, i int) (any, int) {
	n, j := within(0, 2459, long(4))(t, i)
	if j == 0 || t.Tokens[i].Text[0] != '0' {
		return nil, 0
	}
	beside := i == 0 || t.At("day", j) > 0
	for k := max(0, i-4); k < i; k++ {
		beside = beside || t.At("day", k) == i
	}
	if !beside {
		return nil, 0
	}
	return n, j
}

// listedDate reads one of several days of a month: of "the 5th, 12th and 19th of
// december" each.
func listedDate(t *grammar.Text, i int) (any, int) {
	n, end := t.Match("day-number", i)
	last := end
	for j := end; j > 0; {
		last = j
		if j = t.At("list-and", j); j > 0 {
			_, j = t.Match("day-number", t.Skip(j, "the"))
		}
	}
	m, k := t.Match("month", t.Skip(last, "of"))
	if k == 0 || last == end {
		return nil, 0
	}
	return calendarDay(0, m.(int), n.(int), coming), end
}

// numbers reads days of a month: "1st", "1st and 15th", "1st, 10th".
func numbers(t *grammar.Text, i int) (any, int) {
	var all []int
	end := 0
	for range grammar.MaxList {
		n, j := t.Ordinal(i)
		if k := t.At("last-of-month", i); k > 0 && len(all) > 0 {
			n, j = lastDay, k
		}
		if j == 0 {
			break
		}
		all, end = append(all, n), j
		i = t.Skip(t.After("list-and", j), "the")
	}
	return found(all, end)
}

// monthList reads several months in a row: January and July, 1月、7月.
func monthList(category, joiner string) reading {
	return func(t *grammar.Text, i int) (any, int) {
		var all []int
		end := 0
		for v, j := t.Match(category, i); j > 0; v, j = t.Match(category, i) {
			all, end = append(all, v.(int)), j
			i = t.After(joiner, j)
		}
		if len(all) < 2 {
			return nil, 0
		}
		return all, end
	}
}

// chineseDays reads 1号, 1号和15号, 1、15号.
func chineseDays(t *grammar.Text, i int) (any, int) {
	var all, kept []int
	end := 0
	for range grammar.MaxList {
		if k := t.At("last-of-month", i); k > 0 && len(kept) > 0 {
			return append(kept, lastDay), k
		}
		n, j := t.Chinese(i)
		if j == 0 || n < 1 || n > 99 {
			break
		}
		all = append(all, n)
		if k := t.Skip(j, "号", "日"); k > j {
			kept, end, j = all, k, k
		}
		if i = t.After("zh-list", j); i == j {
			break
		}
	}
	return found(kept, end)
}

// written is the hour n that begins at i: 08 and 15 are of 24 hours.
func written(t *grammar.Text, i, n int) clock {
	c := clock{hour: n, from: i, to: i + 1}
	if n == 0 || n > 12 || n < 10 && len(t.Tokens[i].Text) == 2 {
		c.style = full
	}
	return c
}

// chineseHour reads the hour and its 点 or 时: 三点, 8点, 十五时.
func chineseHour(t *grammar.Text, i int) (any, int) {
	n, j := t.Chinese(i)
	if j == 0 || t.At("早一", i-1) > 0 && t.At("今", i-2) != i && !t.Is(i-2, "每") || i > 0 && t.Is(i-1, ".") && t.Close(i) || n > 24 && t.Num(i) < 0 && !t.Is(i-1, "午", "上", "晨", "间", "晚", "夜", "天") {
		return nil, 0
	}
	c := written(t, i, n)
	c.to = t.At("点钟", j)
	if t.At("时间", j) > 0 || n == 1 && t.At("点都", j) > 0 ||
		n <= 3 && t.At("点名", j) > 0 && !t.Is(i-1, "午", "上", "晨", "晚", "、", "和", "到") {
		return nil, 0
	}
	return found(c, c.to)
}

// chineseMinute reads 零五, 30分, 四十五 behind an hour.
func chineseMinute(t *grammar.Text, i int) (any, int) {
	n, j := t.Chinese(i)
	if j == 0 || n > 99 {
		return nil, 0
	}
	if t.Is(j, "分") && !t.Is(j+1, "之") {
		return n, t.Skip(j+1, "钟")
	}
	if n > 59 {
		return nil, 0
	}
	two := n >= 10 || t.Is(i, "零", "〇") || len(t.Tokens[i].Text) == 2
	if !two || t.At("counted-zh", j) > 0 {
		return nil, 0
	}
	return n, j
}

// runTogether reads 430, 1130: what speech and haste make of 4:30.
func runTogether(t *grammar.Text, i int) (any, int) {
	n, digits := t.Num(i), len(t.Tokens[i].Text)
	if digits < 3 || digits > 4 || n < 100 || n > 1259 || n%100 > 59 || t.At("ampm", i+1) == 0 && n%5 > 0 {
		return nil, 0
	}
	return clock{hour: n / 100, minute: n % 100, style: colon, from: i, to: i + 1}, i + 1
}

// digital reads 15:00, 9:30, 07:05:30, behind the T of an ISO time too.
func digital(t *grammar.Text, i int) (any, int) {
	from := i
	if t.Is(i, "t") && t.Close(i) && t.Close(i+1) {
		i++
	}
	h := t.Num(i)
	if h < 0 || t.Num(i+2) < 0 || !t.Is(i+1, ":") || !t.Close(i+1) || !t.Close(i+2) || len(t.Tokens[i+2].Text) != 2 || len(t.Tokens[i].Text) > 2 {
		return nil, 0
	}
	c, j := written(t, i, h), i+3
	c.minute, c.style = t.Num(i+2), max(c.style, colon)
	if i > from {
		c.style = full
	}
	if t.Is(j, ":") && t.Close(j) && t.Close(j+1) && t.Num(j+1) >= 0 {
		c.second, j = t.Num(j+1), j+2
		if t.Is(j, ".") && t.Close(j) && t.Close(j+1) && t.Num(j+1) != -1 {
			j += 2 // fractions of a second
		}
	}
	c.to = j
	return c, j
}

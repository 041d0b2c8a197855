package when

import "slices"

// leftover looks for words that belong to the time and were not understood:
// bounds ("from tomorrow", 除了周日), counts ("three times", 一天三次), lengths ("for
// 3 days", 持续一周), rare ways to repeat ("biweekly", "every third friday") and
// numbers that stand beside the time.
type leftover struct {
	*sentence
	time   group
	starts []bool // tokens where a time begins, of this reminder or not
	ends   []int  // the tokens behind the times of this reminder
	again  bool   // some time repeats
}

// leftover is the first such run of tokens; to is 0 when there is none.
func (s *sentence) leftover(g group, all []group, gone []bool) (from, to int) {
	l := leftover{sentence: s, time: g, starts: make([]bool, len(s.ts)+1)}
	for _, h := range all {
		l.starts[h.from] = true
		l.again = l.again || repeats(h)
	}
	for _, h := range append(s.extra, g) {
		l.ends = append(l.ends, h.to)
	}
	for _, h := range all {
		if from, to := l.bound(h); to > 0 {
			return from, to
		}
	}
	for i := range s.ts {
		if gone[i] {
			continue
		}
		for _, rule := range []func(int) int{l.counted, l.lasting, l.rare, l.every} {
			if j := rule(i); j > 0 {
				return i, j
			}
		}
	}
	for _, end := range l.ends {
		if j := l.lone(end); j > 0 {
			return end, j
		}
	}
	if i := l.digits(g.from); i < g.from {
		return i, g.from
	}
	return 0, 0
}

// bound reads what makes a time a limit or an exception of another: "from
// tomorrow", 直到周五, 周日除外; and "not tomorrow".
func (l *leftover) bound(h group) (from, to int) {
	ts, self := l.ts, h.from == l.time.from
	if i := ts.before(h.from, "not", "rather than", "instead of", "不是", "不要"); i >= 0 && (i <= l.time.to+1 || slices.Contains(l.ends, h.to)) {
		return i, h.to
	}
	if !l.again {
		return 0, 0
	}
	if i := ts.before(h.from, limits...); i >= 0 {
		return i, h.to
	}
	if j := ts.any(h.to, "开始", "起", "以后", "之后", "onwards", "onward"); j > 0 && !ts.is(j, "床", "来", "飞", "身", "草", "航", "诉", "码") {
		if !(self && repeats(h)) || l.over(j) {
			return h.from, j
		}
	}
	if j := ts.any(h.to, "为止", "除外", "例外", "不用", "不要", "不提醒", "跳过", "excluded"); j > 0 && !self {
		return h.from, j
	}
	return 0, 0
}

// limits lead to a time that is not the one of the reminder.
var limits = []string{
	"until", "till", "through", "from", "starting", "starting on", "starting from", "beginning", "beginning on", "as of", "since",
	"except", "except for", "except on", "excluding", "but", "apart from", "other than", "直到", "从", "自", "自从", "除了", "除",
}

// before is where one of the literals begins that ends at i; -1 without.
func (ts tokens) before(i int, all ...string) int {
	for n := 1; n <= 2 && n <= i; n++ {
		if ts.any(i-n, all...) == i {
			return i - n
		}
	}
	return -1
}

// over says that nothing of the thing to be reminded of begins at j.
func (l *leftover) over(j int) bool {
	return j >= len(l.ts) || l.order[j] || l.starts[j] || l.ts[j].kind == mark || l.ts.is(j, "to")
}

// beside says that i stands directly behind a time of this reminder.
func (l *leftover) beside(i int) bool {
	for _, end := range l.ends {
		if i == end || i == end+1 && l.ts.is(end, ",") {
			return true
		}
	}
	return false
}

// counted reads how often: "3 times", "twice", 三次. Once is of interest only
// where a length of time would be the repetition: 一天一次.
func (l *leftover) counted(i int) int {
	ts := l.ts
	total := ts.any(i, "一共", "总共", "共")
	n, j := ts.chinese(max(i, total))
	switch {
	case j > 0 && ts.is(j, "次", "遍"):
		if j++; total > 0 && l.again {
			return j
		}
	case ts.is(i, "次", "遍") && l.beside(i) && ts[i-1].kind == han && repeats(l.time): // 每周三次
		return i + 1
	case ts.is(i, "twice", "thrice"):
		n, j = 2, i+1
	default:
		amount, k := ts.amount(i)
		if n, j = int(amount), ts.any(k, "times"); k == 0 || j == 0 {
			return 0
		}
	}
	switch {
	case l.beside(i):
		if n > 1 || !repeats(l.time) {
			return j
		}
	case n < 2:
	case i > 0 && l.order[i-1], l.again && l.starts[j], i == 0 && (l.over(j) || ts.is(j, "a", "per", "every", "each")):
		return j
	}
	return 0
}

// lasting reads for how long: "for 3 days", 持续一周. A length of less than a day
// is mostly that of the thing: "every day at 9am to run for 30 minutes".
func (l *leftover) lasting(i int) int {
	ts := l.ts
	if j := ts.any(i, "for the rest of", "all week", "all month", "all year"); j > 0 && (l.again || l.beside(i) || l.starts[j]) {
		return j
	}
	k, j, length := ts.any(i, "for the next", "for another", "for", "over the next", "during the next"), 0, span{}
	switch {
	case k > 0:
		length, j = englishLength(ts, k)
	case ts.any(i, lastingWords...) > 0:
		k = ts.any(i, lastingWords...)
		length, j = chineseLength(ts, ts.skip(k, "的"))
	case l.beside(i) && repeats(l.time):
		if length, j = chineseLength(ts, i); j == 0 {
			length, j = englishLength(ts, i)
		}
	}
	if j == 0 || ts.is(j, "的") {
		return 0
	}
	days := length.days > 0 || length.months > 0
	switch {
	case days && (l.again || l.beside(i) || l.starts[j] && (l.beginning(i) || !ts.is(i, "for"))):
		return j
	case k > 0 && length.exact > l.time.spacing().exact && l.time.spacing().exact > 0:
		return j
	}
	return 0
}

var lastingWords = []string{"持续", "连续", "连着", "为期", "接下来", "未来", "坚持", "一共", "总共", "共"}

// spacing is the length of time by which the group repeats, if it does.
func (g group) spacing() span {
	for _, p := range g.pieces {
		if p.repeat != nil && p.repeat.kind == spaced {
			return p.repeat.span
		}
	}
	return span{}
}

// rare reads ways to repeat that are no pieces: "biweekly", 双周, 每季度, "in
// december" beside "every day".
func (l *leftover) rare(i int) int {
	ts := l.ts
	if ts.is(i, "bi", "semi") && ts.is(i+1, "-") && l.starts[i+2] {
		return i + 3
	}
	if ts.is(i, "双", "单") && (l.starts[i+1] || ts.is(i+1, "周", "月") && l.starts[i+2]) {
		return i + 2
	}
	if _, month := englishMonths[ts.text(i+1)]; month && l.again && ts.is(i, "in", "during", "through", "throughout", "until", "till", "from", "since", "starting") {
		return i + 2
	}
	if n, j := ts.chinese(i); l.again && n >= 1 && n <= 12 && ts.is(j, "月") && l.starts[ts.skip(j+1, "的", "里", "份")] {
		return j + 1
	}
	j := ts.any(i, "biweekly", "fortnightly", "bimonthly", "semimonthly", "quarterly", "alternate", "每季度", "每个季度", "每季", "每旬")
	if j == 0 {
		return 0
	}
	if j == len(ts) || i == 0 && l.over(j) || i > 0 && l.order[i-1] || l.beside(i) || l.starts[ts.skip(j, "的", ",")] {
		return j
	}
	return 0
}

// every reads the "every" that the time behind it did not take: "every other
// friday", "every third friday".
func (l *leftover) every(i int) int {
	ts := l.ts
	if !ts.is(i, "every", "each", "每", "每逢") {
		return 0
	}
	for j := i + 1; j <= i+3 && j < len(ts); j++ {
		if l.starts[j] {
			return j + 1
		}
		if _, k := ts.ordinal(j); k > 0 {
			j = k - 1
		} else if !ts.is(j, "other", "single", "odd", "even") {
			return 0
		}
	}
	return 0
}

// lone reads a number behind the time that may be part of it: "in 1 hour 30 to
// call", 每天上午9到11点.
func (l *leftover) lone(i int) int {
	ts := l.ts
	n, j := ts.chinese(i)
	if j == 0 {
		last := l.time.pieces[len(l.time.pieces)-1]
		if n, j = ts.spoken(i); last.span == nil || n < 5 { // "in one hour thirty"
			return 0
		}
	}
	if j >= len(ts) || l.order[j] || ts.is(j, "to", ",", "后") {
		return j
	}
	if !ts.is(j, "and", "&", "和", "、", "-", "–", "~", "到", "至") {
		return 0
	}
	_, k := ts.chinese(j + 1)
	if k > 0 && (l.over(k) || ts.is(k, "点", "时") || l.time.names()&hasHour == 0 && n <= 24) {
		return k
	}
	return 0
}

// digits is where the numbers begin that stand between the beginning and the
// time, as in "12-24 20:00"; the time itself when there are none. A number of a
// list ("1. tomorrow …") is not meant.
func (l *leftover) digits(from int) int {
	ts, i, n := l.ts, from, 0
	for i > 0 && n <= 4 && !l.order[i-1] && (ts[i-1].kind == number || ts[i-1].kind == mark) {
		if i--; ts[i].kind == number {
			n++
		}
	}
	for i < from && ts[i].kind == mark {
		i++
	}
	if n == 0 || n == 1 && ts[from-1].kind == mark || i > 0 && !l.beginning(i) && !ts.is(i-1, "on", "at", "by", "在", "于") {
		return from
	}
	return i
}

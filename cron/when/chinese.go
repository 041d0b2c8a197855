package when

import "time"

// chineseClock reads "三点", "8点半", "十点三刻", "9点05分", "差五分三点",
// "零点".
func chineseClock(ts tokens, i int) (piece, int) {
	if ts.is(i-1, "早", "晚", "快", "慢", "多", "少", "有", "差", "第") && ts.close(i) && ts.is(i, "一", "两", "几") {
		return piece{}, 0 // 早一点 is not one o'clock
	}
	i = ts.skip(i, "在", "于", "约", "大约")
	c, minus := clock{from: i}, 0
	if ts.is(i, "差") {
		j := i + 1
		if k := ts.lit(j, "一刻"); k > 0 {
			minus, i = 15, ts.skip(k, "钟", "到")
		} else if n, k := ts.chinese(j); k > 0 && n < 60 && ts.is(k, "分") {
			minus, i = n, ts.skip(k+1, "钟", "到")
		} else {
			return piece{}, 0
		}
	}
	if j := ts.any(i, "午夜", "子夜", "半夜"); j > 0 && minus == 0 {
		if _, k := chineseHour(ts, j); k > 0 {
			return piece{part: evening}, j
		}
		c.style, c.to = midnight, j
		return c.checked(), j
	}
	hour, j := chineseHour(ts, i)
	if j == 0 {
		return piece{}, 0
	}
	c.hour = hour
	minute, k := chineseMinute(ts, j)
	c.minute, j = minute, k
	if minus > 0 {
		if c.minute > 0 {
			return piece{}, 0
		}
		c.hour, c.minute = hour-1, 60-minus
		if hour == 0 {
			c.hour = 23
		}
	}
	if c.hour == 0 || c.hour > 12 || ts.num(i) >= 0 && len(ts[i].text) == 2 && c.hour < 10 {
		c.style = full
	}
	c.to = j
	return c.checked(), j
}

// chineseHour reads the hour and its 点 or 时.
func chineseHour(ts tokens, i int) (hour, next int) {
	hour, j := ts.chinese(i)
	if j == 0 || i > 0 && ts.is(i-1, ".") && ts.close(i) {
		return 0, 0
	}
	switch {
	case ts.lit(j, "点钟") > 0:
		return hour, j + 2
	case ts.is(j, "点") && !ts.is(j+1, "名", "赞", "餐", "击", "评", "儿", "水", "意", "建", "滴", "子", "都", "也"):
		return hour, j + 1
	case ts.is(j, "时") && !ts.is(j+1, "间", "候", "长", "辰"):
		return hour, j + 1
	}
	return 0, 0
}

// chineseMinute reads what follows the hour: 半, 一刻, 整, 零五, 30分. The place is
// i when nothing does.
func chineseMinute(ts tokens, i int) (minute, next int) {
	switch {
	case ts.is(i, "半"):
		return 30, i + 1
	case ts.is(i, "整", "正"):
		return 0, i + 1
	case ts.lit(i, "一刻") > 0:
		return 15, ts.skip(i+2, "钟")
	case ts.lit(i, "三刻") > 0:
		return 45, ts.skip(i+2, "钟")
	}
	n, j := ts.chinese(i)
	if j == 0 || n > 59 {
		return 0, i
	}
	if ts.is(j, "分") && !ts.is(j+1, "之") {
		return n, ts.skip(j+1, "钟")
	}
	if two := n >= 10 || ts.is(i, "零", "〇") || len(ts[i].text) == 2; !two || ts.is(j, "个", "人", "名", "位", "块", "元", "%", "天", "点", "小", "分", "秒", "年", "月", "号", "日", "次", "只", "条", "件", ":", "度", "岁") {
		return 0, i
	}
	return n, j
}

// chineseParts are the parts of the day by their names; the day of 今晚 is today.
var chineseParts = []struct {
	name string
	part part
}{
	{"凌晨", dawn},
	{"清晨", morning},
	{"清早", morning},
	{"大清早", morning},
	{"早上", morning},
	{"早晨", morning},
	{"上午", morning},
	{"一早", morning},
	{"大早上", morning},
	{"中午", noon},
	{"正午", noon},
	{"午间", noon},
	{"下午", afternoon},
	{"午后", afternoon},
	{"傍晚", evening},
	{"晚上", evening},
	{"晚间", evening},
	{"夜里", evening},
	{"夜间", evening},
	{"深夜", evening},
	{"当晚", evening},
}

// chinesePart reads "下午", "今晚", "明早", "后天晚上"'s second half.
func chinesePart(ts tokens, i int) (piece, int) {
	for _, d := range []struct {
		name string
		n    int
	}{{"今", 0}, {"明", 1}} {
		if !ts.is(i, d.name) {
			continue
		}
		p := piece{day: &day{kind: inDays, n: d.n}}
		switch {
		case ts.is(i+1, "早", "晨"):
			p.part = morning
		case ts.is(i+1, "午"):
			p.part = noon
		case ts.is(i+1, "晚", "夜"):
			p.part = evening
		default:
			return piece{}, 0
		}
		return p, ts.skip(i+2, "上", "晨", "间")
	}
	j := ts.skip(i, "在")
	for _, c := range chineseParts {
		if k := ts.lit(j, c.name); k > 0 {
			return piece{part: c.part}, k
		}
	}
	if ts.is(i, "早") && ts.close(i) { // 周一早8点
		if _, k := chineseHour(ts, i+1); k > 0 {
			return piece{part: morning, weak: true}, i + 1
		}
	}
	if ts.is(i, "晚") && ts.close(i) {
		if _, k := chineseHour(ts, i+1); k > 0 {
			return piece{part: evening, weak: true}, i + 1
		}
	}
	return piece{}, 0
}

// chineseDays are the days by their names.
var chineseDays = []struct {
	name string
	n    int
}{
	{"大大后天", 4},
	{"大后天", 3},
	{"大前天", -3},
	{"今天", 0},
	{"今日", 0},
	{"今儿", 0},
	{"明天", 1},
	{"明日", 1},
	{"明儿", 1},
	{"后天", 2},
	{"昨天", -1},
	{"昨日", -1},
	{"昨晚", -1},
	{"前天", -2},
}

func chineseDay(ts tokens, i int) (piece, int) {
	i = ts.skip(i, "在", "于")
	for _, d := range chineseDays {
		if j := ts.lit(i, d.name); j > 0 {
			return piece{day: &day{kind: inDays, n: d.n}}, j
		}
	}
	return piece{}, 0
}

// chineseWeek reads 周五, 下周五, 本周日, 下个星期, 周末.
func chineseWeek(ts tokens, i int) (piece, int) {
	i = ts.skip(i, "在", "于")
	n, j := coming, i
	switch {
	case ts.any(i, "下下个", "下下") > 0:
		n, j = 2, ts.any(i, "下下个", "下下")
	case ts.any(i, "下个", "下") > 0:
		n, j = 1, ts.any(i, "下个", "下")
	case ts.any(i, "这个", "这", "本") > 0:
		n, j = 0, ts.any(i, "这个", "这", "本")
	case ts.any(i, "上个", "上") > 0:
		n, j = -1, ts.any(i, "上个", "上")
	}
	k := ts.any(j, "周", "星期", "礼拜")
	if k == 0 {
		return piece{}, 0
	}
	if ts.is(k, "末") && !ts.is(j, "星") {
		return piece{day: &day{kind: weekend, n: n}}, k + 1
	}
	if w, ok := chineseWeekday(ts, k); ok {
		return piece{day: &day{kind: weekday, n: n, week: w}}, k + 1
	}
	if n == coming || ts.is(k, "年") {
		return piece{}, 0
	}
	return piece{week: &n}, k
}

func chineseWeekday(ts tokens, i int) (time.Weekday, bool) {
	if ts.is(i, "日", "天") {
		return time.Sunday, true
	}
	n, ok := chineseDigits[ts.text(i)]
	if !ok || ts.is(i, "两") {
		n = ts.num(i)
	}
	if n < 1 || n > 6 || ts.is(i+1, ":") {
		return 0, false
	}
	return time.Weekday(n), true
}

// chineseDate reads 2026年11月22日, 11月22号, 明年1月1日, 年底.
func chineseDate(ts tokens, i int) (piece, int) {
	i = ts.skip(i, "在", "于")
	if j := ts.any(i, "今年年底", "今年底", "年底", "年末"); j > 0 {
		return calendarDay(date{0, time.December, 31}), j
	}
	d, j, ahead := date{}, i, coming
	if y, k := ts.year(i); k > 0 && ts.is(k, "年") {
		d.year, j = y, k+1
	} else if k := ts.any(i, "今年", "明年", "后年"); k > 0 {
		ahead, j = map[string]int{"今": 0, "明": 1, "后": 2}[ts.text(i)], ts.skip(k, "的")
	}
	m, k := ts.chinese(j)
	if k == 0 || !ts.is(k, "月") {
		return piece{}, 0
	}
	j = k + 1
	if l := ts.any(j, "底", "末", "最后一天"); l > 0 && m >= 1 && m <= 12 {
		year := d.year
		if year == 0 {
			year = 2026
		}
		d.month = time.Month(m)
		d.day = date{year, d.month, 1}.last()
		return calendarDay(d), l
	}
	n, k := ts.chinese(j)
	if k == 0 {
		return piece{}, 0
	}
	if d.month, d.day = time.Month(m), n; ts.is(k, "日", "号") {
		k++
	}
	p := calendarDay(d)
	if p.day != nil {
		p.day.n = ahead
	}
	return p, k
}

// chineseMonthDay reads 下个月1号, 本月十五号, 22号, 月底, 下月初.
func chineseMonthDay(ts tokens, i int) (piece, int) {
	i = ts.skip(i, "在", "于", "到")
	n, j := coming, i
	switch {
	case ts.any(i, "下下个月", "下下月") > 0:
		n, j = 2, ts.any(i, "下下个月", "下下月")
	case ts.any(i, "下个月", "下月") > 0:
		n, j = 1, ts.any(i, "下个月", "下月")
	case ts.any(i, "这个月", "本月", "这月", "当月") > 0:
		n, j = 0, ts.any(i, "这个月", "本月", "这月", "当月")
	}
	named := j > i
	j = ts.skip(j, "的")
	if k := ts.any(j, "月底", "月末"); k > 0 {
		return monthNumberDay(max(n, 0), lastDay), k
	}
	if k := ts.any(j, "底", "末", "最后一天"); k > 0 && named {
		return monthNumberDay(n, lastDay), k
	}
	if k := ts.any(j, "月初"); k > 0 {
		return monthNumberDay(n, 1), k
	}
	if k := ts.any(j, "初"); k > 0 && named {
		return monthNumberDay(n, 1), k
	}
	if d, k := ts.chinese(j); k > 0 && ts.is(k, "号", "日") && (named || ts.is(k, "号")) && !ts.is(k+1, counted...) {
		return monthNumberDay(n, d), k + 1
	}
	if !named {
		return piece{}, 0
	}
	return piece{day: &day{kind: monthDay, n: n}}, j
}

// counted is what 号 counts besides days: 3号楼, 2号线.
var counted = []string{"楼", "线", "门", "房", "店", "院", "机", "位", "码", "桌", "厅", "口", "馆", "车", "选", "球", "仓", "库", "人", "员", "会", "教", "站", "文"}

// chineseUnit reads the name of a unit, with an optional 个 and 半 before it.
func chineseUnit(ts tokens, i int) (unit, int) {
	switch {
	case ts.lit(i, "分钟") > 0:
		return unitMinute, i + 2
	case ts.lit(i, "秒钟") > 0:
		return unitSecond, i + 2
	case ts.is(i, "秒"):
		return unitSecond, i + 1
	case ts.any(i, "小时", "钟头") > 0:
		return unitHour, i + 2
	case ts.is(i, "天", "日"):
		return unitDay, i + 1
	case ts.any(i, "星期", "礼拜") > 0:
		return unitWeek, i + 2
	case ts.is(i, "周"):
		return unitWeek, i + 1
	case ts.is(i, "月") && ts.is(i-1, "个", "半"):
		return unitMonth, i + 1
	case ts.is(i, "年"):
		return unitYear, i + 1
	}
	return unit{}, 0
}

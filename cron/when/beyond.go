package when

// beyond finds what changes the time that was understood and is not
// understood itself: "12/24 at 6pm", "10 minutes before my 3pm meeting", "every
// hour until 6pm", "下午3点的会提前10分钟提醒我". To leave it out would be a guess, so
// it is asked about.
func (s *sentence) beyond(g group, all []group) error {
	gone := make([]bool, len(s.ts))
	for _, t := range append(s.extra, g) {
		for i := t.from; i < t.to; i++ {
			gone[i] = true
		}
	}
	for i := range s.ts {
		if j := s.nth(i); j > 0 {
			return s.unclear(i, j)
		}
		if gone[i] {
			continue
		}
		if j := s.shifts(i); j > 0 {
			return s.unclear(i, j)
		}
	}
	if j := s.after(g); j > 0 {
		return s.unclear(g.to, j)
	}
	if i := s.before(g); i < g.from {
		return s.unclear(i, g.from)
	}
	for _, other := range all {
		if !gone[other.from] && repeats(other) && !repeats(g) && s.ranged(g) {
			return s.unclear(other.from, other.to)
		}
	}
	if from, to := s.leftover(g, all, gone); to > 0 {
		return s.unclear(from, to)
	}
	return nil
}

// nth reads a day of the week by its place in the month: "second friday", "last
// friday of the month", 第三个周五, 最后一个工作日. "Last friday" alone has passed.
func (s *sentence) nth(i int) int {
	ts := s.ts
	n, j := ts.ordinal(i)
	last := ts.is(i, "last")
	if last {
		j = i + 1
	}
	if _, date := englishMonths[ts.text(i-1)]; j > 0 && n <= 5 && !date {
		k := ts.any(j, "working day", "business day", "weekday", "workday")
		if _, l := englishWeekday(ts, j, true); k == 0 && (l == 0 || len(ts[j].text) > 3) {
			k = l
		}
		if k > 0 && (!last || ts.is(k, "of", "in")) {
			return k
		}
	}
	if j = ts.any(i, "最后一个", "最后1个", "最后一周", "最后一个星期"); j == 0 && ts.is(i, "第") {
		if _, k := ts.chinese(i + 1); k > 0 {
			j = ts.any(k, "个星期", "个", "周")
		}
	}
	if j == 0 {
		return 0
	}
	j = ts.skip(j, "的")
	if k := ts.any(j, "周", "星期", "礼拜"); k > 0 {
		if _, ok := chineseWeekday(ts, k); ok {
			return k + 1
		}
	}
	return ts.any(j, "工作日", "周末")
}

// shifts reads what moves a time wherever it stands: "10 minutes before",
// 提前10分钟.
func (s *sentence) shifts(i int) int {
	ts := s.ts
	if _, j := englishLength(ts, i); j > 0 && ts.is(j, "before", "earlier", "beforehand", "prior") {
		return j + 1
	}
	if ts.any(i, "day before", "day after", "night before", "morning after", "week before", "week after") > 0 {
		return min(i+4, len(ts))
	}
	if k := ts.any(i, "提前", "提早"); k > 0 {
		if _, j := chineseLength(ts, k); j > 0 {
			return j
		}
	}
	return 0
}

// after reads what goes on directly behind the time.
func (s *sentence) after(g group) int {
	ts, i := s.ts, g.to
	next := ts.skip(i, ",")
	switch {
	case ts.is(i, zones...):
		return i + 1
	case repeats(g) && ts.any(next, "until", "till", "between", "starting", "beginning", "except", "excluding", "but not", "from", "through", "up to", "直到", "除了", "从") > 0:
		return min(next+4, len(ts))
	case ts.any(next, "and again", "and then again") > 0:
		return min(next+4, len(ts))
	case ts.is(i, "week", "fortnight") && g.names()&hasDay != 0: // friday week
		return i + 1
	case ts.any(ts.skip(i, "的"), "之前", "以前", "前") > 0 && !ts.is(ts.skip(i, "的")+1, "往", "台", "面", "端", "锋", "列"):
		return min(i+3, len(ts))
	case ts.lit(i, "差") > 0:
		if _, j := chineseTerm(ts, i+1); j > 0 {
			return j
		}
		if n, j := ts.chinese(i + 1); j > 0 && n > 0 && ts.is(j, "分") {
			return j + 1
		}
	case ts.is(i, "from"):
		if p, j := englishDay(ts, i+1); j > 0 && p.day != nil {
			return j
		}
	case ts.num(i) >= 0 && ts.close(i):
		return i + 1 // 1h30
	case g.names()&hasHour == 0 && s.decimal(i) > 0:
		return s.decimal(i)
	}
	if j := s.slashed(ts.skip(i, ", on", "on", ",")); j > 0 {
		return j
	}
	return 0
}

// before is where it begins what leads directly to the time.
func (s *sentence) before(g group) int {
	ts := s.ts
	if ts.is(g.from-1, "before", "after") {
		return g.from - 1
	}
	for n := 2; n <= 8 && n <= g.from; n++ {
		i := g.from - n
		if j := s.slashed(i); j > 0 && ts.skip(j, ".", ",") == g.from && !ts.is(i-1, "/", ".") {
			return i
		}
		if j := ts.any(i, "农历", "阴历"); j == g.from {
			return i
		}
		if j := ts.any(i, places...); j > 0 && ts.skip(j, "当地时间", "时间") == g.from && ts.is(g.from-1, "间") {
			return i
		}
	}
	return g.from
}

// slashed reads a date in digits without a year in front, which is written in
// two orders: 12/24, 24.12., 24.12.2026, "on 12-24".
func (s *sentence) slashed(i int) int {
	ts := s.ts
	if a, b := ts.num(i), ts.num(i+2); a < 1 || a > 31 || b < 1 || b > 31 || !ts.is(i+1, "/", ".") && !(ts.is(i+1, "-") && ts.is(i-1, "on")) || !ts.close(i+1) || !ts.close(i+2) {
		return 0
	}
	if j := i + 3; ts.is(j, ts.text(i+1)) && ts.close(j) {
		if ts.num(j+1) >= 0 && ts.close(j+1) {
			return j + 2
		}
		return j + 1
	}
	if ts.is(i+1, "/", "-") {
		return i + 3
	}
	return 0
}

// decimal reads 8.30 where an hour may stand.
func (s *sentence) decimal(i int) int {
	ts := s.ts
	if ts.num(i) >= 0 && ts.num(i) < 24 && ts.is(i+1, ".") && ts.close(i+1) && ts.close(i+2) && ts.num(i+2) >= 0 && ts.num(i+2) < 60 && len(ts[i+2].text) == 2 {
		return i + 3
	}
	return 0
}

// ranged says that the time goes on to another one: "9am to 5pm", "9点到5点".
func (s *sentence) ranged(g group) bool {
	return g.names()&hasHour != 0 && s.ts.is(g.to, "to", "until", "till", "-", "–", "到", "至")
}

func repeats(g group) bool {
	for _, p := range g.pieces {
		if p.repeat != nil {
			return true
		}
	}
	return false
}

// zones are short names that several countries use, or that say nothing of
// daylight saving.
var zones = []string{"pst", "pdt", "est", "edt", "cst", "cdt", "mst", "mdt", "cet", "cest", "bst", "ist", "jst", "kst", "eastern", "pacific"}

// places are those whose time people name.
var places = []string{"纽约", "东京", "伦敦", "巴黎", "柏林", "洛杉矶", "旧金山", "芝加哥", "悉尼", "首尔", "莫斯科", "迪拜", "美国", "日本", "英国", "德国", "法国", "韩国", "美东", "美西", "当地"}

func (s *sentence) unclear(from, to int) error {
	said := s.src[s.ts[from].from:s.ts[min(to, len(s.ts))-1].to]
	return &Ambiguous{Question: Text{
		"“" + said + "”: I am not sure what this does to the time. Please say the exact time, as 2026-12-24 16:50, and a zone by its name, as Europe/Berlin",
		"“" + said + "”：不确定这对时间意味着什么。请直接说准确的时间，例如 2026-12-24 16:50；时区请写名称，例如 Europe/Berlin",
	}}
}

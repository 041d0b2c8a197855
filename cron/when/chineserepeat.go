package when

// chineseTerm reads one number and its unit: 二十分钟, 两个半小时, 半小时, 一刻钟,
// 一小时半, 1.5小时, 10m.
func chineseTerm(ts tokens, i int) (span, int) {
	if j := ts.lit(i, "半"); j > 0 {
		u, k := chineseUnit(ts, ts.skip(j, "个"))
		return u.times(0.5), k
	}
	n, j := 0.0, 0
	if whole, k := ts.chinese(i); k > 0 {
		n, j = float64(whole), k
		if f, l := ts.amount(i); l > k {
			n, j = f, l
		}
	} else {
		return span{}, 0
	}
	if ts.is(j, "刻") && n >= 1 && n <= 3 {
		return unitMinute.times(15 * n), ts.skip(j+1, "钟")
	}
	if k := ts.lit(j, "分"); k > 0 && ts.any(k, "钟", "之") == 0 {
		return unitMinute.times(n), k
	}
	if k := ts.lit(j, "个半"); k > 0 {
		u, l := chineseUnit(ts, k)
		return u.times(n + 0.5), l
	}
	u, k := chineseUnit(ts, ts.skip(j, "个"))
	if k == 0 {
		return span{}, 0
	}
	if ts.is(k, "半") && !ts.is(k+1, "小", "个", "天") {
		return u.times(n + 0.5), k + 1
	}
	return u.times(n), k
}

// chineseLength reads terms in a row: 1小时30分钟, 两小时零五分.
func chineseLength(ts tokens, i int) (span, int) {
	total, end := span{}, 0
	for range maxList {
		s, j := chineseTerm(ts, i)
		if j == 0 {
			break
		}
		total, end = total.plus(s), j
		i = ts.skip(j, "零", "又", "加", "和")
	}
	return total, end
}

// chineseSpan reads 二十分钟后, 过半小时, 三天之后. A span alone is bare; 十分 alone
// means "very".
func chineseSpan(ts tokens, i int) (piece, int) {
	start := ts.skip(i, "再过", "过", "等", "再等", "大约", "大概")
	s, j := chineseLength(ts, start)
	if j == 0 {
		s, j = englishLength(ts, start) // 10m后, 30min后
		if j == 0 || ts.any(j, "后", "之后", "以后") == 0 && start == i {
			return piece{}, 0
		}
	}
	if k := ts.any(j, "以前", "之前", "前"); k > 0 {
		return piece{err: ErrPast}, k
	}
	end := ts.skip(j, "过后", "之后", "以后", "后")
	if start == i && end == j && ts.is(j-1, "分") {
		return piece{}, 0
	}
	return piece{span: &s, bare: start == i && end == j}, end
}

// chineseRepeat reads 每周一三五, 每个工作日, 周一到周五, 每周末, 每月1号,
// 每年12月24日, 每晚.
func chineseRepeat(ts tokens, i int) (piece, int) {
	every := ts.any(i, "每逢", "每个", "每到", "每", "逢")
	j := max(i, every)
	if k := ts.any(j, "工作日", "周内"); k > 0 {
		return piece{repeat: &repeat{kind: weekly, week: workdays, work: true}}, k
	}
	if p, k := chineseSure(ts, i); k > 0 {
		return p, k
	}
	if k := ts.any(j, "周", "星期", "礼拜"); k > 0 {
		if ts.is(k, "末") && every > 0 {
			return piece{repeat: &repeat{kind: weekly, week: weekends}}, k + 1
		}
		week, span, l := chineseWeekdays(ts, k)
		if l > 0 && (every > 0 || span) {
			return weekdays(week), l
		}
	}
	if k := ts.any(i, "每小时", "每个小时", "每个钟头"); k > 0 {
		if n, l := ts.chinese(ts.skip(k, "的第", "的", "第")); l > 0 && ts.is(l, "分") {
			return atMinute(n), ts.skip(l+1, "钟")
		}
	}
	if every == 0 {
		if k := ts.any(i, "天天"); k > 0 {
			return piece{repeat: &repeat{kind: daily}}, k
		}
		return piece{}, 0
	}
	switch {
	case ts.is(j, "晚", "夜"):
		return piece{repeat: &repeat{kind: daily}, part: evening}, ts.skip(j+1, "上", "里")
	case ts.is(j, "早", "晨"):
		return piece{repeat: &repeat{kind: daily}, part: morning}, ts.skip(j+1, "上", "晨")
	case ts.any(j, "小时整点", "个小时整点", "整点", "个整点") > 0:
		return piece{repeat: &repeat{kind: fullHour}}, ts.any(j, "小时整点", "个小时整点", "整点", "个整点")
	case ts.is(j, "月"):
		if numbers, k := chineseNumbers(ts, j+1); k > 0 {
			return piece{repeat: &repeat{kind: monthly, numbers: numbers}}, k
		}
	case ts.is(j, "年"):
		if p, k := chineseDate(ts, ts.skip(j+1, "的")); k > 0 && p.err == nil {
			return piece{repeat: &repeat{kind: yearly}, day: p.day}, k
		}
	}
	return piece{}, 0
}

// chineseSure reads 有31号的月份每月31号.
func chineseSure(ts tokens, i int) (piece, int) {
	if !ts.is(i, "有") {
		return piece{}, 0
	}
	n, j := chineseNumbers(ts, i+1)
	if j == 0 {
		return piece{}, 0
	}
	if j = ts.any(j, "的月份每月", "的月份，每月"); j == 0 {
		return piece{}, 0
	}
	_, end := chineseNumbers(ts, j)
	return piece{repeat: &repeat{kind: monthly, numbers: n, sure: true}}, end
}

// chineseWeekdays reads the days behind 周: 一, 一三五, 一、三和周五, 一到五, 一至周五.
// span says that a range was read.
func chineseWeekdays(ts tokens, i int) (week uint8, span bool, next int) {
	for range maxList {
		w, ok := chineseWeekday(ts, i)
		if !ok || next > 0 && ts.is(i+1, "点", "时", "十") { // 每周一三点 is Monday at three
			break
		}
		week |= 1 << w
		next = i + 1
		if j := ts.any(next, "到", "至", "-", "~", "—"); j > 0 {
			j = ts.skip(j, "周", "星期", "礼拜")
			if end, ok := chineseWeekday(ts, j); ok {
				for ; w != end; w = (w + 1) % 7 {
					week |= 1 << w
				}
				week |= 1 << end
				span, next = true, j+1
			}
		}
		i = ts.skip(next, "、", "和", ",", "跟", "及", "/", "与")
		j := ts.skip(i, "每")
		if k := ts.any(j, "周", "星期", "礼拜"); k > 0 {
			i = k
		}
	}
	return week, span, next
}

// chineseNumbers reads the days of a month: 1号, 1号和15号, 1、15号, 最后一天, 底.
func chineseNumbers(ts tokens, i int) (numbers []int, next int) {
	i = ts.skip(i, "的")
	if j := ts.any(i, "最后一天", "月底", "月末", "底", "末"); j > 0 {
		return []int{lastDay}, j
	}
	if j := ts.any(i, "初"); j > 0 {
		return []int{1}, j
	}
	var all []int
	for range maxList {
		n, j := ts.chinese(i)
		if j == 0 || n < 1 || n > 99 {
			break
		}
		all = append(all, n)
		if number := ts.skip(j, "号", "日"); number > j {
			numbers, next, j = all, number, number
		}
		if i = ts.skip(j, "、", "和", ",", "跟", "及", "与"); i == j {
			break
		}
	}
	return numbers, next
}

// chineseEvery reads 每天, 每隔两小时, 每10分钟, 每半小时, 隔天, 每两周, 每个月.
func chineseEvery(ts tokens, i int) (piece, int) {
	if j := ts.any(i, "每隔", "隔"); j > 0 {
		return chineseApart(ts, i, j)
	}
	j := ts.lit(i, "每")
	if j == 0 {
		return piece{}, 0
	}
	j = ts.skip(j, "过")
	if s, k := chineseLength(ts, j); k > 0 {
		return every(s), ts.skip(k, "一次")
	}
	if s, k := englishLength(ts, j); k > 0 {
		return every(s), k
	}
	k := ts.skip(j, "一个", "一", "个")
	if u, l := chineseUnit(ts, k); l > 0 {
		l = ts.skip(l, "一次")
		if u == unitWeek {
			return piece{repeat: &repeat{kind: weekly}}, l
		}
		return every(u.times(1)), l
	}
	if ts.is(k, "月") {
		return every(unitMonth.times(1)), ts.skip(k+1, "一次")
	}
	return piece{}, 0
}

// chineseApart reads what stands behind 每隔. Hours and minutes apart are that
// span; a day apart is every second day, and for more days and for weeks
// people disagree.
func chineseApart(ts tokens, i, j int) (piece, int) {
	s, k := chineseLength(ts, j)
	if k == 0 {
		if !ts.is(i, "每") && !ts.is(j, "天", "日", "周") {
			return piece{}, 0
		}
		if u, l := chineseUnit(ts, j); l > 0 {
			s, k = u.times(1), l
		} else if s, k = englishLength(ts, j); k == 0 {
			return piece{}, 0
		}
	}
	if s.days == 0 && s.months == 0 {
		return every(s), k
	}
	if s == unitDay.times(1) {
		return piece{repeat: &repeat{kind: spaced, span: unitDay.times(2)}}, k
	}
	return piece{repeat: &repeat{kind: spaced, span: s, apart: true}}, k
}

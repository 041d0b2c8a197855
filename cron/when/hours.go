package when

// partOfDay is what is known of a part of the day.
type partOfDay struct {
	usual       []int
	late        int // hours of the clock up to this one are after noon
	first, last int // hours of 24 that may be named in it
	from, to    int // the hours that are proposed in it
}

var partsOfDay = [...]partOfDay{
	noPart:    {[]int{9}, -1, 24, 0, 0, 23}, // no hour is in it
	dawn:      {[]int{3, 5}, -1, 0, 6, 0, 11},
	morning:   {[]int{9}, -1, 1, 12, 0, 11},
	noon:      {[]int{12}, 2, 11, 14, 0, 13},
	afternoon: {[]int{15}, 8, 12, 20, 0, 18},
	dusk:      {[]int{18}, 11, 16, 20, 17, 19},
	evening:   {[]int{20}, 11, 16, 27, 18, 23},
	workEnd:   {[]int{18}, 11, 16, 20, 17, 19},

	beforeBreakfast: {[]int{7}, -1, 4, 10, 5, 9},
	afterBreakfast:  {[]int{8}, -1, 5, 11, 6, 10},
	beforeLunch:     {[]int{11}, 1, 9, 13, 10, 12},
	afterLunch:      {[]int{13}, 5, 12, 17, 12, 15},
	beforeDinner:    {[]int{17}, 9, 15, 21, 16, 19},
}

// usual are the hours when none is said.
func (p part) usual() []int { return partsOfDay[p].usual }

// hour is what an hour means in a part of the day; false when it is not in it.
// Hours from 24 on are of the day after: 今晚十二点, 晚上一点.
func (p part) hour(h int) (int, bool) {
	about := partsOfDay[p]
	switch {
	case p == dawn && h%12 == 0:
		h = 0
	case p == evening && (h <= 3 || h == 12 || h == 24):
		h = 24 + h%12
	case h <= about.late:
		h += 12
	}
	return h, about.first <= h && h <= about.last
}

// has says that the hour, of 24, is in the part.
func (p part) has(hour int) bool {
	h, ok := p.hour(hour)
	return ok && h%24 == hour%24
}

// hours are the readings of what was said of the hour, and the minute and
// second. today says that the day is today, where an hour near now is
// plausible at night too.
func (b *bag) hours(today bool) (hours []int, minute, second int) {
	if len(b.clocks) == 0 {
		return b.part.usual(), 0, 0
	}
	c := b.clocks[0]
	near := func(h int) bool {
		if !today {
			return false
		}
		ahead := (h*60+c.minute-b.now.Hour()*60-b.now.Minute()+24*60)%(24*60) - 1
		return ahead >= 0 && ahead < 3*60
	}
	hours = c.readings(b.repeat != nil && b.repeat.work, near)
	if today && c.style == colon && c.part == noPart && c.hour >= 7 && c.hour < 12 && c.hour*60+c.minute <= b.now.Hour()*60+b.now.Minute() {
		hours = []int{c.hour, c.hour + 12} // 9:30 in the afternoon: tonight, or tomorrow
	}
	return hours, c.minute, c.second
}

// readings are the hours, of 24, that a clock can mean.
func (c clock) readings(work bool, near func(int) bool) []int {
	p, other := c.part, (c.hour+12)%24
	switch {
	case c.style == fixed:
		if h, _ := p.hour(c.hour); p.has(c.hour) {
			return []int{h}
		}
		if c.contradicts() {
			return []int{other, c.hour}
		}
		return []int{c.hour}
	case c.style == midnight && p == evening:
		return []int{24}
	case c.style == midnight:
		return []int{0, 24}
	case p != noPart:
		if h, ok := p.hour(c.hour); ok {
			return []int{h}
		}
		if h, ok := p.hour(other); ok {
			return []int{c.hour, h}
		}
		return []int{c.hour, other}
	case c.style == full || c.hour == 12 || c.style == colon && c.hour >= 7:
		return []int{c.hour}
	}
	first, last := 7, 22
	if work {
		last = 18
	}
	var all []int
	for _, h := range []int{c.hour, other} {
		if h >= first && h <= last || near(h) {
			all = append(all, h)
		}
	}
	return all
}

// contradicts says that the other half of the day was named: tonight at 9am.
func (c clock) contradicts() bool {
	return c.style == fixed && !c.part.has(c.hour) && c.part.has((c.hour+12)%24)
}

// hourQuestion asks which reading of an hour is meant.
func (b *bag) hourQuestion() answer {
	if len(b.clocks) == 0 {
		return answer{question: Text{"At what time?", "几点？"}}
	}
	c := b.clocks[0]
	said := ""
	if c.from < c.to {
		said = b.source.Cut(c.from, c.to)
	}
	if c.style == midnight {
		return answer{question: Text{"Midnight at the beginning or at the end of that day?", "是那天开始时还是结束时的零点？"}}
	}
	return answer{question: Text{"“" + said + "”: in the morning or in the evening?", "“" + said + "”是上午还是下午（晚上）？"}}
}

// shift moves days of the week by one: Friday's hour 24 is on Saturday.
func shift(week uint8) uint8 { return (week<<1 | week>>6) & allWeek }

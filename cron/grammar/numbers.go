package grammar

import "strconv"

var englishOnes = map[string]int{
	"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
	"ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
	"seventeen": 17, "eighteen": 18, "nineteen": 19,
}

var englishTens = map[string]int{
	"twenty": 20, "thirty": 30, "forty": 40, "fourty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}

var englishOrdinals = map[string]int{
	"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
	"tenth": 10, "eleventh": 11, "twelfth": 12, "thirteenth": 13, "fourteenth": 14, "fifteenth": 15, "sixteenth": 16,
	"seventeenth": 17, "eighteenth": 18, "nineteenth": 19, "twentieth": 20, "thirtieth": 30,
}

var chineseDigits = map[string]int{
	"零": 0, "〇": 0, "一": 1, "二": 2, "两": 2, "俩": 2, "仨": 3, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9,
}

var chineseScales = map[string]int{"十": 10, "百": 100, "千": 1000}

// Spoken reads a number written in English words: "a", "twelve", "twenty-five".
// The place is 0 when there is none.
func (ts Tokens) Spoken(i int) (n, next int) {
	if n, ok := englishTens[ts.Text(i)]; ok {
		j := ts.Skip(i+1, "-")
		if ones := englishOnes[ts.Text(j)]; ones > 0 && ones < 10 && ts.Text(j) != "a" && ts.Text(j) != "an" {
			return n + ones, j + 1
		}
		return n, i + 1
	}
	if n, ok := englishOnes[ts.Text(i)]; ok {
		return n, i + 1
	}
	return 0, 0
}

// Amount reads a number of things in English: "20", "1.5", "two", "a couple of".
func (ts Tokens) Amount(i int) (n float64, next int) {
	if j := ts.Any(i, "a couple of", "couple of", "a couple"); j > 0 {
		return 2, j
	}
	if whole := ts.Num(i); whole >= 0 {
		if ts.Is(i+1, ".") && ts.Close(i+1) && ts.Num(i+2) >= 0 && ts.Close(i+2) {
			n, _ = strconv.ParseFloat(ts[i].Text+"."+ts[i+2].Text, 64)
			return n, i + 3
		}
		return float64(whole), i + 1
	}
	whole, j := ts.Spoken(i)
	return float64(whole), j
}

// Ordinal reads "1st", "22nd", "first".
func (ts Tokens) Ordinal(i int) (n, next int) {
	if n := ts.Num(i); n >= 0 && ts.Close(i+1) && ts.Is(i+1, "st", "nd", "rd", "th") {
		return n, i + 2
	}
	if n, ok := englishOrdinals[ts.Text(i)]; ok {
		return n, i + 1
	}
	return 0, 0
}

// Chinese reads a number in digits or Chinese characters: "20", "二十五",
// "一百零五", "零五". Two digits in a row are two numbers, as in "每周一三五".
func (ts Tokens) Chinese(i int) (n, next int) {
	if n := ts.Num(i); n >= 0 {
		return n, i + 1
	}
	total, digit, start := 0, -1, i
	for ; i < len(ts) && i < start+MaxList; i++ {
		if tens := map[string]int{"廿": 20, "卅": 30}[ts[i].Text]; tens > 0 && i == start {
			total = tens
			continue
		}
		if d, ok := chineseDigits[ts[i].Text]; ok {
			if digit > 0 {
				break
			}
			digit = d
			continue
		}
		scale, ok := chineseScales[ts[i].Text]
		if !ok || total > 9999 {
			break
		}
		if digit < 0 {
			digit = 1
		}
		total += digit * scale
		digit = -1
	}
	if i == start {
		return 0, 0
	}
	return total + max(digit, 0), i
}

// Year reads a year of four digits: "2026", "二〇二六".
func (ts Tokens) Year(i int) (n, next int) {
	if n := ts.Num(i); n >= 0 {
		if len(ts[i].Text) != 4 {
			return 0, 0
		}
		return n, i + 1
	}
	for range 4 {
		d, ok := chineseDigits[ts.Text(i)]
		if !ok {
			return 0, 0
		}
		n, i = n*10+d, i+1
	}
	return n, i
}

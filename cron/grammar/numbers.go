package grammar

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

// numberTable has lines of a kind, a number, and the words for it.
//
//go:embed numbers.txt
var numberTable string

type number struct {
	kind string
	n    int
}

var numbers = sync.OnceValue(func() map[string]number {
	all := map[string]number{}
	for line := range strings.Lines(numberTable) {
		fields := strings.Fields(line)
		n, _ := strconv.Atoi(fields[1])
		for _, word := range fields[2:] {
			all[word] = number{fields[0], n}
		}
	}
	return all
})

// number is what the token at i stands for in the table, if it is of the kind.
func (ts Tokens) number(i int, kind string) (n int, ok bool) {
	known := numbers()[ts.Text(i)]
	return known.n, known.kind == kind
}

// Spoken reads a number written in English words: "a", "twelve", "twenty-five".
// The place is 0 when there is none.
func (ts Tokens) Spoken(i int) (n, next int) {
	if n, ok := ts.number(i, "tens"); ok {
		j := ts.Skip(i+1, "-")
		if ones, ok := ts.number(j, "ones"); ok && ones < 10 && !ts.Is(j, "a", "an") {
			return n + ones, j + 1
		}
		return n, i + 1
	}
	if n, ok := ts.number(i, "ones"); ok {
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
	if n, ok := ts.number(i, "ordinal"); ok {
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
		n := numbers()[ts[i].Text]
		switch {
		case n.kind == "score" && i == start:
			total = n.n
			continue
		case n.kind == "digit" && digit <= 0:
			digit = n.n
			continue
		case n.kind == "scale" && total <= 9999:
			total += max(digit, -digit) * n.n // 十 alone is 10
			digit = -1
			continue
		}
		break
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
		d, ok := ts.number(i, "digit")
		if !ok {
			return 0, 0
		}
		n, i = n*10+d, i+1
	}
	return n, i
}

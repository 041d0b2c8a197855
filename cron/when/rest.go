package when

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"magpie/cron/grammar"
)

// rest is what is left when the times and the words around them are taken
// away. What stands before "remind me" is only told when something stands
// behind it: "my exam is at 9, remind me an hour before to eat".
func (s *sentence) rest(chosen []group) string {
	all, asked := len(s.Tokens), s.firstAsk()
	if asked >= 0 && s.Tokens[asked].Kind == grammar.Han {
		return s.restOfClause(chosen)
	}
	for _, g := range chosen {
		if !g.shifts() || s.Tokens[g.from].Kind == grammar.Han {
			continue
		}
		for k := g.to; k < all; k++ {
			if s.Is(k, "to") && s.At("noun-before", k+1) == 0 && s.At("zone-place", k+1) == 0 && k+1 < all && !s.taken(chosen, k+1) && s.Tokens[k+1].Raw == s.Tokens[k+1].Text {
				return s.between(k, all, chosen)
			}
		}
		if text := cmp.Or(s.between(max(asked, 0), g.from, chosen), s.between(0, g.from, chosen)); text != "" {
			return text
		}
	}
	text := s.between(max(asked, 0), all, chosen)
	if own := strings.TrimPrefix(strings.TrimPrefix(text, "my "), "our "); slices.ContainsFunc(chosen, group.shifts) && lettered(own) {
		text = own // before my 2pm interview
	}
	if asked > 0 && text != "" && !lettered(text) {
		text = joined(s.between(0, asked, chosen), text)
	}
	if asked > 0 && text != "" && theGrammar().Read(text).At("pronoun", 0) > 0 {
		text = cmp.Or(s.between(0, asked, chosen), text)
	}
	if text != "" {
		return text
	}
	return s.between(0, all, chosen)
}

// restOfClause is what the clause that asks says, in words as 提醒我; without
// any, the clause with the time, and then all that is told before.
func (s *sentence) restOfClause(chosen []group) string {
	from, to := s.askingClause()
	from = max(from, s.told)
	if i := s.firstAsk(); i >= 0 && s.At("zh-ask", i) > 0 {
		chosen = append(slices.Clone(chosen), group{from: i, to: to})
	}
	if from == 0 {
		return s.between(0, s.toldFrom(0, to, chosen), chosen)
	}
	for _, g := range s.groups() {
		if s.told > 0 && g.to <= from {
			chosen = append(slices.Clone(chosen), g)
		}
	}
	own := from
	if slices.ContainsFunc(chosen, func(g group) bool { return g.to > from && g.shifts() }) {
		own = to // 会议前20分钟喊我
	}
	if text := cmp.Or(s.between(own, s.toldFrom(own, to, chosen), chosen), s.between(s.clause(chosen[0].from), from, chosen)); text != "" {
		return text
	}
	for _, g := range s.groups() {
		if g.to <= from && g.failed() == nil && s.At("behind", g.to) == 0 && (s.edge(g) || s.At("我", 0) == g.from) {
			chosen = append(slices.Clone(chosen), g)
		}
	}
	return s.between(0, from, chosen)
}

// toldFrom is where what follows the words that ask is only told: behind a bound
// that is a clause of its own, 叫我交周报，总共四次，实习就结束了.
func (s *sentence) toldFrom(own, asked int, chosen []group) int {
	for _, g := range chosen {
		if g.from > asked && g.bound() && s.alone(g) && s.between(own, g.from, chosen) != "" {
			return g.from
		}
	}
	return len(s.Tokens)
}

// between is what is left between two places, without the times.
func (s *sentence) between(i, end int, chosen []group) string {
	text := ""
	for i < end {
		j := i
		for j < end && !s.taken(chosen, j) {
			j++
		}
		more := s.trim(i, j)
		if lettered(more) && !lettered(text) {
			text = "" // 🎂
		}
		if lettered(more) && more == text {
			more = "" // 考试前一天提醒我，考试12月10号
		}
		if lettered(more) || text == "" {
			text = joined(text, more)
		}
		i = j + 1
	}
	return text
}

// things are the items of a list of so many, one for each of several times: "at 3
// and 5 to call Tom and Ann respectively"; nil when the rest is no such list.
func (s *sentence) things(rest string, n int) []string {
	if n < 2 || s.First(0, len(s.Tokens), "respectively") < 0 {
		return nil
	}
	t := theGrammar().Read(rest)
	var all []grammar.Part
	from, end := 0, len(t.Tokens)
	for i := 0; i <= end; i++ {
		j := max(t.At("list-and", i), t.At("zh-list", i), t.At("respectively", i))
		if i < end && j == 0 {
			continue
		}
		if from = t.Skip(from, "to"); i > from {
			all = append(all, grammar.Part{From: from, To: i})
		}
		from, i = max(j, i+1), max(j, i+1)-1
	}
	if len(all) != n || t.At("zh-whom", 0) > 0 && t.At("zh-whom", all[1].From) == 0 {
		return nil
	}
	titled := func(i int) bool { return t.Tokens[i].Raw != t.Tokens[i].Text }
	like := func(i, k int) bool {
		return i > 0 && titled(i) && titled(k) || t.Tokens[i].Text == t.Tokens[k].Text || t.At("noun-before", i) > 0 && t.At("noun-before", k) > 0
	}
	var said []string
	for n, one := range all {
		text := t.Cut(one.From, one.To)
		for i := all[0].From; i < all[0].To && n > 0; i++ { // the verb is said once
			if like(i, one.From) {
				text = joined(t.Cut(all[0].From, i), text)
				break
			}
		}
		said = append(said, text)
	}
	return said
}

// trim takes orders, marks and links from the ends of a piece of the sentence.
func (s *sentence) trim(i, j int) string {
	for i < j {
		k := s.At("link", i)
		if i == 0 || !s.order[i-1] {
			k = max(k, s.At("zh-after-time", i))
		}
		if s.At("zh-word", i) > k {
			k = 0
		}
		switch t := s.Tokens[i]; {
		case s.closes(i, j), s.At("zh-filler", i) == j:
			return ""
		case i > 0 && t.Kind == grammar.Mark && strings.Contains(s.Source[s.Tokens[i-1].To:t.From], "\n") && strings.Contains(s.Source[t.To:], "\n"+t.Raw): // a list
			return s.text(i, s.tail(i, j))
		case s.order[i] || s.oneOf(i, ",.;:!?。、-–—~*…\"“”'‘’「」()"):
			if s.quoted(i, j) {
				return s.text(i, j)
			}
			i++
		case k > 0 && k <= j:
			i = k
		case s.Is(i, "and", "then") && i+1 < j && s.order[i+1]:
			i++
		default:
			return s.text(i, s.tail(i, j))
		}
	}
	return ""
}

// oneOf says that the token is one of the marks.
func (s *sentence) oneOf(i int, marks string) bool {
	return s.mark(i) && strings.Contains(marks, s.Tokens[i].Text)
}

// quoted says that the piece is one quotation.
func (s *sentence) quoted(i, j int) bool {
	close, ok := map[string]string{"“": "”", "「": "」", "(": ")"}[s.Tokens[i].Text]
	return ok && s.Is(j-1, close) && j-i > 2
}

// unpaired says that the mark at j opens a quotation, or closes one that does not
// begin behind i.
func (s *sentence) unpaired(i, j int) bool {
	const opening, closing = "“「『【《〈(", "”」』】》〉)"
	if strings.Contains(opening, s.Tokens[j].Text) {
		return true
	}
	k := strings.Index(closing, s.Tokens[j].Text)
	return k >= 0 && !strings.Contains(s.Cut(i, j), opening[k:k+len(s.Tokens[j].Text)])
}

// tail is where the text ends that begins at i: without orders, marks and words
// that lead to a time.
func (s *sentence) tail(i, j int) int {
	polite := s.firstAsk() >= 0 || s.polite()
	end := j == len(s.Tokens)
	for cutting := end || s.ending(j) || s.clauseBegins(j); cutting; {
		cutting = false
		for k := i + 1; k < j; k++ {
			if s.closes(k, j) || k == j-1 && (s.oneOf(k, ".。!~…,") || polite && s.Is(k, "?", "吗", "不", "么") && s.polite()) {
				j, cutting = k, true
				break
			}
		}
	}
	for ; i < j; j-- {
		t := s.Tokens[j-1]
		switch {
		case s.At("particle-verb", j-2) == j && j-2 >= i:
			return j
		case t.Kind == grammar.Mark && s.unpaired(i, j-1):
		case s.order[j-1] && !(s.At("opening", j-1) == j && j-2 >= i && s.Tokens[j-2].Kind == grammar.Word && !s.order[j-2]):
		case s.oneOf(j-1, ",;:、-–—"), !end && s.Is(j-1, "it") && j-2 > i && s.mark(j-2):
		case !end && s.Is(j-1, "is", "are", "starts", "begins") && (s.firstAsk() >= j || s.First(0, len(s.Tokens), "shift") >= 0): // my flight is at six, remind me
		case !end && s.At("on", j)+s.At("at", j) > 0 && s.Tokens[j-1].Kind == grammar.Word && !s.Is(j-1, "and", "then"): // turn the lights on at six
			return j
		case !end && s.Is(j-1, "at", "on", "by", "from", "in", "and", "then", "for", "在", "于", "和", "每", "到", "就", "是", "the"):
		case j-1 > i && t.Kind == grammar.Mark && strings.ContainsFunc(t.Text, func(r rune) bool { return unicode.In(r, unicode.So, unicode.Sk, unicode.Mn, unicode.Cf) }): // 🥛
		case s.At("limit", j) > 0 && s.oneOf(j-1, ".!"): // swim. Not on Sundays
		case end && (s.oneOf(j-1, ".。!~…") || polite && s.Is(j-1, "?")):
		default:
			return j
		}
	}
	return j
}

// polite says that the sentence is a question that asks for something.
func (s *sentence) polite() bool {
	if _, to := s.askingClause(); strings.ContainsAny(s.Cut(0, to), "能可") { // 你八点能提醒我吃药吗
		return true
	}
	return s.Any(0, "can", "could", "would", "will", "请问") > 0 || s.At("polite", 0) > 0 || s.At("zh-polite", 0) > 0
}

// text is the piece as it was written, with its end when the sentence is longer
// than what was read.
func (s *sentence) text(i, j int) string {
	if i >= j {
		return ""
	}
	end := s.Tokens[j-1].To
	if j == len(s.Tokens) && j == grammar.MaxTokens {
		end = len(s.Source)
	}
	return strings.TrimSpace(s.Source[s.Tokens[i].From:end])
}

func lettered(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
}

// joined puts two texts together, with a space unless both are Chinese.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	last, _ := utf8.DecodeLastRuneInString(a)
	first, _ := utf8.DecodeRuneInString(b)
	if unicode.Is(unicode.Han, last) && unicode.Is(unicode.Han, first) {
		return a + b
	}
	return a + " " + b
}

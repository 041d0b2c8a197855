package intent

import (
	"embed"
	"slices"
	"strings"
	"sync"
	"time"

	"magpie/cron/grammar"
	"magpie/cron/when"
)

//go:embed tables/*.txt
var tables embed.FS

var theGrammar = sync.OnceValue(func() *grammar.Grammar {
	g, err := grammar.New(when.Grammar(), grammar.Source{Tables: tables, Readers: readers, Actions: actions})
	if err != nil {
		panic("cron/intent: " + err.Error()) // TestGrammar
	}
	return g
})

// maxWords bounds how long a message can be that changes or asks something:
// people say such things in a few words.
const maxWords = 60

// request is a message as one that may ask for a new reminder.
type request struct {
	*grammar.Text // without politeness around it
	said          string
	c             Context
	asked         int // where it asks for one; -1 where it does not
}

// Read says what a message wants.
func Read(text string, c Context) Intent {
	t := theGrammar().Read(text)
	if c.Command && t.Is(0, "me", "us") { // /remind me tomorrow to call
		text = "remind " + text
		t = theGrammar().Read(text)
	}
	if k := t.At("command-verb", 0); c.Command && t.At("commanded", 0) == len(t.Tokens) && k > 0 {
		t, c.Command = theGrammar().Read(t.Cut(0, k)+" #"+strings.TrimPrefix(t.Cut(k, len(t.Tokens)), "#")), false
	}
	if text = recast(t); text != t.Source {
		t = theGrammar().Read(text)
	}
	r := newRequest(trimmed(t), text, c)
	if len(r.Tokens) == 0 {
		return Intent{}
	}
	if v, to := r.Match("watch", 0); to == len(r.Tokens) && !c.Command {
		what := v.(mark).arg
		return Intent{Kind: Query, What: AskWatch, Watch: what, Maybe: what == "maybe"}
	}
	if !c.Command && r.conditional() {
		return askWhen(r.Cut(r.asked, len(r.Tokens)), false, true)
	}
	if from, to, ok := r.whether(); ok {
		return Intent{Kind: Query, What: AskList, From: from, To: to}
	}
	if !c.Command && len(r.Tokens) <= maxWords {
		if in, ok := r.known(); ok {
			return in
		}
	}
	return r.fresh()
}

func newRequest(t *grammar.Text, said string, c Context) request {
	return request{t, said, c, t.First(0, len(t.Tokens), "ask-verb", "zh-ask-verb", "notice")}
}

// whether is the time of which a message asks if a reminder is set: 明天早上9点提醒我
// 开会了吗.
func (r request) whether() (from, to time.Time, ok bool) {
	end := len(r.Tokens)
	i := r.First(max(0, r.asked), end, "zh-whether")
	if r.c.Command || r.asked < 0 || i < 0 || r.At("zh-ask", r.asked) == 0 || !r.Is(r.asked, "提") || r.First(r.asked, end, "zh-find-out") >= 0 {
		return from, to, false
	}
	return when.Range(r.said, r.c.Now, r.c.Zone)
}

// conditional says that a message asks for a reminder when something happens, and
// says no time: "if it rains tomorrow remind me to take an umbrella", 要是下雨就提醒我带伞.
func (r request) conditional() bool {
	to, end := r.Longest(max(r.asked, 0), "zh-sure", "ask-to"), len(r.Tokens)
	if r.asked <= 0 || to == 0 || to == end || r.At("ask-timed", r.asked) > 0 || r.First(to, end, "no-condition") >= 0 || r.First(0, r.asked, "past-word") >= 0 {
		return false
	}
	for i := range r.asked {
		if (i == 0 || r.At("clause-mark", i-1) == i) && r.At("conditional", i) == to && r.First(i, r.asked, "no-event") < 0 && r.At("zh-polite", i) == 0 {
			return true
		}
	}
	return false
}

// known tries what is not a new reminder.
func (r request) known() (Intent, bool) {
	whole := r.Text
	if r.Source != r.said {
		whole = theGrammar().Read(r.said)
	}
	s := newSense(whole, r.c, r.asked >= 0)
	all := s.all()
	work := r.Longest(0, "work", "zh-work")
	works := work > 0 && (r.asked < work || !r.leads())
	if (works || r.At("none", 0) > 0 || r.At("quotes", 0) > 0 && (r.asked < 0 || r.First(0, r.asked, "quote") >= 0)) && !all.op("undo") && s.marks[0].kind != "it" {
		return Intent{}, true
	}
	in, ok := s.decide()
	if !ok {
		return Intent{}, r.tells() || all.is("no-note")
	}
	if moves := in.Op == Move && all.is("moves"); !moves && r.unsure(in) && !all.is("certain") {
		if made := r.fresh(); made.Kind == Create || made.Kind == Ask && r.asked > 0 && in.Ref.One {
			return made, true
		}
		if in.Maybe && r.tells() {
			return Intent{}, true
		}
	}
	return in, true
}

// recast says "set a dentist reminder" and 设个交水费的提醒 as "remind me": what is to
// be done stands inside of the words that ask, which no table can say.
func recast(t *grammar.Text) string {
	r, text := newRequest(t, t.Source, Context{}), t.Source
	times := r.Reach(0, beforeAsking...)
	for i := range r.Tokens {
		if r.asked = i; i > times && r.At("clause-mark", i-1) != i {
			continue
		}
		for _, made := range [][3]string{
			{"make-one", "made-one", "remind me "},
			{"zh-make-one", "zh-made-one", "提醒我"},
			{"note-down", "noted", "remind me "},
			{"zh-note-down", "zh-noted", "提醒我"},
		} {
			from, noun := r.At(made[0], i), made[1]
			if from == 0 {
				continue
			}
			if to := r.inside(noun, from); to > from && r.At("made-for", r.At(noun, to)) == 0 {
				return text[:r.Tokens[i].From] + made[2] + r.Cut(from, to) + strings.TrimPrefix(text[r.Tokens[r.At(noun, to)-1].To:], "吗")
			}
		}
	}
	return text
}

// inside is where the category stands behind i, with something of its own
// between; 0 without it.
func (r request) inside(category string, i int) int {
	own := false
	for j := i; j < min(i+16, len(r.Tokens)); j++ {
		if r.At(category, j) > 0 && own {
			return j
		}
		if r.Tokens[j].Kind == grammar.Mark && !r.Is(j, "-", "'") || r.At("vague-one", j) > 0 {
			return 0
		}
		own = own || !r.spoken(j) && r.At("plain-one", j) == 0
	}
	return 0
}

// unsure says that a change may be a note of something to do: "pull the brisket
// in 75 min".
func (r request) unsure(in Intent) bool {
	if slices.ContainsFunc(r.Tokens, func(t grammar.Token) bool { return t.Kind == grammar.Han }) {
		return false
	}
	return in.Kind == Query && r.asked >= 0 || in.Kind == Change && in.Ref.ID == "" && (!in.Ref.One || r.asked > 0) && (in.Maybe || in.Op == Remove && r.asked > 0 || r.At("everyday", r.At("wish", 0)) > 0)
}

// tells says that the message tells something and asks for nothing.
func (r request) tells() bool {
	if r.Longest(0, "wish", "run") > 0 || r.Longest(0, "chat", "past-statement", "statement") == 0 {
		return false
	}
	return r.asked < 0 || !r.leads() || r.Tokens[r.asked].Kind == grammar.Han && !r.onlyTimes() && !strings.ContainsAny(r.Cut(0, r.asked), "，,。！!；")
}

// fresh reads a new reminder, where the words may be of one.
func (r request) fresh() Intent {
	for i := len(r.Tokens) - 1; i > 0 && r.asked < 0; i-- {
		if r.Is(i, "so") && r.At("run", i+1) > 0 { // I am the warden now, so friday 9am alarm test
			rest := r.Cut(i+1, len(r.Tokens))
			r = newRequest(theGrammar().Read(rest), rest, r.c)
			break
		}
	}
	if said := r.timer(); said != "" {
		r = newRequest(theGrammar().Read(said), said, r.c)
	}
	if !r.c.Command && r.asked < 0 && (!r.notes() || strings.ContainsAny(r.said, "?？吗呢\"“")) {
		return Intent{}
	}
	return r.create()
}

// timer says "a seven minute egg timer" and "2h15m parking" as words that ask for
// a timer; nothing where a message is none of these.
func (r request) timer() string {
	end := len(r.Tokens)
	switch k := r.At("bare-length", 0); {
	case r.c.Command || r.asked >= 0:
	case r.At("bare-timer", 0) == end:
		return "timer " + r.Cut(r.At("timer-a", 0), r.First(0, end, "timer-noun"))
	case k > 0 && end > k && end < k+4 && r.First(k, end, "no-timer", "mark") < 0:
		return "timer " + r.said
	}
	return ""
}

// trimmed is the text without politeness and marks around it.
func trimmed(t *grammar.Text) *grammar.Text {
	i, j := 0, len(t.Tokens)
	for i < j {
		k := t.Longest(i, "polite", "zh-polite")
		switch {
		case t.Tokens[i].Kind == grammar.Mark && !strings.ContainsAny(t.Tokens[i].Text, `"“#/@*+`):
			i++
		case k > i && k < j && t.Longest(i, "ask-verb", "zh-ask-verb") < k && t.At("keep", i) == 0:
			i = k
		default:
			if end := ended(t, i, j); i > 0 || end < j {
				return theGrammar().Read(t.Cut(i, end))
			}
			return t
		}
	}
	return t
}

// ended is where the words end that begin at i, without marks and politeness.
func ended(t *grammar.Text, i, j int) int {
	for k := j - 1; k > i && j-k < 5; k-- {
		mark := k == j-1 && t.Tokens[k].Kind == grammar.Mark && !strings.ContainsAny(t.Tokens[k].Text, `"”)]`)
		if mark || t.At("polite-end", k) == j || t.At("particle", k) == j {
			j = k
		}
	}
	return j
}

// onlyTimes says that nothing stands before the words that ask but a time and
// politeness.
func (r request) onlyTimes() bool { return r.Reach(0, beforeAsking...) >= r.asked }

// beforeAsking are a time and politeness.
var beforeAsking = []string{"run", "order", "joiner", "mark"}

// spoken says that the token belongs to a time.
func (r request) spoken(j int) bool {
	for i := max(0, j-8); i <= j; i++ {
		if r.At("run", i) > j {
			return true
		}
	}
	return false
}

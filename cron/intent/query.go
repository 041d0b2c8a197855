package intent

import "magpie/cron/when"

// query is what the words ask of the reminders.
func (s some) query() (Intent, bool) {
	named := s.has(name) || s.has(place)
	strange := len(s.unknown())
	if s.has("ask", "missed") && (s.has("noun") || s.has("nouns") || s.has("ask", "what")) {
		strange = 0 // "while my phone was off"
	}
	if strange == 1 && (s.has("noun") || s.has("nouns")) && s.has("ask", "what", "list") && !s.has("not") && !s.has("past") && !s.has(length) {
		strange = 0 // a question changes nothing
	}
	ask := func(what string, aimed bool) (Intent, bool) {
		in := Intent{Kind: Query, What: what}
		if aimed {
			return s.aim(in, s)
		}
		if what == AskList || what == AskMissed {
			in.From, in.To, _ = when.Range(s.Source, s.c.Now, s.c.Zone)
		}
		return in, true
	}
	asks := s.has("ask", "what", "list") || s.At("question", len(s.Tokens)-2) == len(s.Tokens) || s.asks
	if strange == 0 && s.has("ask", "missed") && !s.has("not", "") && !s.has("to") {
		return ask(AskMissed, false)
	}
	if strange > 0 || s.has("op", "remove", "move", "edit", "skip", "pause", "resume", "snooze", "text", "says") && !s.has("paused") {
		return Intent{}, false
	}
	switch {
	case s.has("ask", "next-up"), s.asks && s.At("next-one", 0) >= len(s.Tokens)-1:
		return ask(AskNext, false)
	case s.has("rang") && asks:
		return ask(AskMissed, false)
	case s.has("ask", "left"):
		if !named && !s.has("it") {
			if !s.has("noun") && !s.has("ask", "next") && !s.has("nouns") && s.has(clock) {
				return Intent{}, false
			}
			return Intent{Kind: Query, What: AskLeft, Ref: Ref{}}, true
		}
		return ask(AskLeft, true)
	case s.has("ask", "when") && named:
		return ask(AskWhen, true)
	case s.has("ask", "next") && (asks || s.has("noun") || s.has("noun-weak")):
		return ask(AskNext, false)
	case s.has("ask", "when") && (s.has("noun") || s.has("it")) && !s.has(remind):
		return ask(AskWhen, true)
	case named && s.asks && (s.has("noun") || s.has(clock)) && !s.has("op"):
		return ask(AskWhen, true)
	case asks && (s.has("noun") || s.has("nouns") || s.has("noun-weak") || s.has("all") || s.has("ask", "list") && s.has("ask", "what")) && !named && !s.has(remind),
		s.has("ask", "what") && s.has(clock) && !named && !s.has(remind), // "anything on friday?"
		asks && s.has("ask", "what") && s.index("ask", "what") < s.index(remind) && !named,
		s.reminded() && !named, // 明天你要提醒我些什么
		s.has("ask", "list") && s.has("all") && !named && !s.has(clock), s.has("ask", "what") && s.has("noun-weak") && s.has(remind) && !named,
		s.only("list"), s.listed(), s.has("nouns") && !s.has("op") && !named && !s.has(remind):
		return ask(AskList, false)
	}
	return Intent{}, false
}

// reminded says that the message asks of what it will be reminded.
func (s some) reminded() bool {
	_, k := s.next(s.index(remind))
	end, _ := s.next(k)
	return s.has(remind) && k < len(s.marks) && s.marks[k].arg == "what" && (end == "" || end == stop)
}

// listed says that nothing is named but reminders: 我的提醒.
func (s some) listed() bool {
	if len(s.marks) < len(s.sense.marks) {
		return false // reminder: call Bob
	}
	for _, m := range s.marks {
		if m.kind != "noun" && m.kind != "nouns" && m.kind != "all" && s.At("my", m.from) == 0 {
			return false
		}
	}
	return s.has("noun") || s.has("nouns")
}

// only says that nothing else than a word of asking is said.
func (s some) only(arg string) bool {
	for _, m := range s.marks {
		if m.kind != fill && m.arg != arg {
			return false
		}
	}
	return s.has("ask", arg)
}

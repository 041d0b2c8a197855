package session

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"magpie/agent/llm"
)

// What Tokens assumes. Tokenisers differ; these are on the safe side for
// English and Chinese with the usual vocabularies of 100–200 thousand tokens.
const (
	asciiPerToken    = 4    // bytes of ASCII text
	tokensPerImage   = 1100 // a picture of about 1 megapixel
	tokensPerMessage = 4
)

// Tokens estimates how many tokens a model counts for text: four ASCII bytes
// are one, every other character is one.
func Tokens(text string) int {
	ascii, other := 0, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c < utf8.RuneSelf:
			ascii++
		case utf8.RuneStart(c):
			other++
		}
	}
	return (ascii+asciiPerToken-1)/asciiPerToken + other
}

// Size estimates the tokens of a conversation.
func Size(msgs []llm.Message) int {
	n := 0
	for i := range msgs {
		m := &msgs[i]
		n += tokensPerMessage + Tokens(m.Text) + len(m.Images)*tokensPerImage
		for _, c := range m.Calls {
			n += tokensPerMessage + Tokens(c.Name) + Tokens(c.Args)
		}
		for _, th := range m.Thinking {
			n += Tokens(th.Text)
		}
	}
	return n
}

// leastCap is the shortest to which Squeeze cuts a text, in bytes.
const leastCap = 128

// Squeeze cuts the longest texts of msgs in the middle until fits is true, and
// reports whether it is; what fits comes back as it is. Long arguments of
// calls give way last, as a whole, because half of a JSON text is none. msgs
// is not changed.
func Squeeze(msgs []llm.Message, fits func([]llm.Message) bool) ([]llm.Message, bool) {
	if fits(msgs) {
		return msgs, true
	}
	longest := 0
	for i := range msgs {
		longest = max(longest, len(msgs[i].Text))
		for _, c := range msgs[i].Calls {
			longest = max(longest, len(c.Args))
		}
	}
	cut := msgs
	for limit := longest / 2; limit >= leastCap; limit /= 2 {
		cut = make([]llm.Message, len(msgs))
		for i, m := range msgs {
			m.Text = Shorten(m.Text, limit)
			m.Calls = shortenCalls(m.Calls, argsWeight*limit)
			cut[i] = m
		}
		if fits(cut) {
			return cut, true
		}
	}
	return cut, false
}

// argsWeight: the arguments of a call may be this many times longer than a
// text before they are left out.
const argsWeight = 4

func shortenCalls(calls []llm.Call, limit int) []llm.Call {
	if !slices.ContainsFunc(calls, func(c llm.Call) bool { return len(c.Args) > limit }) {
		return calls
	}
	short := slices.Clone(calls)
	for i, c := range short {
		if len(c.Args) > limit {
			short[i].Args = fmt.Sprintf(`{"left_out":"%d bytes"}`, len(c.Args))
		}
	}
	return short
}

// Shorten returns text cut in the middle to about limit bytes, with a note of
// how many characters are missing; never inside a character.
func Shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	head, tail := limit*2/3, len(text)-limit/3
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n[… %d characters left out …]\n%s",
		text[:head], utf8.RuneCountInString(text[head:tail]), text[tail:])
}

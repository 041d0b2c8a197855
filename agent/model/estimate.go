package model

import (
	"unicode/utf8"

	"magpie/agent/llm"
)

const (
	// imageTokens is what one picture costs with the usual vendors, at most.
	imageTokens = 1600
	// perMessage covers the marks around a message or a tool definition.
	perMessage = 8
	// unknownOutput stands for the longest reply of a model that nobody gave a
	// limit.
	unknownOutput = 4096
)

// Estimate says how many tokens a request's prompt will be, rather too many
// than too few: three ASCII bytes or one other character make a token.
func Estimate(req llm.Request) int {
	n := textTokens(req.System)
	for _, m := range req.Messages {
		n += perMessage + textTokens(m.Text) + len(m.Images)*imageTokens
		for _, c := range m.Calls {
			n += perMessage + textTokens(c.Name) + textTokens(c.Args)
		}
		for _, t := range m.Thinking {
			n += textTokens(t.Text) + textTokens(t.Redacted)
		}
	}
	for _, t := range req.Tools {
		n += perMessage + textTokens(t.Name) + textTokens(t.Description) + textTokens(string(t.Schema))
	}
	return n
}

func textTokens(s string) int {
	ascii, other := 0, 0
	for i := 0; i < len(s); i++ {
		switch b := s[i]; {
		case b < utf8.RuneSelf:
			ascii++
		case utf8.RuneStart(b):
			other++
		}
	}
	return (ascii+2)/3 + other
}

// needed is the most that a request may use.
func needed(req llm.Request) llm.Usage {
	output := req.MaxTokens
	if output <= 0 {
		output = unknownOutput
	}
	return llm.Usage{Input: Estimate(req), Output: output}
}

// used is what a try has used: what the server reports, else an estimate. A
// try that broke off while the model wrote is paid for like any other; one
// that was refused costs nothing.
func used(need llm.Usage, reply llm.Reply, text string, err error) llm.Usage {
	if err == nil && reply.Usage != (llm.Usage{}) {
		return reply.Usage
	}
	if err != nil && text == "" {
		return llm.Usage{}
	}
	u := llm.Usage{Input: need.Input, Output: textTokens(text)}
	for _, c := range reply.Message.Calls {
		u.Output += textTokens(c.Name) + textTokens(c.Args)
	}
	return u
}

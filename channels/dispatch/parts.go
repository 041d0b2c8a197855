package dispatch

import (
	"unicode/utf8"

	"magpie/chat"
)

// What is kept of what messages said, for when one is quoted: of each, and of
// all parts of one message. No platform's messages are longer; only files are.
const (
	maxPart  = 32 << 10  // bytes
	maxParts = 128 << 10 // bytes; what comes after is not kept
)

// add notes the messages of a step.
func (p *progress) add(n int, refs []chat.MessageRef) {
	for _, ref := range refs {
		p.Refs, p.Of = append(p.Refs, ref), append(p.Of, n)
	}
}

// of is the step that message i belongs to: the draft, which is the first
// message, is the first step; of other messages that an earlier version has
// sent it is not known, and -1.
func (p *progress) of(i int) int {
	before := len(p.Refs) - len(p.Of)
	switch {
	case i >= before:
		return p.Of[i-before]
	case before == 1:
		return 0
	}
	return -1
}

// unplanned notes what a message holds that is no step as it was planned.
func (j *job) unplanned(ref chat.MessageRef, part chat.Part) {
	if ref.ID == "" {
		return
	}
	if j.other == nil {
		j.other = map[string]chat.Part{}
	}
	j.other[ref.ID] = part
}

// parts are what the messages of the progress hold.
func (j *job) parts() []chat.Part {
	refs := j.progress.Refs
	parts := make([]chat.Part, len(refs))
	of := map[int][]int{} // the messages of each step
	for i := range refs {
		n := j.progress.of(i)
		of[n] = append(of[n], i)
	}
	for n, messages := range of {
		for nth, i := range messages {
			part, ok := j.other[refs[i].ID]
			if !ok && n >= 0 && n < len(j.steps) {
				part = j.steps[n].part(nth, len(messages))
			}
			parts[i] = part
		}
	}
	left := maxParts
	for i := range parts {
		parts[i].Text = clip(parts[i].Text, min(maxPart, left))
		left -= len(parts[i].Text)
		parts[i].Sources = append([]chat.Source{}, j.out.Sources...) // not nil: it is known
	}
	return parts
}

// part is what the nth of all messages of a step holds: one of its files where
// each has a message of its own.
func (s step) part(nth, all int) chat.Part {
	var p chat.Part
	if nth == 0 {
		p.Text = s.text
	}
	if all == len(s.files) {
		s.files = s.files[nth : nth+1]
	}
	for _, f := range s.files {
		if f.Ref == "" {
			p.Text = paragraphs(p.Text, f.Text) // a text that went as a file
			continue
		}
		p.Files = append(p.Files, f.Attachment)
	}
	return p
}

// clip cuts a text to a number of bytes.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

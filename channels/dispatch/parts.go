package dispatch

import (
	"time"
	"unicode/utf8"

	"magpie/chat"
)

// What is kept of what messages said, for when one is quoted: of each, and of
// all parts of one message. No platform's messages are longer; only files are.
const (
	maxPart  = 32 << 10  // bytes
	maxParts = 128 << 10 // bytes; what comes after is not kept
)

// sent says of a message which step it was, and when it was sent.
type sent struct {
	Step int       `json:"step"`
	At   time.Time `json:"at"`
}

// add notes the messages of a step.
func (p *progress) add(n int, refs []chat.MessageRef) {
	now := time.Now().UTC()
	for _, ref := range refs {
		p.Refs = append(p.Refs, ref)
		p.Sent = append(p.Sent, sent{Step: n, At: now})
	}
}

// step is which step the message i was, and when it was sent: the draft, which
// is the first message, is the first step; of other messages that an earlier
// version has sent nothing is known.
func (p *progress) step(i int) (s sent, ok bool) {
	before := len(p.Refs) - len(p.Sent)
	switch {
	case i >= before:
		return p.Sent[i-before], true
	case before == 1:
		return sent{}, true
	}
	return sent{}, false
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
		if s, ok := j.progress.step(i); ok && s.Step < len(j.steps) {
			of[s.Step] = append(of[s.Step], i)
			parts[i].At = s.At
		}
	}
	for n, messages := range of {
		for nth, i := range messages {
			part, ok := j.other[refs[i].ID]
			if !ok {
				part = j.steps[n].part(nth, len(messages))
			}
			part.At = parts[i].At
			parts[i] = part
		}
	}
	left := maxParts
	for i := range parts {
		parts[i].Text = clip(parts[i].Text, min(maxPart, left))
		left -= len(parts[i].Text)
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

package intent

import (
	"fmt"
	"slices"
	"strings"

	"magpie/cron/when"
)

// acts are the changes that the marks want, when they want several: "cancel the gym
// and move the pills to 10pm". Each has to be understood by itself.
func (s some) acts() []Intent {
	for i := 1; i < len(s.marks)-1; i++ {
		m := s.marks[i]
		if m.kind != stop && m.kind != "break" && s.At("and-then", m.from) != m.to {
			continue
		}
		first, ok := s.part(0, i).act(Intent{})
		rest := s.part(i+1, len(s.marks))
		if !ok {
			continue
		}
		all := rest.acts()
		if one, ok := rest.act(first); all == nil && ok {
			all = []Intent{one}
		}
		same := func(in Intent) bool { return in.Ref == first.Ref && in.Op != Text && first.Op != Text }
		if slices.ContainsFunc(all, same) { // the second explains the first
			return nil
		}
		if does := fmt.Sprint(first.Op, first.Time, first.Shift, first.Text); slices.ContainsFunc(all, func(in Intent) bool {
			return fmt.Sprint(in.Op, in.Time, in.Shift, in.Text) != does
		}) {
			return append([]Intent{first}, all...)
		}
	}
	return nil
}

// act is the change that the marks want; "it" is what the one before was of.
func (s some) act(before Intent) (in Intent, ok bool) {
	if len(s.marks) == 0 || len(s.unknown()) > 0 && !s.has("op", "text") {
		return in, false
	}
	only := *s.sense
	only.marks, s.sense = s.marks, &only
	if in, ok = s.wish(s); !ok || in.Kind != Change || slices.Contains([]Op{Done, Undo, Several}, in.Op) || in.Op == Move && in.Time == "" && in.Shift == (when.Span{}) || in.Op == End && !s.has("op") && !s.has("ending") {
		return in, false
	}
	switch it := in.Ref.Last && s.has("it") || in.Ref.Last && s.starts("to-it"); {
	case s.is("named"):
	case it && before.Op != "":
		in.Ref, in.And = before.Ref, before.And
	default:
		return in, false
	}
	in.Maybe, in.Said = false, s.Cut(s.marks[0].from, s.marks[len(s.marks)-1].to)
	return in, true
}

// replaced are the words of a reminder that is named before them, where they are all
// of a clause: "the call one, change mum to dad".
func (s some) replaced() (ref some, old string) {
	for i := len(s.marks) - 1; i > 0; i-- {
		if s.marks[i].kind != stop {
			continue
		}
		ref, words := s.part(0, i), s.part(i+1, len(s.marks))
		if k := words.index(name); k >= 0 && ref.is("aimed") && words.only([]string{name, "op", "to", "is"}) {
			return ref, words.Cut(words.marks[k].from, words.lastName())
		}
		break
	}
	return s, ""
}

// more puts words behind those that a reminder has.
func (s some) more(in Intent) (Intent, bool) {
	add := s.index("op", "add")
	ref, from, to := s.part(0, add), s.marks[add].to, s.marks[len(s.marks)-1].to
	if i := s.index("to"); i >= 0 {
		ref, to = s.part(i, len(s.marks)), s.marks[i].from
	}
	in.Op, in.What, in.Text = Text, MoreText, strings.Trim(s.Cut(from, ended(s.Text, from, to)), `"“”「」'`)
	return ref.aim(in, ref)
}

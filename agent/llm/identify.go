package llm

import (
	"crypto/rand"
	"strings"
)

// Identify gives an id of its own to every call that lacks one, or that has
// the id of another call here or in the history. Providers call it before they
// hand out a reply: some servers number the calls of every reply from zero.
func Identify(calls []Call, history []Message) {
	used := map[string]bool{"": true}
	for _, m := range history {
		for _, c := range m.Calls {
			used[c.ID] = true
		}
	}
	for i := range calls {
		if used[calls[i].ID] {
			calls[i].ID = "call_" + strings.ToLower(rand.Text()[:16])
		}
		used[calls[i].ID] = true
	}
}

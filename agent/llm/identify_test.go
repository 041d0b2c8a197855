package llm_test

import (
	"testing"

	"magpie/agent/llm"
)

func TestIdentify(t *testing.T) {
	calls := []llm.Call{{ID: "x"}, {ID: "x"}, {}, {ID: "old"}, {ID: "new"}}
	llm.Identify(calls, []llm.Message{{Calls: []llm.Call{{ID: "old"}}}})
	seen := map[string]bool{"": true, "old": true}
	for _, c := range calls {
		if seen[c.ID] {
			t.Errorf("id %q is empty or doubled", c.ID)
		}
		seen[c.ID] = true
	}
	if calls[0].ID != "x" || calls[4].ID != "new" {
		t.Errorf("good ids were changed: %v", calls)
	}
}

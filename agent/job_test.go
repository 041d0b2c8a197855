package agent

import "testing"

// TestSilentMark: alone it is silence, and only where a job has asked.
func TestSilentMark(t *testing.T) {
	for text, want := range map[string]bool{
		"[silent]": true, " [Silent]\n": true, "`[silent]`": true, "[SILENT].": true, "**[silent]**": true,
		"": false, "silent": false, "[silent] All is well.": false, "All is well. [silent]": false, "[silent] [silent]": false,
	} {
		turn := &turn{}
		turn.env.scope.FromJob = true
		if got := turn.silent(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
		turn.env.scope.FromJob = false
		if turn.silent(text) {
			t.Errorf("%q to a person is taken for silence", text)
		}
	}
}

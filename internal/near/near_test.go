package near_test

import (
	"testing"

	"magpie/internal/near"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"abc", "", 3},
		{"help", "help", 0},
		{"hepl", "help", 1},
		{"staus", "status", 1},
		{"stop", "shop", 1},
		{"ca", "abc", 3},
		{"帮助", "帮住", 1},
		{"助帮", "帮助", 1},
	} {
		if got := near.Distance(c.a, c.b); got != c.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
		if got := near.Distance(c.b, c.a); got != c.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", c.b, c.a, got, c.want)
		}
	}
}

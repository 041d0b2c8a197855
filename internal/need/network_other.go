//go:build !linux

package need

import "testing"

// OwnNetwork is for Linux.
func OwnNetwork(t *testing.T) bool {
	t.Helper()
	Unmet(t, "networks of a test's own are for Linux")
	return false
}

// Package need is for tests that want something of the machine: a program, a
// right, a network of their own. It is for tests only.
package need

import (
	"os"
	"testing"
)

// Unmet skips a test for which the machine lacks something, with the reason.
// MAGPIE_TEST_REQUIRE=1 makes that a failure, so that nothing is left out where
// everything has to be there.
func Unmet(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("MAGPIE_TEST_REQUIRE") == "1" {
		t.Fatalf(format+" (and MAGPIE_TEST_REQUIRE is set)", args...)
	}
	t.Skipf(format, args...)
}

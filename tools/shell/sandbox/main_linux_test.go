package sandbox_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"magpie/tools/shell/sandbox"
)

func TestMain(m *testing.M) {
	if sandbox.Helper() {
		os.Exit(1)
	}
	if os.Getenv(childVariable) != "" {
		child()
		os.Exit(0)
	}
	if os.Getenv(refusedVariable) != "" {
		refusedChild()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

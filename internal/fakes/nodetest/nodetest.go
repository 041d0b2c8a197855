// Package nodetest finds Node and the npm packages of internal/fakes/node: the
// clients that are not ours and check the fakes. It is for tests only.
package nodetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Find returns the program node and the folder node_modules, which
// MAGPIE_TEST_NODE_MODULES names, if the package is in it. Else it skips the
// test with the reason; MAGPIE_TEST_REQUIRE=1 makes that a failure.
func Find(t testing.TB, pkg string) (node, modules string) {
	t.Helper()
	unmet := t.Skipf
	if os.Getenv("MAGPIE_TEST_REQUIRE") == "1" {
		unmet = t.Fatalf
	}
	modules = os.Getenv("MAGPIE_TEST_NODE_MODULES")
	if modules == "" {
		unmet("MAGPIE_TEST_NODE_MODULES is not set: run npm ci in a copy of internal/fakes/node and name its node_modules")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		unmet("node is not installed")
	}
	if _, err := os.Stat(filepath.Join(modules, filepath.FromSlash(pkg))); err != nil {
		unmet("%s is not in %s", pkg, modules)
	}
	return node, modules
}

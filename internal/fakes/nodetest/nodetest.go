// Package nodetest finds Node and the npm packages of internal/fakes/node: the
// clients that are not ours and check the fakes. It is for tests only.
package nodetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"magpie/internal/need"
)

// Find returns the program node and the folder node_modules, which
// MAGPIE_TEST_NODE_MODULES names, if the package is in it.
func Find(t testing.TB, pkg string) (node, modules string) {
	t.Helper()
	modules = os.Getenv("MAGPIE_TEST_NODE_MODULES")
	if modules == "" {
		need.Unmet(t, "MAGPIE_TEST_NODE_MODULES is not set: run npm ci in a copy of internal/fakes/node and name its node_modules")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		need.Unmet(t, "node is not installed")
	}
	if _, err := os.Stat(filepath.Join(modules, filepath.FromSlash(pkg))); err != nil {
		need.Unmet(t, "%s is not in %s", pkg, modules)
	}
	return node, modules
}

package need_test

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"magpie/internal/need"
)

// The test leaves itself out on a newcomer's machine, and fails where everything
// has to be there; it goes on in neither.
func TestUnmet(t *testing.T) {
	const child = "MAGPIE_TEST_UNMET"
	if os.Getenv(child) != "" {
		need.Unmet(t, "no %s here", "moon")
		t.Error("it goes on")
		return
	}
	for require, want := range map[string]string{"": "--- SKIP: TestUnmet", "1": "--- FAIL: TestUnmet"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^TestUnmet$")
		cmd.Env = append(os.Environ(), child+"=1", "MAGPIE_TEST_REQUIRE="+require)
		out, err := cmd.CombinedOutput()
		if said := string(out); (err != nil) != (require == "1") || !strings.Contains(said, want) || !strings.Contains(said, "no moon here") || strings.Contains(said, "it goes on") {
			t.Errorf("MAGPIE_TEST_REQUIRE=%s: %v, want %s:\n%s", require, err, want, said)
		}
	}
}

func TestOwnNetwork(t *testing.T) {
	t.Run("in a (small) part", func(t *testing.T) {
		if !need.OwnNetwork(t) {
			return
		}
		all, err := net.Interfaces()
		if err != nil || len(all) != 1 || all[0].Flags&net.FlagUp == 0 {
			t.Errorf("%+v, %v", all, err)
		}
		l, err := net.Listen("tcp", "127.0.0.1:22")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
	})
}

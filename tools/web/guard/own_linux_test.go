package guard_test

import (
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"magpie/internal/need"
	"magpie/tools/web/guard"
)

// A public address of this machine is no more reached than its private ones,
// from the moment on that it has it.
func TestOwnAddresses(t *testing.T) {
	if !need.OwnNetwork(t) {
		return
	}
	g, err := guard.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	listed, err := guard.New(&guard.Options{Allow: []string{"8.8.4.4", "2001:4860::/32"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"8.8.4.4", "2001:4860:4860::8844"} {
		addr := netip.MustParseAddr(text)
		if err := g.Check(addr); err != nil {
			t.Errorf("before: %v", err)
		}
		ip, err := exec.LookPath("ip")
		if err != nil {
			need.Unmet(t, "%v", err)
		}
		if out, err := exec.CommandContext(t.Context(), ip, "addr", "add", text, "dev", "lo").CombinedOutput(); err != nil {
			need.Unmet(t, "give this network an address: %v %s", err, out)
		}
		for _, a := range []netip.Addr{addr, netip.AddrFrom16(addr.As16())} {
			if err := g.Check(a); err == nil {
				t.Errorf("%s is reached", a)
			}
		}
		if _, err := g.Dial(t.Context(), "tcp", net.JoinHostPort(text, "80")); err == nil || !strings.Contains(err.Error(), "own machine") {
			t.Errorf("dialled: %v", err)
		}
		if err := listed.Check(addr); err != nil {
			t.Errorf("listed: %v", err)
		}
	}
}

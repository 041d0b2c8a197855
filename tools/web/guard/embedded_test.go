package guard_test

import (
	"net/netip"
	"testing"

	"magpie/tools/web/guard"
)

// Addresses that stand for others in whatever form.
func TestEmbeddedAddresses(t *testing.T) {
	g, err := guard.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []string{
		"0.0.0.0", "0.1.2.3", "::", "::1", "100.64.0.1", "100.127.255.254", "198.18.0.1", "198.19.255.255", "224.0.0.1", "239.255.255.255",
		"255.255.255.255", "240.0.0.1", "169.254.169.254", "ff02::1", "ff0e::1", "fe80::1", "fec0::1", "fc00::1", "fd00:ec2::254",
		"::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:0:127.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::7f00:1",
		"2002:7f00:1::", "2002:a9fe:a9fe::1", "2002:808:808::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:db8::1", "3fff::1", "5f00::1", "100::1",
		"192.0.0.1", "192.0.0.170", "192.88.99.1", "192.0.2.1", "198.51.100.1", "203.0.113.1",
	} {
		if g.Check(netip.MustParseAddr(a)) == nil {
			t.Errorf("%s is let through", a)
		}
	}
}

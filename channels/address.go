package channels

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
)

// CheckURL says what is wrong with the address that stands at a key of a
// section, which must have one of the schemes; none given means https or http.
// It never repeats the address: it may hold a password.
func CheckURL(key, address string, schemes ...string) error {
	if schemes == nil {
		schemes = []string{"https", "http"}
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return errors.New(key + ": not an address such as https://example.org")
	}
	if !slices.Contains(schemes, u.Scheme) {
		return fmt.Errorf("%s: scheme %q is not accepted; use %s", key, u.Scheme, schemes[0])
	}
	return nil
}

package channeltest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"magpie/channels"
)

// Decode is what a channels.Factory gets to read its section with. The section
// is YAML, and a key that the struct does not have is an error.
func Decode(section string) func(any) error {
	return func(into any) error {
		err := yaml.UnmarshalWithOptions([]byte(section), into, yaml.Strict())
		if err != nil {
			return errors.New(yaml.FormatError(err, false, false)) // without the lines around, which hold secrets
		}
		return nil
	}
}

// Sections are sections of the configuration, in YAML, with what a channel has
// to say to them.
type Sections struct {
	New  channels.Factory
	Deps channels.Deps
	// Rows say of each section which words its error must hold; none: the
	// section is right.
	Rows map[string][]string
	// Secrets stand in some of the sections as the values of secret keys: they
	// are neither in an error nor shown where the section is printed.
	Secrets []string
	// Passwords stand in addresses: they are not in an error.
	Passwords []string
}

// Check makes a channel of each section, and of each right section with a key
// that nobody knows.
func (s Sections) Check(t *testing.T) {
	t.Helper()
	all := ""
	for section, words := range s.Rows {
		all += section
		s.check(t, section, words)
		if len(words) == 0 {
			s.check(t, strings.TrimSpace(section)+"\nno_such_key: 1", []string{"no_such_key"})
		}
	}
	for _, secret := range slices.Concat(s.Secrets, s.Passwords) {
		if !strings.Contains(all, secret) {
			t.Errorf("no section holds the secret %q", secret)
		}
	}
}

func (s Sections) check(t *testing.T, section string, words []string) {
	t.Helper()
	shown := ""
	ch, err := s.New("mine", func(into any) error {
		err := Decode(section)(into)
		shown = fmt.Sprintf("%v %+v %#v", into, into, into)
		return err
	}, s.Deps)
	if (err == nil) != (len(words) == 0) || err == nil && ch.Name() != "mine" {
		t.Errorf("%s\nchannel %v, error %v, want an error with %q", section, ch, err, words)
	}
	said := fmt.Sprint(err)
	for _, word := range words {
		if !strings.Contains(said, word) {
			t.Errorf("%s\nerror %v, want %q in it", section, err, word)
		}
	}
	for _, secret := range s.Secrets {
		if strings.Contains(shown, secret) {
			t.Errorf("%s\na secret is shown: %s", section, shown)
		}
	}
	for _, secret := range slices.Concat(s.Secrets, s.Passwords) {
		if strings.Contains(said, secret) {
			t.Errorf("%s\na secret is repeated: %v", section, err)
		}
	}
}

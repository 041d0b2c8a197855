package channeltest

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/chat"
)

// Sample is a payload in the platform's form, with what becomes of it: an
// inbound message, or nothing for the reason Skip.
type Sample struct {
	Name    string
	Payload json.RawMessage
	Want    *chat.Inbound
	Skip    string
}

// Samples reads a list of samples from a JSON file.
func Samples(t testing.TB, file string) []Sample {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var all []Sample
	if err := dec.Decode(&all); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if len(all) == 0 {
		t.Fatalf("%s: no samples", file)
	}
	return all
}

// Convert runs a channel's conversion over the samples of a JSON file, each in
// a test of its own.
func Convert(t *testing.T, file string, convert func(t *testing.T, payload []byte) (in *chat.Inbound, skip string)) {
	t.Helper()
	for _, s := range Samples(t, file) {
		t.Run(s.Name, func(t *testing.T) {
			in, skip := convert(t, s.Payload)
			if diff := cmp.Diff(s.Want, in); diff != "" {
				t.Errorf("inbound (-want +got):\n%s", diff)
			}
			if skip != s.Skip {
				t.Errorf("skipped for %q, want %q", skip, s.Skip)
			}
		})
	}
}

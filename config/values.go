package config

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// Rate is so many in so much time; the zero value is no limit.
type Rate struct {
	Count int
	Per   time.Duration
}

// ParseRate reads "20/s", "20/1m" or "1/500ms"; "" is the zero Rate.
func ParseRate(s string) (Rate, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return Rate{}, nil
	}
	count, per, _ := strings.Cut(s, "/")
	if per != "" && (per[0] < '0' || per[0] > '9') {
		per = "1" + per
	}
	n, err := strconv.Atoi(count)
	t, errPer := time.ParseDuration(per)
	if err != nil || errPer != nil || n < 1 || t <= 0 {
		return Rate{}, errors.New("want a rate such as 20/1m or 5/s")
	}
	return Rate{Count: n, Per: t}, nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Rate) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRate(string(text))
	return err
}

// MarshalText implements encoding.TextMarshaler.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// String writes what ParseRate reads.
func (r Rate) String() string {
	if r == (Rate{}) {
		return ""
	}
	return strconv.Itoa(r.Count) + "/" + short(r.Per)
}

// short writes a duration without its empty parts: 20m, not 20m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// The policies for slots of jobs that passed while the bot was down.
const (
	RunOnce     = "run_once"
	Skip        = "skip"
	RunIfWithin = "run_if_within"
)

// Misfire is one of the policies; Within belongs to RunIfWithin.
type Misfire struct {
	Policy string
	Within time.Duration
}

func (m *Misfire) decode(d *decoder, n *node, key string) {
	if n.kind == table {
		var within struct {
			RunIfWithin time.Duration `min:"1s" required:"true"`
		}
		d.value(n, key, field{}.of(&within))
		*m = Misfire{Policy: RunIfWithin, Within: within.RunIfWithin}
		return
	}
	var policy string
	f := field{tag: `oneof:"run_once|skip|{run_if_within: 10m}"`}.of(&policy)
	if !d.value(n, key, f) {
		return
	}
	if d.bounds(n, key, f); policy == RunOnce || policy == Skip {
		*m = Misfire{Policy: policy}
	}
}

package shell

import (
	"encoding/json"
	"time"
)

// Limit is the time that a call with these arguments gets.
func (s *Shell) Limit(args string) (time.Duration, error) {
	var in execIn
	if err := json.Unmarshal([]byte(args), &in); err != nil {
		return 0, err
	}
	return s.limit(in)
}

package desk

import (
	"strings"
	"time"

	"magpie/cron"
	"magpie/cron/when"
)

// Least is how far apart the times of a job that is asked for lie at least. A
// job that comes faster only fills the chat, and what the platform grants.
const Least = 10 * time.Second

// tooOften refuses what comes again sooner than Least.
func (w Who) tooOften(p when.Phrase, now time.Time) error {
	if p.Every != 0 && p.Every < Least || dense(w.schedule(p), now) {
		return w.refuse(&cron.InputError{Field: "every"})
	}
	return nil
}

// dense says whether what knows seconds has two times closer together than
// Least. Those of two minutes on end show every pause that there is within a
// minute and between two.
func dense(s cron.Schedule, now time.Time) bool {
	if len(strings.Fields(s.Cron)) < 6 && !strings.Contains(s.Rule, "SECOND") {
		return false
	}
	var last time.Time
	for range 120 {
		next, err := cron.Next(cron.Job{Schedule: s}, now)
		if err != nil || next.IsZero() {
			return false // the store says what is wrong with it
		}
		if next.Sub(last) < Least {
			return true
		}
		last, now = next, next
	}
	return false
}

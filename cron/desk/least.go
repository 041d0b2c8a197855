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
	if p.Every != 0 && p.Every < Least || p.Cron != "" && dense(p, now) {
		return w.refuse(&cron.InputError{Field: "every"})
	}
	return nil
}

// dense says whether an expression with seconds has two times closer together
// than Least. Those of two minutes on end show every pause that there is
// within a minute and between two.
func dense(p when.Phrase, now time.Time) bool {
	c, err := when.ParseCron(p.Cron)
	if err != nil || len(strings.Fields(p.Cron)) < 6 {
		return false // the store says what is wrong with it
	}
	last, ok := c.Next(now, p.Zone)
	for range 120 {
		next, more := c.Next(last, p.Zone)
		if !ok || !more {
			return false
		}
		if next.Sub(last) < Least {
			return true
		}
		last = next
	}
	return false
}

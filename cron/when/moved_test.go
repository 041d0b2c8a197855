package when

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestMoved changes what comes daily at 09:00 in the evening: what is not said
// stays, the hour too.
func TestMoved(t *testing.T) {
	now := time.Date(2026, 11, 25, 19, 35, 0, 0, time.UTC)
	old := Phrase{Cron: "0 9 * * *", Zone: time.UTC}
	for said, want := range map[string]string{
		"every other day":            "every 2 days at 09:00, from 26 November 2026",
		"every 2 days":               "every 2 days at 09:00, from 26 November 2026",
		"every second day":           "every 2 days at 09:00, from 26 November 2026",
		"once every three days":      "every 3 days at 09:00, from 26 November 2026",
		"every 2 days at 7am":        "every 2 days at 07:00, from 26 November 2026",
		"every 10 days":              "every 10 days at 09:00, from 26 November 2026",
		"隔天":                         "every 2 days at 09:00, from 26 November 2026",
		"隔天一次":                       "every 2 days at 09:00, from 26 November 2026",
		"隔一天一次":                      "every 2 days at 09:00, from 26 November 2026",
		"每隔一天一次":                     "every 2 days at 09:00, from 26 November 2026",
		"每两天一次":                      "every 2 days at 09:00, from 26 November 2026",
		"两天一次":                       "every 2 days at 09:00, from 26 November 2026",
		"三天一次":                       "every 3 days at 09:00, from 26 November 2026",
		"每三天":                        "every 3 days at 09:00, from 26 November 2026",
		"每三天一次":                      "every 3 days at 09:00, from 26 November 2026",
		"每隔两天一次":                     "? every 2 days at 09:00, from 26 November 2026 | every 3 days at 09:00, from 26 November 2026",
		"隔周一次":                       "every 2 weeks on Thursday at 09:00, from 26 November 2026",
		"每两周一次":                      "every 2 weeks on Thursday at 09:00, from 26 November 2026",
		"每隔一周一次":                     "every 2 weeks on Thursday at 09:00, from 26 November 2026",
		"每周五一次":                      "every Friday at 09:00",
		"隔月一次":                       "on the 26th of every 2 months at 09:00, from 26 November 2026",
		"每天一次":                       "every day at 09:00",
		"一天一次":                       "every day at 09:00",
		"every 2 hours":              "every 2 hours",
		"每两小时一次":                     "every 2 hours",
		"every weekday":              "every weekday at 09:00",
		"every 15th":                 "on the 15th of every month at 09:00",
		"every other day at 8 pm":    "every 2 days at 20:00, from 25 November 2026",
		"every 2 days for two weeks": "every 2 days at 09:00, until 9 December 2026, from 26 November 2026",
	} {
		p, err := Moved(said, old, time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC), now)
		got := Words(p, "en")
		if unsure, ok := errors.AsType[*Ambiguous](err); ok {
			got = "?"
			for i, c := range unsure.Choices {
				if i > 0 {
					got += " |"
				}
				got += " " + Words(c, "en")
			}
		} else if err != nil {
			got = err.Error()
		}
		if got = strings.ReplaceAll(got, " (UTC)", ""); got != want {
			t.Errorf("%s: %q, want %q", said, got, want)
		}
	}
}

// TestEveryNth reads "every 15th" as a day of each month.
func TestEveryNth(t *testing.T) {
	now := time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC)
	for said, want := range map[string]string{
		"remind me every 15th at 9am to pay":      "0 9 15 * *",
		"remind me to pay every 15th":             "0 9 15 * *",
		"every 15th pay the rent":                 "0 9 15 * *",
		"remind me every 2nd at 9am to pay":       "0 9 2 * *",
		"remind me each 20th to pay":              "0 9 20 * *",
		"every 1st and 15th at 9am pay":           "0 9 1,15 * *",
		"every 2nd of the month at 9am pay":       "0 9 2 * *",
		"每15号上午9点提醒我交房租":                          "0 9 15 * *",
		"每逢15号提醒我交房租":                             "0 9 15 * *",
		"remind me every 15th minute to stretch":  "",
		"remind me every 3rd day at 9 am to swim": "",
	} {
		p, err := Find(said, now, time.UTC)
		if err != nil || p.Cron != want {
			t.Errorf("%s: %q (%v), want %q", said, p.Cron, err, want)
		}
	}
	for _, said := range []string{"remind me every 31st at 9am to pay", "每31号上午9点提醒我交钱"} {
		_, err := Find(said, now, time.UTC)
		if unsure, ok := errors.AsType[*Ambiguous](err); !ok || len(unsure.Choices) != 2 {
			t.Errorf("%s: %v, want a question", said, err)
		}
	}
}

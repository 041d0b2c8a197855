package calendar

import (
	"strings"
	"time"
)

// official are the days of a year that the general office of China's State
// Council gave free, and the Saturdays and Sundays on which work is done
// instead: month and day, from–to. Add a line when the notice for another year
// is published, each November.
var official = []struct {
	year       int
	notice     string
	rest, work string
}{
	{2025, "国办发明电〔2024〕12号", "0101 0128-0204 0404-0406 0501-0505 0531-0602 1001-1008", "0126 0208 0427 0928 1011"},
	{2026, "国办发明电〔2025〕7号", "0101-0103 0215-0223 0404-0406 0501-0505 0619-0621 0925-0927 1001-1007", "0104 0214 0228 0509 0920 1010"},
}

// Workday says whether people in China work on a day, with what the State
// Council moved. known is false for a year of which the notice is not here:
// then it is Monday to Friday.
func Workday(d Date) (work, known bool) {
	weekday := d.Weekday()
	work = weekday != time.Saturday && weekday != time.Sunday
	for _, o := range official {
		if o.year == d.Year {
			return !among(o.rest, d) && (work || among(o.work, d)), true
		}
	}
	return work, false
}

// PublicHoliday says whether a day is one that the State Council gave free.
func PublicHoliday(d Date) bool {
	for _, o := range official {
		if o.year == d.Year {
			return among(o.rest, d)
		}
	}
	return false
}

// among says whether the day is in a list of official.
func among(list string, d Date) bool {
	day := d.utc().Format("0102")
	for span := range strings.FieldsSeq(list) {
		from, to, is := strings.Cut(span, "-")
		if !is {
			to = from
		}
		if from <= day && day <= to {
			return true
		}
	}
	return false
}

package ics

import (
	"strings"
	"time"

	"magpie/cron/when"
)

// windows are the zones as Outlook and Exchange name them.
var windows = map[string]string{
	"AUS Eastern Standard Time":       "Australia/Sydney",
	"Alaskan Standard Time":           "America/Anchorage",
	"Arab Standard Time":              "Asia/Riyadh",
	"Arabian Standard Time":           "Asia/Dubai",
	"Argentina Standard Time":         "America/Argentina/Buenos_Aires",
	"Atlantic Standard Time":          "America/Halifax",
	"Cen. Australia Standard Time":    "Australia/Adelaide",
	"Central America Standard Time":   "America/Guatemala",
	"Central Europe Standard Time":    "Europe/Budapest",
	"Central European Standard Time":  "Europe/Warsaw",
	"Central Standard Time":           "America/Chicago",
	"Central Standard Time (Mexico)":  "America/Mexico_City",
	"China Standard Time":             "Asia/Shanghai",
	"E. Africa Standard Time":         "Africa/Nairobi",
	"E. Australia Standard Time":      "Australia/Brisbane",
	"E. South America Standard Time":  "America/Sao_Paulo",
	"Eastern Standard Time":           "America/New_York",
	"Egypt Standard Time":             "Africa/Cairo",
	"FLE Standard Time":               "Europe/Kyiv",
	"GMT Standard Time":               "Europe/London",
	"GTB Standard Time":               "Europe/Bucharest",
	"Greenwich Standard Time":         "Atlantic/Reykjavik",
	"Hawaiian Standard Time":          "Pacific/Honolulu",
	"India Standard Time":             "Asia/Kolkata",
	"Israel Standard Time":            "Asia/Jerusalem",
	"Korea Standard Time":             "Asia/Seoul",
	"Mountain Standard Time":          "America/Denver",
	"New Zealand Standard Time":       "Pacific/Auckland",
	"Newfoundland Standard Time":      "America/St_Johns",
	"Pacific SA Standard Time":        "America/Santiago",
	"Pacific Standard Time":           "America/Los_Angeles",
	"Pakistan Standard Time":          "Asia/Karachi",
	"Romance Standard Time":           "Europe/Paris",
	"Russian Standard Time":           "Europe/Moscow",
	"SA Pacific Standard Time":        "America/Bogota",
	"SE Asia Standard Time":           "Asia/Bangkok",
	"Singapore Standard Time":         "Asia/Singapore",
	"South Africa Standard Time":      "Africa/Johannesburg",
	"Taipei Standard Time":            "Asia/Taipei",
	"Tokyo Standard Time":             "Asia/Tokyo",
	"Turkey Standard Time":            "Europe/Istanbul",
	"US Eastern Standard Time":        "America/Indiana/Indianapolis",
	"US Mountain Standard Time":       "America/Phoenix",
	"UTC":                             "UTC",
	"W. Australia Standard Time":      "Australia/Perth",
	"W. Central Africa Standard Time": "Africa/Lagos",
	"W. Europe Standard Time":         "Europe/Berlin",
	"West Asia Standard Time":         "Asia/Tashkent",
}

// known is the zone of a TZID: a name of the IANA database, also behind a
// prefix as in /citadel.org/20210210_1/Europe/London, or one of Windows.
func known(tzid string) (*time.Location, bool) {
	tzid = strings.Trim(strings.TrimSpace(tzid), `"`)
	if name, ok := windows[tzid]; ok {
		tzid = name
	}
	for {
		if tzid == "" || strings.EqualFold(tzid, "Local") {
			return nil, false
		}
		if zone, err := time.LoadLocation(tzid); err == nil {
			return zone, true
		}
		var found bool
		if _, tzid, found = strings.Cut(strings.TrimPrefix(tzid, "/"), "/"); !found {
			return nil, false
		}
	}
}

// fixed is the zone of an offset such as +0800.
func fixed(offset string) (*time.Location, bool) {
	if len(offset) != 5 {
		return nil, false
	}
	zone, err := when.Zone("UTC" + offset[:3] + ":" + offset[3:])
	return zone, err == nil
}

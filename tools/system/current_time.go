package system

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"magpie/tools"
)

//go:embed current_time.md
var currentTimeText string

type timeIn struct {
	Timezone string `json:"timezone,omitempty" jsonschema:"IANA name such as Asia/Shanghai or Europe/Berlin; the chat's zone when it is not given."`
}

// CurrentTime makes current_time. now is the clock, nil for time.Now.
func CurrentTime(now func() time.Time) tools.Tool {
	if now == nil {
		now = time.Now
	}
	spec := tools.Spec{
		Name: "current_time", Description: strings.TrimSpace(currentTimeText), Category: tools.System, Effect: tools.Reads,
		Main: "timezone", Aliases: map[string]string{"tz": "timezone", "time_zone": "timezone", "zone": "timezone"},
	}
	return tools.New(spec, func(_ context.Context, sc tools.Scope, in timeIn) (tools.Result, error) {
		zone, err := zoneOf(in.Timezone, sc.Zone)
		if err != nil {
			return tools.Result{}, err
		}
		return tools.Result{Text: tell(now().In(zone), sc.Lang)}, nil
	})
}

func zoneOf(name string, chat *time.Location) (*time.Location, error) {
	if name == "" {
		return chat, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, tools.Errorf(tools.InvalidArgs, "unknown time zone %q; want an IANA name such as Asia/Shanghai, Europe/Berlin, America/New_York or UTC", name)
	}
	return zone, nil
}

func tell(t time.Time, lang string) string {
	weekday := t.Weekday().String()
	if lang == "zh" {
		weekday = "星期" + string([]rune("日一二三四五六")[t.Weekday()])
	}
	return fmt.Sprintf("%s %s (%s, UTC%s)\nISO 8601: %s\nUnix: %d",
		t.Format("2006-01-02 15:04:05"), weekday, t.Location(), t.Format("-07:00"), t.Format(time.RFC3339), t.Unix())
}

package desk_test

import (
	"slices"
	"strings"
	"testing"
)

// A day that is named is the one that is left out, of a series only that, and
// nothing where nothing comes.
func TestLeftOutDay(t *testing.T) {
	for say, c := range map[string]struct {
		n    string
		next []string // from 25 November, the day and the hour
		says string
	}{
		"skip my pills on friday":                    {"pills", []string{"25T21", "26T21", "28T21"}, "Left out: Friday"},
		"skip friday's pills":                        {"pills", []string{"25T21", "26T21", "28T21"}, "Left out: Friday"},
		"don't remind me to take my pills on friday": {"pills", []string{"25T21", "26T21", "28T21"}, "Left out: Friday"},
		"cancel my pills tomorrow":                   {"pills", []string{"25T21", "27T21", "28T21"}, "Left out: tomorrow"},
		"leave out the pills this weekend":           {"pills", []string{"25T21", "26T21", "27T21", "30T21"}, "Left out: Saturday"},
		"skip my pills today":                        {"pills", []string{"26T21", "27T21"}, "Left out: today"},
		"skip the team meeting tomorrow":             {"team", []string{"30T10"}, "does not come then"},
		"cancel tomorrow's reminders":                {"pills", []string{"25T21", "26T21"}, "Really leave out these 2?"},
		"cancel sunday's reminders":                  {"pills", []string{"25T21", "26T21", "27T21", "28T21", "30T21"}, "Left out: Sunday"},
		"pause my pills until friday":                {"pills", []string{"27T21", "28T21"}, "Next: Friday"},
		"吃药暂停一周":                                     {"pills", []string{"02T21"}, "等7次"},
		"end the pills on friday":                    {"pills", []string{"25T21", "26T21", "27T21"}, "The last time: Friday"},
		"stop the pills after friday":                {"pills", []string{"25T21", "26T21", "27T21"}, "The last time: Friday"},
		"周五的吃药跳过":                                    {"pills", []string{"25T21", "26T21", "28T21"}, "跳过后天（周五）"},
		"周五不用提醒我吃药":                                  {"pills", []string{"25T21", "26T21", "28T21"}, "跳过后天（周五）"},
		"取消周五的吃药":                                    {"pills", []string{"25T21", "26T21", "28T21"}, "跳过后天（周五）"},
		"明天的周会跳过":                                    {"team", []string{"30T10"}, "没有提醒"},
		"取消明天的提醒":                                    {"team", []string{"30T10"}, "真的要跳过这 2 个提醒吗"},
	} {
		lang := "en"
		if say[0] > 'z' {
			lang = "zh"
		}
		w, a := tell(t, phrase{Say: say, Lang: lang})
		j, _ := w.get(t, c.n)
		var got []string
		for _, at := range w.times(j, len(c.next)) {
			got = append(got, at[8:13])
		}
		if !slices.Equal(got, c.next) || !strings.Contains(text(a), c.says) {
			t.Errorf("%s: %q, then %v; want %q, then %v", say, text(a), got, c.says, c.next)
		}
	}
}

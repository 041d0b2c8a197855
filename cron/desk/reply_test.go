package desk_test

import (
	"slices"
	"strings"
	"testing"

	"magpie/chat"
	"magpie/cron"
	"magpie/cron/desk"
)

// talk is a chat with a desk that reads real words.
type talk struct {
	*fixture
	d *desk.Desk
}

func newTalk(t *testing.T, lang string) *talk {
	f := newFixture(t)
	f.ann.Lang = lang
	return &talk{f, desk.New(f.jobs, f.notes)}
}

// says says something and returns the answer; "-" when it is not for the desk.
func (k *talk) says(t *testing.T, text string) string {
	t.Helper()
	said, mine, err := k.d.Say(t.Context(), k.ann, desk.Message{Text: text})
	switch {
	case err != nil:
		return "! " + err.Error()
	case !mine:
		return "-"
	}
	return said.Text
}

// stored are the reminders as "11-24 15:00 read", sorted.
func (k *talk) stored(t *testing.T) string {
	t.Helper()
	jobs, err := k.jobs.List(t.Context(), chat.Address{Channel: k.ann.Addr.Channel, Chat: k.ann.Addr.Chat})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, j := range jobs {
		if next, err := cron.Next(j, k.now); err == nil && !j.Hidden {
			all = append(all, next.In(k.ann.Zone).Format("01-02 15:04 ")+j.Message)
		}
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

// Answers to a question about a time, in the words that people use; it is Monday
// 23 November, 10:30.
func TestAnswersOfTime(t *testing.T) {
	for _, c := range []struct {
		lang, before, asked string
		answers             string // split by |
		want                string
	}{
		{"en", "remind me tomorrow at 3pm to read", "remind me friday at 8 to swim", "I meant 8am|8am|actually 8am|no, 8am|make it 8am|8am of course|8am please|sorry, 8am|in the morning|change it to 8am", "11-24 15:00 read; 11-27 08:00 swim"},
		{"en", "remind me tomorrow at 3pm to read", "remind me friday at 8 to swim", "9:30am|actually 9:30am|make it 9:30am instead", "11-24 15:00 read; 11-27 09:30 swim"},
		{"en", "remind me tomorrow at 3pm to read", "remind me tomorrow at 8 to swim", "no, friday at 9am|friday at 9am instead|friday at 9am then", "11-24 15:00 read; 11-27 09:00 swim"},
		{"zh", "明天下午3点提醒我看书", "周六八点提醒我游泳", "改成后天上午十点吧|后天上午十点|不，后天上午十点|我是说后天上午十点|还是后天上午十点吧", "11-24 15:00 看书; 11-25 10:00 游泳"},
		{"zh", "明天下午3点提醒我看书", "周六八点提醒我游泳", "我是说晚上|晚上|晚上那个|晚上吧|不，晚上八点", "11-24 15:00 看书; 11-28 20:00 游泳"},
		{"en", "remind me tomorrow at 3pm to read", "move read to 9", "am|in the morning|9am|actually 9am|the first one", "11-24 09:00 read"},
		{"en", "remind me tomorrow at 3pm to read", "move read to 9", "pm|in the evening|evening|9pm|no, 9pm", "11-24 21:00 read"},
		{"en", "remind me tomorrow at 3pm to read", "move read to friday at 9", "make it 10am|10am", "11-27 10:00 read"},
		{"zh", "明天下午3点提醒我看书", "把看书改到9点", "晚上|晚上那个|晚上吧|我是说晚上|不，晚上九点", "11-24 21:00 看书"},
		{"en", "", "remind me 03/04 at 3pm to read", "april|the april one|3 april", "04-03 15:00 read"},
		{"en", "", "remind me 06/05 at 3pm to read", "june|the june one|june 5|I meant june", "06-05 15:00 read"},
		{"zh", "", "06/05下午3点提醒我看书", "六月五号|六月|六月那个|我是说六月五号", "06-05 15:00 看书"},
	} {
		for _, answer := range strings.Split(c.answers, "|") {
			k := newTalk(t, c.lang)
			if c.before != "" {
				k.says(t, c.before)
			}
			asked := k.says(t, c.asked)
			said := k.says(t, answer)
			if got := k.stored(t); got != c.want {
				t.Errorf("%q, %q, %q:\nasks %q,\nsays %q,\nleaves %q, want %q", c.before, c.asked, answer, asked, said, got, c.want)
			}
		}
	}
}

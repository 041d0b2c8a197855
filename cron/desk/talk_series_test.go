package desk_test

import (
	"slices"
	"strings"
	"testing"

	"magpie/cron"
	"magpie/cron/desk"
)

// coming says when the reminder of a text comes from now on: "26T08 26T20".
func (w *world) coming(t *testing.T, text string) (all []string) {
	t.Helper()
	jobs, err := w.jobs.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(jobs, func(a, b cron.Job) int { return a.Schedule.At.Compare(b.Schedule.At) })
	for _, j := range jobs {
		if j.Hidden || j.Message != text {
			continue
		}
		at := w.now
		for range 4 {
			if at, err = cron.Next(j, at); err != nil {
				t.Fatal(err)
			}
			if at.IsZero() {
				break
			}
			all = append(all, strings.TrimSuffix(at.In(w.ann.Zone).Format("2T15:04"), ":00"))
		}
		all = append(all, "/")
	}
	return all
}

// TestSeries changes one time or day of what repeats: the others stay. What is
// wanted is when it comes after the last message, or what is asked.
func TestSeries(t *testing.T) {
	for _, c := range []struct{ lang, before, last, text, want string }{
		{"en", twice, "change 8pm to 9pm|move the evening one to 9pm|8pm should be 9pm|make the evening one 9pm|move the evening vitamins to 9pm please|change the 8pm one to 9pm", "take vitamins", "25T21 26T08 26T21 27T08"},
		{"en", twice, "move 8am to 7:30am|change the morning one to 7:30am|can you move my morning vitamins to 7:30am", "take vitamins", "25T20 26T07:30 26T20 27T07:30"},
		{"en", twice, "cancel the evening one|cancel the evening vitamins|drop the 8pm one|remove 8pm|no more evening vitamins|only keep the morning one", "take vitamins", "26T08 27T08 28T08 29T08"},
		{"en", twice, "skip the evening one|skip tonight's", "take vitamins", "26T08 26T20 27T08 27T20"},
		{"en", twice, "add noon|and at noon|also remind me at noon|add another one at noon|one more at noon please|remind me at noon too", "take vitamins", "25T12 25T20 26T08 26T12"},
		{"en", twice, "always an hour later|an hour later from now on|from now on an hour later|make it an hour later from now on", "take vitamins", "25T21 26T09 26T21 27T09"},
		{"en", twice, "change the time to 9pm|make it 9pm", "take vitamins", "? 1. 08:00 → every day at 20:00 and 21:00"},
		{"en", twice, "remove the eight o'clock one", "take vitamins", "? 08:00 → only every day at 20:00"},
		{"en", twice, "pause the evening one", "take vitamins", "? comes at other times too"},
		{"en", twice, "move tomorrow's evening one to 10pm", "take vitamins", "25T20 26T08 27T08 27T20 / 26T22"},
		{"zh", twiceZh, "晚上的改成晚上九点|晚上那个改成九点|晚上八点的改到晚上九点|把晚上那次改成九点|晚上改成9点|晚上的维生素改到九点", "吃维生素", "25T21 26T08 26T21 27T08"},
		{"zh", twiceZh, "取消晚上的|取消晚上的维生素|晚上的不要了|删掉晚上八点那个|把晚上的去掉|只留早上的", "吃维生素", "26T08 27T08 28T08 29T08"},
		{"zh", twiceZh, "再加一个中午十二点的|加一个中午十二点|中午也提醒我一次|再来一个中午十二点|还有中午十二点", "吃维生素", "25T12 25T20 26T08 26T12"},
		{"zh", twiceZh, "以后都晚一小时|以后都推迟一小时", "吃维生素", "25T21 26T09 26T21 27T09"},
		{"zh", twiceZh, "八点的改成九点|8点的取消", "吃维生素", "? 08:00"},
		{"zh", twiceZh, "今晚的不用了", "吃维生素", "26T08 26T20 27T08 27T20"},

		{"en", days, "move monday and thursday to friday", "train", "27T18 4T18 11T18 18T18"},
		{"en", days, "move monday to tuesday|change mondays to tuesdays|tuesday instead of monday|not monday, tuesday|change it from monday to tuesday", "train", "26T18 1T18 3T18 8T18"},
		{"en", days, "change thursday to friday|thursday should be friday|move thursday's to friday", "train", "27T18 30T18 4T18 7T18"},
		{"en", days, "move this thursday to friday", "train", "30T18 3T18 7T18 10T18 / 27T18"},
		{"en", days, "drop monday|cancel the monday one|drop the monday", "train", "? Always, or only the next time?"},
		{"en", days, "no more mondays|remove mondays|cancel training on mondays", "train", "26T18 3T18 10T18 17T18"},
		{"en", days, "move monday to 7pm|make monday 7pm|the monday one at 7pm", "train", "? only Monday 30 November at 19:00"},
		{"en", days, "let it repeat on saturdays too|saturdays too|and on saturdays|add saturday|let it come on saturdays as well", "train", "26T18 28T18 30T18 3T18"},
		{"en", days, "add saturday and sunday", "train", "26T18 28T18 29T18 30T18"},
		{"en", days, "make it tuesday and friday|make it tuesdays and fridays", "train", "27T18 1T18 4T18 8T18"},
		{"zh", daysZh, "周一改到周二|周一的改成周二|把周一换到周二", "打球", "26T18 1T18 3T18 8T18"},
		{"zh", daysZh, "周六也提醒|周六也要|再加个周六|加上周六", "打球", "26T18 28T18 30T18 3T18"},
		{"zh", daysZh, "周一的取消|取消周一的|周一不用了", "打球", "? 以后都取消，还是只取消这一次？"},
		{"zh", daysZh, "以后周一不用了", "打球", "26T18 3T18 10T18 17T18"},
		{"zh", daysZh, "下周一的取消|周一跳过", "打球", "26T18 3T18 7T18 10T18"},
		{"zh", daysZh, "周四改成晚上七点|周四的改成晚上七点", "打球", "? 只改这次，明天19:00"},

		{"en", "remind me every weekday at 7am to run", "change friday to thursday|move friday to 8am", "run", "? Which do you mean?"},
		{"en", "remind me every weekday at 7am to run", "from next week make it 6am|make it 6am starting next week|from monday on move it to 6am", "run", "26T07 27T07 30T06 1T06"},
		{"en", "remind me every tuesday at 6pm to train", "make it thursdays|on thursdays instead", "train", "26T18 3T18 10T18 17T18"},
		{"en", "remind me every day at 7am to run", "cancel the friday one", "run", "? Always, or only the next time?"},
		{"en", "remind me every day at 7am to run", "skip friday", "run", "26T07 28T07 29T07 30T07"},
		{"en", "remind me on monday at 6pm to train", "change monday to tuesday|move monday to tuesday", "train", "1T18"},
		{"zh", "每个工作日早上七点提醒我跑步", "这周五改到晚上六点", "跑步", "26T07 30T07 1T07 2T07 / 27T18"},
		{"zh", "每个工作日早上七点提醒我跑步", "下周起改成早上六点|从下周起改成早上六点", "跑步", "26T07 27T07 30T06 1T06"},
		{"zh", "每周五早上七点提醒我跑步", "下周五的改到周六", "跑步", "27T07 11T07 18T07 25T07 / 5T07"},
		{"zh", "每周一晚上六点提醒我打球", "以后都改到周二|以后改到周二", "打球", "1T18 8T18 15T18 22T18"},
		{"zh", "每周一晚上六点提醒我打球", "去掉重复|取消重复", "打球", "30T18"},
		{"en", "remind me every day at 8am to run until december 10", "drop the end date|remove the end date", "run", "26T08 27T08 28T08 29T08"},

		// what was skipped stays so
		{"en", "remind me every day at 8am to run; skip run tomorrow", "move it to 9am", "run", "27T09 28T09 29T09 30T09"},
		{"en", "remind me every day at 8am to run; skip run tomorrow", "move it to 9pm", "run", "25T21 27T21 28T21 29T21"},
		{"en", "remind me every day at 8am to run; skip run tomorrow", "until november 29", "run", "27T08 28T08 29T08"},
		{"en", "remind me every day at 8am to run; pause run until monday", "move it to 9am", "run", "30T09 1T09 2T09 3T09"},
		{"en", "remind me every day at 8am to run; pause run until monday", "move it to 9pm", "run", "30T21 1T21 2T21 3T21"},
		{"en", "remind me every day at 8am to run; pause run until monday", "change the text to jog", "jog", "30T08 1T08 2T08 3T08"},

		// what is done for today, what is off for a day
		{"en", "remind me every day at 8pm to take vitamins", "I took it today|took them already today|I took my vitamins today|vitamins taken today", "take vitamins", "26T20 27T20 28T20 29T20"},
		{"zh", "每天晚上八点提醒我吃维生素", "今天的吃过了|今天的维生素吃过了", "吃维生素", "26T20 27T20 28T20 29T20"},
		// all but some days, and days from one to another
		{"en", "remind me to take vitamins every day at 8am", "except sundays|no sundays|not on sundays|excluding sundays", "take vitamins", "26T08 27T08 28T08 30T08"},
		{"en", "remind me to take vitamins every day at 8am", "not on weekends|excluding weekends", "take vitamins", "26T08 27T08 30T08 1T08"},
		{"zh", "列表", "以后周日不用吃药", "吃药", "25T21 26T21 27T21 28T21"},
		{"en", "list", "no pills from friday to sunday|skip the pills from friday to sunday", "take my pills", "25T21 26T21 30T21 1T21"},
		{"zh", "列表", "取消周五到周日的吃药", "吃药", "25T21 26T21 30T21 1T21"},
		{"en", "list", "on holiday next week, no team meeting", "team meeting", "7T10 14T10 21T10 28T10"},
		{"en", "list", "skip the gym from dec 1 to dec 5", "gym", "26T07"},
		{"en", "remind me to take vitamins every day at 8am", "stop it after two weeks", "take vitamins", "26T08 27T08 28T08 29T08"},
		// what is kept of those that are asked about
		{"en", "cancel the gym and call mum", "keep call mum|keep mum", "call mum", "25T18"},
		{"en", "cancel everything", "yes but keep the pills|keep the meeting", "take my pills", "25T21 26T21 27T21 28T21"},
		{"zh", "全部取消", "好的，别动周会", "周会", "30T10 7T10 14T10 21T10"},
		{"zh", "列表", "九点那个取消", "吃药", "? 是哪一个？"},
		{"zh", "每天早上八点提醒我吃维生素", "今天的吃过了|今天的做完了", "给妈妈打电话", "25T18"},
		{"en", "remind me every day at 8am to take vitamins", "I took it today|done for today", "call mum", "25T18"},
		{"en", "list", "mute the pills tomorrow|pause the pills tomorrow", "take my pills", "25T21 27T21 28T21 29T21"},
		{"zh", "列表", "周一之前不用吃药|周一前别提醒我吃药|周一之前暂停吃药", "吃药", "30T21 1T21 2T21 3T21"},
		{"en", "remind me every day at 8am to run", "until friday", "run", "26T08 27T08"},
		{"en", "remind me every day at 8am to run", "for two days|for the next two days", "run", "26T08 27T08"},
		{"zh", "每天早上八点提醒我跑步", "到周五为止|到周五", "跑步", "26T08 27T08"},
		{"zh", "每天早上八点提醒我跑步", "就两天|持续两天", "跑步", "26T08 27T08"},
	} {
		for last := range strings.SplitSeq(c.last, "|") {
			w := worldIn(t, c.lang, "Asia/Shanghai")
			w.Desk = desk.New(w.jobs, w.notes)
			said := ""
			for _, text := range append(strings.Split(c.before, "; "), last) {
				answer, _, err := w.Say(t.Context(), w.ann, desk.Message{Text: text})
				if said = answer.Text; err != nil {
					said = err.Error()
				}
			}
			got := strings.TrimSuffix(strings.Join(w.coming(t, c.text), " "), " /")
			if asked, ask := strings.CutPrefix(c.want, "? "); ask && !strings.Contains(said, asked) || !ask && got != c.want {
				t.Errorf("%s ‖ %s: %q, then %s; want %s", c.before, last, said, got, c.want)
			}
		}
	}
}

// The reminders of which something is changed.
const (
	twice   = "remind me to take vitamins every day at 8am and 8pm"
	twiceZh = "每天早上八点和晚上八点提醒我吃维生素"
	days    = "remind me every monday and thursday at 6pm to train"
	daysZh  = "每周一和周四晚上六点提醒我打球"
)

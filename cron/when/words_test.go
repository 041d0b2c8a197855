package when

import (
	"strings"
	"testing"

	"magpie/cron/calendar"
)

// What comes again is said as a person says it, in both languages, and read back
// as the same.
func TestWordsOfRules(t *testing.T) {
	now, zone := testNow(t)
	for _, row := range [][3]string{
		{"every hour from 9 to 5", "every hour from 09:00 to 17:00", "每天从09:00到17:00每小时"},
		{"every 30 minutes from 9 to 17 on weekdays", "every 30 minutes from 09:00 to 17:00, every weekday", "每周一到周五从09:00到17:00每30分钟"},
		{"0,30 * * * *", "every 30 minutes from 00:00 to 23:30", "每天从00:00到23:30每30分钟"},
		{"* * * * *", "every minute from 00:00 to 23:59", "每天从00:00到23:59每分钟"},
		{"15 * * * *", "every hour at minute 15", "每小时15分"},
		{"0 7-9,12,15,18,21,23 * * *", "every day at 07:00, 08:00, 09:00, 12:00, 15:00, 18:00, 21:00 and 23:00", "每天 07:00、08:00、09:00、12:00、15:00、18:00、21:00、23:00"},
		{"every day at 9am until friday", "every day at 09:00, until 27 November 2026", "每天 09:00，到2026年11月27日"},
		{"every hour until 6pm", "every hour, until 23 November 2026 at 18:00, from 23 November 2026 at 11:30", "每小时，到2026年11月23日 18:00，从2026年11月23日 11:30起"},
		{"every 20 minutes until 6pm", "every 20 minutes, until 23 November 2026 at 18:00, from 23 November 2026 at 10:50", "每20分钟，到2026年11月23日 18:00，从2026年11月23日 10:50起"},
		{"every hour at minute 15 until 6pm", "every hour at minute 15, until 23 November 2026 at 18:00", "每小时15分，到2026年11月23日 18:00"},
		{"every day at 9am except fridays", "every day except Friday at 09:00", "除了周五每天 09:00"},
		{"every day at 9am except december 25", "every day at 09:00, except on 25 December 2026", "每天 09:00，除了2026年12月25日"},
		{"every 2 hours except on weekends", "every 2 hours except on Sunday and Saturday, from 23 November 2026 at 12:30", "除了周日、周六每2小时，从2026年11月23日 12:30起"},
		{"every quarter on the 1st", "on the 1st of every quarter at 09:00", "每季度1号 09:00"},
		{"0 9 1 1,7 *", "every year on the 1st of January and July at 09:00", "每年1月、7月1号 09:00"},
		{"0 9 30,31 * *", "on the 30th and 31st of every month that has one at 09:00", "有30号、31号的月份每月30号、31号 09:00"},
		{"every year on mid autumn", "every year on the Mid-Autumn Festival at 09:00", "每年中秋 09:00"},
		{"every year two days before christmas", "every year 2 days before Christmas at 09:00", "每年圣诞前2天 09:00"},
		{"每年春节前三天", "every year 3 days before Chinese New Year at 09:00", "每年春节前3天 09:00"},
		{"每月1号前两天早上九点", "2 days before the 1st of every month at 09:00", "每月1号前2天 09:00"},
		{"每月初一十五", "on the 1st and 15th of every lunar month at 09:00", "每月农历初一、十五 09:00"},
		{"每年农历四月初八", "every year on the 8th of the 4th lunar month at 09:00", "每年农历四月初八 09:00"},
	} {
		p, err := Parse(row[0], now, zone)
		if err != nil {
			t.Errorf("%s: %v", row[0], err)
			continue
		}
		for i, lang := range []string{"en", "zh"} {
			if got := strings.NewReplacer(" (Asia/Shanghai)", "", "（Asia/Shanghai）", "").Replace(Words(p, lang)); got != row[i+1] {
				t.Errorf("%s\n got %s\nwant %s", row[0], got, row[i+1])
			}
		}
		again(t, p, now)
	}
}

// A rule of several parts is told whole, and what words cannot tell is not told
// by half.
func TestWordsOfImportedRules(t *testing.T) {
	for _, row := range [][2]string{
		{"RRULE:FREQ=WEEKLY;BYDAY=MO;BYHOUR=9;BYMINUTE=0\nRRULE:FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=17;BYMINUTE=0", "every Monday at 09:00 and on the last Friday of every month at 17:00"},
		{"RRULE:FREQ=MONTHLY;BYDAY=MO,-1FR;BYHOUR=9;BYMINUTE=0", "every Monday at 09:00 and on the last Friday of every month at 09:00"},
		{"RRULE:FREQ=DAILY", "every day, from 23 November 2026 at 10:30:01"},
		{"RRULE:FREQ=YEARLY;BYYEARDAY=100;BYHOUR=9;BYMINUTE=0", "on the 100th day of every year at 09:00"},
		{"RRULE:FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO;BYHOUR=9;BYMINUTE=0", "on Monday of the 20th week of every year at 09:00"},
		{"RRULE:FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=24,25;BYHOUR=9;BYMINUTE=0", "every year on the 24th and 25th of December at 09:00"},
		{"RRULE:FREQ=MONTHLY;BYMONTHDAY=15,-1;BYHOUR=9;BYMINUTE=0", "on the 15th and last day of every month at 09:00"},
		{"RRULE:FREQ=YEARLY;BYYEARDAY=-3;BYHOUR=9;BYMINUTE=0", "by the rule FREQ=YEARLY;BYYEARDAY=-3;BYHOUR=9;BYMINUTE=0"},
		{"RRULE:FREQ=DAILY;BYMONTH=12;BYHOUR=9;BYMINUTE=0", "every year every day in December at 09:00"},
		{"RRULE:FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR;BYHOUR=9;BYMINUTE=0", "every Friday that is the 13th at 09:00"},
		{"RDATE:20261224T180000,20261231T180000", "on 24 December 2026 at 18:00 and 31 December 2026 at 18:00"},
	} {
		p := Phrase{Rule: "DTSTART:20261123T103001\n" + row[0]}
		if got := strings.ReplaceAll(Words(p, "en"), " (UTC)", ""); got != row[1] {
			t.Errorf("%s\n got %s\nwant %s", row[0], got, row[1])
		}
	}
}

// Every holiday has a name in both languages, and is read by it.
func TestNamesOfHolidays(t *testing.T) {
	now, zone := testNow(t)
	alias := " chunfen xiazhi autumn-equinox dongzhi "
	for _, key := range calendar.Holidays() {
		if strings.Contains(alias, " "+key+" ") {
			continue
		}
		again(t, Phrase{Rule: "DTSTART:20261123T103001\nRRULE:FREQ=YEARLY;BYHOUR=9;BYMINUTE=0;BYSECOND=0;X-HOLIDAY=" + key, Zone: zone}, now)
	}
}

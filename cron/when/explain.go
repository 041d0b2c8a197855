package when

import (
	"errors"
	"fmt"
	"strings"
)

// wrongTime says what is wrong with a time, in Chinese as far as there are words.
type wrongTime struct {
	kind error
	mark string // before why
	why  Text
}

// Error is English, as that of all errors.
func (e *wrongTime) Error() string { return e.kind.Error() + e.mark + e.why.English }

func (e *wrongTime) Unwrap() error { return e.kind }

func wrong(kind error, mark, format string, args ...any) error {
	e := &wrongTime{kind, mark, Text{English: fmt.Sprintf(format, args...)}}
	if chinese, ok := reasons[format]; ok {
		e.why.Chinese = fmt.Sprintf(chinese, args...)
	} else if kind == ErrBadZone && len(args) > 0 {
		e.why.Chinese = fmt.Sprintf("%.60q", args[0])
	}
	return e
}

// reasons are what people get wrong most, by its English.
var reasons = map[string]string{
	"no clock shows %d:%02d; the hours are 0 to 23":                               "没有 %d:%02d 这个钟点，小时是 0 到 23",
	"%d %s; write 1 to 12 with am or pm, or 0 to 23 without":                      "%d %s 不成立：带上午/下午时写 1 到 12，不带时写 0 到 23",
	"that month has no day %d":                                                    "那个月没有 %d 号",
	"that month has no such day, or it has passed":                                "那个月没有这一天，或者已经过去",
	"that year has no such day":                                                   "那一年没有这一天",
	"no year has a month %d":                                                      "没有 %d 月",
	"no month has a day %d":                                                       "没有 %d 号",
	"the calendar has no %s":                                                      "日历上没有 %s",
	"this is too far away":                                                        "太远了",
	"no hour has this minute":                                                     "没有这一分钟，分钟是 0 到 59",
	"two ends at once; say one":                                                   "说了两个结束时间，请只说一个",
	"two ways to repeat at once; make one reminder for each":                      "说了两种重复，请分开设置",
	"both a length of time and a repetition":                                      "既说了多久以后，又说了重复，请只说一个",
	"two lengths of time at once":                                                 "说了两段时长，请只说一个",
	"the shortest repetition is one second":                                       "最短每 1 秒重复一次",
	"the hours must lie within one day, the first before the last":                "时段要在一天之内，先早后晚",
	"so many times at hours that differ in their minutes: say until when instead": "这样的钟点不能按次数结束，请说到什么时候为止",
	"two times at once: a length of time and another one":                         "说了两个时间，请只说一个",
	"the length of time must be one second or more":                               "时长至少 1 秒",
	"please say from which hour to which, as from 9:00 to 17:00":                  "请说从几点到几点，例如从9:00到17:00",
}

// Explain says in both languages what an error of Parse or Find means for the
// person, and what would be right.
func Explain(err error) Text {
	why := Text{}
	if e, ok := errors.AsType[*wrongTime](err); ok {
		why = e.why
	}
	switch {
	case errors.Is(err, ErrPast):
		return Text{"That time has passed. Please say a time to come", "这个时间已经过了，请说一个将来的时间"}
	case errors.Is(err, ErrBadZone) && why.Chinese != "":
		return Text{"I do not know that time zone, " + why.English, "不认识时区 " + why.Chinese + "，请写成 Asia/Shanghai、Europe/Berlin、UTC+8 这样的名称"}
	case errors.Is(err, ErrBadZone):
		return Text{"I do not know that time zone. Please write it as Europe/Berlin", "不认识这个时区，请写成 Asia/Shanghai 这样的名称"}
	}
	said := Text{"I do not understand that time", "没听懂时间"}
	switch _, cron, _ := strings.Cut(fmt.Sprint(err), "cron expression "); {
	case cron != "":
		return Text{"That is no cron expression: " + cron, "cron 表达式不正确：需要 5 个字段（分 时 日 月 星期，0 = 周日），或以秒开头的 6 个字段，例如 30 9 * * 1-5"}
	case why.Chinese != "":
		said = Text{"No such time: " + why.English, "没有这样的时间：" + why.Chinese}
	case why.English != "":
		said.English = "No such time: " + why.English
	}
	return Text{"%s. Say for example: tomorrow at 3pm", "%s，可以这样说：明天下午三点"}.with(said)
}

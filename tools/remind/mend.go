package remind

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"magpie/cron/desk"
	"magpie/cron/intent"
	"magpie/cron/when"
)

// otherNames are the parameters as models call them besides.
func otherNames() map[string]string {
	return map[string]string{
		"id": "job_id", "job": "job_id", "reminder": "job_id", "reminder_id": "job_id", "task_id": "job_id", "number": "job_id", "ref": "job_id", "job_ids": "job_id", "ids": "job_id", "which": "job_id",
		"text": "message", "content": "message", "task": "message", "reminder_text": "message", "new_message": "message", "new_text": "message", "description": "message", "prompt": "message",
		"title": "name", "new_name": "name", "label": "name",
		"when": "schedule", "time": "schedule", "new_time": "schedule", "new_schedule": "schedule", "datetime": "schedule", "date": "schedule", "delay": "schedule", "duration": "schedule", "in": "schedule", "until": "schedule",
		"timezone": "tz", "zone": "tz", "cron": "cron_expr", "cron_expression": "cron_expr", "every": "every_seconds", "interval": "every_seconds", "interval_seconds": "every_seconds",
		"to": "chat_id", "chat": "chat_id", "op": "action", "operation": "action", "command": "action",
	}
}

// actions are the actions as models call them besides.
func actions() map[string]string {
	other := map[string]string{}
	for action, names := range map[string]string{
		"add": "create new set schedule remind make insert 添加 创建 新建 设置 提醒", "list": "show get ls view query read all 列表 查看 查询 列出",
		"update": "edit change modify move reschedule rename replace set_time 修改 更改 更新 改时间",
		"remove": "delete cancel rm del clear drop 删除 取消 清空", "pause": "stop suspend disable hold 暂停", "resume": "continue unpause enable start restart 恢复",
		"skip": "skip_next 跳过", "snooze": "postpone delay later remind_later 推迟 延后", "done": "complete finish ack acknowledge dismiss check 完成", "undo": "revert restore 撤销", "run": "trigger execute now run_now fire 执行",
	} {
		for name := range strings.FieldsSeq(names) {
			other[name] = action
		}
	}
	return other
}

// texts are the parameters that hold a text.
var texts = []string{"action", "job_id", "message", "name", "schedule", "at", "cron_expr", "tz", "mode", "misfire", "channel", "chat_id", "said"}

// times are those that say when.
var times = []string{"schedule", "at", "cron_expr", "every_seconds"}

// mend puts right what small models often get wrong and what leaves no doubt:
// numbers and null where a text is wanted, other words for an action, words of
// a time in the wrong place.
func mend(args map[string]any) {
	others := slices.ContainsFunc(times[:3], func(t string) bool { _, ok := args[t]; return ok })
	for name, v := range args {
		number, is := v.(json.Number)
		switch {
		case v == nil, v == "" && name != "action":
			delete(args, name)
		case is && slices.Contains(texts, name):
			args[name] = number.String()
		}
	}
	mendAction(args)
	if all, several := args["job_id"].([]any); several && args["action"] != "list" {
		var named []string
		for _, one := range all {
			named = append(named, fmt.Sprint(one))
		}
		args["job_id"] = strings.Join(named, ", ")
	}
	if args["action"] == "say" { // no model is offered it; said says what is meant
		args["action"], args["said"] = "list", cmp.Or(args["said"], args["message"], "")
		delete(args, "message")
	}
	if args["action"] == "snooze" {
		if n, ok := args["minutes"].(json.Number); ok && args["schedule"] == nil {
			delete(args, "minutes")
			args["schedule"] = n.String()
		}
		if text, _ := args["schedule"].(string); isNumber(text) {
			args["schedule"] = text + " minutes"
		}
	}
	// A date or a clock time alone is what at is for; all else is said as schedule.
	if at, ok := args["at"].(string); ok && args["schedule"] == nil && !isoTime.MatchString(at) && len(at) <= maxAt {
		args["schedule"] = at
		delete(args, "at")
	}
	if v, ok := args["every_seconds"]; ok && others && isZero(v) { // all of them filled in
		delete(args, "every_seconds")
	}
	if text, ok := args["every_seconds"].(string); ok && everyWords.MatchString(text) && args["schedule"] == nil { // every: "day at 9"
		args["schedule"] = "every " + strings.TrimPrefix(text, "every ")
		delete(args, "every_seconds")
	}
}

func mendAction(args map[string]any) {
	text, ok := args["action"].(string)
	switch {
	case ok:
		text = strings.ToLower(strings.TrimSpace(text))
		text = ofWhat.ReplaceAllString(text, "")
		if bare, all := strings.CutSuffix(text, "_all"); all {
			if text = bare; args["job_id"] == nil && bare != "list" {
				args["job_id"] = "all"
			}
		}
		if action, known := actions()[text]; known {
			text = action
		}
		args["action"] = text
	case args["action"] == nil && args["job_id"] == nil && args["message"] != nil:
		args["action"] = "add"
	}
}

// ofWhat is behind an action what it is done to.
var ofWhat = regexp.MustCompile(`_(?:reminder|job|task|alarm)s?$`)

// maxAt is the longest at, in bytes.
const maxAt = 200

var everyWords = regexp.MustCompile(`(?i)day|week|month|hour|minute|second|year|天|周|月|小时|分钟`)

var isoTime = regexp.MustCompile(`^\s*\d{4}-\d\d-\d\d`)

func isNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

func isZero(v any) bool {
	text, _ := v.(string)
	if n, ok := v.(json.Number); ok {
		text = n.String()
	}
	return text == "0"
}

// ask is a call as the desk is asked for a new job.
func (a asking) ask() desk.Ask {
	in := a.in
	ask := desk.Ask{
		Message: in.Message, Name: in.Name, Every: time.Duration(in.EverySeconds) * time.Second,
		Cron: strings.TrimSpace(in.CronExpr), At: strings.TrimSpace(in.At), Schedule: strings.TrimSpace(in.Schedule),
		Zone: strings.TrimSpace(in.TZ), Mode: in.Mode, Misfire: in.Misfire, Key: a.key,
	}
	if ask.Every == 0 && ask.Cron == "" && ask.At == "" && ask.Schedule == "" && hasTime(in.Message, a.context()) {
		ask.Schedule, ask.Message = in.Message, "" // all of it in one sentence
	}
	// The same time in two notations is one.
	for _, drop := range []func(*desk.Ask){
		func(a *desk.Ask) { a.At = "" }, func(a *desk.Ask) { a.Every = 0 }, func(a *desk.Ask) { a.Cron = "" },
	} {
		less := ask
		if drop(&less); less == ask || less.Schedule == "" {
			continue
		}
		only := ask
		only.Schedule = ""
		said, err := a.desk.Times(a.who, less)
		other, otherErr := a.desk.Times(a.who, only)
		if err == nil && otherErr == nil && len(said) == 1 && same(said[0], other[0], a.desk.Now(), 0) {
			ask = less
		}
	}
	return ask
}

func hasTime(text string, c intent.Context) bool {
	_, times := timesOf(text, c)
	return len(times) > 0
}

// when is the new time of a call in words; "" when it gives none.
func (in cronIn) when() string {
	text := strings.TrimSpace(in.Schedule)
	switch {
	case text != "":
	case in.At != "":
		text = strings.TrimSpace(in.At)
	case in.CronExpr != "":
		text = strings.TrimSpace(in.CronExpr)
	case in.EverySeconds > 0:
		text = "every " + strconv.Itoa(in.EverySeconds) + " seconds"
	}
	if text != "" && in.TZ != "" {
		text += " " + strings.TrimSpace(in.TZ)
	}
	return text
}

// TimeOf is what words say of when to move or snooze something: a new time, or
// by how much.
func TimeOf(op intent.Op, text string, c intent.Context) (time string, shift when.Span) {
	if op == intent.Snooze {
		if shift.Exact, _ = length(text, c); shift.Exact > 0 {
			return "", shift
		}
		return text, shift
	}
	if p, err := when.Parse(text, c.Now, c.Zone); err == nil && p.At.IsZero() {
		return text, shift // it repeats
	}
	if read := intent.Read("move it "+text, c); read.Kind == intent.Change && read.Shift != shift {
		return "", read.Shift
	}
	return text, shift
}

// IsTime says whether TimeOf can make something of words.
func IsTime(op intent.Op, text string, c intent.Context) bool {
	at, shift := TimeOf(op, text, c)
	if at == "" {
		return shift != (when.Span{})
	}
	old := when.Phrase{At: c.Now.Add(24 * time.Hour), Zone: zoneOf(c)}
	_, err := when.Moved(at, old, old.At, c.Now)
	_, unsure := errors.AsType[*when.Ambiguous](err)
	return err == nil || unsure || op == intent.Move && when.IsEnd(at)
}

// length reads how long something is put off: "10 minutes", "half an hour", "in
// 2 hours", 半小时. False for a time of day.
func length(text string, c intent.Context) (time.Duration, bool) {
	now := c.Now.Truncate(time.Second)
	for _, form := range []string{text, "in " + text, text + "后"} {
		p, err := when.Parse(form, now, c.Zone)
		if err == nil && !p.At.IsZero() && isRelative(form, p, now, c.Zone) {
			return p.At.Sub(now), true
		}
	}
	return 0, false
}

package offline

import (
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"

	"magpie/agent/llm"
	"magpie/cron/when"
)

var (
	remindWords = regexp.MustCompile(`(?i)\b(?:remind(?: me|er)?|wake me|alarm|timer|notify me|ping me)\b|提醒|叫我|喊我|叫醒我|闹钟|别忘|通知我`)

	remindersEN = `(?:reminders?|alarms?|jobs?|timers?|scheduled (?:tasks|jobs)|cron jobs?)`
	remindersZH = `(?:提醒事项|提醒|闹钟|定时任务|定时|待办)`
	listJobsEN  = regexp.MustCompile(`(?i)^(?:(?:list|show|see)(?: me)?(?: all)?(?: of)?(?: my| the)?|my|all(?: my)?|what(?: are)?(?: my| the)?|which|are there any|do i have(?: any)?) ` +
		remindersEN + `(?: (?:are there|do i have|are set|exist|do you have|have i set))?$`)
	listJobsZH = regexp.MustCompile(`^(?:我)?(?:列出|看看|看一下|查看|查一下|显示|列一下)?(?:一下)?(?:我)?(?:都)?(?:有)?(?:所有|全部|哪些|什么|我的|当前)*的?` +
		remindersZH + `(?:列表)?(?:都)?(?:有哪些|有什么|有几个)?$`)
	changeEN = regexp.MustCompile(`(?i)^(cancel|remove|delete|drop|stop|pause|resume|continue) (?:the |my )?(?:` + remindersEN + `(?: (?:number|no\.?|nr\.?|to|about|for))?(?: ?#?(.+))?|(.+?) ` + remindersEN + `)$`)
	changeZH = regexp.MustCompile(`^(?:把)?(取消|删除|删掉|去掉|移除|停止|暂停|恢复|继续)(?:掉)?(?:第)?\s*(.+?)\s*(?:个|条|号)?(?:的)?` + remindersZH + `$|` +
		`^(?:把)?(取消|删除|删掉|去掉|移除|停止|暂停|恢复|继续)(?:掉)?` + remindersZH + `\s*(?:第)?(.*?)(?:个|条|号)?$`)
	everything = regexp.MustCompile(`(?i)^(?:all(?: of)?(?: the| my)?|every|all of them|(?:我的)?(?:所有|全部)的?)$`)
	numberOnly = regexp.MustCompile(`(?i)^(?:number |no\.? ?|the )?(?:第)?([1-9]|[一二两三四五六七八九]|first|second|third|one|two|three)(?:个|种| one)?$`)
	choiceLine = regexp.MustCompile(`(?m)^(\d+)\. (.+)$`)
)

func listReminders(q question) (answer, bool) {
	if !listJobsEN.MatchString(q.text) && !listJobsZH.MatchString(q.text) {
		return answer{}, false
	}
	return q.call("cron", map[string]string{"action": "list"}), true
}

func changeReminder(q question) (answer, bool) {
	m := changeEN.FindStringSubmatch(q.text)
	if m == nil {
		if m = changeZH.FindStringSubmatch(q.text); m == nil {
			return answer{}, false
		}
		if m[1] == "" {
			m = m[2:]
		}
	}
	ref := m[2]
	if len(m) > 3 && ref == "" {
		ref = m[3]
	}
	action := "remove"
	switch strings.ToLower(m[1]) {
	case "pause", "暂停":
		action = "pause"
	case "resume", "continue", "恢复", "继续":
		action = "resume"
	}
	switch n := numberOf(ref); {
	case n > 0:
		ref = strconv.Itoa(n)
	case everything.MatchString(ref):
		ref = "all"
	}
	return q.call("cron", map[string]string{"action": action, "job_id": unquote(ref)}), true
}

// numberOf reads "2", "二", "the second"; 0 when it is no number.
func numberOf(text string) int {
	m := numberOnly.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return 0
	}
	for i, names := range []string{"1 一 first one", "2 二 两 second two", "3 三 third three", "4 四", "5 五", "6 六", "7 七", "8 八", "9 九"} {
		for name := range strings.FieldsSeq(names) {
			if strings.EqualFold(name, m[1]) {
				return i + 1
			}
		}
	}
	return 0
}

// remind hands the whole sentence to the tool, which knows the time and the
// zone of the chat.
func remind(q question) (answer, bool) {
	if !remindWords.MatchString(q.text) {
		return answer{}, false
	}
	return q.call("cron", map[string]string{"action": "add", "schedule": q.text}), true
}

// chosen answers "2" to the question which time was meant: the call is made
// once more with the choice.
func chosen(q question) (answer, bool) {
	n := numberOf(q.text)
	for i := len(q.before) - 1; n > 0 && i > 0; i-- {
		m := q.before[i]
		switch {
		case m.Role == llm.Tool && m.Name == "cron" && m.Failed:
			for _, c := range choiceLine.FindAllStringSubmatch(m.Text, -1) {
				if c[1] == strconv.Itoa(n) {
					return again(q, i, c[2])
				}
			}
			return answer{}, false
		case m.Role == llm.User && spoken(m.Text) != "":
			return answer{}, false // something else has been said since
		}
	}
	return answer{}, false
}

// again repeats the call whose result stands at i with another schedule.
func again(q question, i int, schedule string) (answer, bool) {
	for _, m := range q.before[:i] {
		for _, c := range m.Calls {
			if c.ID != q.before[i].CallID {
				continue
			}
			args := stringArgs(c.Args)
			if args["action"] != "add" {
				return answer{}, false
			}
			if args["message"] == "" {
				args["message"] = restOf(args["schedule"])
			}
			args["schedule"] = schedule
			return q.call("cron", args), true
		}
	}
	return answer{}, false
}

// restOf is what a sentence asks to be reminded of.
func restOf(sentence string) string {
	p, err := when.Find(sentence, time.Now(), nil)
	if asked, ok := errors.AsType[*when.Ambiguous](err); ok && len(asked.Choices) > 0 {
		p = asked.Choices[0]
	}
	return p.Rest
}

// stringArgs are the arguments of a call of ours.
func stringArgs(raw string) map[string]string {
	args := map[string]string{}
	_ = json.Unmarshal([]byte(raw), &args) // what is no object of strings was not ours
	return args
}

// toolError is how the executor begins a failure.
var toolError = regexp.MustCompile(`^error \([a-z_]+\): `)

// quoted is what a person's words stand in.
var quoted = regexp.MustCompile("“[^”]*”|\"[^\"]*\"|`[^`]*`")

// languageOf is the language of what the cron tool says: that of the chat,
// which need not be the one in which the person has asked.
func languageOf(said string, zh bool) bool {
	first, _, _ := strings.Cut(said, "\n")
	first = quoted.ReplaceAllString(first, "")
	if !letters(first) {
		return zh
	}
	return chinese(first)
}

// reportCron words what the cron tool says, which is already meant for people.
// What is added is in the same language.
func reportCron(m llm.Message, zh bool) string {
	out := toolError.ReplaceAllString(strings.TrimSpace(m.Text), "")
	if note := strings.Index(out, "\n["); note > 0 { // for models
		out = out[:note]
	}
	zh = languageOf(out, zh)
	switch {
	case !m.Failed:
		return out
	case choiceLine.MatchString(out):
		return out + "\n\n" + say(zh, sayNumber)
	}
	return say(zh, failed) + out
}

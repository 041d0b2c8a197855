package offline

import (
	"regexp"
	"strings"
)

// skill answers a question that it understands. To teach the assistant
// something, write one and add it to the table.
type skill func(q question) (answer, bool)

// skills is the table, in the order in which it is tried.
func skills() []skill {
	return append(append([]skill{answers}, smallTalk()...), currentTime, fetchPage, writeFile, readFile, listFiles,
		reminders, remember, recall, searchWeb, unclear)
}

var (
	politeness = regexp.MustCompile(`(?i)^(?:(?:hey|please|pls|can you|could you|would you|will you|magpie|喜鹊|请问|请你|请|麻烦你|麻烦|帮我|帮忙|你能不能|能不能|你能|可以|你)[,，:： ]*)+`)
	closing    = regexp.MustCompile(`[\s?!.。？！~～,，…]+$`)
	pleaseLast = regexp.MustCompile(`(?i)[,， ]+please$`)
)

// tidy takes away what carries no meaning here. Where nothing would be left,
// the text stays.
func tidy(text string) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, ""))
	bare := closing.ReplaceAllString(pleaseLast.ReplaceAllString(closing.ReplaceAllString(text, ""), ""), "")
	if short := politeness.ReplaceAllString(bare, ""); short != "" {
		return short
	}
	if bare != "" {
		return bare
	}
	return text
}

// phrase makes a skill of a pattern and an answer in both languages.
func phrase(pattern string, words text) skill {
	re := regexp.MustCompile(`(?i)^(?:` + pattern + `)$`)
	return func(q question) (answer, bool) {
		return answer{text: say(q.zh, words)}, re.MatchString(q.text)
	}
}

// smallTalk is what people say besides asking for something.
func smallTalk() []skill {
	return []skill{
		phrase(`hi|hello|hey|hiya|yo|good (?:morning|afternoon|evening|day)|hello there|hi there|您?你?好啊?|早上好|早安|早|上午好|中午好|下午好|晚上好|嗨|哈喽|在吗|喂`, greeting),
		phrase(`thanks?(?: you)?(?: (?:so|very) much| a lot)?|thx|cheers|多?谢谢?你?了?|感谢|非常感谢|辛苦了`, welcome),
		phrase(`bye|goodbye|bye bye|see you(?: later)?|good night|再见|拜拜|晚安|回头见`, farewell),
		phrase(`how are you(?: doing)?(?: today)?|how is it going|how's it going|what's up|最?近?你?(?:还好|好)吗|怎么样|最近怎么样`, fine),
		phrase(`who are you|what are you|what is your name|what's your name|(?:你)?是谁|(?:你)?叫什么(?:名字)?|(?:你)?是什么`, itself),
		phrase(`help(?: me)?|commands|menu|what (?:can|do) you do|what are you able to do|\?|？|帮助|帮忙|帮|功能|菜单|(?:你)?(?:都)?(?:会|能|能够|可以)?(?:做|干)(?:些)?(?:什么|啥)|怎么用`, helpText),
	}
}

var (
	timeEN = regexp.MustCompile(`(?i)^(?:(?:tell me |do you know )?what(?:'s| is)? ?(?:the )?(?:current )?(?:time|date|day)(?: is it| it is| today)?|(?:the )?(?:current )?time|(?:today's )?date|what day is (?:it|today))(?: (?:right )?now)?(?: (?:in|at|for) (.+?))?(?: (?:right )?now)?$`)
	timeZH = regexp.MustCompile(`^(?:告诉我|看看|查一下)?(?:现在|当前|今天|目前)?(?:是)?(.*?)(?:现在|当前|今天|目前)?的?(?:是)?(?:几点钟?了?|什么时间了?|什么时候了|时间|几号了?|星期几|周几|日期|多少号)(?:了|呢|啊)?$`)
)

func currentTime(q question) (answer, bool) {
	m := timeEN.FindStringSubmatch(q.text)
	if m == nil {
		m = timeZH.FindStringSubmatch(q.text)
	}
	if m == nil || len([]rune(m[1])) > 40 {
		return answer{}, false
	}
	args := map[string]string{}
	if place := strings.TrimSpace(m[1]); place != "" {
		zone, ok := zoneOf(place)
		if !ok && q.zh {
			return answer{}, false // "会议时间" asks for something else
		}
		args["timezone"] = zone
	}
	return q.call("current_time", args), true
}

// zones maps places to IANA zones; other places are passed on as they are, so
// that "Asia/Tokyo" works and the tool explains what does not.
var zones = map[string]string{
	"tokyo": "Asia/Tokyo", "japan": "Asia/Tokyo", "东京": "Asia/Tokyo", "日本": "Asia/Tokyo",
	"beijing": "Asia/Shanghai", "shanghai": "Asia/Shanghai", "china": "Asia/Shanghai", "北京": "Asia/Shanghai", "上海": "Asia/Shanghai", "中国": "Asia/Shanghai",
	"hong kong": "Asia/Hong_Kong", "香港": "Asia/Hong_Kong", "taipei": "Asia/Taipei", "台北": "Asia/Taipei",
	"singapore": "Asia/Singapore", "新加坡": "Asia/Singapore", "seoul": "Asia/Seoul", "首尔": "Asia/Seoul", "韩国": "Asia/Seoul",
	"delhi": "Asia/Kolkata", "mumbai": "Asia/Kolkata", "india": "Asia/Kolkata", "印度": "Asia/Kolkata", "dubai": "Asia/Dubai", "迪拜": "Asia/Dubai",
	"moscow": "Europe/Moscow", "莫斯科": "Europe/Moscow", "berlin": "Europe/Berlin", "germany": "Europe/Berlin", "柏林": "Europe/Berlin", "德国": "Europe/Berlin",
	"paris": "Europe/Paris", "france": "Europe/Paris", "巴黎": "Europe/Paris", "法国": "Europe/Paris",
	"london": "Europe/London", "uk": "Europe/London", "england": "Europe/London", "伦敦": "Europe/London", "英国": "Europe/London",
	"new york": "America/New_York", "纽约": "America/New_York", "chicago": "America/Chicago", "芝加哥": "America/Chicago",
	"los angeles": "America/Los_Angeles", "san francisco": "America/Los_Angeles", "洛杉矶": "America/Los_Angeles", "旧金山": "America/Los_Angeles",
	"sydney": "Australia/Sydney", "悉尼": "Australia/Sydney", "utc": "UTC", "gmt": "UTC",
}

func zoneOf(place string) (string, bool) {
	place = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(place, "在"), "the "), "时间")
	if zone, ok := zones[strings.ToLower(place)]; ok {
		return zone, true
	}
	return place, strings.Contains(place, "/")
}

package offline

import (
	"regexp"
	"strings"
)

// A path is a quoted name, or a word.
const path = "([\"“'`「][^\"”'`」]+[\"”'`」]|[^\\s，,]+)"

var (
	writeEN    = regexp.MustCompile(`(?is)^(?:write|save|put|store) (?:the text )?(.+) (?:in)?to (?:the |a )?(?:new )?(?:file )?(?:called |named )?` + path + `$`)
	writeZH    = regexp.MustCompile(`(?s)^(?:把|将)?(?:写|写下|保存|存)?[:： ]*(.+?)\s*(?:写入|写到|写进|保存到|保存为|存到|存入|存为|到)(?:文件)?\s*` + path + `$`)
	startsZH   = regexp.MustCompile(`^(?:把|将|写|保存|存)`)
	readEN     = regexp.MustCompile(`(?i)^(?:read|open|show(?: me)?|cat|display|print|what is in|what's in|what does) (?:the |my )?(?:contents? of )?(?:the )?(file )?` + path + `(?: file| say)?(?: to me| for me)?$`)
	readZH     = regexp.MustCompile(`^(?:读取|读一下|读|打开|查看|看一下|看看|显示|念)(?:一下)?(文件)?\s*` + path + `\s*(?:文件)?(?:的内容|里有什么|写了什么)?$`)
	listEN     = regexp.MustCompile(`(?i)^(?:ls|dir|(?:list|show(?: me)?|what are)(?: the| my| all)* (?:files?|folders?|director(?:y|ies)|documents?)|what files (?:are there|do you have|do i have|exist)|which files (?:are there|exist))(?: (?:in|of|under|inside)?(?: the)?(?: folder| directory)? ?` + path + `)?$`)
	listZH     = regexp.MustCompile(`^(?:列出|看看|看一下|查看|显示|列一下)?(?:一下)?(?:有)?(?:所有|全部|哪些|什么|我的|当前)*的?(?:文件|目录|文件夹)(?:列表|有哪些)?(?:里?有?(?:什么|哪些)(?:文件)?)?$`)
	listInZH   = regexp.MustCompile(`^(?:列出|看看|看一下|查看|显示)\s*` + path + `\s*(?:目录|文件夹)?(?:里|下|中)(?:面)?的?(?:所有)?(?:文件)?(?:有什么|有哪些)?$`)
	looksNamed = regexp.MustCompile(`^[^\s]*[./\\][^\s]+$`)
)

func writeFile(q question) (answer, bool) {
	m := writeEN.FindStringSubmatch(q.text)
	if m == nil && startsZH.MatchString(q.text) {
		m = writeZH.FindStringSubmatch(q.text)
	}
	if m == nil || !named(m[2]) {
		return answer{}, false
	}
	return q.call("write_file", map[string]string{"path": unquote(m[2]), "content": unquote(m[1])}), true
}

func readFile(q question) (answer, bool) {
	m := readEN.FindStringSubmatch(q.text)
	if m == nil {
		m = readZH.FindStringSubmatch(q.text)
	}
	// "show me something" is no request for a file; "read file x" is one.
	if m == nil || m[1] == "" && !named(m[2]) || unquote(m[2]) == "" {
		return answer{}, false
	}
	return q.call("read_file", map[string]string{"path": unquote(m[2])}), true
}

func listFiles(q question) (answer, bool) {
	where := "."
	switch m := listEN.FindStringSubmatch(q.text); {
	case m != nil && m[1] != "" && !strings.EqualFold(m[1], "here"):
		where = unquote(m[1])
	case m != nil, listZH.MatchString(q.text):
	default:
		in := listInZH.FindStringSubmatch(q.text)
		if in == nil {
			return answer{}, false
		}
		where = unquote(in[1])
	}
	return q.call("list_dir", map[string]string{"path": where}), true
}

// named says whether a word was quoted or looks like the name of a file.
func named(word string) bool { return unquote(word) != word || looksNamed.MatchString(word) }

func unquote(s string) string { return strings.Trim(strings.TrimSpace(s), "\"“”'`「」") }

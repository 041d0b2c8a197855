package offline

import (
	"regexp"
	"strings"
)

var (
	rememberEN = regexp.MustCompile(`(?is)^(?:remember|memori[sz]e|keep in mind|note(?: down)?|make a note)(?: that|:| this:)? +(.+)$`)
	rememberZH = regexp.MustCompile(`(?s)^(?:记住|记下来?|记一下|记着)[，,:： ]*(.+)$`)
	knownEN    = regexp.MustCompile(`(?i)^(?:what do you (?:know|remember)(?: about (.+))?|do you remember (.+)|what did i (?:tell|say to) you(?: about (.+))?|(?:show|list|read)(?: me)? (?:my|your|the) (?:notes|memory|memories))$`)
	allZH      = regexp.MustCompile(`^(?:还)?(?:都)?(?:记得|知道|记住)了?(?:关于)?(?:我)?的?(?:些)?(?:什么|哪些|啥)(?:事|事情)?$|^(?:查看|看看|列出|显示)(?:一下)?(?:你的|我的)?(?:记忆|笔记)$`)
	knownZH    = regexp.MustCompile(`^(?:还)?(?:记得|记不记得)(?:关于)?(.+?)(?:的事|的事情)?(?:吗|么)?$`)

	fetchURL = regexp.MustCompile(`(?i)^(?:open|fetch|read|get|show(?: me)?|visit|summari[sz]e|打开|读一下|读|看看|看一下|抓取|访问|获取)?(?: the)?(?: page| website| 网页| 网站)?\s*(https?://\S+)$`)
	searchEN = regexp.MustCompile(`(?i)^(?:search(?: the)?(?: web| internet| online)?(?: for)?|google(?: for)?|look up|web search(?: for)?) (.+)$`)
	searchZH = regexp.MustCompile(`^(?:上网|网上|在网上)?(?:搜索|搜一搜|搜一下|搜搜|搜|查询|上网查)(?:一下|一搜)?[:： ]*(.+)$`)
)

// first is the first group of a match that holds something.
func first(m []string) string {
	for _, g := range m[1:] {
		if g != "" {
			return strings.TrimSpace(g)
		}
	}
	return ""
}

func remember(q question) (answer, bool) {
	m := rememberEN.FindStringSubmatch(q.text)
	if m == nil {
		m = rememberZH.FindStringSubmatch(q.text)
	}
	if m == nil {
		return answer{}, false
	}
	return q.call("memory_write", map[string]string{"content": m[1]}), true
}

func recall(q question) (answer, bool) {
	if allZH.MatchString(q.text) {
		return q.call("memory_read", map[string]string{}), true
	}
	m := knownEN.FindStringSubmatch(q.text)
	if m == nil {
		m = knownZH.FindStringSubmatch(q.text)
	}
	if m == nil {
		return answer{}, false
	}
	about := first(m)
	switch strings.ToLower(about) {
	case "", "me", "myself", "us", "我", "我们":
		return q.call("memory_read", map[string]string{}), true
	}
	return q.call("memory_search", map[string]string{"keywords": unquote(about)}), true
}

func fetchPage(q question) (answer, bool) {
	m := fetchURL.FindStringSubmatch(q.text)
	if m == nil {
		return answer{}, false
	}
	return q.call("web_fetch", map[string]string{"url": m[1]}), true
}

func searchWeb(q question) (answer, bool) {
	m := searchEN.FindStringSubmatch(q.text)
	if m == nil {
		m = searchZH.FindStringSubmatch(q.text)
	}
	if m == nil {
		return answer{}, false
	}
	return q.call("web_search", map[string]string{"query": unquote(m[1])}), true
}

package render

import (
	"regexp"
	"strings"
)

// gap is a zero-width space. It takes the meaning from what a platform would
// act on (a mention, a command) and leaves the looks.
const gap = "\u200b"

// summons matches the first character of whatever calls people, or is turned
// into something to press, on one of the platforms when it stands in a text:
//
//	@everyone @here        Discord, QQ (guild channels)
//	<@1> <@!1> <@&1> <#1>  Discord, QQ
//	<:x:1> <a:x:1> <t:1>   Discord: emoji, times
//	</x:1> <id:x>          Discord: commands, parts of the server
//	<at …> <person …>      Feishu, as <at id=…> in cards and <at user_id=…> in texts
//	<qqbot-…> <emoji:1>    QQ
//
// Sources: docs.discord.com/developers/reference#message-formatting, Feishu
// im-v1/message/create_json and card-json-v2 rich-text, QQ bot-docs
// trans/text-chain.md; read 2026-11.
var summons = regexp.MustCompile(`(?i)@(?:everyone|here)|<(?:[@#]|a?:\w|t:-?\d|/[^\s<>:]*:\d|id:|/?(?:at|person)\b|/?qqbot-|/?qqbot\b|emoji:|faceType)`)

// inert breaks up whatever summons finds, also what overlaps.
func inert(text string) string {
	for strings.ContainsAny(text, "@<") && summons.MatchString(text) {
		text = summons.ReplaceAllStringFunc(text, func(found string) string {
			return found[:1] + gap + found[1:]
		})
	}
	return text
}

// callsOut matches an @ in front of a name, a number or 所有人: DingTalk calls
// whoever the request lists, wherever the text has @ and the id or number.
var callsOut = regexp.MustCompile(`(^|[^\pL\pN._-])@([\pL\pN])`)

// inertAt breaks up every @name that is no part of an address.
func inertAt(text string) string {
	return callsOut.ReplaceAllString(inert(text), "${1}@"+gap+"${2}")
}

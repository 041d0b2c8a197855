package settings

import (
	"cmp"

	"magpie/chat"
)

// The languages in which the bot speaks for itself.
const (
	English = chat.English
	Chinese = chat.Chinese
)

// Lang decides in which language the bot speaks for itself: what the chat has
// chosen, else what the platform says of the sender, else what the text is
// written in.
func Lang(set Settings, sender chat.Sender, text string) string {
	return LangAfter(set, sender, text, func() string { return "" })
}

// LangAfter is Lang in a conversation: where nothing else tells the language it
// is that of what the bot said before.
func LangAfter(set Settings, sender chat.Sender, text string, said func() string) string {
	if set.Lang == English || set.Lang == Chinese {
		return set.Lang
	}
	if told := cmp.Or(sender.Language(), chat.TextLanguage(text)); told != "" {
		return told
	}
	return cmp.Or(chat.TextLanguage(said()), English)
}

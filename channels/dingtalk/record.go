package dingtalk

import (
	"cmp"
	"encoding/json"
	"strings"

	"magpie/chat"
)

// record is a merged forward: what others have said, with a title and the
// first lines. DingTalk documents none of it; that the lines alone are there is
// usual, and the messages have had three names
// (soimy/openclaw-channel-dingtalk, message-utils.ts of 2026-07, with payloads
// from its log).
type record struct {
	Title    string          `json:"title"`
	Summary  string          `json:"summary"`
	Records  json.RawMessage `json:"chatRecord"`
	Records2 json.RawMessage `json:"records"`
	Records3 json.RawMessage `json:"messages"`
}

// said is one message of a merged forward.
type said struct {
	Name    string `json:"senderName"`
	Nick    string `json:"senderNick"`
	Sender  string `json:"sender"`
	ID      string `json:"senderId"`
	Kind    string `json:"msgType"`
	Content words  `json:"content"`
	Text    words  `json:"text"`
	Message words  `json:"message"`
	Body    words  `json:"body"`
	media
}

func (r record) messages() (all []said) {
	for _, raw := range []json.RawMessage{r.Records, r.Records2, r.Records3} {
		var inner string
		if json.Unmarshal(raw, &inner) == nil {
			raw = json.RawMessage(inner)
		}
		if _ = json.Unmarshal(raw, &all); len(all) > 0 { // another form is no list
			return all
		}
	}
	return nil
}

// forwarded is what a merged forward holds: the messages with their senders, or
// else the lines that DingTalk shows of them.
func (p part) forwarded(robot string) (text string, files []chat.Attachment) {
	var lines []string
	if title := strings.TrimSpace(p.Title); title != "" {
		lines = append(lines, "["+title+"]")
	}
	all := p.messages()
	for _, m := range all {
		one := strings.TrimSpace(string(cmp.Or(m.Content, m.Text, m.Message, m.Body)))
		if a, ok := (part{media: m.media}).attachment(m.Kind, robot); ok {
			files = append(files, a)
		}
		if one == "" && m.Kind != "" {
			one = "[" + cmp.Or(m.FileName, m.Kind) + "]"
		}
		if one != "" {
			lines = append(lines, cmp.Or(m.Name, m.Nick, m.Sender, m.ID, "?")+": "+one)
		}
	}
	if summary := strings.TrimSpace(p.Summary); len(all) == 0 && summary != "[]" && summary != "" {
		lines = append(lines, summary)
	}
	return strings.Join(lines, "\n"), files
}

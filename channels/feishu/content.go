package feishu

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"magpie/chat"
)

// places are where mentions stand in a text.
var places = regexp.MustCompile(`@_(?:user_\d+|all)`)

// said is what a message holds, with the places of mentions still in text.
type said struct {
	text  string
	files []chat.Attachment
}

// content holds the fields of all kinds of content that are read
// (im-v1/message/events/message_content, read November 2026).
type content struct {
	Text      string          `json:"text"`
	ImageKey  string          `json:"image_key"`
	FileKey   string          `json:"file_key"`
	FileName  string          `json:"file_name"`
	Duration  json.Number     `json:"duration"` // ms
	Name      string          `json:"name"`
	Longitude json.Number     `json:"longitude"`
	Latitude  json.Number     `json:"latitude"`
	Topic     string          `json:"topic"`
	Options   []string        `json:"options"`
	Summary   json.RawMessage `json:"summary"` // a text of events, a post of tasks
	place
}

// place holds what a content names by its id.
type place struct {
	ChatID string `json:"chat_id"`
	UserID string `json:"user_id"`
}

// read reads the message's content. false means that there is nothing in it
// that somebody said.
func (m *message) read() (said, bool) {
	switch m.Kind {
	case "system", "":
		return said{}, false
	case "merge_forward": // the content is a fixed text, as JSON or not
		return said{text: "[forwarded messages]"}, true
	case "post":
		return m.readPost(), true
	case "interactive":
		return m.readCard(), true
	}
	var c content
	// Some kinds have fields of other types than the documents say: that costs
	// those fields.
	if err := json.Unmarshal([]byte(m.Content), &c); err != nil && !isObject(m.Content) {
		return note("message that cannot be read: " + m.Kind), true
	}
	return m.readKind(&c), true
}

func isObject(content string) bool {
	return strings.HasPrefix(strings.TrimSpace(content), "{") && json.Valid([]byte(content))
}

func note(text string) said { return said{text: "[" + text + "]"} }

func (m *message) readKind(c *content) said {
	switch m.Kind {
	case "text", "hongbao":
		return said{text: c.Text}
	case "image":
		return said{files: m.file(chat.Image, c.ImageKey, "image.jpg")}
	case "file":
		return said{files: m.file(chat.File, c.FileKey, c.FileName)}
	case "audio":
		files := m.file(chat.Voice, c.FileKey, "voice.opus")
		for i := range files {
			files[i].MIME, files[i].Duration = "audio/ogg", c.duration()
		}
		return said{files: files}
	case "media", "video": // the vendor's code knows both names
		files := m.file(chat.Video, c.FileKey, c.FileName)
		for i := range files {
			files[i].Duration = c.duration()
		}
		return said{files: files}
	case "sticker": // cannot be downloaded (message_content, sticker)
		return note("sticker")
	case "folder":
		return note("folder: " + c.FileName)
	case "location":
		return note(fmt.Sprintf("location: %s (%s, %s)", c.Name, c.Latitude, c.Longitude))
	case "share_chat":
		return note("shared chat " + c.ChatID)
	case "share_user":
		return note("contact card " + c.UserID)
	case "share_calendar_event", "calendar", "general_calendar":
		return note("calendar event: " + c.title())
	case "todo":
		return note("task: " + c.title())
	case "vote":
		return note("poll: " + c.Topic + ": " + strings.Join(c.Options, " / "))
	case "video_chat":
		return note("video call: " + c.Topic)
	}
	return note("message of type " + m.Kind)
}

func (c *content) duration() time.Duration {
	ms, err := strconv.ParseInt(string(c.Duration), 10, 64)
	if err != nil || ms < 0 || ms > int64(24*time.Hour/time.Millisecond) {
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}

func (c *content) title() string {
	var s string
	if json.Unmarshal(c.Summary, &s) == nil {
		return s
	}
	var p post
	if json.Unmarshal(c.Summary, &p) == nil {
		return (&message{}).spell(&p).text
	}
	return ""
}

// file is an attachment that Fetch finds again by message and key.
func (m *message) file(kind chat.Kind, key, name string) []chat.Attachment {
	if key == "" {
		return nil
	}
	return []chat.Attachment{{Kind: kind, Name: name, Source: source{m.ID, key, kind == chat.Image}.String()}}
}

// post is a rich text, or a card of schema 1.0 as others see it.
type post struct {
	Title   string   `json:"title"`
	Content [][]node `json:"content"`
	Cards   [][]node `json:"elements"` // of interactive
}

type node struct {
	Tag      string `json:"tag"`
	Text     string `json:"text"`
	Href     string `json:"href"`
	UserID   string `json:"user_id"`
	UserName string `json:"user_name"`
	ImageKey string `json:"image_key"`
	FileKey  string `json:"file_key"`
	Emoji    string `json:"emoji_type"`
	Language string `json:"language"`
	Elements []node `json:"elements"` // of note
}

func (m *message) readPost() said {
	var p post
	if err := json.Unmarshal([]byte(m.Content), &p); err != nil && !isObject(m.Content) {
		return note("message that cannot be read: " + m.Kind)
	}
	if p.Content == nil { // with a level for the language
		var byLanguage map[string]post
		if json.Unmarshal([]byte(m.Content), &byLanguage) == nil {
			for _, language := range append([]string{"zh_cn", "en_us"}, slices.Sorted(maps.Keys(byLanguage))...) {
				if one, ok := byLanguage[language]; ok {
					p = one
					break
				}
			}
		}
	}
	s := m.spell(&p)
	if s.text == "" && len(s.files) == 0 {
		return note("empty message of type " + m.Kind)
	}
	return s
}

// spell writes a post as text, and collects its pictures and videos.
func (m *message) spell(p *post) said {
	var s said
	lines := []string{}
	if p.Title != "" {
		lines = append(lines, p.Title)
	}
	for _, row := range p.Content {
		var b strings.Builder
		for _, n := range row {
			m.node(&n, &b, &s, 0)
		}
		if b.Len() > 0 || len(row) == 0 {
			lines = append(lines, b.String())
		}
	}
	s.text = strings.TrimSpace(strings.Join(lines, "\n"))
	return s
}

// called is a mention by an id: the place of somebody whom the message mentions,
// else a name.
func (m *message) called(n *node) string {
	for _, who := range m.Mentions {
		if n.UserID != "" && string(who.ID) == n.UserID {
			return who.Key
		}
	}
	return "@" + cmp.Or(n.UserName, "somebody")
}

func (m *message) node(n *node, b *strings.Builder, s *said, depth int) {
	switch n.Tag {
	case "a":
		if n.Href == "" || n.Href == n.Text {
			b.WriteString(n.Text)
		} else {
			fmt.Fprintf(b, "[%s](%s)", n.Text, n.Href)
		}
	case "at":
		switch {
		case places.MatchString(n.UserID):
			b.WriteString(n.UserID)
		case n.UserID == "all", n.UserID == "all_members":
			b.WriteString("@_all")
		default:
			b.WriteString(m.called(n))
		}
	case "img":
		s.files = append(s.files, m.file(chat.Image, n.ImageKey, "image.jpg")...)
	case "media":
		s.files = append(s.files, m.file(chat.Video, n.FileKey, "video.mp4")...)
	case "emotion":
		b.WriteString("[" + n.Emoji + "]")
	case "hr":
		b.WriteString("---")
	case "code_block":
		fmt.Fprintf(b, "```%s\n%s\n```", strings.ToLower(n.Language), n.Text)
	case "button":
		b.WriteString("[" + n.Text + "]")
	default: // text, md and what comes in future
		b.WriteString(n.Text)
	}
	if depth < 3 {
		for _, inner := range n.Elements {
			m.node(&inner, b, s, depth+1)
		}
	}
}

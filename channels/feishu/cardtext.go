package feishu

import (
	"encoding/json"
	"html"
	"regexp"
	"strings"
)

const (
	// maxCardDepth and maxCardLines bound what is read of a card.
	maxCardDepth = 20
	maxCardLines = 1000
	noCard       = "card whose content Feishu does not tell"
)

// readCard reads a card of whatever form: as it was sent (in user_dsl, in
// json_card, or bare), or as the platform degrades it for those who do not ask
// for that. Its pictures cannot be fetched (234043), so they are only named.
func (m *message) readCard() said {
	var wrapped struct {
		Sent json.RawMessage `json:"user_dsl"`
		Raw  json.RawMessage `json:"json_card"`
		post
	}
	var legacy bool
	if err := json.Unmarshal([]byte(m.Content), &wrapped); err == nil {
		legacy = true // elements in rows, as of a post
	}
	for _, inner := range [][]byte{wrapped.Sent, wrapped.Raw} {
		if text := cardText(inner); text != "" {
			return said{text: text}
		}
	}
	if legacy && (wrapped.Cards != nil || wrapped.Content != nil) {
		wrapped.Content = append(wrapped.Content, wrapped.Cards...)
		if upgrades.MatchString(wrapped.Title) {
			wrapped.Title = ""
		}
		if degraded(wrapped.Content) {
			if wrapped.Title == "" {
				return note(noCard)
			}
			return said{text: wrapped.Title + "\n[" + noCard + "]"}
		}
		s := m.spell(&wrapped.post)
		for range s.files {
			s.text = strings.TrimSpace(s.text + " [image]")
		}
		if s.text != "" {
			return said{text: s.text}
		}
	}
	if text := cardText([]byte(m.Content)); text != "" {
		return said{text: text}
	}
	return note(noCard)
}

// upgrades are the words, by language, that stand in the place of a card of
// schema 2.0.
var upgrades = regexp.MustCompile(`(?i)升级至最新版本|升級至最新版本|请升级.{0,12}(客户端|版本)|請升級.{0,12}(用戶端|版本)|` +
	`(upgrade|update).{0,40}(latest|newest|newer) (client )?version|最新バージョン|최신 버전|` +
	`(actuali[sz]|mettre à jour|mise à jour|aktualisier|atualiz|aggiorn|perbarui|cập nhật|обнови|อัปเด[ตท]).{0,60}(versi|phiên bản|верси|เวอร์ชัน)`)

// degraded tells a card of which only the request to upgrade is left: one line
// of text, in one piece or in several, with or without a picture; or one in each
// of several languages.
func degraded(rows [][]node) bool {
	asked := false
	for _, row := range rows {
		line := strings.TrimSpace(wordsOf(row, 0))
		if line != "" && !upgrades.MatchString(line) {
			return false
		}
		asked = asked || line != ""
	}
	return asked
}

// wordsOf are the words of some nodes and of those within.
func wordsOf(nodes []node, depth int) string {
	var b strings.Builder
	for _, n := range nodes {
		b.WriteString(n.Text)
		if depth < 3 {
			b.WriteString(wordsOf(n.Elements, depth+1))
		}
	}
	return b.String()
}

// cardText is what a card's JSON shows, or "".
func cardText(raw []byte) string {
	var inner string
	if json.Unmarshal(raw, &inner) == nil { // JSON within a string
		raw = []byte(inner)
	}
	var card map[string]any
	if json.Unmarshal(raw, &card) != nil {
		return ""
	}
	card, _ = unwrapped(card, 0).(map[string]any)
	w := walker{}
	for _, part := range []string{"header", "body", "elements", "i18n_elements"} {
		w.walk(card[part], 0)
	}
	return strings.TrimSpace(strings.Join(w.lines, "\n"))
}

// walker collects the texts of a card.
type walker struct{ lines []string }

func (w *walker) add(text string) {
	if text = strings.TrimSpace(text); text != "" && len(w.lines) < maxCardLines {
		w.lines = append(w.lines, text)
	}
}

// inside are the fields in which parts of a card stand, in the order in which
// they are seen.
var inside = []string{
	"header", "title", "subtitle", "text", "content", "fields", "elements", "columns", "actions", "extra", "options", "rows", "zh_cn", "en_us",
}

func (w *walker) walk(v any, depth int) {
	if depth > maxCardDepth {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			w.walk(one, depth+1)
		}
	case map[string]any:
		w.part(v, depth)
	}
}

func (w *walker) part(p map[string]any, depth int) {
	text, _ := p["content"].(string)
	switch tag, _ := p["tag"].(string); tag {
	case "markdown", "lark_md":
		w.add(plainCard(text))
	case "plain_text", "text":
		w.add(text)
	case "img", "img_combination":
		w.add("[image]")
	case "hr":
		w.add("---")
	case "button":
		before := len(w.lines)
		w.walk(p["text"], depth+1)
		for i := before; i < len(w.lines); i++ {
			w.lines[i] = "[" + w.lines[i] + "]"
		}
		return
	case "table":
		w.table(p)
		return
	}
	for _, name := range inside {
		if _, plain := p[name].(string); !plain {
			w.walk(p[name], depth+1)
		}
	}
}

// table writes the rows of a table component.
func (w *walker) table(p map[string]any) {
	columns, _ := p["columns"].([]any)
	rows, _ := p["rows"].([]any)
	var names, heads []string
	for _, c := range columns {
		column, _ := c.(map[string]any)
		name, _ := column["name"].(string)
		head, _ := column["display_name"].(string)
		names, heads = append(names, name), append(heads, head)
	}
	w.add(strings.Join(heads, " | "))
	for _, r := range rows {
		row, _ := r.(map[string]any)
		var cells []string
		for _, name := range names {
			cells = append(cells, plainCard(cell(row[name])))
		}
		w.add(strings.Join(cells, " | "))
	}
}

func cell(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any: // options, people
		var all []string
		for _, one := range v {
			all = append(all, cell(one))
		}
		return strings.Join(all, ", ")
	case map[string]any:
		if data, ok := v["data"]; ok {
			return cell(data)
		}
		for _, name := range []string{"text", "content", "name"} {
			if s, ok := v[name].(string); ok {
				return s
			}
		}
	}
	data, err := json.Marshal(v)
	if err != nil || v == nil {
		return ""
	}
	return string(data)
}

var (
	breakTags = regexp.MustCompile(`<br ?/?>`)
	cardTags  = regexp.MustCompile(`</?(?:font|text_tag|person|link|a|number_tag|raw|local_datetime)\b[^>]*>`)
	atTags    = regexp.MustCompile(`<at\b([^>]*)>([^<]*)</at>`)
	atKey     = regexp.MustCompile(`@_(?:user_\d+|all)`)
)

// plainCard takes out of a card's Markdown what only cards understand; places of
// mentions stay for resolve.
func plainCard(md string) string {
	md = breakTags.ReplaceAllString(md, "\n")
	md = atTags.ReplaceAllStringFunc(md, func(tag string) string {
		if key := atKey.FindString(tag); key != "" {
			return key
		}
		name := atTags.FindStringSubmatch(tag)[2]
		switch {
		case name != "":
			return "@" + name
		case strings.Contains(tag, "all"):
			return "@all"
		}
		return "@somebody"
	})
	return html.UnescapeString(cardTags.ReplaceAllString(md, ""))
}

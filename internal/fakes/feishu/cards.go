package feishu

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Limits of cards (feishu-cards/card-json-v2, cardkit-v1, read November 2026).
const (
	maxCard      = 30 << 10
	maxElements  = 200
	maxTables    = 5 // sources name 1, 3 and 5
	streamingFor = 10 * time.Minute
)

// cardEntity is a card of CardKit.
type cardEntity struct {
	id       string
	json     string
	message  string // "" = not sent yet
	sequence int64
	opened   time.Time // streaming since; zero = off
}

// cardJSON is what is looked at in a card of schema 2.0.
type cardJSON struct {
	Schema string `json:"schema"`
	Config struct {
		Streaming bool            `json:"streaming_mode"`
		Multi     *bool           `json:"update_multi"`
		Summary   json.RawMessage `json:"summary"`
		Streamed  json.RawMessage `json:"streaming_config"`
	} `json:"config"`
	Header json.RawMessage `json:"header"`
	Body   struct {
		Elements []cardNode `json:"elements"`
	} `json:"body"`
}

type cardNode struct {
	Tag       string     `json:"tag"`
	ID        string     `json:"element_id"`
	Content   string     `json:"content"`
	Text      *cardNode  `json:"text"`
	Columns   []cardNode `json:"columns"`
	Elements  []cardNode `json:"elements"`
	Behaviors []struct {
		Type  string          `json:"type"`
		Value json.RawMessage `json:"value"`
	} `json:"behaviors"`
}

func badCard(sub int, what string) *refusal {
	return bad(230099, fmt.Sprintf("Failed to create card content, ext=ErrCode: %d; ErrMsg: %s; ", sub, what))
}

// readCard reads a card and refuses what Feishu refuses in it.
func readCard(text string) (*cardJSON, *refusal) {
	var c cardJSON
	dec := json.NewDecoder(strings.NewReader(text))
	if err := dec.Decode(&c); err != nil {
		return nil, badCard(200621, "parse card json err, please check whether the card json is correct")
	}
	if c.Schema != "2.0" {
		return nil, badCard(200621, "the fake knows schema 2.0 only")
	}
	if c.Config.Multi != nil && !*c.Config.Multi {
		return nil, badCard(300302, "update_multi property is false")
	}
	count, tables, named := 0, 0, []string{}
	for i := range c.Body.Elements {
		if e := checkNode(&c.Body.Elements[i], &count, &tables, &named); e != nil {
			return nil, e
		}
	}
	switch {
	case count == 0:
		return nil, badCard(200621, "no elements")
	case count > maxElements:
		return nil, badCard(11310, "element exceeds the limit")
	case tables > maxTables:
		return nil, badCard(11310, "card table number over limit")
	}
	return &c, nil
}

var tableRule = regexp.MustCompile(`(?m)^ *\|(?: *:?-+:? *\|)+ *$`)

func checkNode(n *cardNode, count, tables *int, named *[]string) *refusal {
	if *count++; n.ID != "" {
		if slices.Contains(*named, n.ID) || len(n.ID) > 20 {
			return badCard(300301, "Duplicate element_id in card component")
		}
		*named = append(*named, n.ID)
	}
	var children []cardNode
	switch n.Tag {
	case "markdown":
		*tables += len(tableRule.FindAllString(withoutCode(n.Content), -1))
	case "hr":
	case "div", "button":
		if n.Text == nil || n.Text.Tag != "plain_text" || n.Text.Content == "" {
			return badCard(200621, n.Tag+" without text")
		}
		for _, b := range n.Behaviors {
			if b.Type != "callback" || len(b.Value) == 0 {
				return badCard(200621, "behavior "+b.Type)
			}
		}
	case "column_set":
		children = n.Columns
	case "column":
		children = n.Elements
	default:
		return badCard(200861, "cards of schema V2 no longer support this capability; ErrorValue: unsupported tag "+n.Tag)
	}
	for i := range children {
		if (n.Tag == "column_set") != (children[i].Tag == "column") {
			return badCard(200621, "column_set holds columns only")
		}
		if e := checkNode(&children[i], count, tables, named); e != nil {
			return e
		}
	}
	return nil
}

// withoutCode leaves out fenced code.
func withoutCode(md string) string {
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(md) {
		bare := strings.TrimSpace(line)
		switch {
		case fence == "" && strings.HasPrefix(bare, "```"):
			fence = bare[:len(bare)-len(strings.TrimLeft(bare, "`"))]
		case fence != "" && bare == fence:
			fence = ""
		case fence == "":
			b.WriteString(line)
		}
	}
	return b.String()
}

// checkInteractive checks a card that is sent, or finds the entity it names.
func (s *Server) checkInteractive(m *stored) *refusal {
	var named struct {
		Type string `json:"type"`
		Data struct {
			Card string `json:"card_id"`
		} `json:"data"`
	}
	if json.Unmarshal([]byte(m.Content), &named) == nil && named.Type == "card" {
		entity := s.store.cards[named.Data.Card]
		switch {
		case entity == nil:
			return badCard(200740, "The card entity does not exist")
		case entity.message != "":
			return badCard(11310, "the card entity was sent already")
		}
		m.card, m.Content = entity.id, entity.json
		return nil
	}
	_, e := readCard(m.Content)
	return e
}

func (s *Server) createCard(c *call) (any, *refusal) {
	var in struct {
		Type string `json:"type"`
		Data string `json:"data"`
	}
	if e := c.decode(&in); e != nil {
		return nil, e
	}
	if in.Type != "card_json" {
		return nil, bad(10002, "Your request contains an invalid request parameter.")
	}
	read, e := s.cardKit(in.Data)
	if e != nil {
		return nil, e
	}
	s.serial++
	entity := &cardEntity{id: fmt.Sprintf("73%017d", s.serial), json: in.Data}
	if read.Config.Streaming {
		entity.opened = s.opts.Now()
	}
	s.store.cards[entity.id] = entity
	return object{"card_id": entity.id}, nil
}

// cardKit checks a card with the codes of CardKit, which has its own.
func (s *Server) cardKit(text string) (*cardJSON, *refusal) {
	if len(text) > maxCard {
		return nil, bad(200860, "Card content exceeds limit.")
	}
	read, e := readCard(text)
	if e == nil {
		return read, nil
	}
	if strings.Contains(e.msg, "element exceeds") {
		return nil, bad(300305, "The number of card components exceeds 200")
	}
	return nil, bad(200220, "Failed to generate card content: "+e.msg)
}

// operated is what all operations on an entity carry.
type operated struct {
	UUID     string `json:"uuid"`
	Sequence int64  `json:"sequence"`
}

// entity finds the card of a call and takes its number.
func (s *Server) entity(c *call, o operated) (*cardEntity, *refusal) {
	entity := s.store.cards[c.PathValue("card")]
	switch {
	case entity == nil:
		return nil, bad(200740, "The card entity does not exist")
	case o.Sequence < 1 || o.Sequence > 1<<31-1:
		return nil, bad(10002, "Your request contains an invalid request parameter: sequence.")
	case o.Sequence <= entity.sequence:
		return nil, bad(300317, "The sequence number for operating on the card did not increment consecutively")
	}
	entity.sequence = o.Sequence
	return entity, nil
}

func (s *Server) updateCard(c *call) (any, *refusal) {
	var in struct {
		Card struct {
			Type string `json:"type"`
			Data string `json:"data"`
		} `json:"card"`
		operated
	}
	if e := c.decode(&in); e != nil {
		return nil, e
	}
	read, e := s.cardKit(in.Card.Data)
	if e != nil {
		return nil, e
	}
	entity, e := s.entity(c, in.operated)
	if e != nil {
		return nil, e
	}
	entity.opened = time.Time{}
	if read.Config.Streaming {
		entity.opened = s.opts.Now()
	}
	s.setCard(entity, in.Card.Data)
	return nil, nil
}

func (s *Server) setCard(entity *cardEntity, text string) {
	entity.json = text
	if m := s.store.messages[entity.message]; m != nil {
		m.Content = text
		s.touched(m)
	}
}

func (s *Server) cardSettings(c *call) (any, *refusal) {
	var in struct {
		Settings string `json:"settings"`
		operated
	}
	if e := c.decode(&in); e != nil {
		return nil, e
	}
	var settings struct {
		Config map[string]any `json:"config"`
	}
	if json.Unmarshal([]byte(in.Settings), &settings) != nil || settings.Config == nil {
		return nil, bad(300122, "Failed to update card configuration")
	}
	entity, e := s.entity(c, in.operated)
	if e != nil {
		return nil, e
	}
	if on, ok := settings.Config["streaming_mode"].(bool); ok {
		entity.opened = time.Time{}
		if on {
			entity.opened = s.opts.Now()
		}
	}
	s.setCard(entity, withConfig(entity.json, settings.Config))
	return nil, nil
}

// withConfig puts settings into a card's JSON.
func withConfig(text string, config map[string]any) string {
	var c map[string]any
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return text
	}
	old, _ := c["config"].(map[string]any)
	if old == nil {
		old = map[string]any{}
	}
	for key, value := range config {
		old[key] = value
	}
	c["config"] = old
	return encode(c)
}

func (s *Server) cardContent(c *call) (any, *refusal) {
	var in struct {
		Content string `json:"content"`
		operated
	}
	if e := c.decode(&in); e != nil {
		return nil, e
	}
	if in.Content == "" || len(in.Content) > 100_000 {
		return nil, bad(10002, "Your request contains an invalid request parameter: content.")
	}
	entity, e := s.entity(c, in.operated)
	if e != nil {
		return nil, e
	}
	switch open := entity.opened; {
	case open.IsZero():
		return nil, bad(300309, "Card streaming closed")
	case s.opts.Now().Sub(open) > streamingFor:
		entity.opened = time.Time{}
		return nil, bad(200850, "Card streaming timeout")
	}
	next, ok := withContent(entity.json, c.PathValue("element"), in.Content)
	if !ok {
		return nil, bad(300313, "Failed to update element properties")
	}
	if len(next) > maxCard {
		return nil, bad(200860, "Card content exceeds limit.")
	}
	s.setCard(entity, next)
	return nil, nil
}

// withContent replaces the text of one element.
func withContent(text, id, content string) (string, bool) {
	var c map[string]any
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return "", false
	}
	body, _ := c["body"].(map[string]any)
	elements, _ := body["elements"].([]any)
	for _, e := range elements {
		if e, ok := e.(map[string]any); ok && e["element_id"] == id {
			e["content"] = content
			return encode(c), true
		}
	}
	return "", false
}

func (s *Server) convertCard(c *call) (any, *refusal) {
	var in struct {
		Message string `json:"message_id"`
	}
	if e := c.decode(&in); e != nil {
		return nil, e
	}
	m := s.store.messages[in.Message]
	if m == nil || m.card == "" {
		return nil, bad(10002, "Your request contains an invalid request parameter: message_id.")
	}
	return object{"card_id": m.card}, nil
}

package discord

import (
	"net/http"
	"regexp"
	"unicode/utf8"
)

// isCommandName says whether a slash command may be called so
// (interactions/application-commands, read November 2026). The pattern does not
// count: one that does takes a megabyte of every program.
func isCommandName(name string) bool {
	return commandName.MatchString(name) && utf8.RuneCountInString(name) <= 32
}

var commandName = regexp.MustCompile(`^[-_'\p{Ll}\p{Lm}\p{Lo}\p{N}]+$`)

// locales are some of those that Discord knows.
var locales = map[string]bool{"zh-CN": true, "zh-TW": true, "en-US": true, "en-GB": true, "de": true, "ja": true}

type command struct {
	Type        int               `json:"type"`
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Localized   map[string]string `json:"description_localizations,omitempty"`
	Contexts    []int             `json:"contexts,omitempty"`
	Options     []option          `json:"options"`
}

type option struct {
	Type         int               `json:"type"`
	Name         string            `json:"name"`
	Description  string            `json:"description"`
	Localized    map[string]string `json:"description_localizations,omitempty"`
	Required     bool              `json:"required"`
	Autocomplete bool              `json:"autocomplete"`
	Kinds        []int             `json:"channel_types"`
	Options      []option          `json:"options"`
	Choices      []any             `json:"choices"`
}

// reply is the answer to an interaction, and data what it shows.
type reply struct {
	Type int   `json:"type"`
	Data *data `json:"data"`
}

type data struct {
	Content    string       `json:"content"`
	Flags      int          `json:"flags"`
	TTS        bool         `json:"tts"`
	Embeds     []any        `json:"embeds"`
	Mentions   *allowed     `json:"allowed_mentions"`
	Components *[]component `json:"components"`
	Extra      any          `json:"attachments"`
	Poll       any          `json:"poll"`
	Nonce      any          `json:"nonce"`
	Enforce    bool         `json:"enforce_nonce"`
}

const ephemeral = 1 << 6

// answerInteraction takes the first answer, which has to be the only one.
func (s *Server) answerInteraction(r *request) (any, *apiError) {
	o := s.world.tokens[r.PathValue("token")]
	if o == nil || o.id != r.PathValue("id") {
		return nil, no(http.StatusNotFound, 10062, "Unknown interaction")
	}
	if o.answered {
		return nil, no(http.StatusBadRequest, 40060, "Interaction has already been acknowledged.")
	}
	var in reply
	if e := decode(r.body, &in); e != nil {
		return nil, e
	}
	switch {
	case in.Type == 4 && (in.Data == nil || in.Data.Content == "" || units(in.Data.Content) > maxContent):
		return nil, no(http.StatusBadRequest, 50006, "Cannot send an empty message")
	case in.Type == 4:
		o.Shown = in.Data.Content
	case in.Type == 5:
	case (in.Type == 6 || in.Type == 7) && o.message != "":
		if in.Type == 7 && in.Data != nil {
			s.update(o, in.Data)
		}
	default:
		return nil, badForm("type", "BASE_TYPE_CHOICES", "Value must be one of {4, 5, 6, 7, 8, 9, 10, 12}.")
	}
	o.answered, o.Kind = true, in.Type
	s.news.Tell()
	return nil, nil
}

// update changes the message with the button.
func (s *Server) update(o *opened, d *data) {
	r := s.room(o.channel)
	p := r.find(o.message)
	if p == nil {
		return
	}
	p.text = d.Content
	if d.Components != nil {
		f := form{Components: d.Components}
		p.buttons = f.buttons()
	}
	p.edits++
	s.publish("MESSAGE_UPDATE", r, p)
}

// followUp shows a person something after the answer.
func (s *Server) followUp(r *request) (any, *apiError) {
	o := s.world.tokens[r.PathValue("token")]
	if o == nil || r.PathValue("app") != BotID {
		return nil, no(http.StatusNotFound, 10015, "Unknown Webhook")
	}
	if !o.answered {
		return nil, no(http.StatusNotFound, 10015, "Unknown Webhook")
	}
	var d data
	if e := decode(r.body, &d); e != nil {
		return nil, e
	}
	if d.Content == "" || units(d.Content) > maxContent {
		return nil, no(http.StatusBadRequest, 50006, "Cannot send an empty message")
	}
	if d.Flags&ephemeral == 0 {
		return nil, badForm("flags", "BASE_TYPE_CHOICES", "this fake shows follow-ups to the person alone")
	}
	o.Notices = append(o.Notices, d.Content)
	s.news.Tell()
	return map[string]any{"id": s.newID(), "channel_id": o.channel, "content": d.Content, "flags": d.Flags}, nil
}

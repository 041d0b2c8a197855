package discord

import (
	"net/http"
	"time"
)

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

// tokenLife is how long the token of an interaction is good
// (interactions/receiving-and-responding "Interaction Callback", read November
// 2026).
const tokenLife = 15 * time.Minute

// answerInteraction takes the first answer, which has to be the only one and
// to come within 3 s: after that the token is worth nothing.
func (s *Server) answerInteraction(r *request) (any, *apiError) {
	o := s.world.tokens[r.PathValue("token")]
	if o == nil || o.id != r.PathValue("id") {
		return nil, no(http.StatusNotFound, 10062, "Unknown interaction")
	}
	if o.answered {
		return nil, no(http.StatusBadRequest, 40060, "Interaction has already been acknowledged.")
	}
	if s.opts.Now().Sub(o.at) > s.opts.ReplyWithin {
		return nil, no(http.StatusNotFound, 10062, "Unknown interaction")
	}
	var in reply
	if e := decode(r.body, &in); e != nil {
		return nil, e
	}
	room := s.room(o.channel)
	switch {
	case in.Type == 4 && (in.Data == nil || in.Data.Content == "" || units(in.Data.Content) > maxContent):
		return nil, no(http.StatusBadRequest, 50006, "Cannot send an empty message")
	case in.Type == 4 && in.Data.Flags&ephemeral != 0:
		o.Shown = in.Data.Content
	case in.Type == 4:
		o.original = s.answerWith(room, o, in.Data.Content, in.Data.Flags)
	case in.Type == 5 && in.Data != nil && in.Data.Flags&^ephemeral != 0:
		return nil, badForm("flags", "BASE_TYPE_CHOICES", "Only EPHEMERAL may be set.")
	case in.Type == 5:
		o.original = &post{id: s.newID(), author: BotID, at: s.opts.Now(), byBot: byBot{use: o, loading: true}}
		s.add(room, o.original)
		s.publish("MESSAGE_CREATE", room, o.original)
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

// answerWith puts a message into the channel of an interaction. What the bot
// may do there does not matter: the person has used the command, and the answer
// goes over a webhook of theirs.
func (s *Server) answerWith(r *room, o *opened, text string, flags int) *post {
	p := &post{id: s.newID(), author: BotID, at: s.opts.Now(), text: text, byBot: byBot{use: o, flags: flags &^ ephemeral}}
	s.add(r, p)
	s.publish("MESSAGE_CREATE", r, p)
	return p
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

// hook finds the interaction of a call to its webhook. One that was never
// answered has none; one that is too old has no valid token (the statuses as
// clients report them: discord/discord-api-docs #6851, Rapptz/discord.py #9856;
// read November 2026).
func (s *Server) hook(r *request) (*opened, *apiError) {
	o := s.world.tokens[r.PathValue("token")]
	switch {
	case o == nil || r.PathValue("app") != BotID || !o.answered:
		return nil, no(http.StatusNotFound, 10015, "Unknown Webhook")
	case s.opts.Now().Sub(o.at) > tokenLife:
		return nil, no(http.StatusUnauthorized, 50027, "Invalid Webhook Token")
	}
	return o, nil
}

// hooked finds a message of an interaction.
func (s *Server) hooked(r *request) (*opened, *room, *post, *apiError) {
	o, e := s.hook(r)
	if e != nil {
		return nil, nil, nil, e
	}
	room := s.room(o.channel)
	id := r.PathValue("message")
	if id == "@original" {
		if o.message != "" && (o.Kind == 6 || o.Kind == 7) { // then it is the message with the button
			if p := room.find(o.message); p != nil {
				return o, room, p, nil
			}
		}
		if o.original == nil {
			return nil, nil, nil, no(http.StatusNotFound, 10008, "Unknown Message")
		}
		return o, room, o.original, nil
	}
	if p := room.find(id); p != nil && p.use == o {
		return o, room, p, nil
	}
	return nil, nil, nil, no(http.StatusNotFound, 10008, "Unknown Message")
}

// followUp shows something after the answer, to all or to the person alone. The
// first one after "… is thinking" takes its place (the same page, "Create
// Followup Message").
func (s *Server) followUp(r *request) (any, *apiError) {
	o, e := s.hook(r)
	if e != nil {
		return nil, e
	}
	f, files, e := r.read()
	if e != nil {
		return nil, e
	}
	if e := f.check(files); e != nil {
		return nil, e
	}
	if (f.Content == nil || *f.Content == "") && len(files) == 0 {
		return nil, no(http.StatusBadRequest, 50006, "Cannot send an empty message")
	}
	if f.flags()&ephemeral != 0 {
		o.Notices = append(o.Notices, *f.Content)
		s.news.Tell()
		return map[string]any{"id": s.newID(), "channel_id": o.channel, "content": f.Content, "flags": f.flags()}, nil
	}
	room := s.room(o.channel)
	p := o.original
	if p == nil || !p.loading {
		p = &post{id: s.newID(), author: BotID, at: s.opts.Now(), byBot: byBot{use: o}}
		s.add(room, p)
	}
	return s.fill(room, p, f, files), nil
}

func (s *Server) getFollowUp(r *request) (any, *apiError) {
	_, room, p, e := s.hooked(r)
	if e != nil {
		return nil, e
	}
	return s.postJSON(room, p), nil
}

func (s *Server) editFollowUp(r *request) (any, *apiError) {
	_, room, p, e := s.hooked(r)
	if e != nil {
		return nil, e
	}
	f, files, e := r.read()
	if e != nil {
		return nil, e
	}
	if e := f.check(files); e != nil {
		return nil, e
	}
	if (f.Content == nil && p.text == "" || f.Content != nil && *f.Content == "") && len(files)+len(p.files) == 0 {
		return nil, no(http.StatusBadRequest, 50006, "Cannot send an empty message")
	}
	return s.fill(room, p, f, files), nil
}

// fill gives a message of an interaction its content.
func (s *Server) fill(room *room, p *post, f form, files []File) any {
	fresh := p.loading || p.text == "" && len(p.files) == 0
	p.loading = false
	if f.Content != nil {
		p.text = *f.Content
	}
	if f.Components != nil {
		p.buttons = f.buttons()
	}
	if f.Flags != nil {
		p.flags = *f.Flags &^ ephemeral
	}
	for _, file := range files {
		p.files = append(p.files, s.keep(room.ID, file))
	}
	if fresh {
		p.pings = pings(p.text, "", f.Mentions)
		s.publish("MESSAGE_CREATE", room, p)
	} else {
		s.changed(room, p, f.Mentions)
	}
	return s.postJSON(room, p)
}

func (s *Server) deleteFollowUp(r *request) (any, *apiError) {
	o, room, p, e := s.hooked(r)
	if e != nil {
		return nil, e
	}
	if o.original == p {
		o.original = nil
	}
	s.drop(room, p)
	return nil, nil
}

package discord

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Said is what somebody writes.
type Said struct {
	From, Channel string
	Text          string
	ReplyTo       string
	Quiet         bool // the reply does not notify the one it answers
	Files         []File
	Fields        map[string]any // more fields of the message, as they go over the wire
}

// Say lets somebody write and returns the id of the message.
func (s *Server) Say(m Said) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.room(m.Channel)
	p := &post{id: s.newID(), author: m.From, at: s.opts.Now(), text: m.Text, replyTo: m.ReplyTo, quiet: m.Quiet, fields: m.Fields}
	for _, f := range m.Files {
		p.files = append(p.files, s.keep(r.ID, f))
	}
	s.add(r, p)
	s.publish("MESSAGE_CREATE", r, p)
	return p.id
}

// Edit lets somebody change a message of theirs.
func (s *Server) Edit(channel, message, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.room(channel)
	if p := r.find(message); p != nil {
		p.text, p.edited = text, s.opts.Now()
		s.publish("MESSAGE_UPDATE", r, p)
	}
}

// Delete lets somebody take messages back: one as its author does, several as
// a moderator or a bot does at once.
func (s *Server) Delete(channel string, messages ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.room(channel)
	r.posts = slices.DeleteFunc(r.posts, func(p *post) bool { return slices.Contains(messages, p.id) })
	gone, kind := map[string]any{"channel_id": r.ID, "ids": messages}, "MESSAGE_DELETE_BULK"
	if len(messages) == 1 {
		gone, kind = map[string]any{"channel_id": r.ID, "id": messages[0]}, "MESSAGE_DELETE"
	}
	if r.guild != "" {
		gone["guild_id"] = r.guild
	}
	s.pushIn(r, kind, func(int) any { return maps.Clone(gone) })
}

// Unfurl pushes the update that Discord makes when it has a preview of a link:
// a message update that nobody's edit has caused.
func (s *Server) Unfurl(channel, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.room(channel)
	if p := r.find(message); p != nil {
		s.publish("MESSAGE_UPDATE", r, p)
	}
}

// opened is an interaction that waits for its answer.
type opened struct {
	id, channel, message, from string

	at       time.Time
	answered bool
	original *post  // that the answer became; nil: none, or deleted
	Kind     int    // of the answer; 0: none yet
	Shown    string // to the person alone
	Notices  []string
}

// Interaction is what a person sees of what they pressed or used.
type Interaction struct {
	Answer  int      // the type of the bot's answer; 0 = none yet
	Shown   string   // text of the answer, to this person alone
	Notices []string // follow-ups, to this person alone
	// Thinking: the command's answer is still awaited, with "… is thinking".
	Thinking bool
}

// Interaction returns the state of an interaction by its id.
func (s *Server) Interaction(id string) Interaction {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.world.tokens {
		if o.id == id {
			return Interaction{o.Kind, o.Shown, slices.Clone(o.Notices), o.original != nil && o.original.loading}
		}
	}
	return Interaction{}
}

// Press lets a person press the button with this data and returns the id of
// the interaction. It reports an error when the message shows no such button.
func (s *Server) Press(from, channel, message, data string) (id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.room(channel)
	p := r.find(message)
	if p == nil {
		return "", fmt.Errorf("press %q: channel %s shows no message %s", data, channel, message)
	}
	for _, row := range p.buttons {
		for _, b := range row {
			if b.Data == data {
				return s.interact(from, r, message, map[string]any{
					"type": 3, "message": s.postJSON(r, p), "data": map[string]any{"custom_id": data, "component_type": 2},
				}), nil
			}
		}
	}
	return "", fmt.Errorf("press %q: message %s has the buttons %v", data, message, p.buttons)
}

// Use lets a person use a slash command and returns the id of the interaction.
func (s *Server) Use(from, channel, name string, values ...string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	options := []map[string]any{}
	for _, v := range values {
		options = append(options, map[string]any{"type": 3, "name": "text", "value": v})
	}
	return s.interact(from, s.room(channel), "", map[string]any{
		"type": 2, "data": map[string]any{"id": "771825006014889984", "type": 1, "name": name, "options": options},
	})
}

// interact pushes an interaction. The server is locked.
func (s *Server) interact(from string, r *room, message string, more map[string]any) string {
	id := s.newID()
	token := "interaction-token-" + id
	s.world.tokens[token] = &opened{id: id, channel: r.ID, message: message, from: from, at: s.opts.Now()}
	in := map[string]any{
		"version": 1, "token": token, "id": id, "application_id": BotID, "channel_id": r.ID,
		"locale": "en-US", "channel": s.channelJSON(r), "entitlements": []any{}, "app_permissions": "442368", "attachment_size_limit": maxFile,
	}
	if r.guild == "" {
		in["user"], in["context"], in["authorizing_integration_owners"] = s.userJSON(from), 1, map[string]string{"0": "0"}
	} else {
		m := memberJSON()
		m["user"], m["permissions"] = s.userJSON(from), "2147483647"
		in["guild_id"], in["member"], in["guild_locale"], in["context"] = r.guild, m, "en-US", 0
		in["authorizing_integration_owners"] = map[string]string{"0": r.guild}
	}
	maps.Copy(in, more)
	s.push("INTERACTION_CREATE", 0, func(int) any { return in })
	return id
}

// Secret is a part of every token of an interaction: it may not be seen in
// logs and errors.
const Secret = "interaction-token-"

// pings are those who are notified by a text under the rules of
// allowed_mentions; nil rules mean all.
func pings(text, replied string, rules *allowed) []string {
	may := func(kind string) bool { return rules == nil || slices.Contains(rules.Parse, kind) }
	var all []string
	for _, id := range mentioned(text) {
		if may("users") || slices.Contains(rules.Users, id) {
			all = append(all, id)
		}
	}
	for _, word := range []string{"everyone", "here"} {
		if strings.Contains(text, "@"+word) && may("everyone") {
			all = append(all, word)
		}
	}
	for _, hit := range roleMention.FindAllStringSubmatch(text, -1) {
		if may("roles") {
			all = append(all, hit[1])
		}
	}
	if replied != "" && (rules == nil || rules.Replied) {
		all = append(all, "reply")
	}
	return all
}

package discord

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// nonceLife is how long a nonce is remembered: "the past few minutes"
// (resources/message "Create Message", read November 2026).
const nonceLife = 5 * time.Minute

func (s *Server) getChannel(r *request) (any, *apiError) {
	room, e := s.at(r)
	if e != nil {
		return nil, e
	}
	return s.channelJSON(room), nil
}

// getMessages gives the newest first; with after, those right after it.
func (s *Server) getMessages(r *request) (any, *apiError) {
	room, e := s.at(r)
	if e != nil {
		return nil, e
	}
	limit, after := 50, uint64(0)
	q := r.URL.Query()
	for key := range q {
		n, err := strconv.ParseUint(q.Get(key), 10, 64)
		switch {
		case err != nil:
			return nil, badForm(key, "NUMBER_TYPE_COERCE", "Value %q is not snowflake.", q.Get(key))
		case key == "limit" && (n < 1 || n > 100):
			return nil, badForm(key, "NUMBER_TYPE_MAX", "int value should be between 1 and 100.")
		case key == "limit":
			limit = int(n)
		case key == "after":
			after = n
		default:
			return nil, badForm(key, "UNKNOWN_FIELD", "not part of this fake")
		}
	}
	var found []*post
	for _, p := range room.posts {
		// Without the permission no message is returned, and no error
		// (resources/message "Get Channel Messages", read November 2026).
		if number(p.id) > after && (room.guild == "" || s.denies(room)&ReadHistory == 0) {
			found = append(found, p)
		}
	}
	if q.Has("after") {
		found = found[:min(limit, len(found))]
	} else {
		found = found[max(0, len(found)-limit):]
	}
	all := []map[string]any{}
	for _, p := range slices.Backward(found) {
		all = append(all, s.seen(room, p))
	}
	return all, nil
}

func number(id string) uint64 {
	n, _ := strconv.ParseUint(id, 10, 64)
	return n
}

func (s *Server) getMessage(r *request) (any, *apiError) {
	room, p, e := s.postAt(r)
	if e != nil {
		return nil, e
	}
	if e := s.may(room, ReadHistory); e != nil {
		return nil, e
	}
	return s.seen(room, p), nil
}

func (s *Server) createMessage(r *request) (any, *apiError) {
	room, e := s.at(r)
	if e != nil {
		return nil, e
	}
	if room.Kind == ForumChannel {
		return nil, no(http.StatusBadRequest, 50008, "Cannot send messages in a non-text channel")
	}
	f, files, e := r.read()
	if e != nil {
		return nil, e
	}
	if e := s.mayWrite(room, len(files), f.Reference != nil); e != nil {
		return nil, e
	}
	if e := f.check(files); e != nil {
		return nil, e
	}
	if (f.Content == nil || *f.Content == "") && len(files) == 0 && len(f.Embeds) == 0 {
		return nil, no(http.StatusBadRequest, 50006, "Cannot send an empty message")
	}
	if f.Enforce && f.nonce() != "" {
		if p := room.repeated(f.nonce(), s.opts.Now()); p != nil {
			return s.postJSON(room, p), nil
		}
	}
	p := &post{id: s.newID(), author: BotID, at: s.opts.Now(), byBot: byBot{nonce: f.nonce(), buttons: f.buttons(), flags: f.flags()}}
	if f.Content != nil {
		p.text = *f.Content
	}
	if ref := f.Reference; ref != nil {
		switch {
		case room.find(ref.Message) != nil:
			p.replyTo = ref.Message
		case ref.Must == nil || *ref.Must:
			return nil, badForm("message_reference", "MESSAGE_REFERENCE_UNKNOWN_MESSAGE", "Unknown message")
		}
	}
	for _, file := range files {
		p.files = append(p.files, s.keep(room.ID, file))
	}
	p.pings = pings(p.text, p.replyTo, f.Mentions)
	s.add(room, p)
	s.publish("MESSAGE_CREATE", room, p)
	return s.postJSON(room, p), nil
}

// repeated finds the bot's message that has this nonce.
func (r *room) repeated(nonce string, now time.Time) *post {
	for _, p := range slices.Backward(r.posts) {
		if now.Sub(p.at) > nonceLife {
			return nil
		}
		if p.author == BotID && p.nonce == nonce {
			return p
		}
	}
	return nil
}

func (s *Server) editMessage(r *request) (any, *apiError) {
	room, p, e := s.postAt(r)
	if e != nil {
		return nil, e
	}
	if p.author != BotID {
		return nil, no(http.StatusForbidden, 50005, "Cannot edit a message authored by another user")
	}
	f, files, e := r.read()
	if e != nil {
		return nil, e
	}
	if e := f.check(files); e != nil {
		return nil, e
	}
	if f.Content != nil && *f.Content == "" && len(p.files) == 0 {
		return nil, no(http.StatusBadRequest, 50006, "Cannot send an empty message")
	}
	if f.Content != nil {
		p.text = *f.Content
	}
	if f.Components != nil {
		p.buttons = f.buttons()
	}
	if f.Flags != nil {
		p.flags = *f.Flags
	}
	s.changed(room, p, f.Mentions)
	return s.postJSON(room, p), nil
}

// changed tells everybody that a message of the bot is another now.
func (s *Server) changed(room *room, p *post, rules *allowed) {
	p.pings = append(p.pings, pings(p.text, "", rules)...)
	p.edited = s.opts.Now()
	p.edits++
	s.publish("MESSAGE_UPDATE", room, p)
}

func (s *Server) deleteMessage(r *request) (any, *apiError) {
	room, p, e := s.postAt(r)
	if e != nil {
		return nil, e
	}
	if p.author != BotID {
		return nil, no(http.StatusForbidden, 50013, "Missing Permissions")
	}
	s.drop(room, p)
	return nil, nil
}

// drop deletes a message and tells of it. The server is locked.
func (s *Server) drop(room *room, p *post) {
	room.posts = slices.DeleteFunc(room.posts, func(other *post) bool { return other == p })
	gone := map[string]any{"id": p.id, "channel_id": room.ID}
	if room.guild != "" {
		gone["guild_id"] = room.guild
	}
	s.pushIn(room, "MESSAGE_DELETE", func(int) any { return maps.Clone(gone) })
	s.news.Tell()
}

func (s *Server) typing(r *request) (any, *apiError) {
	room, e := s.at(r)
	if e != nil {
		return nil, e
	}
	return nil, s.mayWrite(room, 0, false)
}

func (s *Server) react(r *request) (any, *apiError) {
	room, p, e := s.postAt(r)
	if e != nil {
		return nil, e
	}
	emoji := r.PathValue("emoji")
	if len(emoji) < 3 { // no emoji of one or two bytes
		return nil, no(http.StatusBadRequest, 10014, "Unknown Emoji")
	}
	if e := s.may(room, ReadHistory|AddReactions); e != nil {
		return nil, e
	}
	if !slices.Contains(p.reactions, emoji) {
		p.reactions = append(p.reactions, emoji)
	}
	s.news.Tell()
	return nil, nil
}

func (s *Server) unreact(r *request) (any, *apiError) {
	_, p, e := s.postAt(r)
	if e != nil {
		return nil, e
	}
	p.reactions = slices.DeleteFunc(p.reactions, func(had string) bool { return had == r.PathValue("emoji") })
	s.news.Tell()
	return nil, nil
}

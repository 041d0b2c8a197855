package discord

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// post is a message of whoever wrote it.
type post struct {
	id, author string
	at, edited time.Time
	text       string
	replyTo    string
	files      []stored
	quiet      bool           // a reply that does not notify the one it answers
	fields     map[string]any // as they go over the wire, above all others
	byBot
}

// byBot is what only the bot's messages have.
type byBot struct {
	buttons   [][]Button
	nonce     string
	pings     []string
	reactions []string // of the bot; on any message
	edits     int
	flags     int
	use       *opened // the interaction that it answers
	loading   bool    // "… is thinking"
}

// Flags of a message (resources/message "Message Flags", read November 2026).
const (
	suppressEmbeds = 1 << 2
	ephemeral      = 1 << 6
	loadingFlag    = 1 << 7
)

// Button is one button under a message.
type Button struct{ Label, Data string }

// File is a file with its bytes.
type File struct {
	Name, MIME string
	Data       []byte
	Voice      bool // recorded in the client
}

// stored is a file at its place.
type stored struct {
	File
	id string
	at string // path
}

// Message is a message of the bot as its channel shows it.
type Message struct {
	ID, Channel string
	Text        string // what people read
	Source      string // the text as it was sent, with its markup
	Buttons     [][]Button
	Files       []File
	ReplyTo     string
	Edits       int
	Pings       []string // who was notified: ids, "everyone", "here", "reply"
	Reactions   []string // of the bot
	Previews    bool     // links in it are unfurled: the platform fetches them
	Interaction string   // id of the one that it answers
}

func (p *post) message(r *room) Message {
	m := Message{
		ID: p.id, Channel: r.ID, Text: Read(p.text), Source: p.text, Buttons: p.buttons, ReplyTo: p.replyTo,
		Edits: p.edits, Pings: p.pings, Reactions: p.reactions, Previews: p.flags&suppressEmbeds == 0,
	}
	if p.use != nil {
		m.Interaction = p.use.id
	}
	for _, f := range p.files {
		m.Files = append(m.Files, f.File)
	}
	return m
}

// Messages is what the bot has put into a channel, oldest first, with edits
// and deletions applied.
func (s *Server) Messages(channel string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.messages(channel)
}

func (s *Server) messages(channel string) []Message {
	r, ok := s.world.rooms[channel]
	if !ok {
		return nil
	}
	var shown []Message
	for _, p := range r.posts {
		if p.author == BotID && !p.loading {
			shown = append(shown, p.message(r))
		}
	}
	return shown
}

// Reactions are the bot's reactions to any message of a channel.
func (s *Server) Reactions(channel, message string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.room(channel).find(message); p != nil {
		return slices.Clone(p.reactions)
	}
	return nil
}

func (r *room) find(id string) *post {
	for i := len(r.posts) - 1; i >= 0; i-- {
		if r.posts[i].id == id {
			return r.posts[i]
		}
	}
	return nil
}

// add appends a message; with Options.Forget the memory stays flat.
func (s *Server) add(r *room, p *post) {
	const last = 50
	if s.opts.Forget && len(r.posts) >= 2*last {
		r.posts = append([]*post(nil), r.posts[len(r.posts)-last:]...)
	}
	r.posts = append(r.posts, p)
}

// publish pushes a message event, and tells whoever watches the bot.
func (s *Server) publish(kind string, r *room, p *post) {
	if p.author == BotID && !p.loading {
		if s.opts.OnMessage != nil {
			s.opts.OnMessage(p.message(r))
		}
		s.news.Tell()
	}
	s.pushIn(r, kind, func(intents int) any {
		m := s.postJSON(r, p)
		m["channel_type"] = r.Kind
		if r.guild != "" {
			m["guild_id"], m["member"] = r.guild, memberJSON()
		}
		if intents&intentContent == 0 {
			withhold(r, m)
		}
		return m
	})
}

// pushIn sends an event of a room to the sessions that may see it.
func (s *Server) pushIn(r *room, kind string, see func(intents int) any) {
	need := intentGuildMessages
	if r.guild == "" {
		need = intentDirectMessages
	} else if s.denies(r)&ViewChannel != 0 {
		return
	}
	s.push(kind, need, see)
}

// seen is a message as REST gives it to this bot.
func (s *Server) seen(r *room, p *post) map[string]any {
	m := s.postJSON(r, p)
	if s.opts.NoContent {
		withhold(r, m)
	}
	return m
}

// withhold empties what people wrote where the bot may not read it: all but its
// own messages, private chats and messages that mention it (events/gateway
// "Message Content Intent", read November 2026). A mention of a role is not
// said to count, so here it does not. What a message quotes or forwards is
// looked at by itself.
func withhold(r *room, m map[string]any) {
	if r.guild == "" {
		return
	}
	if quoted, ok := m["referenced_message"].(map[string]any); ok {
		withhold(r, quoted)
	}
	if who, ok := m["author"].(map[string]any); ok && who["id"] == BotID {
		return
	}
	mentions, _ := m["mentions"].([]map[string]any)
	if slices.ContainsFunc(mentions, func(who map[string]any) bool { return who["id"] == BotID }) {
		return
	}
	m["content"], m["attachments"], m["embeds"], m["components"] = "", []any{}, []any{}, []any{}
	for _, key := range []string{"poll", "message_snapshots"} {
		delete(m, key)
	}
}

var userMention = regexp.MustCompile(`<@!?(\d+)>`)

// mentioned are the ids of the users that a text mentions.
func mentioned(text string) []string {
	var ids []string
	for _, hit := range userMention.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(ids, hit[1]) {
			ids = append(ids, hit[1])
		}
	}
	return ids
}

var roleMention = regexp.MustCompile(`<@&(\d+)>`)

// postJSON is a message as REST gives it: without what events add.
func (s *Server) postJSON(r *room, p *post) map[string]any {
	mentions, roles, files := []map[string]any{}, []string{}, []map[string]any{}
	for _, id := range mentioned(p.text) {
		mentions = append(mentions, s.userJSON(id))
	}
	if old := r.find(p.replyTo); old != nil && p.author != BotID && !p.quiet && !slices.Contains(mentioned(p.text), old.author) {
		mentions = append(mentions, s.userJSON(old.author))
	}
	for _, hit := range roleMention.FindAllStringSubmatch(p.text, -1) {
		roles = append(roles, hit[1])
	}
	flags := 0
	for _, f := range p.files {
		files = append(files, s.fileJSON(f))
		if f.Voice {
			flags = 1 << 13
		}
	}
	m := map[string]any{
		"id": p.id, "channel_id": r.ID, "author": s.userJSON(p.author), "content": p.text, "timestamp": stamp(p.at),
		"edited_timestamp": nil, "tts": false, "mention_everyone": strings.Contains(p.text, "@everyone"), "mentions": mentions,
		"mention_roles": roles, "attachments": files, "embeds": []any{}, "pinned": false, "type": 0, "flags": flags | p.flags,
		"components": componentsJSON(p.buttons), "nonce": nil,
	}
	if p.nonce != "" {
		m["nonce"] = p.nonce
	}
	if !p.edited.IsZero() {
		m["edited_timestamp"] = stamp(p.edited)
	}
	if p.replyTo != "" {
		m["type"] = 19
		m["message_reference"] = map[string]any{"type": 0, "message_id": p.replyTo, "channel_id": r.ID}
		m["referenced_message"] = nil
		if old := r.find(p.replyTo); old != nil {
			quoted := *old
			quoted.replyTo = ""
			m["referenced_message"] = s.postJSON(r, &quoted)
		}
	}
	if u := p.use; u != nil {
		m["webhook_id"], m["application_id"] = BotID, BotID
		m["interaction_metadata"] = map[string]any{"id": u.id, "type": 2, "user": s.userJSON(u.from), "authorizing_integration_owners": map[string]any{}}
	}
	if p.loading {
		m["flags"] = loadingFlag
	}
	var own []map[string]any
	for _, e := range p.reactions {
		own = append(own, map[string]any{"count": 1, "me": true, "emoji": map[string]any{"id": nil, "name": e}})
	}
	if own != nil {
		m["reactions"] = own
	}
	for k, v := range p.fields {
		m[k] = v
	}
	return m
}

func componentsJSON(rows [][]Button) []map[string]any {
	all := []map[string]any{}
	for _, row := range rows {
		var buttons []map[string]any
		for _, b := range row {
			buttons = append(buttons, map[string]any{"type": 2, "style": 2, "label": b.Label, "custom_id": b.Data})
		}
		all = append(all, map[string]any{"type": 1, "components": buttons})
	}
	return all
}

// keep stores a file on the file server. The server is locked.
func (s *Server) keep(channel string, f File) stored {
	id := s.newID()
	st := stored{File: f, id: id, at: "/attachments/" + channel + "/" + id + "/" + path.Base("/"+f.Name)}
	s.world.files[st.at] = st
	return st
}

func (s *Server) fileJSON(f stored) map[string]any {
	u := url.URL{Scheme: "http", Host: s.world.host, Path: f.at, RawQuery: "ex=65d903de&is=65c68ede&hm=" + s.signature(f.at) + "&"}
	m := map[string]any{
		"id": f.id, "filename": f.Name, "size": len(f.Data), "url": u.String(), "proxy_url": u.String(), "content_type": f.MIME,
	}
	if f.Voice {
		m["duration_secs"], m["waveform"] = 4.2, "AAUKDxQZHiMoLTI3PEFGS1BVWl9kaW5zeH2Ch4yRlps="
	}
	return m
}

func (s *Server) signature(at string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", s.world.epoch, at))
	return hex.EncodeToString(sum[:])
}

// ExpireFiles makes every address of a file that was given out invalid, as a
// day does. Asking for the message gives new ones.
func (s *Server) ExpireFiles() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.epoch++
}

// AddSticker puts a picture where the file server has stickers.
func (s *Server) AddSticker(name string, f File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.files["/stickers/"+name] = stored{File: f}
}

func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	f, ok := s.world.files[r.URL.Path]
	want := s.signature(r.URL.Path)
	s.mu.Unlock()
	if !ok || f.id != "" && r.URL.Query().Get("hm") != want {
		http.Error(w, "This content is no longer available.", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", f.MIME)
	_, _ = w.Write(f.Data) // the client may be gone
}

package qq

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Prefixes of chats.
const (
	direct = "c2c:"
	groups = "group:"
)

// AddPerson makes a user who has the bot as a friend; the chat is
// "c2c:<openid>".
func (s *Server) AddPerson(openid, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rooms[direct+openid] = &room{id: direct + openid, name: name, windows: map[string]*window{}, said: map[string]spoken{}}
}

// AddGroup makes a group with the bot in it; the chat is "group:<openid>".
func (s *Server) AddGroup(openid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rooms[groups+openid] = &room{id: groups + openid, windows: map[string]*window{}, said: map[string]spoken{}}
}

// Said is what a person writes.
type Said struct {
	Chat  string
	From  string // openid of the member, in groups
	Text  string
	Files []File
	Quote string // ref_idx of the quoted message, or the id of one that a person wrote
	// Bare: nothing but the ref_idx tells of what a person wrote; else it stands
	// in msg_elements, with its files (github.com/sliverp/qqbot 1.7, types.ts,
	// read November 2026).
	Bare bool
	At   time.Time
	// All: the group's bot may read every message, and this one does not
	// mention it. Without it a message in a group mentions the bot.
	All bool
	// Fields are more fields of the event, as they go over the wire.
	Fields map[string]any
}

// Say lets a person write and returns the message's id.
func (s *Server) Say(m Said) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.room(m.Chat)
	r.last++
	if m.At.IsZero() {
		m.At = s.opts.Now()
	}
	id := fmt.Sprintf("ROBOT1.0_FAKE%s.%06d!", strings.Trim(r.id[len(r.id)-4:], ":"), r.last)
	d := map[string]any{"id": id, "content": m.Text, "timestamp": m.At.In(time.FixedZone("CST", 8*3600)).Format(time.RFC3339)}
	kind := "C2C_MESSAGE_CREATE"
	if openid, ok := strings.CutPrefix(r.id, groups); ok {
		kind = "GROUP_AT_MESSAGE_CREATE"
		d["group_openid"], d["content"] = openid, " "+m.Text
		who := s.member(m.From)
		d["author"] = map[string]any{"id": who, "member_openid": who}
		if m.All {
			kind, d["content"] = "GROUP_MESSAGE_CREATE", m.Text
		}
	} else {
		openid := strings.TrimPrefix(r.id, direct)
		d["author"] = map[string]any{"id": openid, "user_openid": openid, "username": r.name}
	}
	index := fmt.Sprintf("REFIDX_IN%d", s.store.number())
	ext := []string{"msg_idx=" + index}
	if old, ok := r.said[m.Quote]; ok {
		ext = append(ext, "ref_msg_idx="+old.index)
		if !m.Bare {
			d["message_type"], d["msg_elements"] = 103, []any{s.element(old)}
		}
	} else if m.Quote != "" {
		ext = append(ext, "ref_msg_idx="+m.Quote)
	}
	d["message_scene"] = map[string]any{"source": "default", "ext": ext}
	if len(m.Files) > 0 {
		d["attachments"] = s.attached(m.Files)
	}
	for k, v := range m.Fields {
		d[k] = v
	}
	if !s.opts.Forget {
		r.said[id] = spoken{index, m.Text, d["author"], m.Files}
	}
	s.emit(kind, d)
	r.windows[id] = &window{at: m.At, seqs: map[uint32]bool{}}
	return id
}

// spoken is what is kept of a message of a person to quote it.
type spoken struct {
	index, text string
	author      any
	files       []File
}

// element is a message as a quote shows it; its files have addresses of now.
func (s *Server) element(m spoken) map[string]any {
	e := map[string]any{"msg_idx": m.index, "message_type": 0, "content": m.text, "author": m.author}
	if len(m.files) > 0 {
		e["attachments"] = s.attached(m.files)
	}
	return e
}

func (s *Server) attached(files []File) (all []any) {
	for _, f := range files {
		all = append(all, s.incoming(f))
	}
	return all
}

// incoming stores a file where the bot can fetch it.
func (s *Server) incoming(f File) map[string]any {
	at := s.serve(f)
	a := map[string]any{"filename": f.Name, "size": len(f.Data), "url": at, "content_type": f.MIME}
	switch f.Kind {
	case "", "file":
		a["content_type"] = "file"
	case "voice":
		a["content_type"], a["asr_refer_text"], a["voice_wav_url"] = "voice", f.Words, at
	}
	return a
}

func (s *Server) serve(f File) string {
	n := fmt.Sprint(s.store.number())
	s.store.files[n] = f
	return s.base + "/download/" + n + "/" + url.PathEscape(f.Name)
}

func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	f, ok := s.store.files[r.PathValue("id")]
	s.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(f.Data) // the client may be gone
}

// Press lets somebody press the button with this data under a message, and
// returns the id of the press. In a group from is the member.
func (s *Server) Press(chat, from, message, data string) (id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.room(chat)
	for _, m := range r.messages {
		if m.ID != message {
			continue
		}
		for _, row := range m.Keyboard {
			for _, b := range row {
				if b.Data == data {
					return s.press(r, m, from, b), nil
				}
			}
		}
		return "", fmt.Errorf("press %q: message %q has the buttons %v", data, message, m.Keyboard)
	}
	return "", fmt.Errorf("press %q: chat %s shows no message %q", data, chat, message)
}

func (s *Server) press(r *room, m *Message, from string, b Button) string {
	id := fmt.Sprintf("30540ff7-9d8f-4737-83f1-%012d", s.store.number())
	s.store.presses[id] = false
	d := map[string]any{
		"id": id, "type": 11, "version": 1, "application_id": s.opts.AppID, "timestamp": s.opts.Now().Format(time.RFC3339),
		"data": map[string]any{"type": 11, "resolved": map[string]any{"button_data": b.Data, "button_id": b.id, "user_id": from}},
	}
	if openid, ok := strings.CutPrefix(r.id, groups); ok {
		d["chat_type"], d["scene"], d["group_openid"], d["group_member_openid"] = 1, "group", openid, s.member(from)
	} else {
		d["chat_type"], d["scene"], d["user_openid"] = 2, "c2c", strings.TrimPrefix(r.id, direct)
	}
	event := s.emit("INTERACTION_CREATE", d)
	r.windows[event] = &window{event: true, at: s.opts.Now(), seqs: map[uint32]bool{}}
	// One press spends the buttons of its group.
	var left [][]Button
	for _, row := range m.Keyboard {
		var buttons []Button
		for _, other := range row {
			if b.group == "" || other.group != b.group {
				buttons = append(buttons, other)
			}
		}
		if len(buttons) > 0 {
			left = append(left, buttons)
		}
	}
	m.Keyboard = left
	return id
}

// Befriend adds the bot (again): FRIEND_ADD, or GROUP_ADD_ROBOT for a group.
// It returns the event's id.
func (s *Server) Befriend(chat string) string {
	return s.relate(chat, "FRIEND_ADD", "GROUP_ADD_ROBOT", false)
}

// member is a person's openid in groups: the same as in private chats, as
// people have seen (github.com/tencent-connect/botpy/issues/191), or another, as
// the page on ids says.
func (s *Server) member(from string) string {
	if s.store.policy.SceneIDs && s.rooms[direct+from] != nil {
		return "INGROUP" + from
	}
	return from
}

// MemberID is the openid under which a person is seen in groups.
func (s *Server) MemberID(openid string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.member(openid)
}

// Join lets a person into a group, Leave lets one leave
// (GROUP_MEMBER_ADD and GROUP_MEMBER_REMOVE, since August 2026).
func (s *Server) Join(chat, openid string) string { return s.members(chat, openid, "GROUP_MEMBER_ADD") }

// Leave lets a person leave a group.
func (s *Server) Leave(chat, openid string) string {
	return s.members(chat, openid, "GROUP_MEMBER_REMOVE")
}

func (s *Server) members(chat, openid, kind string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.room(chat)
	who := s.member(openid)
	return s.emit(kind, map[string]any{
		"group_openid": strings.TrimPrefix(chat, groups), "member_openid": who, "user_openid": who, "timestamp": s.opts.Now().Unix(),
	})
}

// Unfriend removes the bot: FRIEND_DEL, or GROUP_DEL_ROBOT for a group. told is
// false when the bot is not connected while it happens.
func (s *Server) Unfriend(chat string, told bool) {
	s.mu.Lock()
	r := s.room(chat)
	r.gone = true
	s.mu.Unlock()
	if told {
		s.relate(chat, "FRIEND_DEL", "GROUP_DEL_ROBOT", true)
	}
}

// Refuse switches active messages off, Accept on again.
func (s *Server) Refuse(chat string) string {
	if s.switched(chat) {
		return s.refuseBySwitch(chat)
	}
	return s.relate(chat, "C2C_MSG_REJECT", "GROUP_MSG_REJECT", true)
}

func (s *Server) switched(chat string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store.policy.Switch && strings.HasPrefix(chat, direct)
}

// refuseBySwitch tells it as an interaction. What else stands in it is not
// documented.
func (s *Server) refuseBySwitch(chat string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.room(chat).closed = true
	return s.emit("INTERACTION_CREATE", map[string]any{
		"id": fmt.Sprintf("30540ff7-9d8f-4737-83f1-%012d", s.store.number()), "type": 18, "version": 1,
		"application_id": s.opts.AppID, "timestamp": s.opts.Now().Format(time.RFC3339),
		"chat_type": 2, "scene": "c2c", "user_openid": strings.TrimPrefix(chat, direct),
		"data": map[string]any{"type": 18, "resolved": map[string]any{}},
	})
}

// Accept switches active messages on.
func (s *Server) Accept(chat string) string {
	return s.relate(chat, "C2C_MSG_RECEIVE", "GROUP_MSG_RECEIVE", false)
}

func (s *Server) relate(chat, private, group string, closed bool) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.room(chat)
	r.closed = closed
	r.gone = r.gone && closed
	openid, isGroup := strings.CutPrefix(chat, groups)
	kind, d := private, map[string]any{"openid": strings.TrimPrefix(chat, direct), "timestamp": s.opts.Now().Unix()}
	if isGroup {
		kind, d = group, map[string]any{"group_openid": openid, "op_member_openid": "FAKEOPERATOR", "timestamp": s.opts.Now().Unix()}
	}
	id := s.emit(kind, d)
	if !closed {
		r.windows[id] = &window{event: true, at: s.opts.Now(), seqs: map[uint32]bool{}}
	}
	return id
}

// Face is how QQ's clients write a face into a text.
func Face(name string) string {
	ext := base64.StdEncoding.EncodeToString([]byte(fmt.Sprintf(`{"text":%q}`, name)))
	return fmt.Sprintf(`<faceType=1,faceId="13",ext="%s">`, ext)
}

// room finds a chat that the test has made.
func (s *Server) room(id string) *room {
	r, ok := s.rooms[id]
	if !ok {
		panic(fmt.Sprintf("qq fake: there is no chat %q: call AddPerson or AddGroup first", id))
	}
	return r
}

package feishu

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
)

// Limits of files (im/v1/image/create, im/v1/file/create, read November 2026).
const (
	maxImage = 10 << 20
	maxFile  = 30 << 20
)

// upload is a file that the bot may send.
type upload struct {
	File
	fileType string // "" = an image
}

// part reads the file and the fields of a multipart body.
func (c *call) part(field string) (fields map[string]string, f File, refused *refusal) {
	r := c.Request.Clone(c.Context())
	r.Body = io.NopCloser(bytes.NewReader(c.body))
	reader, err := r.MultipartReader()
	if err != nil {
		return nil, f, bad(234001, "Invalid request param: "+err.Error())
	}
	fields, found := map[string]string{}, false
	for {
		p, err := reader.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, f, bad(234001, "Invalid request param: "+err.Error())
		}
		data, err := io.ReadAll(p)
		if err != nil {
			return nil, f, bad(234001, "Invalid request param: "+err.Error())
		}
		if p.FormName() == field {
			found, f = true, File{Name: p.FileName(), Data: data}
		} else {
			fields[p.FormName()] = string(data)
		}
	}
	switch {
	case !found:
		return nil, f, bad(234001, "Invalid request param: no "+field)
	case len(f.Data) == 0:
		return nil, f, bad(234010, "File's size can't be 0.")
	}
	return fields, f, nil
}

func (s *Server) createImage(c *call) (any, *refusal) {
	fields, f, e := c.part("image")
	if e != nil {
		return nil, e
	}
	f.MIME = http.DetectContentType(f.Data)
	switch {
	case fields["image_type"] != "message":
		return nil, bad(234001, "Invalid request param: image_type")
	case len(f.Data) > maxImage:
		return nil, bad(234006, "The file size exceed the max value.")
	case !strings.HasPrefix(f.MIME, "image/"):
		return nil, bad(234011, "Can't regonnize the image format.")
	}
	f.Kind = "image"
	key := "img_v3_" + s.next()
	s.store.uploads[key] = upload{File: f}
	return object{"image_key": key}, nil
}

func (s *Server) createFile(c *call) (any, *refusal) {
	fields, f, e := c.part("file")
	if e != nil {
		return nil, e
	}
	kind := fields["file_type"]
	switch {
	case !slices.Contains([]string{"opus", "mp4", "pdf", "doc", "xls", "ppt", "stream"}, kind) || fields["file_name"] == "":
		return nil, bad(234001, "Invalid request param: file_type or file_name")
	case len(f.Data) > maxFile:
		return nil, bad(234006, "The file size exceed the max value.")
	}
	f.Name, f.MIME = fields["file_name"], http.DetectContentType(f.Data)
	f.Kind = map[string]string{"opus": "audio", "mp4": "media"}[kind]
	if f.Kind == "" {
		f.Kind = "file"
	}
	key := "file_v3_" + s.next()
	s.store.uploads[key] = upload{File: f, fileType: kind}
	return object{"file_key": key}, nil
}

// attach puts an uploaded file into a message of the bot.
func (s *Server) attach(m *stored, key string) *refusal {
	up, ok := s.store.uploads[key]
	switch {
	case !ok:
		return bad(230017, "Bot is NOT the owner of the resource.")
	case up.Kind != m.Type:
		return bad(230055, "The type of file upload does not match the type of message being sent.")
	}
	file := up.File
	m.File = &file
	if s.opts.Forget {
		delete(s.store.uploads, key)
		m.File = &File{Kind: file.Kind, Name: file.Name, MIME: file.MIME}
	}
	return nil
}

func (s *Server) getResource(c *call) (any, *refusal) {
	m := s.store.messages[c.PathValue("id")]
	if m == nil || m.gone {
		return nil, bad(234003, "File not in message.")
	}
	if m.Type == "merge_forward" || m.Type == "interactive" || s.isForwarded(m) { // server-docs/im-v1/message/get-2, read November 2026
		return nil, bad(234043, "Unsupported message type.")
	}
	if s.room(m.Chat).restricted {
		return nil, bad(234038, "Do not allow downloading of message resources in restricted mode.")
	}
	kind := c.URL.Query().Get("type")
	f, ok := m.files[c.PathValue("key")]
	switch {
	case kind != "image" && kind != "file":
		return nil, bad(234001, "Invalid request param: type")
	case !ok || (f.Kind == "image") != (kind == "image"):
		return nil, bad(234003, "File not in message.")
	}
	f.MIME = http.DetectContentType(f.Data)
	return &f, nil
}

// isForwarded: the message stands in a forwarded conversation.
func (s *Server) isForwarded(m *stored) bool {
	for _, one := range s.store.messages {
		if slices.Contains(one.forwarded, m) {
			return true
		}
	}
	return false
}

// reaction is an emoji on a message.
type reaction struct{ id, emoji string }

// emojis are some of the names that reactions may have.
var emojis = []string{
	"OK", "THUMBSUP", "THANKS", "MUSCLE", "APPLAUSE", "FISTBUMP", "DONE", "SMILE", "LAUGH", "THINKING", "CRY", "SOB",
	"ERROR", "WOW", "WAVE", "LOVE", "HEART", "PARTY", "GLANCE", "Fire", "Hundred", "Typing", "OnIt",
}

func (s *Server) reacted(c *call) (*stored, *refusal) {
	m := s.store.messages[c.PathValue("id")]
	if m == nil || m.gone {
		return nil, bad(231003, "The message is not found, maybe not exist or deleted.")
	}
	return m, nil
}

func (s *Server) createReaction(c *call) (any, *refusal) {
	var in struct {
		Type struct {
			Emoji string `json:"emoji_type"`
		} `json:"reaction_type"`
	}
	if e := c.decode(&in); e != nil {
		return nil, e
	}
	m, e := s.reacted(c)
	if e != nil {
		return nil, e
	}
	if !slices.Contains(emojis, in.Type.Emoji) {
		return nil, bad(231001, "reaction type is invalid.")
	}
	r := reaction{"ZC" + s.next(), in.Type.Emoji}
	m.reactions = append(m.reactions, r)
	s.push(m.Chat, "im.message.reaction.created_v1", object{
		"message_id": m.ID, "reaction_type": in.Type, "operator_type": "app", "app_id": s.opts.AppID, "user_id": nil, "action_time": "1",
	})
	s.news.Tell()
	return s.reactionJSON(r), nil
}

func (s *Server) reactionJSON(r reaction) object {
	return object{
		"reaction_id": r.id, "reaction_type": object{"emoji_type": r.emoji}, "action_time": "1663054162546",
		"operator": object{"operator_id": s.opts.AppID, "operator_type": "app"},
	}
}

func (s *Server) listReactions(c *call) (any, *refusal) {
	m, e := s.reacted(c)
	if e != nil {
		return nil, e
	}
	items := []any{}
	for _, r := range m.reactions {
		if want := c.URL.Query().Get("reaction_type"); want == "" || want == r.emoji {
			items = append(items, s.reactionJSON(r))
		}
	}
	return object{"items": items, "has_more": false, "page_token": ""}, nil
}

func (s *Server) deleteReaction(c *call) (any, *refusal) {
	m, e := s.reacted(c)
	if e != nil {
		return nil, e
	}
	for i, r := range m.reactions {
		if r.id == c.PathValue("reaction") {
			m.reactions = slices.Delete(m.reactions, i, i+1)
			s.news.Tell()
			return s.reactionJSON(r), nil
		}
	}
	return nil, bad(231011, "The request has an invalid reaction_id.")
}

// Reactions are the emojis on a message, whoever wrote it.
func (s *Server) Reactions(message string) (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.store.messages[message]
	if m == nil {
		return nil
	}
	for _, r := range m.reactions {
		out = append(out, r.emoji)
	}
	return out
}

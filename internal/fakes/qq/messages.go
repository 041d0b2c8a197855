package qq

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Types of messages.
const (
	typeText     = 0
	typeMarkdown = 2
	typeNotify   = 6
	typeMedia    = 7
)

const (
	maxLabel   = 10 // characters of a button
	maxReplies = 5
	maxNotify  = 60 // seconds
	// maxText is the longest text in runes. The platform documents that there
	// is a limit (code 40054007) and not which; public bots use 4000 to 5000
	// (read November 2026).
	maxText     = 4000
	directReply = 60 * time.Minute
	groupReply  = 5 * time.Minute
)

// outgoing is the body of a message, with all fields that clients of the
// platform know.
type outgoing struct {
	Content  string    `json:"content"`
	Type     int       `json:"msg_type"`
	MsgID    string    `json:"msg_id"`
	EventID  string    `json:"event_id"`
	Seq      *uint32   `json:"msg_seq"`
	Markdown *markdown `json:"markdown"`
	Keyboard *keyboard `json:"keyboard"`
	Media    *struct {
		Info string `json:"file_info"`
	} `json:"media"`
	Notify *struct {
		Type   int `json:"input_type"`
		Second int `json:"input_second"`
	} `json:"input_notify"`
}

type markdown struct {
	Content string `json:"content"`
	Unused  any    `json:"params"`
	Style   any    `json:"style"`
	Process string `json:"process_msg"`
	Old     int    `json:"template_id"`
	Custom  string `json:"custom_template_id"`
}

type keyboard struct {
	ID      string `json:"id"`
	Content *struct {
		Rows []struct {
			Buttons []button `json:"buttons"`
		} `json:"rows"`
	} `json:"content"`
}

type button struct {
	ID     string `json:"id"`
	Group  string `json:"group_id"`
	Render *struct {
		Label   string `json:"label"`
		Visited string `json:"visited_label"`
		Style   int    `json:"style"`
	} `json:"render_data"`
	Action *struct {
		Type       int `json:"type"`
		Permission *struct {
			Type int `json:"type"`
		} `json:"permission"`
		Data  string `json:"data"`
		Tips  string `json:"unsupport_tips"`
		Enter bool   `json:"enter"`
		Limit int    `json:"click_limit"`
		Other any    `json:"subscribe_data"` // botgo sends it always
	} `json:"action"`
}

// target finds the chat that a path is about.
func (s *Server) target(r *http.Request) (*room, *refusal) {
	prefix := direct
	if strings.HasPrefix(r.URL.Path, "/v2/groups/") {
		prefix = groups
	}
	if found := s.rooms[prefix+r.PathValue("id")]; found != nil {
		return found, nil
	}
	if prefix == groups {
		return nil, bad(40054003, "机器人不是群成员")
	}
	return nil, bad(10001, "UnknownAccount")
}

func (s *Server) postMessage(r *http.Request, body []byte) (any, *refusal) {
	var out outgoing
	if err := strict(body, &out); err != nil {
		return nil, bad(12002, "RequestInvalid: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	room, e := s.target(r)
	if e != nil {
		return nil, e
	}
	m := &Message{Chat: room.id, Text: out.Content}
	for _, check := range []func() *refusal{
		func() *refusal { return s.tooFast(room) },
		func() *refusal { return s.content(room, &out, m) },
		func() *refusal { return s.window(room, &out, m) },
	} {
		if e := check(); e != nil {
			return nil, e
		}
	}
	n := s.store.number()
	m.ID, m.Index = fmt.Sprintf("ROBOT1.0_FAKEsent%06d!", n), fmt.Sprintf("REFIDX_%d", n)
	if out.Type != typeNotify {
		if !s.opts.Forget {
			room.messages = append(room.messages, m)
		}
		if s.opts.OnMessage != nil {
			s.opts.OnMessage(*m)
		}
	}
	s.news.Tell()
	index := map[string]any{"ref_idx": m.Index}
	return map[string]any{"id": m.ID, "timestamp": s.opts.Now().Format(time.RFC3339), "ext_info": index}, nil
}

var address = regexp.MustCompile(`(?i)\b[a-z0-9-]+\.(?:com|org|net|cn|io|dev|example|invalid)\b`)

// content checks what a message is made of and fills in what is shown.
func (s *Server) content(room *room, out *outgoing, m *Message) *refusal {
	text := out.Content
	switch out.Type {
	case typeText:
		if strings.TrimSpace(out.Content) == "" {
			return bad(50006, "CannotSendEmptyMessage")
		}
		if out.Keyboard != nil || out.Markdown != nil || out.Media != nil {
			return bad(22006, "消息类型与内容不匹配")
		}
	case typeMarkdown:
		switch {
		case !s.opts.Markdown:
			return bad(50056, "不允许发送原生 markdown")
		case out.Markdown == nil || strings.TrimSpace(out.Markdown.Content) == "":
			return bad(50055, "无效的 markdown content")
		case out.Content != "" || out.Media != nil:
			return bad(50037, "带有markdown消息只支持 markdown 或者 keyboard 组合")
		}
		text, m.Text, m.Markdown = out.Markdown.Content, out.Markdown.Content, true
		if e := m.keyboard(out.Keyboard); e != nil {
			return e
		}
	case typeNotify:
		if n := out.Notify; n == nil || n.Type < 1 || n.Type > 2 || n.Second < 0 || n.Second > maxNotify || strings.HasPrefix(room.id, groups) {
			return bad(12002, "RequestInvalid: input_notify")
		}
		return nil
	case typeMedia:
		if out.Content == "" {
			return bad(50006, "CannotSendEmptyMessage")
		}
		if e := s.attachment(room, out, m); e != nil {
			return e
		}
	default:
		return bad(340069, "消息类型无效")
	}
	if n := utf8.RuneCountInString(text); n > maxText {
		return bad(40054007, "消息长度超限: %d", n)
	}
	if !s.opts.URLs && address.MatchString(text) {
		return bad(40054010, "消息发送失败, 不允许发送url %s", address.FindString(text))
	}
	return nil
}

func (s *Server) attachment(room *room, out *outgoing, m *Message) *refusal {
	if out.Media == nil {
		return bad(22006, "消息类型与内容不匹配")
	}
	up, ok := s.store.uploads[out.Media.Info]
	if !ok || up.group != strings.HasPrefix(room.id, groups) {
		return bad(304080, "文件信息无效")
	}
	m.File = &up.file
	if m.Text == " " {
		m.Text = ""
	}
	if s.opts.Forget {
		delete(s.store.uploads, out.Media.Info)
	}
	return nil
}

func (m *Message) keyboard(k *keyboard) *refusal {
	if k == nil {
		return nil
	}
	if k.Content == nil || len(k.Content.Rows) == 0 || len(k.Content.Rows) > 5 {
		return bad(40034029, "内联键盘行/列超限")
	}
	ids := map[string]bool{}
	for _, row := range k.Content.Rows {
		if len(row.Buttons) == 0 || len(row.Buttons) > 5 {
			return bad(40034029, "内联键盘行/列超限")
		}
		var buttons []Button
		for _, b := range row.Buttons {
			if b.ID == "" || ids[b.ID] || b.Render == nil || b.Action == nil || b.Action.Permission == nil ||
				b.Action.Type != 1 || b.Action.Data == "" || b.Render.Label == "" || utf8.RuneCountInString(b.Render.Label) > maxLabel {
				return bad(305007, "键盘样式参数错误")
			}
			ids[b.ID] = true
			buttons = append(buttons, Button{Label: b.Render.Label, Data: b.Action.Data, id: b.ID, group: b.Group})
		}
		m.Keyboard = append(m.Keyboard, buttons)
	}
	return nil
}

// window finds what a message replies to and counts it.
func (s *Server) window(room *room, out *outgoing, m *Message) *refusal {
	seq := uint32(1)
	if out.Seq != nil {
		seq = *out.Seq
	}
	m.ReplyTo, m.Seq = out.MsgID+out.EventID, seq
	switch {
	case out.MsgID != "" && out.EventID != "":
		return bad(12002, "RequestInvalid: msg_id and event_id")
	case m.ReplyTo == "":
		return s.active(room)
	}
	w := room.windows[m.ReplyTo]
	life := directReply
	if strings.HasPrefix(room.id, groups) {
		life = groupReply
	}
	switch {
	case w == nil || w.event != (out.EventID != ""):
		if out.EventID != "" {
			return bad(40034025, "请求参数event_id无效")
		}
		return bad(40034024, "请求参数msg_id无效或越权")
	case w.seqs[seq]:
		return bad(40054005, "消息被去重，请检查请求msgseq")
	case s.opts.Now().Sub(w.at) > life:
		return bad(40034005, "回复消息msg_id已过期")
	case w.count >= maxReplies:
		return &refusal{Status: http.StatusTooManyRequests, Code: 22009, Text: "msg limit exceed"}
	}
	w.count++
	w.seqs[seq] = true
	return nil
}

// active counts a message that replies to nothing.
func (s *Server) active(room *room) *refusal {
	if room.closed {
		if strings.HasPrefix(room.id, groups) {
			return bad(40034105, "主动消息失败, 无权限")
		}
		return bad(40034102, "主动消息失败, 无权限")
	}
	if month := s.opts.Now().UTC().Add(8 * time.Hour).Format("2006-01"); month != room.month {
		room.month, room.active = month, 0
	}
	if room.active >= s.opts.Active {
		return &refusal{Status: http.StatusTooManyRequests, Code: 22009, Text: "msg limit exceed"}
	}
	room.active++
	return nil
}

// tooFast applies the documented rates: 20 a minute in a group, 5 a second in
// a private chat (bot.q.qq.com/wiki/develop/api-v2/autogen/api/, read November
// 2026).
func (s *Server) tooFast(r *room) *refusal {
	if !s.opts.Rates {
		return nil
	}
	each, size := 5.0, 5.0
	if strings.HasPrefix(r.id, groups) {
		each, size = 20.0/60, 20
	}
	if wait := r.rate.Take(s.opts.Now(), each, size); wait > 0 {
		return &refusal{Status: http.StatusTooManyRequests, Code: 20028, Text: "ChannelHitWriteRateLimit", RetryAfter: int(wait) + 1}
	}
	return nil
}

func (s *Server) deleteMessage(r *http.Request, _ []byte) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	room, e := s.target(r)
	if e != nil {
		return nil, e
	}
	at := slices.IndexFunc(room.messages, func(m *Message) bool { return m.ID == r.PathValue("message") })
	if at < 0 {
		return nil, bad(306002, "msgid error")
	}
	room.messages = slices.Delete(room.messages, at, at+1)
	s.news.Tell()
	return map[string]any{}, nil
}

func (s *Server) putInteraction(r *http.Request, body []byte) (any, *refusal) {
	var ask struct {
		Code *int `json:"code"`
	}
	if strict(body, &ask) != nil || ask.Code == nil || *ask.Code < 0 || *ask.Code > 5 {
		return nil, bad(12002, "RequestInvalid: code")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	answered, ok := s.store.presses[r.PathValue("id")]
	if !ok || answered {
		return nil, bad(12002, "RequestInvalid: interaction")
	}
	s.store.presses[r.PathValue("id")] = true
	return map[string]any{}, nil
}

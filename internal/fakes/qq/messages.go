package qq

import (
	"cmp"
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
	maxLabel  = 10 // characters of a button
	maxNotify = 60 // seconds
	// maxText is the longest text in runes. The platform documents that there
	// is a limit (codes 40054007, 40054018) and not which; public bots use 4000
	// to 5000, one that tried found none and clients that fold what is longer
	// than 15000 (read November 2026).
	maxText = 4000
	// recallTime is how long a message can be taken back
	// (bot.q.qq.com/wiki/develop/api-v2/autogen/api/, July 2026, read November
	// 2026).
	recallTime = 2 * time.Minute
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
	Quotes   *struct {
		ID string `json:"message_id"`
	} `json:"message_reference"`
	Media *struct {
		Info string `json:"file_info"`
	} `json:"media"`
	Notify *struct {
		Type   int `json:"input_type"`
		Second int `json:"input_second"`
	} `json:"input_notify"`
	Wakeup bool `json:"is_wakeup"`
	asPython
}

// asPython is what the platform's Python SDK (github.com/tencent-connect/botpy,
// botpy/api.py) sends along: the openid of the path, and what it has no value
// for as null.
type asPython struct {
	Group string `json:"group_openid"`
	Open  string `json:"openid"`
	Embed any    `json:"embed"`
	Ark   any    `json:"ark"`
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
		if found.gone && prefix == groups {
			return nil, bad(40034101, "机器人非群成员")
		} else if found.gone {
			return nil, bad(40054004, "无好友关系")
		}
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
	m := &Message{Chat: room.id, Text: out.Content, at: s.opts.Now()}
	if out.Quotes != nil {
		if m.Quotes, e = s.referred(room, out.Quotes.ID); e != nil {
			return nil, e
		}
	}
	for _, check := range []func() *refusal{
		func() *refusal { return s.tooFast(room) },
		func() *refusal { return s.content(room, &out, m) },
		func() *refusal { return s.window(room, reply{out.MsgID, out.EventID, out.Seq}, m) },
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

// referred is the id of the message to which a message_reference refers. The
// page says that it holds an index (REFIDX_…); its example holds an id
// (bot.q.qq.com/wiki/develop/api-v2/autogen/api/, sending to a group, July 2026,
// read November 2026).
func (s *Server) referred(room *room, ref string) (string, *refusal) {
	for id, m := range room.said {
		if m.index == ref {
			return id, nil
		}
	}
	if s.store.policy.ByIndex {
		return "", bad(304026, "MSG_ID 回复的消息 id 错误")
	}
	return ref, nil
}

var address = regexp.MustCompile(`(?i)\b[a-z0-9-]+\.(?:com|org|net|cn|io|dev|example|invalid)\b`)

// content checks what a message is made of and fills in what is shown.
func (s *Server) content(room *room, out *outgoing, m *Message) *refusal {
	text := out.Content
	if out.Wakeup || out.Embed != nil || out.Ark != nil {
		return bad(22006, "消息类型与内容不匹配") // not granted to this account
	}
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
			return bad(cmp.Or(s.store.policy.NoMarkdown, 50056), "不允许发送原生 markdown")
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
	return s.wording(text)
}

// wording refuses what is too long, and addresses that were not registered; it
// names the first.
func (s *Server) wording(text string) *refusal {
	if n := utf8.RuneCountInString(text); n > maxText {
		return bad(40054007, "消息长度超限: %d", n)
	}
	if s.opts.URLs {
		return nil
	}
	for _, found := range address.FindAllString(text, -1) {
		if slices.Contains(s.store.policy.Hosts, strings.ToLower(found)) {
			continue
		}
		if s.store.policy.Silent {
			return bad(40054010, "不允许发送 URL")
		}
		return bad(40054010, "消息发送失败, 不允许发送url %s", found)
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
	if s.opts.Now().Sub(room.messages[at].at) > recallTime {
		return nil, bad(40064004, "已超出消息撤回时限")
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

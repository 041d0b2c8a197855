package qq

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// States of a piece of a streamed message.
const (
	streamGoesOn = 1
	streamEnds   = 10
)

// streamLife is how long a stream waits for its next piece; then the platform
// ends it and shows its first piece alone
// (github.com/AstrBotDevs/AstrBot/pull/10069, September 2026; how long is not
// documented).
const streamLife = time.Minute

// stream is a message that grows
// (bot.q.qq.com/wiki/develop/api-v2/autogen/api/v2_users_user_openid_stream_messages.post.html,
// July 2026, read November 2026).
type stream struct {
	m     *Message
	first string
	index int
	last  time.Time
}

// piece is the body of one call.
type piece struct {
	Mode  string  `json:"input_mode"`
	State int     `json:"input_state"`
	Index int     `json:"index"`
	Kind  string  `json:"content_type"`
	Raw   string  `json:"content_raw"`
	Event string  `json:"event_id"`
	MsgID string  `json:"msg_id"`
	ID    string  `json:"stream_msg_id"`
	Seq   *uint32 `json:"msg_seq"`
}

func (s *Server) postStream(r *http.Request, body []byte) (any, *refusal) {
	var p piece
	if err := strict(body, &p); err != nil {
		return nil, bad(12002, "RequestInvalid: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	room, e := s.target(r)
	if e != nil {
		return nil, e
	}
	if !s.store.policy.Streams {
		return nil, &refusal{Status: http.StatusForbidden, Code: 11253, Text: "应用接口无权限"}
	}
	if e := s.pieceAllowed(&p); e != nil {
		return nil, e
	}
	room.expire(s.opts.Now())
	m, e := s.grow(room, &p)
	if e != nil {
		return nil, e
	}
	s.news.Tell()
	if s.opts.OnMessage != nil {
		s.opts.OnMessage(*m)
	}
	return map[string]any{
		"id": m.ID, "timestamp": s.opts.Now().Format(time.RFC3339),
		"ext_info": map[string]any{"ref_idx": m.Index}, "remain_msg_len": maxText - len([]rune(m.Text)),
	}, nil
}

func (s *Server) pieceAllowed(p *piece) *refusal {
	switch {
	case p.Mode != "replace": // appending is not used by anybody who is checked here
		return bad(12002, "RequestInvalid: input_mode")
	case p.State != streamGoesOn && p.State != streamEnds:
		return bad(12002, "RequestInvalid: input_state")
	case p.Kind == "markdown" && !s.opts.Markdown:
		return bad(50056, "不允许发送原生 markdown")
	case p.Kind != "markdown" && p.Kind != "text":
		return bad(12002, "RequestInvalid: content_type")
	case strings.TrimSpace(p.Raw) == "":
		return bad(50006, "CannotSendEmptyMessage")
	}
	return s.wording(p.Raw)
}

// grow begins a stream or adds a piece to one.
func (s *Server) grow(room *room, p *piece) (*Message, *refusal) {
	if p.ID == "" {
		return s.begin(room, p)
	}
	st := room.streams[p.ID]
	switch {
	case st == nil:
		return nil, bad(12002, "RequestInvalid: stream_msg_id")
	case st.m.Stream == "expired":
		return nil, bad(40034020, "同一流式消息发送超时")
	case st.m.Stream == "closed":
		return nil, bad(40034018, "流式消息已结束")
	case p.MsgID+p.Event != st.m.ReplyTo || p.Seq == nil || *p.Seq != st.m.Seq || p.Index != st.index+1:
		return nil, bad(12002, "RequestInvalid: another stream's msg_id, msg_seq or index")
	case !strings.HasPrefix(p.Raw, st.m.Text):
		// Status and codes as github.com/langbot-app/LangBot/issues/2454 shows
		// them (August 2026, read November 2026).
		return nil, &refusal{Status: http.StatusNotFound, Code: 40007, ErrCode: 40113003, Text: "已经提交的消息内容不可修改"}
	}
	st.index, st.last, st.m.Text = p.Index, s.opts.Now(), p.Raw
	if p.State == streamEnds {
		st.m.Stream = "closed"
	}
	return st.m, nil
}

func (s *Server) begin(room *room, p *piece) (*Message, *refusal) {
	if p.Index != 0 {
		return nil, bad(12002, "RequestInvalid: index")
	}
	m := &Message{Chat: room.id, Text: p.Raw, Markdown: p.Kind == "markdown", Stream: "open", at: s.opts.Now()}
	if p.State == streamEnds {
		m.Stream = "closed"
	}
	for _, check := range []func() *refusal{
		func() *refusal { return s.tooFast(room) },
		func() *refusal { return s.window(room, reply{p.MsgID, p.Event, p.Seq}, m) },
	} {
		if e := check(); e != nil {
			return nil, e
		}
	}
	n := s.store.number()
	m.ID, m.Index = fmt.Sprintf("a1b2c3d4-e5f6-7890-abcd-%012d", n), fmt.Sprintf("REFIDX_%d", n)
	if room.streams == nil {
		room.streams = map[string]*stream{}
	}
	room.streams[m.ID] = &stream{m: m, first: p.Raw, last: m.at}
	room.messages = append(room.messages, m)
	return m, nil
}

// expire ends the streams that nobody went on with.
func (r *room) expire(now time.Time) {
	for _, st := range r.streams {
		if st.m.Stream == "open" && now.Sub(st.last) > streamLife {
			st.m.Stream, st.m.Text = "expired", st.first
		}
	}
}

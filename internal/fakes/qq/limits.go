package qq

import (
	"net/http"
	"strings"
	"time"
)

// What the platform allows (bot.q.qq.com/wiki/develop/api-v2/autogen/api/,
// pages v2_users_user_openid_messages.post and
// v2_groups_group_openid_messages.post as of July 2026, read November 2026).
const (
	directReplies = 4 // to one message, since 2026-01-10
	groupReplies  = 5
	directReply   = 60 * time.Minute
	groupReply    = 5 * time.Minute
	maxActive     = 1000 // messages a day for each friend and each group
	perMinute     = 20   // for each group
	perSecond     = 5    // in a private chat, of a bot that is not verified
)

// Policy is what the account was granted, and how the platform behaves where
// the sources differ.
type Policy struct {
	// Streams: private messages may be streamed.
	Streams bool
	// Members: the events of a group's members may be asked for.
	Members bool
	// NoPresses: the events of buttons may not be asked for.
	NoPresses bool
	// Hosts are the registered ones: texts may hold them.
	Hosts []string
	// Silent: a refusal of an address does not say which.
	Silent bool
	// SceneIDs: a person has another openid in groups than in private chats.
	SceneIDs bool
	// Switch: that a person wants no active messages comes as an interaction of
	// type 18 instead of C2C_MSG_REJECT.
	Switch bool
	// NoMarkdown is the code that refuses native markdown; 0 = 50056.
	NoMarkdown int
	// ByIndex: message_reference takes the index of a message alone, not its id.
	ByIndex bool
	// FromZero: the parts of a file are counted from 0, as the page of July 2026
	// says; the vendor's client counts from 1.
	FromZero bool
	// TooFast is the code of what is too fast; 0 = 22009. It has status 429.
	TooFast int
}

// Grant changes what the account may do.
func (s *Server) Grant(p Policy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store.policy = p
}

// reply is what a message replies to, and its number among the replies.
type reply struct {
	message, event string
	seq            *uint32
}

// window finds what a message replies to and counts it.
func (s *Server) window(room *room, of reply, m *Message) *refusal {
	seq := uint32(1)
	if of.seq != nil {
		seq = *of.seq
	}
	m.ReplyTo, m.Seq = of.message+of.event, seq
	switch {
	case of.message != "" && of.event != "":
		return bad(12002, "RequestInvalid: msg_id and event_id")
	case m.ReplyTo == "":
		return s.active(room)
	}
	w := room.windows[m.ReplyTo]
	life, most := directReply, directReplies
	if strings.HasPrefix(room.id, groups) {
		life, most = groupReply, groupReplies
	}
	switch {
	case w == nil || w.event != (of.event != ""):
		if of.event != "" {
			return bad(40034025, "请求参数event_id无效")
		}
		return bad(40034024, "请求参数msg_id无效或越权")
	case w.seqs[seq]:
		return bad(40054005, "消息被去重，请检查请求msgseq")
	case s.opts.Now().Sub(w.at) > life:
		return bad(40034005, "回复消息msg_id已过期")
	case w.count >= most:
		return bad(40034128, "被动回复时间或次数超限")
	}
	w.count++
	w.seqs[seq] = true
	return nil
}

// active counts a message that replies to nothing. The budget is a day's, of
// China; the page says "frequency control" for it and for what is too fast.
func (s *Server) active(room *room) *refusal {
	switch inGroup := strings.HasPrefix(room.id, groups); {
	case room.closed && inGroup:
		return bad(40034105, "主动消息发送失败，无权限") // the owner has not switched 主动发言 on
	case room.closed:
		return bad(40054013, "用户拒收消息")
	}
	if day := s.opts.Now().UTC().Add(8 * time.Hour).Format(time.DateOnly); day != room.day {
		room.day, room.active = day, 0
	}
	if room.active >= s.opts.Active {
		return bad(40034100, "主动消息发送超过频控限制")
	}
	room.active++
	return nil
}

// tooFast applies the rates. The platform answers 22009 with status 429 for
// them (bot.q.qq.com/wiki/develop/api-v2/dev-prepare/error-trace/openapi.html:
// 消息发送超频; read November 2026).
func (s *Server) tooFast(r *room) *refusal {
	if !s.opts.Rates {
		return nil
	}
	each, size := float64(perSecond), float64(perSecond)
	if strings.HasPrefix(r.id, groups) {
		each, size = perMinute/60.0, perMinute
	}
	wait := r.rate.Take(s.opts.Now(), each, size)
	if wait <= 0 {
		return nil
	}
	e := &refusal{Status: http.StatusTooManyRequests, Code: 22009, Text: "msg limit exceed"}
	if code := s.store.policy.TooFast; code != 0 {
		e.Code, e.Text, e.RetryAfter = code, "ChannelHitWriteRateLimit", int(wait)+1
	}
	return e
}

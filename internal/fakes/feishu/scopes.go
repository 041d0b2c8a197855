package feishu

import (
	"slices"
	"strings"
)

// Scopes are those that docs/channels/feishu.md asks for. A server has them all
// until some are withheld.
var scopes = []string{
	"im:message", "im:message:send_as_bot", "im:message.p2p_msg:readonly", "im:message.group_at_msg:readonly", "im:message.group_msg",
	"im:resource", "im:message.reactions:write_only", "im:message.reactions:read", "cardkit:card:write",
	"contact:contact.base:readonly", "contact:user.base:readonly", "im:chat:readonly", "im:chat.members:read",
}

// Scopes lists what an app can be given here.
func Scopes() []string { return slices.Clone(scopes) }

// needs are the scopes of an interface, any of which will do (the pages of the
// interfaces under open.feishu.cn/document/server-docs, read November 2026);
// interfaces that are not here need none, like bot/v3/info and
// application/v6/scope/list.
var needs = map[string][]string{
	"create":     {"im:message", "im:message:send_as_bot", "im:message:send"},
	"reply":      {"im:message", "im:message:send_as_bot", "im:message:send"},
	"get":        {"im:message", "im:message:readonly"},
	"list":       {"im:message", "im:message:readonly", "im:message.history:readonly"},
	"update":     {"im:message", "im:message:send_as_bot", "im:message:update"},
	"patch":      {"im:message", "im:message:send_as_bot", "im:message:update"},
	"delete":     {"im:message", "im:message:send_as_bot", "im:message:recall"},
	"resource":   {"im:message", "im:message:readonly", "im:message.history:readonly"},
	"image":      {"im:resource", "im:resource:upload"},
	"file":       {"im:resource", "im:resource:upload"},
	"react":      {"im:message", "im:message.reactions:write_only"},
	"unreact":    {"im:message", "im:message.reactions:write_only"},
	"reactions":  {"im:message", "im:message:readonly", "im:message.reactions:read"},
	"card":       {"cardkit:card:write"},
	"convert":    {"cardkit:card:write"},
	"cardupdate": {"cardkit:card:write"},
	"settings":   {"cardkit:card:write"},
	"content":    {"cardkit:card:write"},
	// contact:user.base:readonly only unlocks the field "name" of the answer.
	"user":    {"contact:contact.base:readonly", "contact:contact:readonly", "contact:contact:readonly_as_app", "contact:contact:access_as_app"},
	"members": {"im:chat", "im:chat:readonly", "im:chat.members:read", "im:chat.group_info:readonly"},
}

// groupScope is what reading messages of a group needs besides.
const groupScope = "im:message.group_msg"

// Withhold takes scopes away from the app; those withheld before come back.
func (s *Server) Withhold(scopes ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.auth.withheld = scopes
}

func (s *Server) granted(scope string) bool {
	return slices.Contains(scopes, scope) && !slices.Contains(s.auth.withheld, scope)
}

// permitted checks the scopes of a call; s.mu is held.
func (s *Server) permitted(op string) *refusal {
	any := needs[op]
	if len(any) == 0 || slices.ContainsFunc(any, s.granted) {
		return nil
	}
	return bad(99991672, "Access denied. One of the following scopes is required: ["+strings.Join(any, ", ")+"].")
}

// readable refuses messages of groups without the scope for them, and of
// restricted groups (breaking-change/control-restricted-mode, since 24 March
// 2026).
func (s *Server) readable(r *room) *refusal {
	if r.restricted {
		return bad(230050, "The message is invisible to the operator.")
	}
	if r.kind == "p2p" || s.granted(groupScope) {
		return nil
	}
	return bad(230027, "Lack of necessary permissions, ext=need scope: "+groupScope)
}

// delivered says whether the app is told of a message (im-v1/message/events/receive,
// read November 2026).
func (s *Server) delivered(r *room, mentions []string) bool {
	switch {
	case r.kind == "p2p":
		return s.granted("im:message.p2p_msg:readonly")
	case s.granted(groupScope):
		return !r.restricted
	case slices.Contains(mentions, BotID):
		return s.granted("im:message.group_at_msg:readonly") && !r.restricted
	}
	return false
}

// listScopes is application/v6/scope/list, which needs no scope.
func (s *Server) listScopes(*call) (any, *refusal) {
	list := []object{}
	for _, name := range scopes {
		status := 1
		if !s.granted(name) {
			status = 2
		}
		list = append(list, object{"scope_name": name, "scope_type": "tenant", "grant_status": status})
	}
	return object{"scopes": list}, nil
}

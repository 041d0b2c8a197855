package dingtalk

import (
	"fmt"
	"strings"
)

// Address.Chat is one of these prefixes and an id.
const (
	userPrefix  = "user:"
	groupPrefix = "group:"
	// outsider begins the sender id of people outside the organisation, who
	// have no staff id: they can be answered by the session webhook only.
	outsider = "$:"
)

// target is a chat as the API names it.
type target struct {
	chat  string
	staff string // "" in a group, and for outsiders
	group string // open conversation id
}

func parseTarget(chat string) (target, error) {
	t := target{chat: chat}
	if id, ok := strings.CutPrefix(chat, groupPrefix); ok && id != "" {
		t.group = id
		return t, nil
	}
	if id, ok := strings.CutPrefix(chat, userPrefix); ok && id != "" {
		if !strings.HasPrefix(id, outsider) {
			t.staff = id
		}
		return t, nil
	}
	return t, fmt.Errorf("chat %q: want user:<staff id> or group:<open conversation id>", chat)
}

// reachable reports whether the robot API can send here.
func (t target) reachable() bool { return t.staff != "" || t.group != "" }

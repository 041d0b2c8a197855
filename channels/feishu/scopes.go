package feishu

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"magpie/channels"
)

// codePermission: a permission is missing that depends on what is asked for.
const codePermission = 230027

// lack is something that the bot cannot do without a scope.
type lack struct {
	any   []string // scopes of which one is enough; the first is the one to add
	lost  string   // what does not work
	vital bool     // no bot can be without it
}

func (l *lack) String() string {
	return "without " + l.any[0] + " " + l.lost + "; add it under Permissions & Scopes (权限管理) and publish a version"
}

// The lacks that show while the bot works.
var (
	lackNames = lack{
		any:  []string{"contact:contact.base:readonly", "contact:contact:readonly", "contact:contact:readonly_as_app", "contact:contact:access_as_app"},
		lost: "people have no names (it lets the bot ask, contact:user.base:readonly makes the answer hold the name: both are needed)",
	}
	lackGroup = lack{
		any:  []string{"im:message.group_msg"},
		lost: "what somebody quotes or forwards in a group cannot be read, nor the pictures and files in it, and messages that do not mention the bot do not arrive",
	}
)

// lacks are all scopes that a feature needs (the pages of the interfaces under
// open.feishu.cn/document/server-docs, read November 2026). The batch import of
// docs/channels/feishu.md holds the first of each.
func lacks() []lack {
	return []lack{
		{any: []string{"im:message", "im:message:send_as_bot", "im:message:send"}, lost: "nothing can be sent", vital: true},
		{any: []string{"im:message", "im:message:readonly"}, lost: "quoted messages, forwards and files cannot be read"},
		{any: []string{"im:message.p2p_msg:readonly", "im:message.p2p_msg"}, lost: "private messages do not arrive"},
		{any: []string{"im:message.group_at_msg:readonly", "im:message.group_at_msg", "im:message.group_msg"}, lost: "messages of groups do not arrive, even when they mention the bot"},
		lackGroup,
		{any: []string{"im:resource", "im:resource:upload"}, lost: "pictures and files cannot be sent"},
		{any: []string{"cardkit:card:write"}, lost: "replies do not grow while they are written but appear in larger steps"},
		{any: []string{"im:message.reactions:write_only", "im:message"}, lost: `the bot cannot show that it is at work (the reaction "Typing")`},
		{any: []string{"im:message.reactions:read", "im:message", "im:message:readonly"}, lost: `a "Typing" reaction that a crash has left stays`},
		lackNames,
		{any: []string{"contact:user.base:readonly", "contact:contact:readonly", "contact:contact:readonly_as_app", "contact:contact:access_as_app"}, lost: "people have no names"},
		{any: []string{"im:chat.members:read", "im:chat:readonly", "im:chat"}, lost: "members of a group who are not among the app's contacts have no names, and nobody tells who joins or leaves"},
		{any: []string{"im:chat:readonly", "im:chat", "im:chat.members:bot_access"}, lost: "the bot does not notice that it was added to a group and greets nobody"},
	}
}

// Scopes are those to be granted for every feature to work.
func Scopes() (all []string) {
	for _, l := range lacks() {
		if !slices.Contains(all, l.any[0]) {
			all = append(all, l.any[0])
		}
	}
	return all
}

// Import is Scopes as the console takes them under Permissions & Scopes, Batch
// import (批量导入/导出权限).
func Import() string {
	text, err := json.MarshalIndent(object{"scopes": object{"tenant": Scopes(), "user": []string{}}}, "", "  ")
	if err != nil {
		panic(err) // strings alone
	}
	return string(text)
}

// Events are those to be subscribed to, Callbacks what makes buttons work.
func Events() []string {
	return []string{eventMessage, eventRecalled, eventAdded, eventEntered, eventJoined, eventLeft, eventUninvited, eventMenu}
}

// Callbacks are those to be switched on.
func Callbacks() []string { return []string{eventPress} }

// scopes asks which scopes the app has; that needs none.
func (f *Feishu) scopes(ctx context.Context) ([]string, error) {
	raw, err := f.api.call(ctx, request{op: "application/scopes", method: http.MethodGet, path: "/open-apis/application/v6/scopes"})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Scopes []struct {
			Name   string `json:"scope_name"`
			Type   string `json:"scope_type"` // tenant, user; not documented
			Status int    `json:"grant_status"`
		} `json:"scopes"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, f.api.Fail("application/scopes", channels.Temporary, err)
	}
	var have []string
	for _, s := range answer.Scopes {
		if s.Status == 1 && s.Type != "user" {
			have = append(have, s.Name)
		}
	}
	return have, nil
}

// without are the lacks that these scopes leave.
func without(have []string) (left []lack) {
	for _, l := range lacks() {
		if !slices.ContainsFunc(l.any, func(s string) bool { return slices.Contains(have, s) }) {
			left = append(left, l)
		}
	}
	return left
}

// Survey names the scopes that the app has not been given, and what is lost.
func (f *Feishu) Survey(ctx context.Context) ([]string, error) {
	have, err := f.scopes(ctx)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, l := range without(have) {
		lines = append(lines, l.String())
	}
	return lines, nil
}

// lacking warns, once, that something does not work for want of a scope.
func (f *Feishu) lacking(l lack, err error) {
	if _, said := f.known.warned.get(l.any[0]); said {
		return
	}
	f.known.warned.put(l.any[0], true)
	f.deps.Log.Warn("feishu: "+l.String(), "err", err)
}

// scopeMissing tells refusals for want of a scope: of the call, and of what it
// asks for.
func scopeMissing(err error) bool {
	var text string
	if err != nil {
		text = err.Error()
	}
	return refused(err, codeScope) || refused(err, codePermission) && strings.Contains(text, "scope")
}

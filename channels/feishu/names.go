package feishu

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"magpie/channels"
	"magpie/chat"
)

const (
	// nameLife is how long a name, or the refusal to tell it, is remembered.
	nameLife = time.Hour
	// membersAtOnce and maxMemberPages bound a look at a group's members.
	membersAtOnce  = "100"
	maxMemberPages = 5
)

// named is a name as it was last told; "" = it is not told.
type named struct {
	name string
	at   time.Time
}

// nameOf finds a person's name: from the contacts, from the list of the group's
// members, from what others have called them in mentions.
func (f *Feishu) nameOf(ctx context.Context, in *chat.Inbound) string {
	now, id := f.deps.Now(), in.From.ID
	if n, ok := f.known.names.get(id); ok && now.Sub(n.at) < nameLife {
		return n.name
	}
	name, told := f.contact(ctx, id)
	if name == "" && !in.Direct {
		name = f.member(ctx, in.Addr.Chat, id)
	}
	if name == "" {
		name, _ = f.known.called.get(id)
	}
	if told || name != "" {
		f.known.names.put(id, named{name, now})
	}
	return name
}

// contact asks the contacts, which takes two scopes: one for the call and one
// for the field (contact-v3/user/get, read November 2026). told is false when
// asking again may help.
func (f *Feishu) contact(ctx context.Context, openID string) (name string, told bool) {
	if n, ok := f.known.names.get(noContacts); ok && f.deps.Now().Sub(n.at) < nameLife {
		return "", true
	}
	raw, err := f.api.call(ctx, request{
		op: "contact/user", method: http.MethodGet, path: "/open-apis/contact/v3/users/" + url.PathEscape(openID),
		query: url.Values{"user_id_type": {"open_id"}},
	})
	var answer struct {
		User struct {
			Name string `json:"name"`
		} `json:"user"`
	}
	if err == nil {
		err = json.Unmarshal(raw, &answer)
	}
	switch {
	case refused(err, codeScope):
		f.known.names.put(noContacts, named{"", f.deps.Now()})
		f.lacking(lackNames, err)
	case err != nil:
		f.deps.Log.Debug("no name for a sender", "err", err)
	case answer.User.Name == "":
		f.lacking(lackNames, nil)
	}
	return answer.User.Name, err == nil || channels.KindOf(err) == channels.Rejected
}

// noContacts stands in the list of names while the contacts are closed to the
// app; no open id is like it.
const noContacts = "*"

// member looks for somebody among the people of a group, and remembers all.
func (f *Feishu) member(ctx context.Context, group, openID string) string {
	now, found := f.deps.Now(), ""
	if n, ok := f.known.names.get(group); ok && now.Sub(n.at) < nameLife {
		return ""
	}
	query := url.Values{"member_id_type": {"open_id"}, "page_size": {membersAtOnce}}
	for range maxMemberPages {
		raw, err := f.api.call(ctx, request{
			op: "chat/members", method: http.MethodGet, path: "/open-apis/im/v1/chats/" + url.PathEscape(group) + "/members", query: query,
		})
		var page struct {
			Items []struct {
				ID   string `json:"member_id"`
				Name string `json:"name"`
			} `json:"items"`
			More bool   `json:"has_more"`
			Next string `json:"page_token"`
		}
		if err == nil {
			err = json.Unmarshal(raw, &page)
		}
		if err != nil {
			f.deps.Log.Debug("no list of a group's members", "err", err)
			if channels.KindOf(err) != channels.Rejected {
				return found
			}
			break
		}
		for _, m := range page.Items {
			if f.known.names.put(m.ID, named{m.Name, now}); m.ID == openID {
				found = m.Name
			}
		}
		if found != "" || !page.More || page.Next == "" {
			break
		}
		query.Set("page_token", page.Next)
	}
	if found == "" { // the list is not read again for each stranger
		f.known.names.put(group, named{"", now})
	}
	return found
}

// call remembers the names by which an event mentions people.
func (f *Feishu) calls(mentions []mention) {
	for _, m := range mentions {
		if m.ID != "" && m.Name != "" {
			f.known.called.put(string(m.ID), m.Name)
		}
	}
}

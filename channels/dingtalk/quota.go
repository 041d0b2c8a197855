package dingtalk

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// quotaGone is the errorCode of a message that comes without what it says,
	// because the organisation has used up what it may receive in a month.
	quotaGone = 20001
	// quotaTold is how long a chat that was told of that is not told again.
	quotaTold = 24 * time.Hour
	// quotaLogged is how long the log is not told again.
	quotaLogged = time.Hour

	toldPrefix = "quota-told."
	quotaNews  = "钉钉没有把这条消息的内容交给我：本组织本月的调用额度已用完。请联系管理员。\n" +
		"DingTalk did not hand me this message: the organisation has used up its quota of this month. Please tell its administrator."
)

// errQuota is what the state of the channel says while it lasts.
var errQuota = errors.New("messages arrive without their content (errorCode 20001): the organisation has used up its monthly quota; " +
	"a larger edition, or the next month, helps")

// quota notes messages that come without content.
type quota struct {
	mu     sync.Mutex
	logged time.Time
}

// withheld reports whether DingTalk kept back what a message says.
func (m message) withheld() bool {
	return m.Fault != 0 && void(m.Text) && void(m.Content)
}

// void reports whether there is nothing in a content: it is not there, or all
// that it holds is empty.
func void(raw json.RawMessage) bool {
	var v any
	return json.Unmarshal(raw, &v) != nil || holdsNothing(v)
}

func holdsNothing(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string: // which may be JSON
		var inner any
		if json.Unmarshal([]byte(v), &inner) == nil {
			switch inner.(type) {
			case nil, []any, map[string]any:
				return holdsNothing(inner)
			}
		}
		return strings.TrimSpace(v) == ""
	case []any:
		return !slices.ContainsFunc(v, func(one any) bool { return !holdsNothing(one) })
	case map[string]any:
		for _, one := range v {
			if !holdsNothing(one) {
				return false
			}
		}
		return true
	}
	return false
}

// deaf tells the operator, and once a day the chat, that a message came without
// its content.
func (n *intake) deaf(ctx context.Context, m message) {
	t, err := n.t, errQuota
	if m.Fault != quotaGone {
		err = errWithheld(m.Fault)
	}
	t.deps.Status.Trouble(err)
	t.quota.mu.Lock()
	now := t.deps.Now()
	loud := now.Sub(t.quota.logged) >= quotaLogged
	if loud {
		t.quota.logged = now
	}
	t.quota.mu.Unlock()
	if loud {
		t.deps.Log.Error("dingtalk withholds what people write", "chat", m.chat(), "errorCode", int64(m.Fault), "err", err)
	}
	if m.Fault == quotaGone && (m.ConvType == direct || m.called()) {
		n.chats.Put(m.chat(), func() { n.tell(ctx, m) })
	}
}

// tell answers a message that came without its content, once a day and chat,
// where the session webhook lets it: the API has no calls left either.
func (n *intake) tell(ctx context.Context, m message) {
	t := n.t
	if !t.api.trusted(m.URL) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callPatience)
	defer cancel()
	if _, err := t.deps.Table.Create(ctx, toldPrefix+m.chat(), []byte("1"), quotaTold); err != nil {
		return // told already, or it cannot be noted that it was
	}
	body := map[string]any{"msgtype": "text", "text": map[string]string{"content": quotaNews}}
	if err := t.api.do(ctx, call{op: "sendBySession", url: m.URL, in: body, sends: true, bare: true}, nil); err != nil {
		t.deps.Log.Warn("a chat was not told that its messages come without content", "chat", m.chat(), "err", err)
	}
}

type errWithheld number

func (e errWithheld) Error() string {
	return "messages arrive without their content (errorCode " + number(e).String() + ")"
}

package feishu

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"magpie/channels"
	"magpie/chat"
	"magpie/internal/kv"
)

const (
	maxKnown = 5000 // people, chats and messages remembered of each kind
	// nameLife is how long a name, or the refusal to tell it, is remembered.
	nameLife = time.Hour
	// tablePatience bounds one access to the adapter's table.
	tablePatience = 5 * time.Second
	// maxForwarded is how many messages of a forwarded conversation are shown.
	maxForwarded = 50
)

// recent is a map that forgets its oldest entries.
type recent[V any] struct {
	mu    sync.Mutex
	m     map[string]V
	order []string
}

func (r *recent[V]) get(key string) (v V, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok = r.m[key]
	return v, ok
}

func (r *recent[V]) put(key string, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.m == nil {
		r.m = map[string]V{}
	}
	if _, ok := r.m[key]; !ok {
		if len(r.order) >= maxKnown {
			delete(r.m, r.order[0])
			r.order = r.order[1:]
		}
		r.order = append(r.order, key)
	}
	r.m[key] = v
}

// known is what was learnt about people and chats.
type known struct {
	names   recent[named]
	directs recent[bool]
}

type named struct {
	name string
	at   time.Time
}

func newKnown() *known { return &known{} }

// direct notes that a chat is a private one, once for each chat and process.
func (k *known) direct(ctx context.Context, t kv.Table, chatID string) {
	if _, ok := k.directs.get(chatID); ok {
		return
	}
	if _, err := t.Create(ctx, "p2p."+chatID, []byte("1"), 0); err == nil || errors.Is(err, kv.ErrConflict) {
		k.directs.put(chatID, true)
	}
}

func (k *known) isDirect(ctx context.Context, t kv.Table, chatID string) bool {
	if is, ok := k.directs.get(chatID); ok {
		return is
	}
	_, err := t.Get(ctx, "p2p."+chatID)
	return err == nil
}

// complete adds what an event only names: the sender's name, the quoted text,
// the forwarded messages; the thread and kind of chat of a press. It takes
// pace.lookup at most; what is not there by then is left out.
func (f *Feishu) complete(ctx context.Context, ev event) {
	ctx, cancel := context.WithTimeout(ctx, f.pace.lookup)
	defer cancel()
	if p := ev.in.Press; p != nil {
		ev.in.Direct = f.known.isDirect(ctx, f.deps.Table, ev.in.Addr.Chat)
		if note, ok := f.noted(ctx, p.Message); ok {
			ev.in.Addr.Thread = note.Thread
		}
		return
	}
	if ev.in.Direct {
		f.known.direct(ctx, f.deps.Table, ev.in.Addr.Chat)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	if !ev.in.From.Bot {
		wg.Go(func() { ev.in.From.Name = f.nameOf(ctx, ev.in.From.ID) })
	}
	if ev.parent != "" {
		wg.Go(func() { f.quote(ctx, ev) })
	}
	if ev.in.Forwarded {
		wg.Go(func() { f.forwarded(ctx, ev.in) })
	}
}

// nameOf asks the contacts, which needs a permission of its own: without it
// people have no names.
func (f *Feishu) nameOf(ctx context.Context, openID string) string {
	now := f.deps.Now()
	if n, ok := f.known.names.get(openID); ok && now.Sub(n.at) < nameLife {
		return n.name
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
	if err != nil {
		f.deps.Log.Debug("no name for a sender", "err", err)
		if channels.KindOf(err) != channels.Rejected {
			return ""
		}
	}
	f.known.names.put(openID, named{answer.User.Name, now})
	return answer.User.Name
}

// item is a message as the platform tells it when asked.
type item struct {
	ID      string `json:"message_id"`
	Kind    string `json:"msg_type"`
	Deleted bool   `json:"deleted"`
	Sender  struct {
		ID   string `json:"id"`
		Type string `json:"sender_type"`
	} `json:"sender"`
	Body struct {
		Content string `json:"content"`
	} `json:"body"`
	Mentions []mention `json:"mentions"`
	Upper    string    `json:"upper_message_id"`
}

func (f *Feishu) lookUp(ctx context.Context, id string) ([]item, error) {
	raw, err := f.api.call(ctx, request{op: "message/get", method: http.MethodGet, path: messagePath(id)})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Items []item `json:"items"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil || len(answer.Items) == 0 {
		return nil, f.api.Fail("message/get", channels.Rejected, errors.New("the platform shows no such message"))
	}
	return answer.Items, nil
}

// text is the item as a reader sees it.
func (i *item) text() string {
	m := message{ID: i.ID, Kind: i.Kind, Content: i.Body.Content}
	s, _ := m.read()
	text, _ := resolve(s.text, i.Mentions, &bot{})
	for _, a := range s.files {
		text = strings.TrimSpace(text + " [" + string(a.Kind) + "]")
	}
	return text
}

func (f *Feishu) quote(ctx context.Context, ev event) {
	items, err := f.lookUp(ctx, ev.parent)
	if err != nil {
		f.deps.Log.Debug("the quoted message was not found", "err", err)
		return
	}
	first := &items[0]
	mine := first.Sender.ID == f.cfg.AppID
	ev.in.Mentioned = ev.in.Mentioned || mine
	if q := ev.in.ReplyTo; q != nil {
		q.Mine, q.From, q.Text = mine, first.Sender.ID, first.text()
		if n, ok := f.known.names.get(q.From); ok && n.name != "" {
			q.From = n.name
		}
	}
}

// forwarded adds what was said in a forwarded conversation.
func (f *Feishu) forwarded(ctx context.Context, in *chat.Inbound) {
	items, err := f.lookUp(ctx, in.MessageID)
	if err != nil {
		f.deps.Log.Debug("the forwarded messages were not found", "err", err)
		return
	}
	lines := []string{in.Text}
	for i := range items {
		if items[i].ID == in.MessageID || items[i].Deleted {
			continue
		}
		if len(lines) > maxForwarded {
			lines = append(lines, "…")
			break
		}
		lines = append(lines, "> "+strings.ReplaceAll(items[i].text(), "\n", "\n> "))
	}
	in.Text = strings.Join(lines, "\n")
}

package dingtalk

import (
	"context"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	"magpie/internal/kv"

	fake "magpie/internal/fakes/dingtalk"
)

const instance = "dingtalk"

func ann() fake.Person { return fake.Person{StaffID: "0001", Name: "安"} }
func bob() fake.Person { return fake.Person{StaffID: "manager4220", Name: "Bob"} }
func eve() fake.Person { return fake.Person{StaffID: "0003", Name: "Eve"} }
func out() fake.Person { return fake.Person{Name: "Outsider"} }
func crowd() fake.Group {
	return fake.Group{ID: "cid6KeBBLoveMJOGXoYKF5x7EeiodoA==", Title: "测试群"}
}

// quick is the pace of tests.
func quick() pace {
	return pace{
		retry: 2 * time.Millisecond, retryMax: 20 * time.Millisecond, ping: time.Minute, pong: time.Minute,
		silent: time.Hour, bye: time.Minute, linger: 200 * time.Millisecond, sweep: time.Hour, orphan: time.Hour,
		settle: time.Minute,
	}
}

// world is a fake DingTalk with three people, an outsider and a group.
type world struct {
	*fake.Server
	url  string
	pace pace
	via  string // "session": chats begin with a session webhook
	cfg  func(*Config)
}

func newWorld(t *testing.T, o *fake.Options) *world {
	t.Helper()
	s := fake.New(o)
	url := channeltest.Serve(t, s)
	for _, p := range []fake.Person{ann(), bob(), eve(), out()} {
		s.AddPerson(p)
	}
	s.AddGroup(crowd())
	return &world{Server: s, url: url, pace: quick()}
}

func withCards(c *Config) {
	c.CardTemplateID, c.CardButtonsKey = fake.DefaultTemplate, fake.ButtonsKey
}

func (w *world) config(t *testing.T) Config {
	t.Helper()
	id, secret := w.Credentials()
	cfg := Config{ClientID: id, ClientSecret: chat.Secret(secret), APIBase: w.url, OAPIBase: w.url}
	if w.cfg != nil {
		w.cfg(&cfg)
	}
	if err := cfg.complete(); err != nil {
		t.Fatal(err)
	}
	return cfg
}

func (w *world) channel(t *testing.T, d channels.Deps) channels.Channel {
	t.Helper()
	ch := newChannel(instance, w.config(t), d, w.pace)
	if w.via == "session" {
		for _, at := range []string{ann().Chat(), bob().Chat(), eve().Chat(), crowd().Chat()} {
			base(ch).sessions.hold(at, w.session(at))
		}
	}
	return ch
}

func (w *world) session(at string) session {
	address, until := w.Session(w.url, at)
	return session{URL: address, Until: until}
}

// base is the robot behind a channel.
func base(ch channels.Channel) *DingTalk {
	switch ch := ch.(type) {
	case *Buttoned:
		return ch.DingTalk
	case *Carded:
		return ch.DingTalk
	}
	return ch.(*DingTalk)
}

func at(chatID string) chat.Address { return chat.Address{Channel: instance, Chat: chatID} }

var kindNames = map[chat.Kind]string{
	chat.Image: "picture", chat.File: "file", chat.Voice: "audio", chat.Audio: "audio", chat.Video: "video",
}

func (w *world) harness() channeltest.Harness {
	_, secret := w.Credentials()
	return channeltest.Harness{
		New:     func(t *testing.T, d channels.Deps) channels.Channel { return w.channel(t, d) },
		Direct:  []chat.Address{at(ann().Chat()), at(bob().Chat()), at(eve().Chat())},
		Group:   at(crowd().Chat()),
		Secrets: []string{secret, "fakeaccesstoken", "fakesession", "faketicket"},
		Say:     w.say,
		Shown:   w.shown,
		Fail:    w.fail,
		Sends: func() int {
			return w.Calls(fake.OpWebhook) + w.Calls(fake.OpPerson) + w.Calls(fake.OpGroup)
		},
		Press: func(t *testing.T, a chat.Address, message, data string) {
			if _, err := w.Press(a.Chat, message, data); err != nil {
				t.Fatal(err)
			}
		},
		Cut:    func(*testing.T) { w.Cut() },
		Revoke: func(*testing.T) { w.Revoke() },
		Ways:   channeltest.Ways{Lossy: true, Drafts: true},
	}
}

func (w *world) say(_ *testing.T, s channeltest.Said) string {
	said := fake.Said{Chat: s.At.Chat, Text: s.Text, Mention: s.Mention}
	if strings.HasPrefix(s.At.Chat, groupPrefix) {
		said.From = ann().Chat()
	}
	for _, f := range s.Files {
		said.Files = append(said.Files, fake.File{Kind: kindNames[f.Kind], Name: f.Name, MIME: f.MIME, Data: f.Data})
	}
	id, _ := w.Say(said)
	return id
}

var escaped = regexp.MustCompile(`\\([!-/:-@\[-\x60{-~])`)

// seen is a text as DingTalk's clients show it.
func seen(m fake.Message) string {
	if m.Kind != "markdown" && m.Kind != "card" {
		return m.Text
	}
	return html.UnescapeString(strings.ReplaceAll(escaped.ReplaceAllString(m.Text, "$1"), "  \n", "\n"))
}

var shownKinds = map[string]chat.Kind{"image": chat.Image, "audio": chat.Voice, "video": chat.Video, "file": chat.File}

func (w *world) shown(_ *testing.T, a chat.Address) []channeltest.Message {
	var all []channeltest.Message
	for _, m := range w.Messages(a.Chat) {
		s := channeltest.Message{ID: m.ID, Text: seen(m)}
		for _, b := range m.Buttons {
			s.Buttons = append(s.Buttons, []chat.Button{chat.Button(b)})
		}
		if m.File != nil {
			s.Files = []channeltest.File{{Kind: shownKinds[m.Kind], Name: m.File.Name, MIME: m.File.MIME, Data: m.File.Data}}
		}
		all = append(all, s)
	}
	return all
}

func (w *world) fail(_ *testing.T, f channeltest.Fault) bool {
	fault, ok := map[channeltest.Fault]fake.Fault{
		channeltest.BadRequest:   {Code: "contain.notAllowed.text", Errcode: 430102, Message: "含有不合适的文本"},
		channeltest.Unauthorized: {Code: "InvalidAuthentication", Errcode: 40014, Message: "不合法的access_token", Times: 2},
		channeltest.Forbidden:    {Status: 403, Code: "Forbidden.AccessDenied.AccessTokenPermissionDenied", Message: "没有调用该接口的权限", Scopes: []string{"qyapi_robot_sendmsg"}},
		channeltest.RateLimited:  {Status: 403, Code: "Forbidden.AccessDenied.QpsLimitForAppkeyAndApi", Errcode: 90002, Message: "发送速度太快而限流", RetryAfter: 3},
		channeltest.ServerError:  {Status: 502, Page: true},
		channeltest.HangBefore:   {},
		channeltest.HangAfter:    {After: true},
		channeltest.BadMarkup:    {Formatted: true, Code: "invalidParameter.msgParam.invalid", Errcode: 400105, Message: "不支持的消息类型"},
	}[f]
	if w.via == "session" && (f == channeltest.Unauthorized || f == channeltest.Forbidden) {
		return false // a webhook that is refused is replaced by the robot API
	}
	if ok {
		w.Fail(fault)
	}
	return ok
}

func TestConformance(t *testing.T) {
	for name, change := range map[string]func(*world){
		"robot":   func(*world) {},
		"session": func(w *world) { w.via = "session" },
		"cards":   func(w *world) { w.cfg = withCards },
	} {
		t.Run(name, func(t *testing.T) {
			channeltest.Run(t, func(t *testing.T) channeltest.Harness {
				w := newWorld(t, nil)
				change(w)
				h := w.harness()
				if w.via == "session" {
					h.Revoke = nil // webhooks outlive the credentials
					h.New = func(t *testing.T, d channels.Deps) channels.Channel {
						return forGood{base(w.channel(t, d)), nil}
					}
				}
				return h
			})
		})
	}
}

// forGood is a robot without Delete: what went by a webhook stays.
type forGood struct {
	*DingTalk
	Delete any // hides the method
}

// receiving is a running channel.
type receiving struct {
	channels.Channel
	*DingTalk
	*channeltest.Receiver
	status *channels.Status
}

// Send is the whole channel's.
func (r *receiving) Send(ctx context.Context, msg chat.Outbound) (chat.MessageRef, error) {
	return r.Channel.Send(ctx, msg)
}

func (w *world) start(t *testing.T, table kv.Table, judge func(chat.Inbound) error) *receiving {
	t.Helper()
	status := channels.NewStatus(nil)
	ch := w.channel(t, channels.Deps{Table: table, Status: status})
	r := &receiving{Channel: ch, DingTalk: base(ch), Receiver: channeltest.Receive(t, ch, judge), status: status}
	channeltest.Eventually(t, "the channel connects", func() bool { return status.State().Connected })
	return r
}

func outbound(chatID, text string) chat.Outbound {
	return chat.Outbound{Meta: chat.Meta{V: chat.Version, ID: "out:" + chatID + ":" + text, Addr: at(chatID)}, Text: text}
}

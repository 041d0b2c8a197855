package dingtalk

import (
	"context"
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

func (w *world) harness() channeltest.Harness {
	_, secret := w.Credentials()
	h := channeltest.Driven(fake.Drive(w.Server), instance, []string{ann().Chat(), bob().Chat(), eve().Chat()}, crowd().Chat())
	h.New = func(t *testing.T, d channels.Deps) channels.Channel { return w.channel(t, d) }
	h.Secrets = []string{secret, "fakeaccesstoken", "fakesession", "faketicket"}
	h.Ways.Drafts = true
	return h
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
					fail := h.Fail
					h.Fail = func(t *testing.T, f channeltest.Fault) bool {
						replaced := f == channeltest.Unauthorized || f == channeltest.Forbidden // by the robot API
						return !replaced && fail(t, f)
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

package feishu

import (
	"net/http"
	"testing"
	"time"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/feishu"
)

const (
	ann, bob, eve = "ou_ann", "ou_bob", "ou_eve"
	crowd         = "oc_crowd"
	instance      = "feishu"
	encryptKey    = "encrypt-key-of-tests"
	verifyToken   = "verification-token-of-tests"
)

// quick is the pace of tests.
func quick() pace {
	return pace{
		ping: 50 * time.Millisecond, pong: time.Minute, retry: 5 * time.Millisecond, retryMax: 40 * time.Millisecond,
		store: 5 * time.Millisecond, answer: time.Minute, lookup: time.Minute, sweep: 10 * time.Millisecond, look: 20 * time.Millisecond,
	}
}

// world is a fake Feishu with three people and a group.
type world struct {
	*fake.Server
	url string
}

// often is how quickly the fake brings an event again; it does not give up.
func often() []time.Duration {
	var all []time.Duration
	for range 10_000 {
		all = append(all, 10*time.Millisecond)
	}
	return all
}

func newWorld(t *testing.T, o fake.Options) *world {
	t.Helper()
	if o.Repush == nil {
		o.Repush = often()
	}
	if o.AckWait == 0 {
		o.AckWait = time.Minute
	}
	s := fake.New(&o)
	url := channeltest.Serve(t, s)
	for id, name := range map[string]string{ann: "Ann", bob: "Bob", eve: "Eve 夏娃"} {
		s.AddPerson(fake.Person{ID: id, Name: name})
	}
	s.AddGroup(fake.Group{ID: crowd, Title: "Crowd"})
	return &world{s, url}
}

func (w *world) channel(t *testing.T, d channels.Deps, change ...func(*Config)) *Feishu {
	t.Helper()
	cfg := Config{AppID: w.AppID(), AppSecret: chat.Secret(w.Secret()), APIBase: w.url}
	for _, c := range change {
		c(&cfg)
	}
	if err := cfg.complete(); err != nil {
		t.Fatal(err)
	}
	if d.HTTP == nil {
		d.HTTP = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	}
	return newFeishu(instance, cfg, d, quick())
}

// at is the private chat of a person, or a group.
func at(id string) chat.Address {
	if id[:2] == "ou" {
		id = "oc_p2p" + id[3:]
	}
	return chat.Address{Channel: instance, Chat: id}
}

func speaker(a chat.Address) string {
	for _, id := range []string{ann, bob, eve} {
		if at(id).Chat == a.Chat {
			return id
		}
	}
	return ann
}

// fakeKinds are Feishu's names for the kinds of files.
var fakeKinds = channeltest.Kinds{chat.Image: "image", chat.File: "file", chat.Voice: "audio", chat.Video: "media"}

// settle waits until every event is acknowledged: none comes to the next run.
func (w *world) settle(t *testing.T) {
	t.Helper()
	channeltest.Eventually(t, "all is acknowledged", func() bool { n, _ := w.Pending(); return n == 0 })
}

func (w *world) harness(t *testing.T) channeltest.Harness {
	t.Helper()
	return channeltest.Harness{
		New:     func(t *testing.T, d channels.Deps) channels.Channel { return w.channel(t, d) },
		Direct:  []chat.Address{at(ann), at(bob), at(eve)},
		Group:   at(crowd),
		Secrets: []string{w.Secret(), "t-g1FAKE"},
		Ways:    channeltest.Ways{Bare: true, Settled: func() { w.settle(t) }},
		Say:     w.say,
		Shown:   w.shown,
		Fail:    w.fail,
		Sends:   func() int { return w.Calls("create") + w.Calls("reply") },
		Press: func(t *testing.T, a chat.Address, message, data string) {
			if _, err := w.Press(speaker(a), message, data); err != nil {
				t.Fatal(err)
			}
		},
		Cut:    func(*testing.T) { w.CutLines() },
		Revoke: func(*testing.T) { w.Revoke() },
	}
}

func (w *world) say(t *testing.T, s channeltest.Said) string {
	said := fake.Said{From: speaker(s.At), Chat: s.At.Chat, Text: s.Text}
	if s.Mention {
		said.Text, said.Mentions = "@_user_1 "+s.Text, []string{fake.BotID}
	}
	for _, f := range s.Files {
		said.Files = append(said.Files, fake.File{Kind: fakeKinds[f.Kind], Name: f.Name, MIME: f.MIME, Data: f.Data})
	}
	return w.Say(said)
}

func (w *world) shown(_ *testing.T, a chat.Address) []channeltest.Message {
	var out []channeltest.Message
	for _, m := range w.Messages(a.Chat) {
		shown := channeltest.Message{ID: m.ID, Text: m.Text}
		shown.Buttons = channeltest.Keyboard(m.Buttons, func(b fake.Button) chat.Button { return chat.Button{Label: b.Text, Data: b.Data} })
		if m.File != nil {
			shown.Files = []channeltest.File{{Kind: fakeKinds.Named(m.File.Kind), Name: m.File.Name, MIME: m.File.MIME, Data: m.File.Data}}
		}
		out = append(out, shown)
	}
	return out
}

func (w *world) fail(_ *testing.T, f channeltest.Fault) bool {
	fault, ok := map[channeltest.Fault]fake.Fault{
		channeltest.BadRequest:   {Code: 230001, Msg: "Your request contains an invalid request parameter."},
		channeltest.Unauthorized: {Code: 99991663, Msg: "Invalid access token for authorization.", Times: 2},
		channeltest.Forbidden:    {Code: 230002, Msg: "The bot can not be outside the group."},
		channeltest.RateLimited:  {Status: 429, Code: 99991400, Msg: "request trigger frequency limit", Reset: 3},
		channeltest.ServerError:  {Status: 502, Page: true},
		channeltest.HangBefore:   {},
		channeltest.HangAfter:    {After: true},
		channeltest.BadMarkup:    {Types: []string{"interactive", "post"}, Code: 230099, Msg: "Failed to create card content, ext=ErrCode: 200621; ErrMsg: parse card json err"},
	}[f]
	if ok {
		w.Fail(fault)
	}
	return ok
}

func TestConformance(t *testing.T) {
	channeltest.Run(t, func(t *testing.T) channeltest.Harness { return newWorld(t, fake.Options{}).harness(t) })
}

// receiving is a running channel.
type receiving struct {
	*Feishu
	*channeltest.Receiver
}

func start(t *testing.T, f *Feishu) *receiving {
	t.Helper()
	return &receiving{f, channeltest.Receive(t, f, nil)}
}

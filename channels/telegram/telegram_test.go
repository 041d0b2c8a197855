package telegram

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/telegram"
)

const (
	ann, bob, eve int64 = 11, 12, 13
	crowd         int64 = -100500
	topic               = 7
	instance            = "telegram"
)

// quick is the pace of tests.
func quick() pace {
	return pace{
		poll: 30 * time.Second, retry: 5 * time.Millisecond, retryMax: 40 * time.Millisecond,
		album: 2 * time.Second, hook: 20 * time.Millisecond, menu: 20 * time.Millisecond, last: time.Minute,
	}
}

// world is a fake Telegram with three people and a group.
type world struct {
	*fake.Server
	url string
}

func newWorld(t *testing.T, o *fake.Options) *world {
	t.Helper()
	s := fake.New(o)
	url := channeltest.Serve(t, s)
	for id, name := range map[int64]string{ann: "Ann", bob: "Bob", eve: "Eve"} {
		s.AddPerson(fake.Person{ID: id, Name: name, Lang: "en"})
	}
	s.AddGroup(fake.Group{ID: crowd, Title: "Crowd", Topics: []int{topic}})
	return &world{s, url}
}

func (w *world) channel(t *testing.T, d channels.Deps, change ...func(*Config)) *Telegram {
	t.Helper()
	cfg := Config{Token: chat.Secret(w.Token()), APIBase: w.url}
	for _, c := range change {
		c(&cfg)
	}
	if err := cfg.complete(); err != nil {
		t.Fatal(err)
	}
	return newTelegram(instance, cfg, d, quick())
}

func at(id int64) chat.Address {
	return chat.Address{Channel: instance, Chat: strconv.FormatInt(id, 10)}
}

func idOf(t *testing.T, a chat.Address) int64 {
	t.Helper()
	id, err := strconv.ParseInt(a.Chat, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// fakeKinds are Telegram's names for the kinds of files.
var fakeKinds = channeltest.Kinds{
	chat.Image: "photo", chat.File: "document", chat.Voice: "voice", chat.Audio: "audio", chat.Video: "video", chat.Sticker: "sticker",
}

func (w *world) harness() channeltest.Harness {
	return channeltest.Harness{
		New:     func(t *testing.T, d channels.Deps) channels.Channel { return w.channel(t, d) },
		Direct:  []chat.Address{at(ann), at(bob), at(eve)},
		Group:   at(crowd),
		Secrets: []string{w.Token(), strings.SplitN(w.Token(), ":", 2)[1]},
		Say:     w.say,
		Shown:   w.shown,
		Fail:    w.fail,
		Sends:   func() int { return w.Calls("sendMessage") },
		Press: func(t *testing.T, a chat.Address, message, data string) {
			id, _ := strconv.Atoi(message)
			if _, err := w.Press(idOf(t, a), idOf(t, a), id, data); err != nil {
				t.Fatal(err)
			}
		},
		Cut:    func(*testing.T) { w.Fail(fake.Fault{Method: "getUpdates", Code: 502, Text: "Bad Gateway"}) },
		Revoke: func(*testing.T) { w.Revoke() },
		Ways:   channeltest.Ways{Drafted: func(t *testing.T, a chat.Address) string { return w.Draft(idOf(t, a)) }},
	}
}

func (w *world) say(t *testing.T, s channeltest.Said) string {
	said := fake.Said{Chat: idOf(t, s.At), Text: s.Text}
	said.From = max(said.Chat, ann)
	if s.Mention {
		said.Text = "@magpie_test_bot " + s.Text
	}
	for _, f := range s.Files {
		said.Files = append(said.Files, fake.File{Kind: fakeKinds[f.Kind], Name: f.Name, MIME: f.MIME, Data: f.Data})
	}
	return strconv.Itoa(w.Say(said))
}

func (w *world) shown(t *testing.T, a chat.Address) []channeltest.Message {
	var out []channeltest.Message
	for _, m := range w.Messages(idOf(t, a)) {
		shown := channeltest.Message{ID: strconv.Itoa(m.ID), Text: m.Text}
		shown.Buttons = channeltest.Keyboard(m.Keyboard, func(b fake.Button) chat.Button { return chat.Button{Label: b.Text, Data: b.Data} })
		if m.File != nil {
			shown.Files = []channeltest.File{{Kind: fakeKinds.Named(m.Kind), Name: m.File.Name, MIME: m.File.MIME, Data: m.File.Data}}
		}
		out = append(out, shown)
	}
	return out
}

func (w *world) fail(_ *testing.T, f channeltest.Fault) bool {
	fault, ok := map[channeltest.Fault]fake.Fault{
		channeltest.BadRequest:   {Code: 400, Text: "Bad Request: group is deactivated"},
		channeltest.Unauthorized: {Code: 401, Text: "Unauthorized"},
		channeltest.Forbidden:    {Code: 403, Text: "Forbidden: bot was blocked by the user"},
		channeltest.RateLimited:  {Code: 429, Text: "Too Many Requests: retry after 3", RetryAfter: 3},
		channeltest.ServerError:  {Code: 502, Page: true},
		channeltest.HangBefore:   {},
		channeltest.HangAfter:    {After: true},
		channeltest.BadMarkup:    {Formatted: true, Code: 400, Text: "Bad Request: can't parse entities: Can't find end tag corresponding to start tag \"b\""},
	}[f]
	if ok {
		w.Fail(fault)
	}
	return ok
}

func TestConformance(t *testing.T) {
	channeltest.Run(t, func(t *testing.T) channeltest.Harness { return newWorld(t, nil).harness() })
}

// receiving is a running channel.
type receiving struct {
	*Telegram
	*channeltest.Receiver
}

func start(t *testing.T, tg *Telegram) *receiving {
	t.Helper()
	return &receiving{tg, channeltest.Receive(t, tg, nil)}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

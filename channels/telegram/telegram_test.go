package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
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
		album: 40 * time.Millisecond, hook: 20 * time.Millisecond,
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
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		s.Close()
		web.Close()
	})
	for id, name := range map[int64]string{ann: "Ann", bob: "Bob", eve: "Eve"} {
		s.AddPerson(fake.Person{ID: id, Name: name, Lang: "en"})
	}
	s.AddGroup(fake.Group{ID: crowd, Title: "Crowd", Topics: []int{topic}})
	return &world{s, web.URL}
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
var fakeKinds = map[chat.Kind]string{
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
		Press: func(t *testing.T, a chat.Address, message, data string) {
			id, _ := strconv.Atoi(message)
			if _, err := w.Press(idOf(t, a), idOf(t, a), id, data); err != nil {
				t.Fatal(err)
			}
		},
		Cut:    func(*testing.T) { w.Fail(fake.Fault{Method: "getUpdates", Code: 502, Text: "Bad Gateway"}) },
		Revoke: func(*testing.T) { w.Revoke() },
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
		for _, row := range m.Keyboard {
			var buttons []chat.Button
			for _, b := range row {
				buttons = append(buttons, chat.Button{Label: b.Text, Data: b.Data})
			}
			shown.Buttons = append(shown.Buttons, buttons)
		}
		if m.File != nil {
			file := channeltest.File{Name: m.File.Name, MIME: m.File.MIME, Data: m.File.Data}
			for kind, name := range fakeKinds {
				if name == m.Kind {
					file.Kind = kind
				}
			}
			shown.Files = append(shown.Files, file)
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

// receiving runs a channel in the background and collects what comes in.
type receiving struct {
	*Telegram
	in   chan chat.Inbound
	stop func() error
}

func start(t *testing.T, tg *Telegram) *receiving {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &receiving{Telegram: tg, in: make(chan chat.Inbound, 1000)}
	done := make(chan error, 1)
	go func() {
		done <- tg.Run(ctx, func(_ context.Context, in chat.Inbound) error {
			r.in <- in
			return nil
		})
	}()
	var ended bool
	var err error
	r.stop = func() error {
		if !ended {
			ended = true
			cancel()
			err = <-done
		}
		return err
	}
	t.Cleanup(func() { _ = r.stop() })
	return r
}

func (r *receiving) next(t *testing.T) chat.Inbound {
	t.Helper()
	select {
	case in := <-r.in:
		return in
	case <-time.After(10 * time.Second):
		t.Fatal("nothing came in")
		return chat.Inbound{}
	}
}

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
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

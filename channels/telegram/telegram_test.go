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

func (w *world) harness() channeltest.Harness {
	h := channeltest.Driven(fake.Drive(w.Server), instance, []string{at(ann).Chat, at(bob).Chat, at(eve).Chat}, at(crowd).Chat)
	h.New = func(t *testing.T, d channels.Deps) channels.Channel { return w.channel(t, d) }
	h.Secrets = []string{w.Token(), strings.SplitN(w.Token(), ":", 2)[1]}
	return h
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

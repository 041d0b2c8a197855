package discord

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/discord"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	instance = "discord"

	ann, bob, eve       = "101", "102", "103"
	annDM, bobDM, eveDM = "201", "202", "203"
	guild, crowd, other = "300", "301", "302"
	forum               = "303"
	topic               = "311" // a thread in crowd
	botRole             = "390"
)

// quick is the pace of tests.
func quick() pace {
	return pace{retry: 5 * time.Millisecond, retryMax: 40 * time.Millisecond, hello: time.Minute, flush: 20 * time.Millisecond, reply: time.Minute, tidy: 10 * time.Millisecond, menu: time.Hour}
}

// world is a fake Discord with three people and a guild.
type world struct {
	*fake.Server
	url string
}

func newWorld(t *testing.T, o *fake.Options) *world {
	t.Helper()
	s := fake.New(o)
	url := channeltest.Serve(t, s)
	s.AddPerson(fake.Person{ID: ann, Name: "Ann", DM: annDM})
	s.AddPerson(fake.Person{ID: bob, Name: "Bob", DM: bobDM})
	s.AddPerson(fake.Person{ID: eve, Name: "Eve", DM: eveDM})
	s.AddPerson(fake.Person{ID: "666", Name: "Robot", Bot: true})
	s.AddGuild(fake.Guild{ID: guild, Name: "Guild", BotRole: botRole, Channels: []fake.Channel{
		{ID: crowd, Name: "crowd"},
		{ID: other, Name: "other"},
		{ID: forum, Name: "forum", Kind: fake.ForumChannel},
		{ID: topic, Name: "topic", Parent: crowd, Kind: fake.PublicThread},
	}})
	return &world{s, url}
}

func (w *world) channel(t *testing.T, d channels.Deps, change ...func(*pace)) *Discord {
	t.Helper()
	cfg := Config{Token: chat.Secret(w.Token()), APIBase: w.url}
	if err := cfg.complete(); err != nil {
		t.Fatal(err)
	}
	p := quick()
	for _, c := range change {
		c(&p)
	}
	return newDiscord(instance, cfg, d, p)
}

func at(channel string) chat.Address { return chat.Address{Channel: instance, Chat: channel} }

// owner is the person behind a channel.
func owner(channel string) string {
	return map[string]string{annDM: ann, bobDM: bob, eveDM: eve}[channel]
}

func (w *world) harness() channeltest.Harness {
	return channeltest.Harness{
		New:     func(t *testing.T, d channels.Deps) channels.Channel { return w.channel(t, d) },
		Direct:  []chat.Address{at(annDM), at(bobDM), at(eveDM)},
		Group:   at(crowd),
		Secrets: []string{w.Token(), fake.Secret},
		Say:     w.say,
		Shown:   w.shown,
		Fail:    w.fail,
		Sends:   func() int { return w.Calls("create message") },
		Press: func(t *testing.T, a chat.Address, message, data string) {
			if _, err := w.Press(owner(a.Chat), a.Chat, message, data); err != nil {
				t.Fatal(err)
			}
		},
		Cut:    func(*testing.T) { w.Drop() },
		Revoke: func(*testing.T) { w.Revoke() },
	}
}

func (w *world) say(_ *testing.T, s channeltest.Said) string {
	said := fake.Said{From: owner(s.At.Chat), Channel: target(s.At), Text: s.Text}
	if said.From == "" {
		said.From = ann
	}
	if s.Mention {
		said.Text = "<@" + fake.BotID + "> " + s.Text
	}
	for _, f := range s.Files {
		said.Files = append(said.Files, fake.File{Name: f.Name, MIME: f.MIME, Data: f.Data})
	}
	return w.Say(said)
}

func (w *world) shown(_ *testing.T, a chat.Address) []channeltest.Message {
	var out []channeltest.Message
	for _, m := range w.Messages(target(a)) {
		shown := channeltest.Message{ID: m.ID, Text: m.Text}
		shown.Buttons = channeltest.Keyboard(m.Buttons, func(b fake.Button) chat.Button { return chat.Button{Label: b.Label, Data: b.Data} })
		for _, f := range m.Files {
			file := channeltest.File{Kind: chat.File, Name: f.Name, MIME: f.MIME, Data: f.Data}
			if strings.HasPrefix(f.MIME, "image/") {
				file.Kind = chat.Image // as Discord shows it
			}
			shown.Files = append(shown.Files, file)
		}
		out = append(out, shown)
	}
	return out
}

func (w *world) fail(_ *testing.T, f channeltest.Fault) bool {
	fault, ok := map[channeltest.Fault]fake.Fault{
		channeltest.BadRequest:   {Status: 400, Code: 50006, Text: "Cannot send an empty message"},
		channeltest.Unauthorized: {Status: 401, Text: "401: Unauthorized"},
		channeltest.Forbidden:    {Status: 403, Code: 50013, Text: "Missing Permissions"},
		channeltest.RateLimited:  {Status: 429, RetryAfter: 3},
		channeltest.ServerError:  {Status: 502, Page: true},
		channeltest.HangBefore:   {},
		channeltest.HangAfter:    {After: true},
	}[f] // Discord never refuses markup
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
	*Discord
	*channeltest.Receiver
}

// start runs a channel; judge decides about each message (nil takes it).
func start(t *testing.T, d *Discord, judge func(chat.Inbound) error) *receiving {
	t.Helper()
	return &receiving{d, channeltest.Receive(t, d, judge)}
}

func out(a chat.Address, id, text string) chat.Outbound {
	return chat.Outbound{Meta: chat.Meta{V: chat.Version, ID: id, Addr: a}, Text: text}
}

package discord

import (
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

func (w *world) harness() channeltest.Harness {
	h := channeltest.Driven(fake.Drive(w.Server), instance, []string{annDM, bobDM, eveDM}, crowd)
	h.New = func(t *testing.T, d channels.Deps) channels.Channel { return w.channel(t, d) }
	h.Secrets = []string{w.Token(), fake.Secret}
	return h
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

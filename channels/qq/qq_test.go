package qq

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/qq"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	ann, bob, eve = "c2c:E4F4AEA33253A2797FB897C50B81ANN", "c2c:E4F4AEA33253A2797FB897C50B81BOB", "c2c:E4F4AEA33253A2797FB897C50B81EVE"
	crowd         = "group:C9F778FE6ADF9D1D1DBE395BF744A33A"
	member        = "E4F4AEA33253A2797FB897C50B81MEM"
	instance      = "qq"
)

// quick is the pace of tests.
func quick() pace {
	return pace{retry: 5 * time.Millisecond, retryMax: 40 * time.Millisecond, hook: 20 * time.Millisecond, slow: time.Millisecond}
}

// world is a fake platform with three people and a group.
type world struct {
	*fake.Server
	url string
}

func newWorld(t *testing.T, o *fake.Options) *world {
	t.Helper()
	s := fake.New(o)
	url := channeltest.Serve(t, s)
	for id, name := range map[string]string{ann: "Ann", bob: "Bob", eve: "Eve"} {
		s.AddPerson(strings.TrimPrefix(id, direct), name)
	}
	s.AddGroup(strings.TrimPrefix(crowd, group))
	return &world{s, url}
}

func (w *world) channel(t *testing.T, d channels.Deps, change ...func(*Config)) *QQ {
	t.Helper()
	cfg := Config{AppID: w.AppID(), AppSecret: chat.Secret(w.Secret()), APIBase: w.url, TokenBase: w.url, Markdown: new(bool)}
	for _, c := range change {
		c(&cfg)
	}
	if err := cfg.complete(d.Public != nil); err != nil {
		t.Fatal(err)
	}
	return newQQ(instance, cfg, d, quick())
}

func at(id string) chat.Address { return chat.Address{Channel: instance, Chat: id} }

// withMarkdown leaves it as it is without a word in the configuration.
func withMarkdown(c *Config) { c.Markdown = nil }

// markdownIs is withMarkdown or without.
func markdownIs(on bool) func(*Config) {
	return func(c *Config) {
		if c.Markdown = new(bool); on {
			c.Markdown = nil
		}
	}
}

func (w *world) harness(markdown bool) channeltest.Harness {
	h := channeltest.Driven(fake.Drive(w.Server), instance, []string{ann, bob, eve}, crowd)
	h.New = func(t *testing.T, d channels.Deps) channels.Channel {
		return w.channel(t, d, markdownIs(markdown))
	}
	h.Secrets = []string{w.Secret(), fake.TokenPrefix}
	w.Grant(fake.Policy{Streams: true})
	if !markdown {
		h.Press = nil
	}
	return h
}

func TestConformance(t *testing.T) {
	for name, markdown := range map[string]bool{"plain": false, "markdown": true} {
		t.Run(name, func(t *testing.T) {
			channeltest.Run(t, func(t *testing.T) channeltest.Harness {
				return newWorld(t, &fake.Options{Active: 1000, Markdown: markdown, Numbers: markdown}).harness(markdown)
			})
		})
	}
}

// receiving is a running channel.
type receiving struct {
	*QQ
	*channeltest.Receiver
}

func start(t *testing.T, q *QQ) *receiving {
	t.Helper()
	return startWith(t, q, func(chat.Inbound) error { return nil })
}

// startWith asks judge about each message and waits for the connection.
func startWith(t *testing.T, q *QQ, judge func(chat.Inbound) error) *receiving {
	t.Helper()
	if q.deps.Status == nil {
		q.deps.Status = channels.NewStatus(nil)
	}
	r := &receiving{q, channeltest.Receive(t, q, judge)}
	channeltest.Eventually(t, "connected", func() bool { return q.deps.Status.State().Connected })
	return r
}

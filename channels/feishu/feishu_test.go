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

// settle waits until every event is acknowledged: none comes to the next run.
func (w *world) settle(t *testing.T) {
	t.Helper()
	channeltest.Eventually(t, "all is acknowledged", func() bool { n, _ := w.Pending(); return n == 0 })
}

func (w *world) harness(t *testing.T) channeltest.Harness {
	t.Helper()
	h := channeltest.Driven(fake.Drive(w.Server), instance, []string{at(ann).Chat, at(bob).Chat, at(eve).Chat}, crowd)
	h.New = func(t *testing.T, d channels.Deps) channels.Channel { return w.channel(t, d) }
	h.Secrets = []string{w.Secret(), "t-g1FAKE"}
	h.Ways.Bare, h.Ways.Settled = true, func() { w.settle(t) }
	return h
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

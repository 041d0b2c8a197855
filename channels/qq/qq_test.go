package qq

import (
	"html"
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
	h := channeltest.Harness{
		New: func(t *testing.T, d channels.Deps) channels.Channel {
			return w.channel(t, d, markdownIs(markdown))
		},
		Direct:  []chat.Address{at(ann), at(bob), at(eve)},
		Group:   at(crowd),
		Secrets: []string{w.Secret(), fake.TokenPrefix},
		Say:     w.say,
		Shown:   w.shown,
		Fail:    func(_ *testing.T, f channeltest.Fault) bool { return w.fail(f, markdown) },
		Sends:   func() int { return w.Calls("messages") },
		Cut:     func(*testing.T) { w.Cut() },
		Revoke:  func(*testing.T) { w.Revoke() },
	}
	w.Grant(fake.Policy{Streams: true})
	h.Ways.Drafted = w.drafted
	if markdown {
		h.Press = func(t *testing.T, a chat.Address, message, data string) {
			if _, err := w.Press(a.Chat, member, message, data); err != nil {
				t.Fatal(err)
			}
		}
	}
	return h
}

// kinds are QQ's names for the kinds of files.
var kinds = channeltest.Kinds{chat.Image: "image", chat.File: "file", chat.Voice: "voice", chat.Video: "video"}

func (w *world) say(_ *testing.T, s channeltest.Said) string {
	said := fake.Said{Chat: s.At.Chat, From: member, Text: s.Text}
	for _, f := range s.Files {
		said.Files = append(said.Files, fake.File{Kind: kinds[f.Kind], Name: f.Name, MIME: f.MIME, Data: f.Data})
	}
	return w.Say(said)
}

// drafted is what a person sees of an answer that is being written.
func (w *world) drafted(_ *testing.T, a chat.Address) string {
	for _, m := range w.Messages(a.Chat) {
		if m.Stream == "open" {
			return strings.ReplaceAll(read(m.Text), "**", "")
		}
	}
	return ""
}

func (w *world) shown(_ *testing.T, a chat.Address) []channeltest.Message {
	var out []channeltest.Message
	for _, m := range w.Messages(a.Chat) {
		if m.Stream == "open" {
			continue // what is still being written
		}
		shown := channeltest.Message{ID: m.ID, Text: m.Text}
		if m.Markdown {
			shown.Text = read(m.Text)
		}
		shown.Buttons = channeltest.Keyboard(m.Keyboard, func(b fake.Button) chat.Button { return chat.Button{Label: b.Label, Data: b.Data} })
		if m.File != nil {
			shown.Files = []channeltest.File{{Kind: kinds.Named(m.File.Kind), Name: m.File.Name, Data: m.File.Data}}
		}
		out = append(out, shown)
	}
	return out
}

// read is what a person sees of native markdown with escapes.
func read(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && strings.IndexByte("\\*_~`<[]&!#", text[i+1]) >= 0 {
			i++
		}
		b.WriteByte(text[i])
	}
	return html.UnescapeString(b.String())
}

func (w *world) fail(f channeltest.Fault, markdown bool) bool {
	fault, ok := map[channeltest.Fault]fake.Fault{
		channeltest.BadRequest:   {Status: 400, Code: 40034006, Text: "消息内容违规"},
		channeltest.Unauthorized: {Times: 2, Status: 401, Code: 11244, Text: "token not exist or expire"},
		channeltest.Forbidden:    {Status: 403, Code: 11253, Text: "ErrorCheckAppPrivilegeNotPass"},
		channeltest.RateLimited:  {Status: 429, Code: 20028, Text: "ChannelHitWriteRateLimit", RetryAfter: 3},
		channeltest.ServerError:  {Status: 502, Page: true},
		channeltest.HangBefore:   {},
		channeltest.HangAfter:    {After: true},
		channeltest.BadMarkup:    {Markdown: true, Status: 400, Code: 50056, Text: "不允许发送原生 markdown"},
	}[f]
	if !ok || f == channeltest.BadMarkup && !markdown {
		return false
	}
	w.Fail(fault)
	return true
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

package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"magpie/internal/fakes/dingtalk"
	"magpie/internal/fakes/discord"
	"magpie/internal/fakes/driver"
	"magpie/internal/fakes/feishu"
	"magpie/internal/fakes/qq"
	"magpie/internal/fakes/telegram"
)

// sides are the five platforms.
type sides struct {
	tg   *onTelegram
	dc   *onDiscord
	fs   *onFeishu
	dt   *onDingTalk
	qq   *onQQ
	taps map[string]*tap
	// squares are the groups that gather has made.
	squares map[side]string
	// allow is whom a platform lets in, quoted, with commas between them; nil =
	// everybody.
	allow func(p side) string
}

// A platform of these tests is its fake, and on, which acts on it.
type (
	onTelegram struct {
		*telegram.Server
		on
	}
	onDiscord struct {
		*discord.Server
		on
	}
	onFeishu struct {
		*feishu.Server
		on
	}
	onDingTalk struct {
		*dingtalk.Server
		on
	}
	onQQ struct {
		*qq.Server
		on
	}
)

func newSides(o fiveOptions) *sides {
	tg := telegram.New(&telegram.Options{Forget: o.forget, Now: o.now, Rates: o.rates, Ways: o.telegram, OnMessage: func(m telegram.Message) {
		if m.Kind == "draft" && o.drafted != nil {
			o.drafted(fmt.Sprint(m.Chat), m.Text)
			return
		}
		o.told("telegram", fmt.Sprint(m.Chat), m.Text)
	}})
	dc := discord.New(&discord.Options{Rates: o.rates, Forget: o.forget, Now: o.now, Heartbeat: o.pulse, OnMessage: func(m discord.Message) { o.told("discord", m.Channel, m.Text) }})
	fs := feishu.New(&feishu.Options{Rates: o.rates, Forget: o.forget, Now: o.now, AckWait: time.Second, Repush: soon(), OnMessage: func(m feishu.Message) { o.told("feishu", m.Chat, m.Text) }})
	dt := dingtalk.New(&dingtalk.Options{Rates: o.rates, Forget: o.forget, Now: o.now, OnMessage: func(m dingtalk.Message) { o.told("dingtalk", m.Chat, m.Text) }})
	q := qq.New(&qq.Options{Rates: o.rates, Forget: o.forget, Now: o.now, Heartbeat: o.pulse, Markdown: o.markdown, Active: o.active, OnMessage: func(m qq.Message) { o.told("qq", m.Chat, m.Text) }})
	robot := dingtalk.Drive(dt)
	robot.Cards = o.cards
	s := &sides{
		tg: &onTelegram{tg, on{telegram.Drive(tg)}}, dc: &onDiscord{dc, on{discord.Drive(dc)}}, fs: &onFeishu{fs, on{feishu.Drive(fs)}},
		dt: &onDingTalk{dt, on{robot}}, qq: &onQQ{q, on{qq.Drive(q)}}, taps: map[string]*tap{}, squares: map[side]string{},
	}
	for _, p := range s.all() {
		s.taps[p.name()] = &tap{inner: p.drive().Handler(), off: o.forget, by: map[string][]int{}}
	}
	return s
}

// soon is how Feishu brings an event again: as it does, only sooner.
func soon() (all []time.Duration) {
	for range 200 {
		all = append(all, 100*time.Millisecond)
	}
	return all
}

func (s *sides) all() []side { return []side{s.tg, s.dc, s.fs, s.dt, s.qq} }

func (s *sides) tap(name string) *tap { return s.taps[name] }

func (s *sides) close() {
	for _, p := range s.all() {
		p.drive().Close()
	}
}

// on acts on a platform by its driver, in fewer words.
type on struct{ driver driver.Platform }

func (p on) drive() driver.Platform { return p.driver }

func (p on) name() string { return p.driver.Name() }

func (p on) join(n int) string { return p.driver.Join(n, fmt.Sprint("P", n)).Chat }

func (p on) say(chat, text string, files ...sentFile) string {
	said := driver.Said{Chat: chat, Text: text}
	for _, f := range files {
		said.Files = append(said.Files, f.sent())
	}
	return p.driver.Say(said)
}

func (f *sentFile) sent() driver.File {
	return driver.File{Kind: driver.Kind(f.kind), Name: f.name, MIME: f.mime, Data: f.data, Words: f.words}
}

func (p on) shown(chat string) (all []line) {
	for _, m := range p.driver.Shown(chat) {
		l := line{id: m.ID, text: m.Text}
		for _, b := range m.Buttons {
			l.buttons = append(l.buttons, b.Data)
		}
		for _, f := range m.Files {
			l.files = append(l.files, shownFile{f.Name, f.Data})
		}
		all = append(all, l)
	}
	return all
}

// sectionOf is the platform's section of the configuration, without braces.
func sectionOf(p side, base string) string {
	section, err := json.Marshal(p.drive().Section(base))
	if err != nil {
		panic(err) // it is made of plain values
	}
	return strings.Trim(string(section), "{}")
}

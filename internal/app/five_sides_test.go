package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"magpie/internal/fakes/dingtalk"
	"magpie/internal/fakes/discord"
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
}

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
	s := &sides{tg: &onTelegram{tg}, dc: &onDiscord{dc}, fs: &onFeishu{fs}, dt: &onDingTalk{dt, o.cards}, qq: &onQQ{q, o.markdown}}
	s.taps = map[string]*tap{}
	for name, h := range map[string]http.Handler{"telegram": tg.Handler(), "discord": dc.Handler(), "feishu": fs.Handler(), "dingtalk": dt.Handler(), "qq": q.Handler()} {
		s.taps[name] = &tap{inner: h, off: o.forget, by: map[string][]int{}}
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
	s.tg.Close()
	s.dc.Close()
	s.fs.Close()
	s.dt.Close()
	s.qq.Close()
}

func telegramID(n int) int64  { return int64(5000 + n) }
func discordID(n int) string  { return fmt.Sprintf("7%017d", n) }
func feishuID(n int) string   { return fmt.Sprintf("ou_p%05d", n) }
func dingtalkID(n int) string { return fmt.Sprintf("staff%05d", n) }
func qqID(n int) string       { return fmt.Sprintf("E4F4AEA33253A2797FB897C5%08d", n) }

type onTelegram struct{ *telegram.Server }

func (p *onTelegram) name() string { return "telegram" }

func (p *onTelegram) section(base string) string {
	return fmt.Sprintf("token: %q, api_base: %s", p.Token(), base)
}

func (p *onTelegram) join(n int) string {
	p.AddPerson(telegram.Person{ID: telegramID(n), Name: fmt.Sprint("P", n)})
	return fmt.Sprint(telegramID(n))
}

func (p *onTelegram) number(chat string) (id int64) {
	_, _ = fmt.Sscan(chat, &id) // join made it
	return id
}

func (p *onTelegram) message(id string) (n int, err error) {
	_, err = fmt.Sscan(id, &n)
	return n, err
}

func (p *onTelegram) say(chat, text string, files ...sentFile) string {
	said := telegram.Said{From: p.number(chat), Text: text}
	for _, f := range files {
		kind := map[string]string{"image": "photo", "file": "document"}[f.kind]
		if kind == "" {
			kind = f.kind
		}
		said.Files = append(said.Files, telegram.File{Kind: kind, Name: f.name, MIME: f.mime, Data: f.data})
	}
	return fmt.Sprint(p.Say(said))
}

func (p *onTelegram) shown(chat string) (all []line) {
	for _, m := range p.Messages(p.number(chat)) {
		l := line{id: fmt.Sprint(m.ID), text: m.Text}
		for _, row := range m.Keyboard {
			for _, b := range row {
				l.buttons = append(l.buttons, b.Data)
			}
		}
		if m.File != nil {
			l.files = []shownFile{{m.File.Name, m.File.Data}}
		}
		all = append(all, l)
	}
	return all
}

type onDiscord struct{ *discord.Server }

func (p *onDiscord) name() string { return "discord" }

func (p *onDiscord) section(base string) string {
	return fmt.Sprintf("token: %q, api_base: %s", p.Token(), base)
}

func (p *onDiscord) join(n int) string {
	dm := "8" + discordID(n)[1:]
	p.AddPerson(discord.Person{ID: discordID(n), Name: fmt.Sprint("P", n), DM: dm})
	return dm
}

func (p *onDiscord) say(chat, text string, files ...sentFile) string {
	said := discord.Said{From: "7" + chat[1:], Channel: chat, Text: text}
	for _, f := range files {
		said.Files = append(said.Files, discord.File{Name: f.name, MIME: f.mime, Data: f.data, Voice: f.kind == "voice"})
	}
	return p.Say(said)
}

func (p *onDiscord) shown(chat string) (all []line) {
	for _, m := range p.Messages(chat) {
		l := line{id: m.ID, text: m.Text}
		for _, row := range m.Buttons {
			for _, b := range row {
				l.buttons = append(l.buttons, b.Data)
			}
		}
		for _, f := range m.Files {
			l.files = append(l.files, shownFile{f.Name, f.Data})
		}
		all = append(all, l)
	}
	return all
}

type onFeishu struct{ *feishu.Server }

func (p *onFeishu) name() string { return "feishu" }

func (p *onFeishu) section(base string) string {
	return fmt.Sprintf("app_id: %s, app_secret: %s, api_base: %s", p.AppID(), p.Secret(), base)
}

func (p *onFeishu) join(n int) string {
	return p.AddPerson(feishu.Person{ID: feishuID(n), Name: fmt.Sprint("P", n), Chat: "oc_" + feishuID(n)[3:]})
}

func (p *onFeishu) say(chat, text string, files ...sentFile) string {
	said := feishu.Said{From: "ou_" + strings.TrimPrefix(chat, "oc_"), Chat: chat, Text: text}
	for _, f := range files {
		kind := f.kind
		if kind == "voice" {
			kind = "audio"
		}
		said.Files = append(said.Files, feishu.File{Kind: kind, Name: f.name, MIME: f.mime, Data: f.data})
	}
	return p.Say(said)
}

func (p *onFeishu) shown(chat string) (all []line) {
	for _, m := range p.Messages(chat) {
		l := line{id: m.ID, text: m.Text}
		for _, row := range m.Buttons {
			for _, b := range row {
				l.buttons = append(l.buttons, b.Data)
			}
		}
		if m.File != nil {
			l.files = []shownFile{{m.File.Name, m.File.Data}}
		}
		all = append(all, l)
	}
	return all
}

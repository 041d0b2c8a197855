package app_test

import (
	"fmt"
	"strings"

	"magpie/internal/fakes/dingtalk"
	"magpie/internal/fakes/discord"
	"magpie/internal/fakes/feishu"
	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/qq"
	"magpie/internal/fakes/telegram"
)

// A group on each platform, in which the people of join write.
const (
	telegramGroup = -100900
	discordGuild  = "6000000000000000001"
	discordGroup  = "6000000000000000002"
	feishuGroup   = "oc_square"
	qqGroup       = "GROUPA33253A2797FB897C50000000001"
)

var dingtalkGroup = dingtalk.Group{ID: "cidSquare==", Title: "square"}

// remark is what a person writes in a group.
type remark struct {
	who  int
	text string
	asks bool   // it mentions the bot
	to   string // id of the message that it replies to
	bare bool   // the platform tells of that as little as it may
	file *sentFile
}

// gather makes the group of a platform, with as many people in it.
func (f *five) gather(p side, people int) (group string) {
	f.t.Helper()
	for n := range people {
		p.join(n)
	}
	switch p := p.(type) {
	case *onTelegram:
		p.AddGroup(telegram.Group{ID: telegramGroup, Title: "square"})
		return fmt.Sprint(telegramGroup)
	case *onDiscord:
		p.AddGuild(discord.Guild{ID: discordGuild, Name: "square", BotRole: "6000000000000000003", System: discordGroup, Channels: []discord.Channel{{ID: discordGroup, Name: "square"}}})
		return discordGroup
	case *onFeishu:
		p.AddGroup(feishu.Group{ID: feishuGroup, Title: "square"})
		return feishuGroup
	case *onQQ:
		p.AddGroup(qqGroup)
		return "group:" + qqGroup
	}
	p.(*onDingTalk).AddGroup(dingtalkGroup)
	return dingtalkGroup.Chat()
}

// remark lets somebody write in the group and returns the message's id.
func (f *five) remark(p side, r remark) (id string) {
	f.t.Helper()
	switch p := p.(type) {
	case *onTelegram:
		return p.remark(r)
	case *onDiscord:
		said := discord.Said{From: discordID(r.who), Channel: discordGroup, Text: r.text, ReplyTo: r.to}
		if r.asks {
			said.Text = "<@" + discord.BotID + "> " + r.text
		}
		if r.file != nil {
			said.Files = []discord.File{{Name: r.file.name, MIME: r.file.mime, Data: r.file.data, Voice: r.file.kind == "voice"}}
		}
		return p.Say(said)
	case *onFeishu:
		said := feishu.Said{From: feishuID(r.who), Chat: feishuGroup, Text: r.text, ReplyTo: r.to}
		if r.asks {
			said.Text, said.Mentions = "@_user_1 "+r.text, []string{feishu.BotID}
		}
		if r.file != nil {
			kind := strings.Replace(r.file.kind, "voice", "audio", 1)
			said.Files = []feishu.File{{Kind: kind, Name: r.file.name, MIME: r.file.mime, Data: r.file.data}}
		}
		return p.Say(said)
	case *onQQ:
		said := qq.Said{Chat: "group:" + qqGroup, From: qqID(r.who), Text: r.text, Quote: r.to, Bare: r.bare, All: !r.asks}
		if r.file != nil {
			said.Files = []qq.File{{Kind: r.file.kind, Name: r.file.name, MIME: r.file.mime, Data: r.file.data, Words: r.file.words}}
		}
		return p.Say(said)
	}
	return p.(*onDingTalk).remark(r)
}

func (p *onTelegram) remark(r remark) string {
	said := telegram.Said{From: telegramID(r.who), Chat: telegramGroup, Text: r.text}
	if r.asks {
		said.Text = "@magpie_test_bot " + r.text
	}
	_, _ = fmt.Sscan(r.to, &said.ReplyTo) // "" is none
	if r.file != nil {
		kind := strings.NewReplacer("image", "photo", "file", "document").Replace(r.file.kind)
		said.Files = []telegram.File{{Kind: kind, Name: r.file.name, MIME: r.file.mime, Data: r.file.data}}
	}
	return fmt.Sprint(p.Say(said))
}

func (p *onDingTalk) remark(r remark) string {
	said := dingtalk.Said{From: dingtalk.Person{StaffID: dingtalkID(r.who)}.Chat(), Chat: dingtalkGroup.Chat(), Text: r.text, Mention: r.asks}
	if r.to != "" {
		said.Quote = &dingtalk.Quote{ID: r.to, Bare: r.bare}
	}
	if r.file != nil {
		kind := strings.NewReplacer("image", "picture", "voice", "audio").Replace(r.file.kind)
		said.Files = []dingtalk.File{{Kind: kind, Name: r.file.name, MIME: r.file.mime, Data: r.file.data, Transcript: r.file.words}}
	}
	id, _ := p.Say(said)
	return id
}

// idOf is the id of person n, by which they are let in.
func idOf(p side, n int) string {
	switch p.(type) {
	case *onTelegram:
		return fmt.Sprint(telegramID(n))
	case *onDiscord:
		return discordID(n)
	case *onFeishu:
		return feishuID(n)
	case *onQQ:
		return qqID(n)
	}
	return dingtalkID(n)
}

// two lets the first two people in.
func two(p side) string { return fmt.Sprintf("%q, %q", idOf(p, 0), idOf(p, 1)) }

// rewrite has person 1 change a message in the group; false where the platform
// does not tell of that.
func (f *five) rewrite(p side, id, text string) bool {
	switch p := p.(type) {
	case *onTelegram:
		n, err := p.message(id)
		if err != nil {
			f.t.Fatal(err)
		}
		p.Edit(telegram.Said{From: telegramID(1), Chat: telegramGroup, Text: text}, n)
	case *onDiscord:
		p.Edit(discordGroup, id, text)
	case *onFeishu:
		p.Rewrite(id, text)
	default:
		return false
	}
	return true
}

// recall takes a message of the group back; false where the platform does not
// tell of that.
func (f *five) recall(p side, id string) bool {
	switch p := p.(type) {
	case *onDiscord:
		p.Delete(discordGroup, id)
	case *onFeishu:
		p.Recall(id)
	default:
		return false
	}
	return true
}

// joins has person n come into the group.
func (f *five) joins(p side, n int) {
	switch p := p.(type) {
	case *onTelegram:
		p.Join(telegramGroup, telegramID(n))
	case *onDiscord:
		p.Join(discordID(n), discordGuild)
	case *onFeishu:
		p.Join(feishuGroup, feishuID(n))
	case *onQQ:
		p.Join("group:"+qqGroup, qqID(n))
	}
}

// asked lets somebody ask the bot in the group and returns what the model was
// told, and how many pictures it was shown with that.
func (f *five) asked(p side, group string, r remark) (said string, pictures int) {
	f.t.Helper()
	r.asks = true
	f.remark(p, r)
	f.wait(p, group, "the answer to "+r.text, has("seen "+r.text))
	for _, q := range f.model.Requests() {
		last := q.Messages[len(q.Messages)-1]
		if strings.Contains(last.Text, r.text) {
			return last.Text, last.Images
		}
	}
	f.t.Fatalf("%s: the model was never asked %q", p.name(), r.text)
	return "", 0
}

// seen is an answer that repeats what the last person has said, and nothing of
// what stands around it.
func seen(r modelserver.Request) modelserver.Answer {
	said := r.LastUser()
	if i := strings.LastIndex(said, "<message"); i >= 0 {
		_, said, _ = strings.Cut(said[i:], "\n")
		said, _, _ = strings.Cut(said, "\n</message>")
	}
	return modelserver.Answer{Text: "seen " + said}
}

// hears says whether the platform brings the bot what a group says to others.
func hears(p side) bool { return p.name() != "dingtalk" }

// kept has the bot show what it keeps of the group, until that holds a text.
func (f *five) kept(p side, group, text string) (shown string) {
	f.t.Helper()
	f.within(deadline, p.name()+" keeps "+text, func() bool {
		before := len(p.shown(group))
		f.remark(p, remark{asks: true, text: "/context"})
		all := f.wait(p, group, "what is kept", func(all []line) bool { return len(all) > before })
		shown = all[len(all)-1].text
		return strings.Contains(shown, text)
	})
	return shown
}

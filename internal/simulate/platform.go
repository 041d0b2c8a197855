package simulate

import (
	"errors"
	"mime"
	"net/http"
	"path/filepath"
	"strings"

	"magpie/internal/fakes/dingtalk"
	"magpie/internal/fakes/discord"
	"magpie/internal/fakes/driver"
	"magpie/internal/fakes/feishu"
	"magpie/internal/fakes/qq"
	"magpie/internal/fakes/telegram"
)

// Place is a chat of the person on a platform.
type Place string

// The chats of a platform. In the group everything that the person writes
// mentions the bot, by whatever mentions are on that platform.
const (
	Private Place = "private"
	Group   Place = "group"
)

// Places are all chats of a platform.
func Places() []Place { return []Place{Private, Group} }

// makers make the platforms, as their names are in the configuration.
func makers() map[string]func() driver.Platform {
	return map[string]func() driver.Platform{
		"telegram": func() driver.Platform {
			return telegram.Drive(telegram.New(&telegram.Options{Username: "magpie_bot", Rates: true}))
		},
		"feishu": func() driver.Platform { return feishu.Drive(feishu.New(&feishu.Options{Rates: true})) },
		"discord": func() driver.Platform {
			return discord.Drive(discord.New(&discord.Options{Username: "magpie", Rates: true}))
		},
		"dingtalk": newDingTalk,
		"qq":       newQQ,
	}
}

// newDingTalk has a card template, and so buttons.
func newDingTalk() driver.Platform {
	d := dingtalk.Drive(dingtalk.New(&dingtalk.Options{Rates: true}))
	d.Cards = true
	return d
}

// newQQ is for an account that may send Markdown, and so has buttons. The
// person has another id in the group.
func newQQ() driver.Platform {
	s := qq.New(&qq.Options{Markdown: true, Rates: true})
	s.Grant(qq.Policy{SceneIDs: true})
	return qq.Drive(s)
}

// house is a platform with one person and one group.
type house struct {
	driver.Platform
	person driver.Person
	group  string
}

func newHouse(p driver.Platform) house { return house{p, p.Join(1, "Ada"), p.Group(1, "Group")} }

func (h house) chat(at Place) string {
	if at == Group {
		return h.group
	}
	return h.person.Chat
}

// errLost is what happens to a message that nobody takes where the platform
// does not bring it again, as DingTalk does not those for robots.
var errLost = errors.New("the bot is not connected, and DingTalk does not bring a message to a robot again: this one is lost")

// away is errLost when what is done now would be lost.
func (h house) away() error {
	if _, lossy := h.Platform.(driver.Lossy); lossy && !h.Connected() {
		return errLost
	}
	return nil
}

// newFile makes a file of what a person picked.
func newFile(name string, data []byte) driver.File {
	name = filepath.Base(name)
	kind := mime.TypeByExtension(filepath.Ext(name))
	if kind == "" {
		kind = http.DetectContentType(data)
	}
	kind, _, _ = strings.Cut(kind, ";")
	return driver.File{Name: name, MIME: kind, Data: data}
}

// Troubles are the ways in which the bot's messages can be made to fail.
func Troubles() []driver.Trouble {
	return []driver.Trouble{driver.RateLimited, driver.ServerError, driver.Dropped, driver.Answered}
}

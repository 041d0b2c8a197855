package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"magpie/channels"
)

// Bounds of the menu of commands
// (https://core.telegram.org/bots/api#setmycommands, read November 2026).
const (
	maxCommands = 100
	maxAbout    = 256
)

// menuEntry is a BotCommand.
type menuEntry struct {
	Command     string `json:"command"`
	Description string `json:"description"`
}

// menus are the bot's commands by language; "" is for every other.
func menus(commands []channels.Command) map[string][]menuEntry {
	all := map[string][]menuEntry{}
	for _, c := range commands[:min(len(commands), maxCommands)] {
		all[""] = append(all[""], menuEntry{c.Name, cutAbout(c.About)})
		if c.Chinese != "" {
			all["zh"] = append(all["zh"], menuEntry{c.Name, cutAbout(c.Chinese)})
		}
	}
	return all
}

func cutAbout(s string) string {
	if r := []rune(s); len(r) > maxAbout {
		return string(r[:maxAbout-1]) + "…"
	}
	return s
}

// keepMenu fills the menu that "/" opens, and again when somebody has emptied or
// changed it, until ctx ends. Without it the commands work all the same.
func (t *Telegram) keepMenu(ctx context.Context) {
	if len(t.deps.Commands) == 0 {
		return
	}
	tick := time.NewTicker(cmp.Or(t.pace.menu, normalPace().menu))
	defer tick.Stop()
	for {
		for lang, want := range menus(t.deps.Commands) {
			if err := t.offerMenu(ctx, lang, want); err != nil && ctx.Err() == nil {
				t.deps.Log.Warn("the menu of commands is not set; it is tried again later", "lang", lang, "err", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// offerMenu sets the menu of a language, if it is another.
func (t *Telegram) offerMenu(ctx context.Context, lang string, want []menuEntry) error {
	p := tgbotapi.Params{}
	p.AddNonEmpty("language_code", lang)
	raw, err := t.api.call(ctx, "getMyCommands", p)
	if err != nil {
		return err
	}
	var have []menuEntry
	if err := json.Unmarshal(raw, &have); err == nil && slices.Equal(have, want) {
		return nil
	}
	if err := p.AddInterface("commands", want); err != nil {
		return t.api.Fail("setMyCommands", channels.Rejected, err)
	}
	if _, err := t.api.call(ctx, "setMyCommands", p); err != nil {
		return err
	}
	t.deps.Log.Info("the menu of commands is set", "lang", lang, "commands", len(want))
	return nil
}

package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/bwmarrin/discordgo"

	"magpie/channels"
)

// maxAbout is the longest description of a command, in characters
// (interactions/application-commands, read November 2026).
const maxAbout = 100

// offerCommands keeps the bot's commands in Discord's menu, from when it is
// known who the bot is. A bot without a menu works.
func (r *receiver) offerCommands(ctx context.Context) {
	if len(r.d.deps.Commands) == 0 {
		return
	}
	select {
	case <-ctx.Done():
		return
	case <-r.connected.told:
	}
	wait := r.d.backoff()
	for ctx.Err() == nil {
		err := r.d.register(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			wait.Reset()
			sleep(ctx, r.d.pace.menu)
			continue
		}
		r.d.deps.Log.Warn("the menu of commands is not up to date", "err", err)
		if channels.Final(err) {
			return
		}
		wait.Pause(ctx, err)
	}
}

// sleep waits, no longer than ctx.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// register replaces the list of commands if Discord has another one: what
// somebody has taken away comes back, and the 200 creations a day are not used
// up by starts.
func (d *Discord) register(ctx context.Context) error {
	const op = "register commands"
	address := discordgo.EndpointApplicationGlobalCommands(d.me.Load().App)
	raw, err := d.api.call(ctx, request{op: "get commands", method: http.MethodGet, url: address + "?with_localizations=true"})
	if err != nil {
		return err
	}
	body, err := json.Marshal(append(entryPoints(raw), menu(d.deps.Commands)...))
	if err != nil {
		return d.api.Fail(op, channels.Rejected, err)
	}
	want, err := entries(body)
	if err != nil {
		return d.api.Fail(op, channels.Rejected, err)
	}
	if have, err := entries(raw); err == nil && reflect.DeepEqual(have, want) {
		return nil
	}
	_, err = d.api.call(ctx, request{op: op, method: http.MethodPut, url: address, body: body})
	return err
}

// entryPoint is the type of the command by which an application's activity is
// launched. Discord makes it, and refuses lists without it (50240;
// interactions/application-commands "Entry Point Commands", read November 2026).
const entryPoint = 4

// entryPoints are those of a list, in the form in which a list is given.
func entryPoints(raw []byte) (kept []any) {
	var all []struct {
		Type         int               `json:"type"`
		ID           string            `json:"id"`
		Name         string            `json:"name"`
		Names        map[string]string `json:"name_localizations,omitempty"`
		Description  string            `json:"description"`
		Descriptions map[string]string `json:"description_localizations,omitempty"`
		Contexts     []int             `json:"contexts,omitempty"`
		Installs     []int             `json:"integration_types,omitempty"`
		Handler      int               `json:"handler,omitempty"`
	}
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	for _, one := range all {
		if one.Type == entryPoint {
			kept = append(kept, one)
		}
	}
	return kept
}

// entry is what is compared of a command, and of an option of one. Discord adds
// more.
type entry struct {
	Type         int               `json:"type"`
	Name         string            `json:"name"`
	Names        map[string]string `json:"name_localizations"`
	Description  string            `json:"description"`
	Descriptions map[string]string `json:"description_localizations"`
	Contexts     []int             `json:"contexts"`
	Required     bool              `json:"required"`
	Options      []entry           `json:"options"`
}

// entries reads a list of commands in a form that can be compared.
func entries(raw []byte) ([]entry, error) {
	var all []entry
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("not a list of commands: %w", err)
	}
	for i := range all {
		all[i].settle()
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// settle makes empty and missing the same.
func (e *entry) settle() {
	e.Type = cmp.Or(e.Type, int(discordgo.ChatApplicationCommand))
	if len(e.Names) == 0 {
		e.Names = nil
	}
	if len(e.Descriptions) == 0 {
		e.Descriptions = nil
	}
	slices.Sort(e.Contexts)
	if len(e.Options) == 0 {
		e.Options = nil
	}
	for i := range e.Options {
		e.Options[i].settle()
	}
}

// menu is the commands in Discord's form, for clients in English and Chinese;
// what a client sends is the English name in any case.
func menu(all []channels.Command) []any {
	where := []discordgo.InteractionContextType{discordgo.InteractionContextGuild, discordgo.InteractionContextBotDM}
	var list []any // of *discordgo.ApplicationCommand
	for _, c := range all {
		entry := &discordgo.ApplicationCommand{
			Type: discordgo.ChatApplicationCommand, Name: c.Name, Description: cutRunes(c.About, maxAbout), Contexts: &where,
			Options: []*discordgo.ApplicationCommandOption{},
		}
		if c.ChineseName != "" {
			entry.NameLocalizations = &map[discordgo.Locale]string{discordgo.ChineseCN: c.ChineseName, discordgo.ChineseTW: c.ChineseName}
		}
		if c.Chinese != "" {
			entry.DescriptionLocalizations = &map[discordgo.Locale]string{
				discordgo.ChineseCN: cutRunes(c.Chinese, maxAbout), discordgo.ChineseTW: cutRunes(c.Chinese, maxAbout),
			}
		}
		if c.Args {
			entry.Options = append(entry.Options, &discordgo.ApplicationCommandOption{
				Type: discordgo.ApplicationCommandOptionString, Name: "text", Description: "what follows the command",
				NameLocalizations: map[discordgo.Locale]string{discordgo.ChineseCN: "内容", discordgo.ChineseTW: "內容"},
				DescriptionLocalizations: map[discordgo.Locale]string{
					discordgo.ChineseCN: "命令后面的内容", discordgo.ChineseTW: "命令後面的內容",
				},
			})
		}
		list = append(list, entry)
	}
	return list
}

// cutRunes shortens a text to n characters.
func cutRunes(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

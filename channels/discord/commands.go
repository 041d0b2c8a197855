package discord

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"

	"github.com/bwmarrin/discordgo"

	"magpie/channels"
)

const (
	commandsKey = "commands"
	// maxAbout is the longest description of a command, in characters
	// (interactions/application-commands, read November 2026).
	maxAbout = 100
)

// offerCommands puts the bot's commands into Discord's menu, once it is known
// who the bot is. A bot without a menu works; it is tried again for a while.
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
		if err == nil || ctx.Err() != nil {
			return
		}
		r.d.deps.Log.Warn("the menu of commands is not up to date", "err", err)
		if channels.Final(err) {
			return
		}
		wait.Pause(ctx, err)
	}
}

// register replaces the list of commands if it is another than last time:
// Discord allows 200 creations a day.
func (d *Discord) register(ctx context.Context) error {
	const op = "register commands"
	app := d.me.Load().App
	body, err := json.Marshal(menu(d.deps.Commands))
	if err != nil {
		return d.api.Fail(op, channels.Rejected, err)
	}
	sum := sha256.Sum256(append([]byte(app+"\n"), body...))
	want := hex.EncodeToString(sum[:])
	tctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	var have string
	if _, err := look(tctx, d.deps.Table, commandsKey, &have); err != nil {
		return err
	}
	if have == want {
		return nil
	}
	_, err = d.api.call(ctx, request{
		op: op, method: http.MethodPut, url: discordgo.EndpointApplicationGlobalCommands(app), body: body,
	})
	if err != nil {
		return err
	}
	return put(tctx, d.deps.Table, commandsKey, want, 0)
}

// menu is the commands in Discord's form.
func menu(all []channels.Command) []*discordgo.ApplicationCommand {
	where := []discordgo.InteractionContextType{discordgo.InteractionContextGuild, discordgo.InteractionContextBotDM}
	var list []*discordgo.ApplicationCommand
	for _, c := range all {
		entry := &discordgo.ApplicationCommand{
			Type: discordgo.ChatApplicationCommand, Name: c.Name, Description: cutRunes(c.About, maxAbout), Contexts: &where,
			Options: []*discordgo.ApplicationCommandOption{},
		}
		if c.Chinese != "" {
			entry.DescriptionLocalizations = &map[discordgo.Locale]string{
				discordgo.ChineseCN: cutRunes(c.Chinese, maxAbout), discordgo.ChineseTW: cutRunes(c.Chinese, maxAbout),
			}
		}
		if c.Args {
			entry.Options = append(entry.Options, &discordgo.ApplicationCommandOption{
				Type: discordgo.ApplicationCommandOptionString, Name: "text", Description: "what follows the command",
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

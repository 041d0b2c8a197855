package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"

	"magpie/channels"
)

// permission is a set of what the bot may do (topics/permissions, read November
// 2026). The API writes it as a decimal number in a string.
type permission uint64

// UnmarshalJSON implements json.Unmarshaler. What is no set is none: it must not
// hide the rest of an event.
func (p *permission) UnmarshalJSON(data []byte) error {
	n, err := strconv.ParseUint(strings.Trim(string(data), `"`), 10, 64)
	if err == nil {
		*p = permission(n)
	}
	return nil
}

const (
	mayAdminister     permission = 1 << 3
	mayReact          permission = 1 << 6
	mayView           permission = 1 << 10
	mayWrite          permission = 1 << 11
	mayEmbed          permission = 1 << 14
	mayAttach         permission = 1 << 15
	mayReadHistory    permission = 1 << 16
	mayWriteInThreads permission = 1 << 38
)

// features are the permissions that the bot uses, as the client calls them, and
// what does not work without each.
var features = []struct {
	permission
	name, lost string
}{
	{mayView, "View Channels", "the bot is deaf and dumb there, but for slash commands"},
	{mayWrite, "Send Messages", "no answers, but to slash commands"},
	{mayWriteInThreads, "Send Messages in Threads", "no answers in threads, but to slash commands"},
	{mayReadHistory, "Read Message History", "what is written while the bot is away is lost, answers are no replies, quoted and older files cannot be fetched"},
	{mayAttach, "Attach Files", "no files are sent"},
	{mayEmbed, "Embed Links", "links have no previews, even with link_previews"},
	{mayReact, "Add Reactions", "no reactions"},
}

// needed is everything in features.
func needed() (all permission) {
	for _, f := range features {
		all |= f.permission
	}
	return all
}

// Invite is the link that adds the bot with this application id to a server,
// with slash commands and every permission that it uses.
func Invite(app string) string {
	return "https://discord.com/oauth2/authorize?" + url.Values{
		"client_id": {app}, "scope": {"bot applications.commands"}, "permissions": {strconv.FormatUint(uint64(needed()), 10)},
	}.Encode()
}

// Survey tells what the bot may not do, and by which link it is invited so that
// it may.
func (d *Discord) Survey(ctx context.Context) ([]string, error) {
	app, err := d.application(ctx)
	if err != nil {
		return nil, err
	}
	lacks, err := d.lacks(ctx, app)
	return append(lacks, "the link that adds the bot to a server, or gives it there what it lacks: "+Invite(app.ID)), err
}

const (
	// surveyed is how many guilds are looked at: each is two calls.
	surveyed = 20
	// listed is how many channels are named in one line.
	listed = 5
)

type guildInfo struct {
	ID          string     `json:"id"`
	Name        string     `json:"name"`
	Permissions permission `json:"permissions"` // of the bot, overwrites left out
}

// lacks are the lines of Survey, worst first.
func (d *Discord) lacks(ctx context.Context, app application) (lines []string, err error) {
	if app.granted()&contentIntent == 0 {
		lines = append(lines, lostContent)
	}
	var guilds []guildInfo
	if err := d.get(ctx, "get guilds", discordgo.EndpointUserGuilds("@me")+"?limit=200", &guilds); err != nil {
		return lines, err
	}
	if len(guilds) == 0 {
		return append(lines, "the bot is in no server yet"), nil
	}
	for _, g := range guilds[:min(len(guilds), surveyed)] {
		if g.Permissions&mayAdminister != 0 {
			continue
		}
		for _, f := range features {
			if g.Permissions&f.permission == 0 {
				lines = append(lines, fmt.Sprintf("in the server %q the bot has no permission %q: %s", g.Name, f.name, f.lost))
			}
		}
		more, err := d.lacksIn(ctx, app.ID, g)
		if err != nil && channels.KindOf(err) != channels.Rejected {
			return lines, err
		}
		lines = append(lines, more...)
	}
	return lines, nil
}

// guildChannel is a channel with who may do what in it beyond their roles.
type guildChannel struct {
	ID         string      `json:"id"`
	Name       string      `json:"name"`
	Type       int         `json:"type"`
	Position   int         `json:"position"`
	Overwrites []overwrite `json:"permission_overwrites"`
}

type overwrite struct {
	ID    string     `json:"id"` // of a role, or of a member
	Type  int        `json:"type"`
	Allow permission `json:"allow"`
	Deny  permission `json:"deny"`
}

// lacksIn finds the channels of a guild where an overwrite takes away what the
// bot may do elsewhere. Channels that it cannot see at all are meant that way.
func (d *Discord) lacksIn(ctx context.Context, bot string, g guildInfo) (lines []string, err error) {
	var all []guildChannel
	if err := d.get(ctx, "get channels", discordgo.EndpointGuildChannels(g.ID), &all); err != nil {
		return nil, err
	}
	var me struct {
		Roles []string `json:"roles"`
	}
	if err := d.get(ctx, "get member", discordgo.EndpointGuildMember(g.ID, bot), &me); err != nil {
		return nil, err
	}
	where := map[permission][]string{}
	for _, c := range all {
		may := c.permits(g, bot, me.Roles)
		if !c.holdsText() || may&mayView == 0 {
			continue
		}
		for _, f := range features {
			if g.Permissions&f.permission != 0 && may&f.permission == 0 {
				where[f.permission] = append(where[f.permission], "#"+c.Name)
			}
		}
	}
	for _, f := range features {
		if names := where[f.permission]; len(names) > 0 {
			if n := len(names); n > listed {
				names = append(names[:listed:listed], fmt.Sprintf("%d more", n-listed))
			}
			lines = append(lines, fmt.Sprintf("in %s of the server %q the bot has no permission %q: %s", strings.Join(names, ", "), g.Name, f.name, f.lost))
		}
	}
	return lines, nil
}

// holdsText tells the channels that people write in.
func (c *guildChannel) holdsText() bool {
	switch discordgo.ChannelType(c.Type) {
	case discordgo.ChannelTypeGuildText, discordgo.ChannelTypeGuildNews, discordgo.ChannelTypeGuildForum, discordgo.ChannelTypeGuildMedia:
		return true
	}
	return false
}

// permits is what a member of a guild may do in a channel (topics/permissions
// "Permission Overwrites", read November 2026).
func (c *guildChannel) permits(g guildInfo, member string, roles []string) permission {
	may := g.Permissions
	if may&mayAdminister != 0 {
		return ^permission(0)
	}
	var allow, deny permission
	for _, o := range c.Overwrites {
		switch {
		case o.ID == g.ID: // everybody
			may = may&^o.Deny | o.Allow
		case slices.Contains(roles, o.ID):
			allow, deny = allow|o.Allow, deny|o.Deny
		}
	}
	may = may&^deny | allow
	for _, o := range c.Overwrites {
		if o.ID == member {
			may = may&^o.Deny | o.Allow
		}
	}
	return may
}

// get decodes the answer to a call.
func (d *Discord) get(ctx context.Context, op, address string, into any) error {
	raw, err := d.api.call(ctx, request{op: op, method: http.MethodGet, url: address})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return d.api.Fail(op, channels.Temporary, err)
	}
	return nil
}

// tellLacks logs once, when the bot is connected, what it has to do without.
func (r *receiver) tellLacks(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-r.connected.told:
	}
	app, err := r.d.application(ctx)
	var lines []string
	if err == nil {
		lines, err = r.d.lacks(ctx, app)
	}
	for _, line := range lines {
		r.d.deps.Log.Warn("discord: " + line)
	}
	if err != nil && ctx.Err() == nil {
		r.d.deps.Log.Info("what the bot may do could not be looked at", "err", err)
	}
}

package discord

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bwmarrin/discordgo"

	"magpie/chat"
	"magpie/internal/kv"
)

const (
	guildsKey = "guilds"
	// addedLately: a guild that the bot was in when it first connected counts as new
	// when it was added not longer ago.
	addedLately = 10 * time.Minute
	// toldChannels is in how many channels of a guild it is told who came or left.
	toldChannels = 20
)

// guilds are those that the bot is a member of and that are no news. Each
// connection lists them all again.
type guilds struct {
	First []string `json:"first"` // it was in them when it first connected
	Told  []string `json:"told"`  // they were told since
	begun bool     // it has connected before
}

func (g *guilds) load(ctx context.Context, t kv.Table) (err error) {
	ctx, cancel := context.WithTimeout(ctx, tablePatience)
	defer cancel()
	if g.begun, err = look(ctx, t, guildsKey, g); err != nil {
		return fmt.Errorf("read the bot's servers: %w", err)
	}
	return nil
}

// keep writes them down, also at the end of a run: what was told is not told again.
func (g *guilds) keep(ctx context.Context, t kv.Table) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tablePatience)
	defer cancel()
	return put(ctx, t, guildsKey, g, 0)
}

// isNew reports whether it is news that the bot is in a guild.
func (g *guilds) isNew(id string, joined, now time.Time) bool {
	if slices.Contains(g.First, id) {
		return now.Sub(joined) < addedLately
	}
	return !slices.Contains(g.Told, id)
}

// forget takes a guild from those that are no news.
func (g *guilds) forget(id string) {
	is := func(other string) bool { return other == id }
	g.First, g.Told = slices.DeleteFunc(g.First, is), slices.DeleteFunc(g.Told, is)
}

// moment is a time as Discord writes it; what is none is the zero time.
type moment struct{ time.Time }

// UnmarshalJSON implements json.Unmarshaler.
func (m *moment) UnmarshalJSON(data []byte) error {
	if at, err := time.Parse(`"`+time.RFC3339+`"`, string(data)); err == nil {
		m.Time = at
	}
	return nil
}

// server is a guild as the gateway describes it.
type server struct {
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	Unavailable bool           `json:"unavailable"`
	Joined      moment         `json:"joined_at"`
	System      string         `json:"system_channel_id"`
	Roles       []role         `json:"roles"`
	Channels    []guildChannel `json:"channels"`
	Members     []struct {
		User  user     `json:"user"`
		Roles []string `json:"roles"`
	} `json:"members"`
}

// joined takes in a guild: the bot's role there, and whether it is new.
func (r *receiver) joined(ctx context.Context, g *server) error {
	if err := r.learn(ctx, g.Roles); err != nil || g.Unavailable || g.ID == "" {
		return err
	}
	if !r.known.isNew(g.ID, g.Joined.Time, r.d.deps.Now()) {
		return nil
	}
	if at := g.entrance(r.d.me.Load().ID); at != "" {
		in := r.news(chat.Added, at, place{Guild: g.ID}, fmt.Sprintf("added%d", g.Joined.UnixMilli()))
		if err := r.stored(ctx, in); err != nil {
			return err
		}
	}
	r.d.deps.Log.Info("the bot was added to a server", "server", g.ID, "name", g.Name)
	r.known.guilds.forget(g.ID)
	r.known.guilds.Told = append(r.known.guilds.Told, g.ID)
	r.keepGuilds(ctx)
	return nil
}

// firstIn notes which guilds the bot is in when it first connects: they are no
// news, also for a program that is started again before it has heard of each.
func (r *receiver) firstIn(ctx context.Context, ids []string) {
	if r.known.guilds.begun {
		return
	}
	r.known.guilds.begun, r.known.guilds.First = true, ids
	r.keepGuilds(ctx)
}

// left forgets a guild that the bot is no member of any more.
func (r *receiver) left(ctx context.Context, id string) {
	r.known.guilds.forget(id)
	r.keepGuilds(ctx)
}

func (r *receiver) keepGuilds(ctx context.Context) {
	if err := r.known.guilds.keep(ctx, r.d.deps.Table); err != nil {
		r.d.deps.Log.Warn("which servers the bot is in is known until the restart only", "err", err)
	}
}

// entrance is the channel where the bot says hello: that in which Discord itself
// tells who has come, or the first in which the bot may write.
func (g *server) entrance(bot string) string {
	info := guildInfo{ID: g.ID}
	var mine []string
	for _, m := range g.Members {
		if m.User.ID == bot {
			mine = m.Roles
		}
	}
	for _, r := range g.Roles {
		if r.ID == g.ID || slices.Contains(mine, r.ID) {
			info.Permissions |= r.Permissions
		}
	}
	const need = mayView | mayWrite
	open := slices.DeleteFunc(slices.Clone(g.Channels), func(c guildChannel) bool {
		return c.Type != int(discordgo.ChannelTypeGuildText) || c.permits(info, bot, mine)&need != need
	})
	if len(open) == 0 {
		return ""
	}
	slices.SortStableFunc(open, func(a, b guildChannel) int {
		if (a.ID == g.System) != (b.ID == g.System) {
			return map[bool]int{true: -1, false: 1}[a.ID == g.System]
		}
		return cmp.Or(cmp.Compare(a.Position, b.Position), cmp.Compare(number(a.ID), number(b.ID)))
	})
	return open[0].ID
}

// news is something that has happened in a channel. event is what it is called
// there.
func (r *receiver) news(what chat.Happening, channel string, where place, event string) chat.Inbound {
	return chat.Inbound{
		Meta: chat.Meta{
			V: chat.Version, ID: r.d.id(channel, event), At: r.d.deps.Now().UTC(), Addr: r.d.addr(channel, where),
		},
		Origin: chat.FromPerson, Happening: what, Direct: where.Guild == "",
	}
}

// recalled tells that messages were taken back, in a channel where any was
// heard.
func (r *receiver) recalled(ctx context.Context, channel string, messages ...string) error {
	where, ok := r.d.places.get(channel)
	if !ok {
		return nil
	}
	for _, id := range messages {
		in := r.news(chat.Recalled, channel, where, id+":gone")
		in.MessageID = id
		if err := r.stored(ctx, in); err != nil {
			return err
		}
	}
	return nil
}

// memberEvent is somebody who came into a guild or left it.
type memberEvent struct {
	member
	Guild  string `json:"guild_id"`
	Joined moment `json:"joined_at"`
}

// moved tells the channels of a guild that spoke last who came or left.
func (r *receiver) moved(ctx context.Context, what chat.Happening, m *memberEvent, seq int64) error {
	if m.User == nil || m.User.ID == r.d.me.Load().ID {
		return nil
	}
	event := fmt.Sprintf("%s%s:%d", what, m.User.ID, m.Joined.UnixMilli())
	if what == chat.Left { // Discord does not say when
		event = fmt.Sprintf("%s%s:%s:%d", what, m.User.ID, r.session.ID, seq)
	}
	left := toldChannels
	for _, id := range r.d.places.recent(maxPlaces) {
		where, ok := r.d.places.get(id)
		if !ok || where.Guild != m.Guild || where.Parent != "" || left == 0 {
			continue
		}
		left--
		in := r.news(what, id, where, event)
		in.From = m.User.sender(&m.member)
		if err := r.stored(ctx, in); err != nil {
			return err
		}
	}
	return nil
}

// welcomed is the message in which Discord itself tells who has come. It is
// read where the bot is not told otherwise.
func (r *receiver) welcomed(ctx context.Context, m *message) error {
	if m.Author == nil || m.Author.ID == r.d.me.Load().ID || r.session.Intents&membersIntent != 0 {
		return nil
	}
	where, err := r.locate(ctx, spot{channel: m.Channel, guild: m.Guild, kind: m.Kind, event: m.ID})
	if err != nil {
		return err
	}
	in := r.news(chat.Joined, m.Channel, where, m.ID)
	in.From = m.Author.sender(m.Member)
	return r.stored(ctx, in)
}

package discord

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Kinds of channels, as Discord numbers them.
const (
	TextChannel   = 0
	DirectChannel = 1
	PublicThread  = 11
	ForumChannel  = 15
)

// world is everybody and everything people can see.
type world struct {
	people   map[string]Person
	guilds   map[string]Guild
	denied   map[string]Permission // to the bot, by channel or guild
	rooms    map[string]*room
	files    map[string]stored // by path
	tokens   map[string]*opened
	commands []command
	host     string // under which the server was reached last
	epoch    int    // signatures of file addresses of another one are invalid
}

func newWorld() world {
	return world{
		people: map[string]Person{}, guilds: map[string]Guild{}, denied: map[string]Permission{}, rooms: map[string]*room{},
		files: map[string]stored{}, tokens: map[string]*opened{},
	}
}

// Person is a user of Discord; DM is the id of the private channel with the
// bot.
type Person struct {
	ID, Name, Username, DM string
	Bot                    bool
}

// Guild is a server that the bot is a member of; BotRole is the id of the role
// that Discord made for the bot.
type Guild struct {
	ID, Name, BotRole string
	Channels          []Channel
	System            any // id of the channel where Discord says who has come; nil: none
}

// Channel is a channel of a guild; Parent makes it a thread.
type Channel struct {
	ID, Name, Parent string
	Kind             int
}

// room is one channel.
type room struct {
	Channel
	guild  string
	with   string    // of a private channel: the person
	closed *apiError // why the bot may not write
	posts  []*post   // oldest first
}

// AddPerson makes a user who shares a guild with the bot.
func (s *Server) AddPerson(p Person) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Username == "" {
		p.Username = strings.ToLower(p.Name)
	}
	s.world.people[p.ID] = p
	if p.DM != "" {
		s.world.rooms[p.DM] = &room{Channel: Channel{ID: p.DM, Kind: DirectChannel}, with: p.ID}
	}
}

// AddGuild makes a server with the bot in it.
func (s *Server) AddGuild(g Guild) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.guilds[g.ID] = g
	for _, c := range g.Channels {
		s.world.rooms[c.ID] = &room{Channel: c, guild: g.ID}
	}
	s.push("GUILD_CREATE", intentGuilds, func(int) any { return s.guildJSON(g) })
}

// guildIDs are the guilds in an order that stays.
func (s *Server) guildIDs() []string { return slices.Sorted(maps.Keys(s.world.guilds)) }

// RemoveGuild makes the bot leave a guild, as somebody who removes it does.
func (s *Server) RemoveGuild(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.world.guilds, id)
	s.push("GUILD_DELETE", intentGuilds, func(int) any { return map[string]any{"id": id} })
}

// Outage takes a guild away for a moment, as Discord's own trouble does, and
// brings it back.
func (s *Server) Outage(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.push("GUILD_DELETE", intentGuilds, func(int) any { return map[string]any{"id": id, "unavailable": true} })
	s.push("GUILD_CREATE", intentGuilds, func(int) any { return s.guildJSON(s.world.guilds[id]) })
}

// Join lets somebody come into a guild: those who may know its members hear of
// it, and its system channel shows it.
func (s *Server) Join(person, guild string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := memberJSON()
	m["user"], m["guild_id"], m["joined_at"] = s.userJSON(person), guild, stamp(s.opts.Now())
	s.push("GUILD_MEMBER_ADD", intentMembers, func(int) any { return m })
	if system, ok := s.world.guilds[guild].System.(string); ok {
		r := s.room(system)
		p := &post{id: s.newID(), author: person, at: s.opts.Now(), fields: map[string]any{"type": 7}}
		s.add(r, p)
		s.publish("MESSAGE_CREATE", r, p)
	}
}

// Leave lets somebody leave a guild.
func (s *Server) Leave(person, guild string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.push("GUILD_MEMBER_REMOVE", intentMembers, func(int) any {
		return map[string]any{"guild_id": guild, "user": s.userJSON(person)}
	})
}

// Shut closes a channel to the bot with one of Discord's codes, such as 50001,
// 50007 or 50013; 0 opens it.
func (s *Server) Shut(channel string, code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.room(channel)
	r.closed = nil
	if code != 0 {
		r.closed = no(403, code, map[int]string{
			50001: "Missing Access", 50007: "Cannot send messages to this user", 50013: "Missing Permissions",
		}[code])
	}
}

// Remove deletes a channel or thread.
func (s *Server) Remove(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.room(channel)
	delete(s.world.rooms, channel)
	kind := "CHANNEL_DELETE"
	if r.Parent != "" {
		kind = "THREAD_DELETE"
	}
	s.push(kind, intentGuilds, func(int) any { return s.channelJSON(r) })
}

// room finds a channel that the test has made.
func (s *Server) room(id string) *room {
	r, ok := s.world.rooms[id]
	if !ok {
		panic(fmt.Sprintf("discord fake: there is no channel %q: call AddPerson or AddGuild first", id))
	}
	return r
}

func (s *Server) bot() map[string]any {
	return map[string]any{
		"id": BotID, "username": s.opts.Username, "discriminator": "0", "global_name": nil, "avatar": nil,
		"bot": true, "verified": true, "mfa_enabled": false, "flags": 0, "email": nil,
	}
}

func (s *Server) appFlags() int {
	flags := 0 // those of a bot that few people can see (resources/application "Application Flags")
	if !s.opts.NoContent {
		flags |= 1 << 19
	}
	if s.opts.Members {
		flags |= 1 << 15
	}
	return flags
}

func (s *Server) userJSON(id string) map[string]any {
	if id == BotID {
		return s.bot()
	}
	p := s.world.people[id]
	u := map[string]any{
		"id": p.ID, "username": p.Username, "discriminator": "0", "global_name": p.Name, "avatar": nil, "public_flags": 0,
	}
	if p.Bot {
		u["bot"] = true
	}
	return u
}

func memberJSON() map[string]any {
	return map[string]any{
		"roles": []string{}, "nick": nil, "mute": false, "deaf": false, "joined_at": "2017-03-13T19:19:14.040000+00:00",
		"premium_since": nil, "pending": false, "flags": 0, "avatar": nil, "communication_disabled_until": nil,
	}
}

func (s *Server) channelJSON(r *room) map[string]any {
	c := map[string]any{"id": r.ID, "type": r.Kind, "last_message_id": nil}
	if n := len(r.posts); n > 0 {
		c["last_message_id"] = r.posts[n-1].id
	}
	if r.with != "" {
		c["recipients"] = []any{s.userJSON(r.with)}
		return c
	}
	c["guild_id"], c["name"], c["parent_id"] = r.guild, r.Name, nil
	if r.Parent != "" {
		c["parent_id"] = r.Parent
		c["thread_metadata"] = map[string]any{
			"archived": false, "auto_archive_duration": 1440, "archive_timestamp": "2021-04-12T23:40:39.855793+00:00", "locked": false,
		}
		return c
	}
	c["position"], c["permission_overwrites"], c["nsfw"] = 0, s.overwrites(r), false
	return c
}

func (s *Server) guildJSON(g Guild) map[string]any {
	var open, threads []map[string]any
	for _, id := range slices.Sorted(maps.Keys(s.world.rooms)) {
		switch r := s.world.rooms[id]; {
		case r.guild != g.ID:
		case r.Parent != "":
			threads = append(threads, s.channelJSON(r))
		default:
			open = append(open, s.channelJSON(r))
		}
	}
	may := (allPermissions &^ s.world.denied[g.ID]).String()
	roles := []map[string]any{roleJSON(g.ID, "@everyone", may, nil)}
	if g.BotRole != "" {
		roles = append(roles, roleJSON(g.BotRole, s.opts.Username, may, map[string]any{"bot_id": BotID}))
	}
	return map[string]any{
		"id": g.ID, "name": g.Name, "owner_id": "1", "unavailable": false, "system_channel_id": g.System, "member_count": len(s.world.people) + 1,
		"joined_at": "2017-03-13T19:19:14.040000+00:00", "large": false, "members": []any{s.meIn(g)}, "roles": roles,
		"channels": list(open), "threads": list(threads), "emojis": []any{}, "stickers": []any{}, "features": []any{},
		"voice_states": []any{}, "presences": []any{}, "stage_instances": []any{}, "guild_scheduled_events": []any{},
		"preferred_locale": "en-US", "premium_tier": 0, "nsfw_level": 0, "system_channel_flags": 0,
		"verification_level": 0, "default_message_notifications": 0, "explicit_content_filter": 0, "mfa_level": 0, "afk_timeout": 300,
	}
}

func roleJSON(id, name, may string, tags map[string]any) map[string]any {
	r := map[string]any{
		"id": id, "name": name, "color": 0, "hoist": false, "position": 0, "permissions": may,
		"managed": tags != nil, "mentionable": false, "flags": 0,
	}
	if tags != nil {
		r["tags"] = tags
	}
	return r
}

// list is [] rather than null.
func list(all []map[string]any) []map[string]any {
	if all == nil {
		return []map[string]any{}
	}
	return all
}

// stamp is a time as Discord writes it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000+00:00") }

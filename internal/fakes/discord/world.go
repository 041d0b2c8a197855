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
	people map[string]Person
	guilds map[string]Guild
	rooms  map[string]*room
	files  map[string]stored // by path
	tokens map[string]*opened
	host   string // under which the server was reached last
	epoch  int    // signatures of file addresses of another one are invalid
}

func newWorld() world {
	return world{
		people: map[string]Person{}, guilds: map[string]Guild{}, rooms: map[string]*room{},
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
	if s.opts.NoContent {
		return 0
	}
	return 1 << 19
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
	c["position"], c["permission_overwrites"], c["nsfw"] = 0, []any{}, false
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
	roles := []map[string]any{roleJSON(g.ID, "@everyone", nil)}
	if g.BotRole != "" {
		roles = append(roles, roleJSON(g.BotRole, s.opts.Username, map[string]any{"bot_id": BotID}))
	}
	me := memberJSON()
	me["user"] = s.bot()
	return map[string]any{
		"id": g.ID, "name": g.Name, "owner_id": "1", "unavailable": false, "member_count": len(s.world.people) + 1,
		"joined_at": "2017-03-13T19:19:14.040000+00:00", "large": false, "members": []any{me}, "roles": roles,
		"channels": list(open), "threads": list(threads), "emojis": []any{}, "stickers": []any{}, "features": []any{},
		"voice_states": []any{}, "presences": []any{}, "stage_instances": []any{}, "guild_scheduled_events": []any{},
		"preferred_locale": "en-US", "premium_tier": 0, "nsfw_level": 0, "system_channel_flags": 0,
		"verification_level": 0, "default_message_notifications": 0, "explicit_content_filter": 0, "mfa_level": 0, "afk_timeout": 300,
	}
}

func roleJSON(id, name string, tags map[string]any) map[string]any {
	r := map[string]any{
		"id": id, "name": name, "color": 0, "hoist": false, "position": 0, "permissions": "2147483647",
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

package discord

import (
	"net/http"
	"strconv"
)

// Permission is a set of what the bot may do (topics/permissions, read
// November 2026).
type Permission uint64

// The permissions that matter here.
const (
	AddReactions  Permission = 1 << 6
	ViewChannel   Permission = 1 << 10
	SendMessages  Permission = 1 << 11
	EmbedLinks    Permission = 1 << 14
	AttachFiles   Permission = 1 << 15
	ReadHistory   Permission = 1 << 16
	SendInThreads Permission = 1 << 38

	allPermissions = (1<<53 - 1) &^ administrator
	administrator  = Permission(1 << 3)
)

// Forbid denies the bot permissions in a channel of a guild, by an overwrite of
// its own as the client's channel settings make it, or in the whole guild; 0
// gives everything back.
func (s *Server) Forbid(place string, denied Permission) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.denied[place] = denied
}

// denies are the permissions that the bot lacks in a room. A thread has those
// of its channel.
func (s *Server) denies(r *room) Permission {
	return s.world.denied[r.guild] | s.world.denied[r.ID] | s.world.denied[r.Parent]
}

// may refuses a call in a guild's channel for which a permission is missing.
func (s *Server) may(r *room, need Permission) *apiError {
	if r.guild == "" {
		return nil
	}
	switch lacks := s.denies(r); {
	case lacks&ViewChannel != 0:
		return no(http.StatusForbidden, 50001, "Missing Access")
	case lacks&need != 0:
		return no(http.StatusForbidden, 50013, "Missing Permissions")
	}
	return nil
}

// mayWrite is may for a message with or without files.
func (s *Server) mayWrite(r *room, files int, reply bool) *apiError {
	need := SendMessages
	if r.Parent != "" {
		need = SendInThreads
	}
	if files > 0 {
		need |= AttachFiles
	}
	if e := s.may(r, need); e != nil {
		return e
	}
	if reply && r.guild != "" && s.denies(r)&ReadHistory != 0 {
		return no(http.StatusBadRequest, 160002, "Cannot reply without permission to read message history")
	}
	return nil
}

// overwrites are those of a channel, as the API shows them.
func (s *Server) overwrites(r *room) []any {
	denied := s.world.denied[r.ID]
	if denied == 0 {
		return []any{}
	}
	return []any{map[string]any{"id": BotID, "type": 1, "allow": "0", "deny": denied.String()}}
}

// String is the set as the API writes it.
func (p Permission) String() string { return strconv.FormatUint(uint64(p), 10) }

// myGuilds lists the guilds with what the bot may do in each, overwrites of
// channels left out (resources/user "Get Current User Guilds").
func (s *Server) myGuilds(*request) (any, *apiError) {
	all := []map[string]any{}
	for _, id := range s.guildIDs() {
		all = append(all, map[string]any{
			"id": id, "name": s.world.guilds[id].Name, "icon": nil, "owner": false, "features": []any{},
			"permissions": (allPermissions &^ s.world.denied[id]).String(),
		})
	}
	return all, nil
}

// guildChannels are the channels of a guild; those the bot cannot see are among
// them, threads are not (resources/guild "Get Guild Channels").
func (s *Server) guildChannels(r *request) (any, *apiError) {
	g, ok := s.world.guilds[r.PathValue("guild")]
	if !ok {
		return nil, no(http.StatusForbidden, 50001, "Missing Access")
	}
	all := []map[string]any{}
	for _, c := range g.Channels {
		if room := s.world.rooms[c.ID]; room != nil && room.Parent == "" {
			all = append(all, s.channelJSON(room))
		}
	}
	return all, nil
}

func (s *Server) guildMember(r *request) (any, *apiError) {
	g, ok := s.world.guilds[r.PathValue("guild")]
	if !ok || r.PathValue("user") != BotID {
		return nil, no(http.StatusNotFound, 10007, "Unknown Member")
	}
	return s.meIn(g), nil
}

// meIn is the bot as a member of a guild.
func (s *Server) meIn(g Guild) map[string]any {
	me := memberJSON()
	me["user"] = s.bot()
	if g.BotRole != "" {
		me["roles"] = []string{g.BotRole}
	}
	return me
}

package discord

import (
	"strings"
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"
	fake "magpie/internal/fakes/discord"
)

// The survey names each permission that is missing, where, and what is lost,
// and gives the link that asks for all of them.
func TestSurvey(t *testing.T) {
	for name, c := range map[string]struct {
		place  string
		denied fake.Permission
		want   []string // parts of the one line; none: no line
	}{
		"nothing":           {crowd, 0, nil},
		"history":           {crowd, fake.ReadHistory, []string{"#crowd", "Read Message History", "away is lost"}},
		"files":             {crowd, fake.AttachFiles, []string{"#crowd", "Attach Files", "no files"}},
		"reactions":         {other, fake.AddReactions, []string{"#other", "Add Reactions"}},
		"threads":           {crowd, fake.SendInThreads, []string{"#crowd", "Threads"}},
		"unseen on purpose": {crowd, fake.ViewChannel, nil},
		"the whole server":  {guild, fake.SendMessages, []string{"server \"Guild\"", "Send Messages", "no answers"}},
		"embeds":            {guild, fake.EmbedLinks, []string{"Embed Links"}},
	} {
		w := newWorld(t, nil)
		w.Forbid(c.place, c.denied)
		lines, err := w.channel(t, channels.Deps{}).Survey(channeltest.Bounded(t))
		if err != nil || len(lines) == 0 || !strings.Contains(lines[len(lines)-1], Invite(fake.BotID)) {
			t.Fatalf("%s: %q, %v", name, lines, err)
		}
		lines = lines[:len(lines)-1]
		if len(lines) != min(len(c.want), 1) {
			t.Errorf("%s: %q", name, lines)
			continue
		}
		for _, part := range c.want {
			if !strings.Contains(lines[0], part) {
				t.Errorf("%s: %q without %q", name, lines[0], part)
			}
		}
	}
}

// What may be done in a channel follows from the roles, then from everybody's
// overwrite, those of roles, and the member's own.
func TestPermits(t *testing.T) {
	g := guildInfo{ID: guild, Permissions: mayView | mayWrite}
	everybody, role, member := overwrite{ID: guild, Deny: mayWrite}, overwrite{ID: "7", Allow: mayWrite}, overwrite{ID: "9", Type: 1, Deny: mayView}
	for _, c := range []struct {
		all  []overwrite
		want permission
	}{
		{nil, mayView | mayWrite},
		{[]overwrite{everybody}, mayView},
		{[]overwrite{role, everybody}, mayView | mayWrite},
		{[]overwrite{{ID: "8", Deny: mayView}}, mayView | mayWrite}, // a role of others
		{[]overwrite{member, role, everybody}, mayWrite},
	} {
		if got := (&guildChannel{Overwrites: c.all}).permits(g, "9", []string{"7"}); got != c.want {
			t.Errorf("%+v: %b, want %b", c.all, got, c.want)
		}
	}
	g.Permissions |= mayAdminister
	if (&guildChannel{Overwrites: []overwrite{member}}).permits(g, "9", nil)&mayView == 0 {
		t.Error("an administrator is kept out")
	}
}

// The link asks for what the bot uses, and for nothing that would let it harm.
func TestInvite(t *testing.T) {
	const want = "https://discord.com/oauth2/authorize?client_id=42&permissions=274878024768&scope=bot+applications.commands"
	if got := Invite("42"); got != want {
		t.Errorf("got %s", got)
	}
}

package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bwmarrin/discordgo"

	"magpie/channels"
	"magpie/chat"
)

// take deals with one event; nil means that it is stored or rightly passed
// over.
func (r *receiver) take(ctx context.Context, ev discordgo.Event) error {
	if ev.Type == "READY" {
		return r.begin(ctx, ev.RawData)
	}
	// After a resume the missed events come first, RESUMED last; none of them
	// may be handled before the ones that only REST has.
	if ev.Type == "RESUMED" || r.behind {
		if err := r.goOn(ctx); err != nil {
			return err
		}
	}
	switch ev.Type {
	case "MESSAGE_CREATE", "MESSAGE_UPDATE":
		var m message
		if r.readable(ev, &m) && m.ID != "" && m.Channel != "" {
			if ev.Type == "MESSAGE_CREATE" {
				return r.live(ctx, &m)
			}
			return r.message(ctx, &m, true)
		}
	case "INTERACTION_CREATE":
		var i interaction
		if r.readable(ev, &i) && i.ID != "" {
			return r.interaction(ctx, &i)
		}
	default:
		return r.change(ctx, ev)
	}
	return nil
}

// change takes in what is no message of anybody's.
func (r *receiver) change(ctx context.Context, ev discordgo.Event) error {
	switch ev.Type {
	case "MESSAGE_DELETE", "MESSAGE_DELETE_BULK":
		var gone struct {
			Channel string   `json:"channel_id"`
			ID      string   `json:"id"`
			IDs     []string `json:"ids"`
		}
		if r.readable(ev, &gone) {
			if gone.ID != "" {
				gone.IDs = append(gone.IDs, gone.ID)
			}
			return r.recalled(ctx, gone.Channel, gone.IDs...)
		}
	case "GUILD_MEMBER_ADD", "GUILD_MEMBER_REMOVE":
		var m memberEvent
		if r.readable(ev, &m) {
			what := chat.Joined
			if ev.Type == "GUILD_MEMBER_REMOVE" {
				what = chat.Left
			}
			return r.moved(ctx, what, &m, ev.Sequence)
		}
	case "GUILD_CREATE":
		var g server
		if r.readable(ev, &g) {
			return r.joined(ctx, &g)
		}
	case "GUILD_DELETE":
		var g server
		if r.readable(ev, &g) && !g.Unavailable {
			r.left(ctx, g.ID)
		}
	case "GUILD_ROLE_CREATE":
		var created struct {
			Role role `json:"role"`
		}
		if r.readable(ev, &created) {
			return r.learn(ctx, []role{created.Role})
		}
	case "CHANNEL_DELETE", "THREAD_DELETE":
		var gone channelInfo
		if r.readable(ev, &gone) && gone.ID != "" {
			if err := r.d.places.forget(ctx, gone.ID); err != nil {
				r.d.deps.Log.Warn("a channel that is gone stays in the table", "chat", gone.ID, "err", err)
			}
		}
	}
	return nil
}

// readable decodes an event. One that cannot be read is counted and passed
// over: it must not hold up the others.
func (r *receiver) readable(ev discordgo.Event, into any) bool {
	if err := json.Unmarshal(ev.RawData, into); err != nil {
		r.d.skipped.Add(1)
		r.d.deps.Log.Warn("event skipped", "event", ev.Type, "seq", ev.Sequence, "err", err)
		return false
	}
	return true
}

// begin starts a new session. Whatever was written between the last one and
// this is fetched before the events that follow.
func (r *receiver) begin(ctx context.Context, raw json.RawMessage) error {
	var ready struct {
		Session string `json:"session_id"`
		URL     string `json:"resume_gateway_url"`
		User    user   `json:"user"`
		Guilds  []struct {
			ID string `json:"id"`
		} `json:"guilds"`
		App struct {
			ID string `json:"id"`
		} `json:"application"`
	}
	if err := json.Unmarshal(raw, &ready); err != nil || ready.Session == "" || ready.User.ID == "" {
		return errors.New("the gateway is ready without a session or a user")
	}
	me := self{ID: ready.User.ID, Name: ready.User.name(), App: ready.App.ID}
	if me.App == "" {
		me.App = me.ID // true of every application made since 2016
	}
	me.Blind = r.session.Intents&contentIntent == 0
	r.d.me.Store(&me)
	var ids []string
	for _, g := range ready.Guilds {
		ids = append(ids, g.ID)
	}
	r.firstIn(ctx, ids)
	r.session = session{ID: ready.Session, URL: ready.URL, Self: me, Intents: r.session.Intents}
	r.seq.Store(1) // READY itself: what follows can be resumed
	r.behind = true
	r.keepSession(ctx)
	r.d.deps.Log.Info("discord connected", "bot", me.Name)
	return r.goOn(ctx)
}

// goOn makes a session that is there ready for events.
func (r *receiver) goOn(ctx context.Context) error {
	r.ready = true
	r.d.deps.Status.Connected()
	r.connected.tell()
	if !r.behind {
		return nil
	}
	if err := r.catchUp(ctx); err != nil {
		return err
	}
	r.behind = false
	r.keepSession(ctx)
	return nil
}

type role struct {
	ID          string     `json:"id"`
	Permissions permission `json:"permissions"`
	Tags        struct {
		Bot string `json:"bot_id"`
	} `json:"tags"`
}

// learn keeps the bot's own roles.
func (r *receiver) learn(ctx context.Context, all []role) error {
	for _, role := range all {
		if role.Tags.Bot == "" || role.Tags.Bot != r.d.me.Load().ID {
			continue
		}
		if err := r.known.roles.add(ctx, r.d.deps.Table, role.ID); err != nil {
			r.d.deps.Log.Warn("the bot's role is known until the restart only", "role", role.ID, "err", err)
		}
	}
	return nil
}

// live takes in a message that somebody has just written.
func (r *receiver) live(ctx context.Context, m *message) error {
	if r.stuck[m.Channel] > 0 {
		if err := r.unstick(ctx, m.Channel); err != nil {
			return err
		}
	}
	return r.message(ctx, m, false)
}

// message hands what somebody wrote to the sink.
func (r *receiver) message(ctx context.Context, m *message, edited bool) error {
	if !edited && r.filled[m.ID] {
		return nil // came by REST already
	}
	if m.Type == discordgo.MessageTypeGuildMemberJoin && !edited {
		return r.welcomed(ctx, m)
	}
	why := r.d.unwanted(m, edited)
	if why == "" {
		where, err := r.locate(ctx, spot{channel: m.Channel, guild: m.Guild, kind: m.Kind, event: m.ID})
		if err != nil {
			return err
		}
		r.d.lookUp(ctx, m)
		in := r.d.inbound(m, where, &r.known.roles)
		if edited {
			in.Edited = true
			in.ID = fmt.Sprintf("%s:e%d", in.ID, m.Edited.UnixMilli())
		}
		if in.Text != "" || len(in.Attachments) > 0 || in.Mentioned {
			if err := r.stored(ctx, in); err != nil {
				return err
			}
		} else {
			why = "nothing to read in it"
		}
	}
	if why != "" {
		r.d.deps.Log.Debug("message passed over", "chat", m.Channel, "message", m.ID, "why", why)
	}
	if !edited && r.stuck[m.Channel] == 0 {
		r.d.places.read(m.Channel, m.ID)
	}
	return nil
}

// spot is what an event tells about the channel it came from.
type spot struct {
	channel, guild string
	kind           *int   // of the channel; nil: not told
	parent         string // of a thread: the channel it is in; "": not told
	event          string // snowflake
}

// locate finds out what a channel is. One that was not known is noted before
// its first message goes to the sink, so that what the sink refuses can be
// fetched after a restart.
func (r *receiver) locate(ctx context.Context, s spot) (place, error) {
	if pl, ok := r.d.places.get(s.channel); ok {
		return pl, nil
	}
	pl := place{Guild: s.guild, Last: before(s.event)}
	switch {
	case s.kind != nil && isThread(*s.kind) && s.parent != "":
		pl.Parent = s.parent
	case s.guild != "" && (s.kind == nil || isThread(*s.kind)):
		parent, err := r.d.parent(ctx, s.channel)
		if err != nil {
			return place{}, err
		}
		pl.Parent = parent
	}
	if err := r.d.places.add(ctx, s.channel, pl); err != nil {
		return place{}, &notStored{err}
	}
	return pl, nil
}

// parent is the channel that a thread is in; "" when it is no thread, or when
// the bot may not know.
func (d *Discord) parent(ctx context.Context, id string) (string, error) {
	raw, err := d.api.call(ctx, request{op: "get channel", method: "GET", url: discordgo.EndpointChannel(id)})
	if channels.KindOf(err) == channels.Rejected {
		d.deps.Log.Warn("a channel cannot be looked up and is taken for no thread", "chat", id, "err", err)
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var info channelInfo
	if err := json.Unmarshal(raw, &info); err != nil {
		return "", d.api.Fail("get channel", channels.Temporary, fmt.Errorf("not a channel: %w", err))
	}
	if !isThread(info.Type) {
		return "", nil
	}
	return info.Parent, nil
}

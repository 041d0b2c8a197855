package discord

import (
	"time"

	"github.com/bwmarrin/discordgo"
)

// The payloads hold only what is read: fields and component types that are not
// here cannot break the decoding, as they would in discordgo's structs.

type user struct {
	ID         string `json:"id"`
	Username   string `json:"username"`
	GlobalName string `json:"global_name"`
	Bot        bool   `json:"bot"`
}

type member struct {
	Nick string `json:"nick"`
	User *user  `json:"user"` // of an interaction
}

type message struct {
	ID      string                `json:"id"`
	Channel string                `json:"channel_id"`
	Guild   string                `json:"guild_id"`
	Kind    *int                  `json:"channel_type"` // of the channel; not in answers of REST
	Type    discordgo.MessageType `json:"type"`
	Edited  *time.Time            `json:"edited_timestamp"`
	Roles   []string              `json:"mention_roles"`
	origin
	links
	matter
}

// origin is who wrote a message.
type origin struct {
	Author  *user   `json:"author"`
	Member  *member `json:"member"`
	Webhook string  `json:"webhook_id"`
}

// links are the other messages that a message has to do with.
type links struct {
	Reference *reference `json:"message_reference"`
	Replied   replied    `json:"referenced_message"`
	Snapshots []struct {
		Message matter `json:"message"`
	} `json:"message_snapshots"`
}

// matter is what a message has besides its frame; a forwarded one has only this.
type matter struct {
	Content     string       `json:"content"`
	Attachments []attachment `json:"attachments"`
	Stickers    []sticker    `json:"sticker_items"`
	Embeds      []embed      `json:"embeds"`
	Poll        *poll        `json:"poll"`
	Components  []component  `json:"components"`
	Mentions    []mention    `json:"mentions"`
	Flags       int          `json:"flags"`
}

type mention struct {
	user
	Member *member `json:"member"`
}

type reference struct {
	Type    int    `json:"type"` // 1: forwarded
	Message string `json:"message_id"`
	Channel string `json:"channel_id"`
}

type attachment struct {
	ID       string  `json:"id"`
	Name     string  `json:"filename"`
	MIME     string  `json:"content_type"`
	Size     int64   `json:"size"`
	URL      string  `json:"url"`
	Duration float64 `json:"duration_secs"`
}

type sticker struct {
	ID     string                  `json:"id"`
	Name   string                  `json:"name"`
	Format discordgo.StickerFormat `json:"format_type"`
}

type embed struct {
	Type        string   `json:"type"`
	Image       *picture `json:"image"`
	Thumbnail   *picture `json:"thumbnail"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	URL         string   `json:"url"`
	Fields      []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"fields"`
}

// picture of an embed; Proxy is Discord's copy of it.
type picture struct {
	Proxy string `json:"proxy_url"`
	MIME  string `json:"content_type"`
}

type poll struct {
	Question struct {
		Text string `json:"text"`
	} `json:"question"`
	Answers []struct {
		Media struct {
			Text string `json:"text"`
		} `json:"poll_media"`
	} `json:"answers"`
}

type interaction struct {
	ID      string                    `json:"id"`
	App     string                    `json:"application_id"`
	Type    discordgo.InteractionType `json:"type"`
	Token   string                    `json:"token"`
	Guild   string                    `json:"guild_id"`
	Channel string                    `json:"channel_id"`
	Locale  string                    `json:"locale"`
	Where   *channelInfo              `json:"channel"`
	Member  *member                   `json:"member"` // in a guild
	User    *user                     `json:"user"`   // in a private chat
	Message *struct {
		ID string `json:"id"`
	} `json:"message"` // with the button
	Data struct {
		Name     string `json:"name"`
		CustomID string `json:"custom_id"`
		Options  []struct {
			Value any `json:"value"`
		} `json:"options"`
	} `json:"data"`
}

// place as the API shows a channel.
type channelInfo struct {
	ID     string `json:"id"`
	Type   int    `json:"type"`
	Guild  string `json:"guild_id"`
	Parent string `json:"parent_id"`
}

// isThread tells the channels that are threads of another
// (resources/channel "Channel Types", read November 2026).
func isThread(kind int) bool {
	switch discordgo.ChannelType(kind) {
	case discordgo.ChannelTypeGuildNewsThread, discordgo.ChannelTypeGuildPublicThread, discordgo.ChannelTypeGuildPrivateThread:
		return true
	}
	return false
}

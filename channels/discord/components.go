package discord

import (
	"encoding/json"
	"fmt"
	"strings"

	"magpie/chat"
)

// component is a part of a message of "components v2", which other bots send
// with an empty content (components/reference, read November 2026): text, media
// and what holds others. Buttons and menus are of no interest.
type component struct {
	Content string `json:"content"` // of a text display
	componentMedia
	Items      []componentMedia `json:"items"` // of a gallery
	Components []component      `json:"components"`
	Accessory  *component       `json:"accessory"`
}

// componentMedia is a picture or a file with what it shows.
type componentMedia struct {
	Media       *picture `json:"media"`
	File        *picture `json:"file"`
	Description string   `json:"description"`
}

// UnmarshalJSON implements json.Unmarshaler. A component of a kind that looks
// otherwise is empty: it must not hide the message.
func (c *component) UnmarshalJSON(data []byte) error {
	type fields component
	var f fields
	if json.Unmarshal(data, &f) == nil {
		*c = component(f)
	}
	return nil
}

// componentTexts are the texts of components, a line each.
func componentTexts(all []component) (lines []string) {
	for i := range all {
		c := &all[i]
		if text := strings.TrimSpace(c.Content); text != "" {
			lines = append(lines, text)
		}
		for _, m := range append([]componentMedia{c.componentMedia}, c.Items...) {
			if m.Description != "" && m.Media != nil {
				lines = append(lines, "["+m.Description+"]")
			}
		}
		lines = append(lines, componentTexts(c.Components)...)
	}
	return lines
}

// componentFiles are the pictures and files of components, in their order.
func componentFiles(all []component) (files []*picture) {
	for i := range all {
		c := &all[i]
		for _, p := range []*picture{c.Media, c.File} {
			if p != nil {
				files = append(files, p)
			}
		}
		for _, item := range c.Items {
			if item.Media != nil {
				files = append(files, item.Media)
			}
		}
		files = append(files, componentFiles(c.Components)...)
		if c.Accessory != nil {
			files = append(files, componentFiles([]component{*c.Accessory})...)
		}
	}
	return files
}

// mediaFile names a file of components, as attachments have an id.
func mediaFile(n int) string { return fmt.Sprintf("media:%d", n) }

// shown lists what components show, as far as it stands on Discord's servers.
func (t *matter) shown(m *message) (all []chat.Attachment) {
	for i, p := range componentFiles(t.Components) {
		if p.Proxy == "" || len(all) == maxPictures {
			continue
		}
		a := attachment{ID: mediaFile(i), Name: fmt.Sprintf("media%d", i+1), MIME: p.MIME, URL: p.Proxy}
		all = append(all, a.attachment(m, false))
	}
	return all
}

package discord

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"unicode/utf8"
)

// isCommandName says whether a slash command may be called so
// (interactions/application-commands, read November 2026). The pattern does not
// count: one that does takes a megabyte of every program.
func isCommandName(name string) bool {
	return commandName.MatchString(name) && utf8.RuneCountInString(name) <= 32
}

var commandName = regexp.MustCompile(`^[-_'\p{Ll}\p{Lm}\p{Lo}\p{N}]+$`)

// locales are some of those that Discord knows.
var locales = map[string]bool{"zh-CN": true, "zh-TW": true, "en-US": true, "en-GB": true, "de": true, "ja": true}

type command struct {
	ID          string            `json:"id"` // if known
	Handler     int               `json:"handler"`
	Installs    []int             `json:"integration_types"`
	Type        int               `json:"type"`
	Name        string            `json:"name"`
	Names       map[string]string `json:"name_localizations"`
	Description string            `json:"description"`
	Localized   map[string]string `json:"description_localizations"`
	Contexts    []int             `json:"contexts"`
	Options     []option          `json:"options"`
}

type option struct {
	Type         int               `json:"type"`
	Name         string            `json:"name"`
	Names        map[string]string `json:"name_localizations"`
	Description  string            `json:"description"`
	Localized    map[string]string `json:"description_localizations"`
	Required     bool              `json:"required"`
	Autocomplete bool              `json:"autocomplete"`
	Kinds        []int             `json:"channel_types"`
	Options      []option          `json:"options"`
	Choices      []any             `json:"choices"`
}

// getCommands gives the list as Discord keeps it: with ids and defaults, and
// with the texts of other languages only when they are asked for
// (interactions/application-commands "Get Global Application Commands", read
// November 2026).
func (s *Server) getCommands(r *request) (any, *apiError) {
	if r.PathValue("app") != BotID {
		return nil, no(http.StatusForbidden, 20012, "You are not authorized to perform this action on this application")
	}
	return s.kept(r.URL.Query().Get("with_localizations") == "true"), nil
}

func (s *Server) kept(localized bool) []map[string]any {
	all := []map[string]any{}
	for i, c := range s.world.commands {
		entry := map[string]any{
			"id": fmt.Sprint(7000 + i), "application_id": BotID, "version": fmt.Sprint(8000 + i), "type": c.Type, "name": c.Name,
			"description": c.Description, "contexts": c.Contexts, "integration_types": []int{0}, "nsfw": false,
			"default_member_permissions": nil, "dm_permission": true,
		}
		var options []map[string]any
		for _, o := range c.Options {
			option := map[string]any{"type": o.Type, "name": o.Name, "description": o.Description}
			if o.Required {
				option["required"] = true
			}
			if localized {
				option["name_localizations"], option["description_localizations"] = o.Names, o.Localized
			}
			options = append(options, option)
		}
		if c.Handler != 0 {
			entry["handler"] = c.Handler
		}
		if options != nil {
			entry["options"] = options
		}
		if localized {
			entry["name_localizations"], entry["description_localizations"] = c.Names, c.Localized
		}
		all = append(all, entry)
	}
	return all
}

// putCommands replaces the list of commands.
func (s *Server) putCommands(r *request) (any, *apiError) {
	if r.PathValue("app") != BotID {
		return nil, no(http.StatusForbidden, 20012, "You are not authorized to perform this action on this application")
	}
	var all []command
	if e := decode(r.body, &all); e != nil {
		return nil, e
	}
	seen := map[string]bool{}
	for i, c := range all {
		if e := c.check(fmt.Sprint(i)); e != nil {
			return nil, e
		}
		if seen[c.Name] {
			return nil, badForm(fmt.Sprint(i), "APPLICATION_COMMANDS_DUPLICATE_NAME", "Application command names must be unique")
		}
		seen[c.Name] = true
	}
	// serenity #2993 and others, read November 2026.
	launches := func(c command) bool { return c.Type == 4 }
	if slices.ContainsFunc(s.world.commands, launches) && !slices.ContainsFunc(all, launches) {
		return nil, no(http.StatusBadRequest, 50240, "You cannot remove this app's Entry Point command in a bulk update operation. Please include the Entry Point command in your update request or delete it separately.")
	}
	s.record.commands, s.world.commands = r.body, all
	return s.kept(true), nil
}

func (c *command) check(field string) *apiError {
	switch {
	case !isCommandName(c.Name):
		return badForm(field, "STRING_TYPE_REGEX", "String value did not match validation regex.")
	case c.Type == 1 && (c.Description == "" || len([]rune(c.Description)) > 100):
		return badForm(field, "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
	}
	for locale, text := range c.Localized {
		if !locales[locale] || text == "" || len([]rune(text)) > 100 {
			return badForm(field, "BASE_TYPE_CHOICES", "Value must be one of the locales.")
		}
	}
	names := map[string]bool{}
	for _, o := range c.Options {
		if !isCommandName(o.Name) || o.Description == "" {
			return badForm(field, "STRING_TYPE_REGEX", "String value did not match validation regex.")
		}
		names[o.Name] = true
		for locale, name := range o.Names {
			if !locales[locale] || !isCommandName(name) || names[locale+name] {
				return badForm(field, "STRING_TYPE_REGEX", "String value did not match validation regex.")
			}
			names[locale+name] = true
		}
	}
	for locale, name := range c.Names {
		if !locales[locale] || !isCommandName(name) {
			return badForm(field, "STRING_TYPE_REGEX", "String value did not match validation regex.")
		}
	}
	return nil
}

// Commands is the list of commands as it was registered last, in JSON; "" when
// it was never, or was taken away.
func (s *Server) Commands() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.record.commands)
}

// ChangeCommands is what another program with the same token, or somebody in
// the Developer Portal, does to the list: it becomes this one, in JSON.
func (s *Server) ChangeCommands(list string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []command
	if err := json.Unmarshal([]byte(list), &all); err != nil {
		return fmt.Errorf("change the commands: %w", err)
	}
	s.record.commands, s.world.commands = []byte(list), all
	return nil
}

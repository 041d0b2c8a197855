package telegram

import (
	"encoding/json"
	"regexp"
	"unicode/utf8"
)

// Command is an entry of the menu of commands.
type Command struct {
	Command     string `json:"command"`
	Description string `json:"description"`
}

// Bounds of the menu (https://core.telegram.org/bots/api#setmycommands and
// #botcommand, read November 2026).
const (
	maxCommands    = 100
	maxDescription = 256
)

var commandName = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)

// menuKey is a scope and a language, "" for everybody.
func (req *request) menuKey() (string, *apiError) {
	scope := struct {
		Type string `json:"type"`
		Chat any    `json:"chat_id"`
	}{Type: "default"}
	if e := req.object("scope", &scope); e != nil {
		return "", e
	}
	switch scope.Type {
	case "default", "all_private_chats", "all_group_chats", "all_chat_administrators", "chat", "chat_administrators", "chat_member":
	default:
		return "", badRequest("can't parse BotCommandScope: unsupported type")
	}
	lang := req.params["language_code"]
	if lang != "" && len(lang) != 2 {
		return "", badRequest("invalid language code specified")
	}
	where, _ := json.Marshal(scope) // of strings and numbers
	if scope.Type == "default" {
		where = []byte("default")
	}
	return string(where) + "/" + lang, nil
}

func setMyCommands(s *Server, req *request) (any, *apiError) {
	key, e := req.menuKey()
	if e != nil {
		return nil, e
	}
	var all []Command
	if e := req.object("commands", &all); e != nil {
		return nil, e
	}
	if len(all) > maxCommands {
		return nil, badRequest("BOT_COMMANDS_TOO_MUCH")
	}
	for _, c := range all {
		if !commandName.MatchString(c.Command) {
			return nil, badRequest("BOT_COMMAND_INVALID")
		}
		if n := utf8.RuneCountInString(c.Description); n < 1 || n > maxDescription {
			return nil, badRequest("BOT_COMMAND_DESCRIPTION_INVALID")
		}
	}
	s.store.menus[key] = all
	if len(all) == 0 {
		delete(s.store.menus, key)
	}
	return true, nil
}

func getMyCommands(s *Server, req *request) (any, *apiError) {
	key, e := req.menuKey()
	if e != nil {
		return nil, e
	}
	return append([]Command{}, s.store.menus[key]...), nil
}

func deleteMyCommands(s *Server, req *request) (any, *apiError) {
	key, e := req.menuKey()
	if e != nil {
		return nil, e
	}
	delete(s.store.menus, key)
	return true, nil
}

// Menu is the menu of a language, "" for everybody without one of their own.
func (s *Server) Menu(lang string) []Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store.menus["default/"+lang]
}

// ForgetMenus takes all commands away, as another program or @BotFather can.
func (s *Server) ForgetMenus() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.store.menus)
}

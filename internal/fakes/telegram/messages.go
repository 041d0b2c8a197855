package telegram

import (
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
)

const (
	maxText    = 4096
	maxCaption = 1024
	maxNotice  = 200
	maxData    = 64 // bytes of callback_data
)

// Parameters that many methods share.
const (
	sendParams  = "business_connection_id chat_id message_thread_id direct_messages_topic_id disable_notification protect_content message_effect_id reply_parameters reply_markup "
	textParams  = "text parse_mode entities link_preview_options "
	mediaParams = sendParams + "caption parse_mode caption_entities show_caption_above_media has_spoiler duration width height thumbnail title performer supports_streaming disable_content_type_detection emoji length "
)

// methods is the part of the Bot API that the fake has, by lower-case name.
func methods() map[string]method {
	all := map[string]method{
		"getme":                  {"", func(s *Server, _ *request) (any, *apiError) { return s.getMe(), nil }},
		"getupdates":             {"offset limit timeout allowed_updates", nil},
		"setwebhook":             {"url certificate ip_address max_connections allowed_updates drop_pending_updates secret_token", setWebhook},
		"deletewebhook":          {"drop_pending_updates", deleteWebhook},
		"getwebhookinfo":         {"", getWebhookInfo},
		"setmycommands":          {"commands scope language_code", setMyCommands},
		"getmycommands":          {"scope language_code", getMyCommands},
		"deletemycommands":       {"scope language_code", deleteMyCommands},
		"sendmessagedraft":       {"chat_id message_thread_id draft_id text parse_mode entities can_stop keep_on_stop", sendMessageDraft},
		"sendmessage":            {sendParams + textParams, sendMessage},
		"editmessagetext":        {"business_connection_id chat_id message_id inline_message_id reply_markup " + textParams, editMessageText},
		"editmessagereplymarkup": {"business_connection_id chat_id message_id inline_message_id reply_markup", editMessageReplyMarkup},
		"deletemessage":          {"chat_id message_id", deleteMessage},
		"setmessagereaction":     {"chat_id message_id reaction is_big", setMessageReaction},
		"sendchataction":         {"business_connection_id chat_id message_thread_id action", sendChatAction},
		"answercallbackquery":    {"callback_query_id text show_alert url cache_time", answerCallbackQuery},
		"getfile":                {"file_id", getFile},
		"sendmediagroup":         {sendParams + "media", sendMediaGroup},
	}
	maps.Copy(all, mediaMethods())
	return all
}

func (s *Server) getMe() map[string]any {
	me := s.me()
	me["can_join_groups"], me["can_read_all_group_messages"], me["supports_inline_queries"] = !s.opts.Ways.NoGroups, !s.opts.Ways.Privacy, false
	return me
}

func flood(seconds int) *apiError {
	return &apiError{Code: http.StatusTooManyRequests, Text: fmt.Sprintf("Too Many Requests: retry after %d", seconds), RetryAfter: seconds}
}

// target finds the chat a call is about and refuses those the bot cannot use.
func (s *Server) target(req *request) (*room, *apiError) {
	if req.params["chat_id"] == "" {
		return nil, badRequest("chat_id is empty")
	}
	id, ok := req.int("chat_id")
	r := s.chats[id]
	switch {
	case !ok || r == nil:
		return nil, badRequest("chat not found")
	case r.movedTo != 0:
		e := badRequest("group chat was upgraded to a supergroup chat")
		e.MigrateTo = r.movedTo
		return nil, e
	case r.closed != "":
		return nil, &apiError{Code: http.StatusForbidden, Text: "Forbidden: " + r.closed}
	}
	return r, nil
}

// frame checks what all sending methods have in common.
func (s *Server) frame(req *request) (*room, *Message, *apiError) {
	r, e := s.target(req)
	if e != nil {
		return nil, nil, e
	}
	m := &Message{Chat: r.id, Kind: "text"}
	if thread, ok := req.int("message_thread_id"); ok {
		if !r.topics[int(thread)] {
			return nil, nil, badRequest("message thread not found")
		}
		m.Thread = int(thread)
	}
	var reply struct {
		ID    int  `json:"message_id"`
		Allow bool `json:"allow_sending_without_reply"`
	}
	if e := req.object("reply_parameters", &reply); e != nil {
		return nil, nil, e
	}
	if reply.ID != 0 {
		if there := reply.ID > 0 && reply.ID <= r.last; there {
			m.ReplyTo = reply.ID
		} else if !reply.Allow {
			return nil, nil, badRequest("message to be replied not found")
		}
	}
	if m.Keyboard, e = req.keyboard(); e != nil {
		return nil, nil, e
	}
	return r, m, nil
}

func (req *request) keyboard() ([][]Button, *apiError) {
	var markup struct {
		Rows [][]Button `json:"inline_keyboard"`
	}
	if e := req.object("reply_markup", &markup); e != nil {
		return nil, e
	}
	var rows [][]Button
	for _, row := range markup.Rows {
		for _, b := range row {
			switch {
			case strings.TrimSpace(b.Text) == "":
				return nil, badRequest("can't parse inline keyboard button: Text must be non-empty")
			case b.URL == "" && b.Data == "":
				return nil, badRequest("can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard")
			case len(b.Data) > maxData:
				return nil, badRequest("BUTTON_DATA_INVALID")
			case b.URL != "" && !strings.Contains(b.URL, "://"):
				return nil, badRequest("BUTTON_URL_INVALID")
			}
		}
		if len(row) > 0 {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func sendMessage(s *Server, req *request) (any, *apiError) {
	r, m, e := s.frame(req)
	if e != nil {
		return nil, e
	}
	m.Source = req.params["text"]
	if m.Text, m.Entities, e = req.text("text", maxText, "message is too long"); e != nil {
		return nil, e
	}
	if m.Text == "" {
		return nil, badRequest("message text is empty")
	}
	if e := s.preview(req, m); e != nil {
		return nil, e
	}
	if e := s.tooFast(r, 1); e != nil {
		return nil, e
	}
	r.last++
	m.ID = r.last
	s.apply(r, m)
	return s.messageJSON(m), nil
}

// mine finds the bot's message that a call is about. In a server that forgets,
// any id that was given out is there, with unknown content.
func (s *Server) mine(req *request, notFound string) (*room, *Message, *apiError) {
	r, e := s.target(req)
	if e != nil {
		return nil, nil, e
	}
	id, ok := req.int("message_id")
	if m := r.messages[int(id)]; ok && m != nil {
		return r, m, nil
	}
	if ok && s.opts.Forget && id > 0 && int(id) <= r.last {
		return r, &Message{ID: int(id), Chat: r.id, Kind: "text"}, nil
	}
	if ok && id > 0 && int(id) <= r.last && strings.Contains(notFound, "edit") {
		return nil, nil, badRequest("message can't be edited")
	}
	return nil, nil, badRequest("%s", notFound)
}

func editMessageText(s *Server, req *request) (any, *apiError) {
	r, old, e := s.mine(req, "message to edit not found")
	if e != nil {
		return nil, e
	}
	m := *old
	m.Source = req.params["text"]
	if m.Text, m.Entities, e = req.text("text", maxText, "message is too long"); e != nil {
		return nil, e
	}
	if m.Keyboard, e = req.keyboard(); e != nil {
		return nil, e
	}
	if e := s.preview(req, &m); e != nil {
		return nil, e
	}
	switch {
	case m.Text == "":
		return nil, badRequest("message text is empty")
	case m.Kind != "text":
		return nil, badRequest("there is no text in the message to edit")
	case same(&m, old):
		return nil, badRequest("message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message")
	}
	if e := s.editsTooFast(r); e != nil {
		return nil, e
	}
	m.Edits++
	s.apply(r, &m)
	return s.messageJSON(&m), nil
}

func same(a, b *Message) bool {
	return a.Text == b.Text && fmt.Sprint(a.Entities, a.Keyboard) == fmt.Sprint(b.Entities, b.Keyboard)
}

func editMessageReplyMarkup(s *Server, req *request) (any, *apiError) {
	r, old, e := s.mine(req, "message to edit not found")
	if e != nil {
		return nil, e
	}
	m := *old
	if m.Keyboard, e = req.keyboard(); e != nil {
		return nil, e
	}
	if same(&m, old) && !s.opts.Forget {
		return nil, badRequest("message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message")
	}
	m.Edits++
	s.apply(r, &m)
	return s.messageJSON(&m), nil
}

func deleteMessage(s *Server, req *request) (any, *apiError) {
	r, m, e := s.mine(req, "message to delete not found")
	if e != nil {
		return nil, e
	}
	delete(r.messages, m.ID)
	s.tell(nil)
	return true, nil
}

func setMessageReaction(s *Server, req *request) (any, *apiError) {
	r, e := s.target(req)
	if e != nil {
		return nil, e
	}
	var reactions []struct{ Type, Emoji string }
	if e := req.object("reaction", &reactions); e != nil {
		return nil, e
	}
	if id, ok := req.int("message_id"); !ok || id < 1 || int(id) > r.last {
		return nil, badRequest("message to react not found")
	}
	// A few of the emoji that are allowed; the whole list is in the documentation.
	for _, x := range reactions {
		if x.Type != "emoji" || !strings.Contains("👍👎❤🔥🥰👏😁🤔🤯😱🎉🤩🙏👌👀✍🤝🫡🆒💯⚡🏆🤗😢💔😴🤓👻🙈😇😨🤣😎👾🤷😡", x.Emoji) || x.Emoji == "" {
			return nil, badRequest("REACTION_INVALID")
		}
	}
	if r.reactions == nil {
		r.reactions = map[string]string{}
	}
	r.reactions[req.params["message_id"]] = ""
	for _, x := range reactions {
		r.reactions[req.params["message_id"]] = x.Emoji
	}
	s.news.Tell()
	return true, nil
}

// Reaction is the emoji that the bot has put on a message, "" if none.
func (s *Server) Reaction(chat int64, message int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.room(chat).reactions[strconv.Itoa(message)]
}

func sendChatAction(s *Server, req *request) (any, *apiError) {
	if _, e := s.target(req); e != nil {
		return nil, e
	}
	switch req.params["action"] {
	case "typing", "upload_photo", "record_video", "upload_video", "record_voice", "upload_voice",
		"upload_document", "choose_sticker", "find_location", "record_video_note", "upload_video_note":
		return true, nil
	}
	return nil, badRequest("wrong parameter action in request")
}

func answerCallbackQuery(s *Server, req *request) (any, *apiError) {
	answered, ok := s.store.presses[req.params["callback_query_id"]]
	if !ok || answered {
		return nil, badRequest("query is too old and response timeout expired or query ID is invalid")
	}
	if units(req.params["text"]) > maxNotice {
		return nil, badRequest("MESSAGE_TOO_LONG")
	}
	s.store.presses[req.params["callback_query_id"]] = true
	return true, nil
}

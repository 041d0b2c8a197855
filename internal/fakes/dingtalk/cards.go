package dingtalk

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// The states of an AI card.
const (
	Processing = "processing" // delivered, nothing streamed yet
	Inputing   = "inputing"   // text is streamed
	Finished   = "finished"
	Failed     = "failed"
)

// maxCardText is what a card may hold; the documentation recommends not more
// than "3 K", and above about 3000 characters clients show a blank card.
const maxCardText = 3000

// space is what the list of chats and notifications say of a card
// (alibabacloud-dingtalk SDK, CreateAndDeliverRequest, read November 2026).
type space struct {
	News         map[string]string `json:"lastMessageI18n"`
	Notification struct {
		Alert string `json:"alertContent"`
	} `json:"notification"`
}

// newCard is the body of a call that makes a card.
type newCard struct {
	CardTemplateID string `json:"cardTemplateId"`
	OutTrackID     string `json:"outTrackId"`
	CallbackType   string `json:"callbackType"`
	CardData       struct {
		CardParamMap map[string]string `json:"cardParamMap"`
	} `json:"cardData"`
	OpenSpaceID string `json:"openSpaceId"`
	UserIDType  int    `json:"userIdType"`
	RobotSpace  *space `json:"imRobotOpenSpaceModel"`
	GroupSpace  *space `json:"imGroupOpenSpaceModel"`
	Robot       *struct {
		SpaceType string `json:"spaceType"`
	} `json:"imRobotOpenDeliverModel"`
	Group *struct {
		RobotCode string            `json:"robotCode"`
		At        map[string]string `json:"atUserIds"`
	} `json:"imGroupOpenDeliverModel"`
}

func (s *Server) createCard(r *request) (any, *refusal) {
	var in newCard
	if e := r.into(&in); e != nil {
		return nil, e
	}
	switch {
	case in.CardTemplateID != DefaultTemplate:
		return nil, bad("param.templateNotExist", "卡片模板不存在")
	case in.OutTrackID == "":
		return nil, bad("param.outTrackIdEmpty", "outTrackId为空")
	case s.store.byID[in.OutTrackID] != nil:
		return nil, bad("param.outTrackIdRepeat", "outTrackId重复")
	}
	chat, robot := "", false
	if id, ok := strings.CutPrefix(in.OpenSpaceID, "dtv1.card//IM_ROBOT."); ok && in.Robot != nil && in.Robot.SpaceType == "IM_ROBOT" && in.RobotSpace != nil {
		chat, robot = "user:"+id, true
	}
	if id, ok := strings.CutPrefix(in.OpenSpaceID, "dtv1.card//IM_GROUP."); ok && in.Group != nil && in.Group.RobotCode == s.opts.ClientID && in.GroupSpace != nil {
		chat = "group:" + id
	}
	if chat == "" {
		return nil, bad("param.spaceError", "openSpaceId不合法")
	}
	_, here := s.groups[chat]
	if p, ok := s.people[chat]; robot && ok && p.StaffID != "" {
		here = true
	}
	carrier := s.next("fakeCarrier")
	result := map[string]any{"spaceType": map[bool]string{true: "IM_ROBOT", false: "IM_GROUP"}[robot], "spaceId": chat[strings.Index(chat, ":")+1:], "success": here, "carrierId": carrier}
	if here {
		m := &Message{ID: in.OutTrackID, Chat: chat, Kind: "card", Via: OpCardCreate, State: Processing, Carrier: carrier}
		m.params(in.CardData.CardParamMap)
		if robot {
			m.News = in.RobotSpace.News
		} else {
			m.News = in.GroupSpace.News
			m.At = slices.Sorted(maps.Keys(in.Group.At))
		}
		s.show(m)
	} else {
		result["errorMsg"] = "spaceId is illegal"
	}
	return map[string]any{"success": true, "result": map[string]any{"outTrackId": in.OutTrackID, "deliverResults": []any{result}}}, nil
}

// params sets the template's variables that are given.
func (m *Message) params(p map[string]string) {
	if text, ok := p[ContentKey]; ok {
		m.Text = text
	}
	if list, ok := p[ButtonsKey]; ok {
		m.Buttons = nil
		_ = json.Unmarshal([]byte(list), &m.Buttons) // a template shows nothing for what it cannot read
	}
}

func (s *Server) card(id string) *Message {
	m := s.store.byID[id]
	if m == nil || m.Kind != "card" {
		return nil
	}
	return m
}

func (s *Server) streamCard(r *request) (any, *refusal) {
	var in struct {
		OutTrackID string `json:"outTrackId"`
		GUID       string `json:"guid"`
		Key        string `json:"key"`
		Content    string `json:"content"`
		IsFull     *bool  `json:"isFull"`
		IsFinalize bool   `json:"isFinalize"`
		IsError    bool   `json:"isError"`
	}
	if e := r.into(&in); e != nil {
		return nil, e
	}
	m := s.card(in.OutTrackID)
	switch {
	case m == nil:
		return nil, bad("param.stream.outTrackId", "card is not exist")
	case in.Key != ContentKey:
		return nil, bad("param.stream.keyEmpty", "param.stream.keyEmpty")
	case in.Content == "":
		return nil, bad("param.stream.contentEmpty", "param.stream.contentEmpty")
	case in.GUID == "":
		return nil, bad("param.stream.guidEmpty", "param.stream.guidEmpty")
	case in.IsFull == nil || !*in.IsFull: // the variable is Markdown
		return nil, bad("param.stream.isFull", "streaming update the parameter isFull is null")
	case utf8.RuneCountInString(in.Content) > maxCardText:
		return nil, bad("param.stream.content", "content is too large")
	}
	if !s.store.guids[in.GUID] {
		s.store.guids[in.GUID] = !s.opts.Forget
		m.Text = in.Content
		switch {
		case in.IsError:
			m.State = Failed
		case in.IsFinalize:
			m.State = Finished
		case m.State != Finished && m.State != Failed:
			m.State = Inputing
		}
		s.tell(m)
	}
	if s.opts.Forget && (in.IsFinalize || in.IsError) && len(m.Buttons) == 0 {
		delete(s.store.byID, m.ID)
	}
	return map[string]any{"success": true, "result": true}, nil
}

func (s *Server) updateCard(r *request) (any, *refusal) {
	var in struct {
		OutTrackID string `json:"outTrackId"`
		CardData   struct {
			CardParamMap map[string]string `json:"cardParamMap"`
		} `json:"cardData"`
		Options struct {
			ByKey bool `json:"updateCardDataByKey"`
		} `json:"cardUpdateOptions"`
	}
	if e := r.into(&in); e != nil {
		return nil, e
	}
	m := s.card(in.OutTrackID)
	if m == nil {
		return nil, bad("param.cardNotExist", "card is not exist")
	}
	if !in.Options.ByKey { // everything is replaced
		m.Text, m.Buttons = "", nil
	}
	m.params(in.CardData.CardParamMap)
	s.tell(m)
	return map[string]any{"success": true, "result": true}, nil
}

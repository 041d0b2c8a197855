package dingtalk

// OpEmotion and OpEmotionRecall are the calls that put an emotion on a message
// and take it away, for Fault. DingTalk documents neither; the bodies are those
// of its own connector (dingtalk-openclaw-connector 0.8.21 of 2026-05-17,
// utils-legacy.ts).
const (
	OpEmotion       = "emotion"
	OpEmotionRecall = "emotion.recall"
)

// Emotion is what the bot has put on a message of a person, "" nothing.
func (s *Server) Emotion(messageID string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store.said[messageID].emotion
}

func (s *Server) putEmotion(r *request) (any, *refusal)  { return s.emotion(r, true) }
func (s *Server) takeEmotion(r *request) (any, *refusal) { return s.emotion(r, false) }

func (s *Server) emotion(r *request, put bool) (any, *refusal) {
	var in struct {
		RobotCode, OpenMsgID, OpenConversationID, EmotionName string
		EmotionType                                           int
		TextEmotion                                           struct{ EmotionID, EmotionName, Text, BackgroundID string }
	}
	if e := r.into(&in); e != nil {
		return nil, e
	}
	said, known := s.store.said[in.OpenMsgID]
	switch {
	case in.RobotCode != s.opts.ClientID:
		return nil, bad("invalidParameter.robotCode.notExsit", "机器人不存在")
	case !known || said.conv != in.OpenConversationID:
		return nil, bad("system.err", "系统错误")
	case in.EmotionType != 2 || in.EmotionName == "" || in.TextEmotion.EmotionID == "" || in.TextEmotion.EmotionName != in.EmotionName || in.TextEmotion.Text == "" || in.TextEmotion.BackgroundID == "":
		return nil, bad("invalidParameter.param.invalid", "参数不合法")
	}
	if said.emotion = ""; put {
		said.emotion = in.EmotionName
	}
	s.store.said[in.OpenMsgID] = said
	return map[string]any{"success": true}, nil
}

package telegram

// preview fetches the address of which a preview is shown below a text: the
// first, unless the bot declines
// (https://core.telegram.org/bots/api#linkpreviewoptions, read November 2026).
func (s *Server) preview(req *request, m *Message) *apiError {
	var o struct {
		Disabled bool `json:"is_disabled"`
	}
	if e := req.object("link_preview_options", &o); e != nil || o.Disabled || s.opts.Forget {
		return e
	}
	for _, e := range m.Entities {
		if e.Type == "text_link" {
			s.store.fetched = append(s.store.fetched, e.URL)
			return nil
		}
	}
	for _, at := range marks.FindAllStringSubmatchIndex(m.Text, -1) {
		if word := m.Text[at[2]:at[3]]; word[0] == 'h' {
			s.store.fetched = append(s.store.fetched, word)
			return nil
		}
	}
	return nil
}

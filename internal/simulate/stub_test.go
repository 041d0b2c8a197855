package simulate

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stub is a platform whose chats show what a test puts there.
type stub struct {
	mu        sync.Mutex
	shown     map[Place][]Message
	said      []string
	files     []File
	presses   []string
	reactions []string
	note      string
	typed     int
	troubles  []Trouble
	lost      bool
	answer    func(text string) []Message // appended at once
}

func newStub() *stub { return &stub{shown: map[Place][]Message{}} }

var errStub = errors.New("nobody was there")

func (s *stub) Say(at Place, text string, files []File) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost {
		return "", errStub
	}
	s.said = append(s.said, string(at)+" "+text)
	s.files = append(s.files, files...)
	if s.answer != nil {
		s.shown[at] = append(s.shown[at], s.answer(text)...)
	}
	return "said-" + text, nil
}

func (s *stub) Press(_ Place, message, data string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.presses = append(s.presses, message+" "+data)
	return "press-1", nil
}

func (s *stub) Shown(at Place) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.shown[at])
}

func (s *stub) Fail(t Trouble, times int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range times {
		s.troubles = append(s.troubles, t)
	}
}

func (s *stub) Connected() bool                      { return true }
func (s *stub) Reactions(_ Place, _ string) []string { return s.reactions }
func (s *stub) Typed(_ Place) int                    { return s.typed }
func (s *stub) Note(_ string) string                 { return s.note }
func (s *stub) show(at Place, messages ...Message)   { s.shown[at] = messages }

// world is one with these platforms; what the first does is s's own.
func (s *stub) world(names ...string) *World {
	w := &World{}
	for i, name := range names {
		p := s
		if i > 0 {
			p = newStub()
			p.answer = s.answer
		}
		st := &stand{name: name, house: house{platform: p, close: func() {}}, talks: map[Place]*talk{}}
		for _, place := range Places() {
			st.talks[place] = newTalk(p, place)
		}
		w.stands = append(w.stands, st)
	}
	return w
}

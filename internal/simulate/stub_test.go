package simulate

import (
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"magpie/internal/fakes/driver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stub is a platform whose chats, which are called as their places, show what a
// test puts there. What is said is lost while lost is set.
type stub struct {
	driver.Platform // what nobody here asks for

	mu        sync.Mutex
	shown     map[Place][]driver.Message
	said      []string
	files     []driver.File
	presses   []string
	reactions []string
	note      string
	typed     int
	troubles  []driver.Trouble
	lost      bool
	answer    func(text string) []driver.Message // appended at once
}

func newStub() *stub { return &stub{shown: map[Place][]driver.Message{}} }

func (s *stub) Join(int, string) driver.Person  { return driver.Person{Chat: string(Private)} }
func (s *stub) Group(int, string) (chat string) { return string(Group) }

func (s *stub) Say(said driver.Said) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, said.Chat+" "+said.Text)
	s.files = append(s.files, said.Files...)
	if s.answer != nil {
		at := Place(said.Chat)
		s.shown[at] = append(s.shown[at], s.answer(said.Text)...)
	}
	return "said-" + said.Text
}

func (s *stub) Press(_, _, message, data string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.presses = append(s.presses, message+" "+data)
	return "press-1", nil
}

func (s *stub) Shown(chat string) []driver.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.shown[Place(chat)])
}

func (s *stub) Fail(t driver.Trouble, times int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range times {
		s.troubles = append(s.troubles, t)
	}
	return true
}

func (s *stub) Connected() bool                           { return !s.lost }
func (s *stub) Delivered(string) bool                     { return !s.lost }
func (s *stub) Close()                                    {}
func (s *stub) Reactions(_, _ string) []string            { return s.reactions }
func (s *stub) Typed(string) int                          { return s.typed }
func (s *stub) Note(string) string                        { return s.note }
func (s *stub) show(at Place, messages ...driver.Message) { s.shown[at] = messages }

func yes() driver.Button { return driver.Button{Label: "Yes", Data: "y"} }

// world is one with these platforms; what the first does is s's own.
func (s *stub) world(names ...string) *World {
	w := &World{}
	for i, name := range names {
		p := s
		if i > 0 {
			p = newStub()
			p.answer = s.answer
		}
		st := &stand{name: name, house: newHouse(p), talks: map[Place]*talk{}}
		for _, place := range Places() {
			st.talks[place] = newTalk(st.house, place)
		}
		w.stands = append(w.stands, st)
	}
	return w
}

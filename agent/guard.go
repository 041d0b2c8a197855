package agent

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"magpie/agent/egress"
	"magpie/agent/llm"
	"magpie/channels/render"
	"magpie/chat"
	"magpie/tools"
)

// sight is what the turn has before it, as it was when the turn had said so
// much.
type sight struct {
	mu   sync.Mutex
	said int
	view *egress.View
}

func (t *turn) tainted() bool { return len(t.loop.sources) > 0 }

// guard is a text for people, without links that nobody vouches for where the
// turn has read text from outside.
func (t *turn) guard(text string) string {
	if !t.tainted() || blank(text) {
		return text
	}
	return render.Guard(text, t.view().Links)
}

// leaks says what of the conversation an address would carry away.
func (t *turn) leaks(address string) string {
	leak, found := t.view().Leaks(address)
	if !found {
		return ""
	}
	return words(t.lang()).leaves(leak)
}

// view is made anew when the turn has heard more.
func (t *turn) view() *egress.View {
	s := &t.loop.sight
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.view == nil || s.said != len(t.said) {
		s.said, s.view = len(t.said), t.look()
	}
	return s.view
}

// look goes over all that the model is shown, in its order.
func (t *turn) look() *egress.View {
	l := looker{turn: t, view: egress.New(t.env.kit.Hosts), args: map[string]llm.Call{}, specs: map[string]tools.Spec{}}
	for _, s := range t.env.specs {
		l.specs[s.Name] = s
	}
	if sess := t.h.sess.Load(); sess != nil {
		l.view.Keep(egress.Conversation, sess.Summary())
		for _, m := range sess.Messages(-1) {
			l.message(m)
		}
	}
	if _, notes, found := strings.Cut(t.env.system, "\n# Memory\n"); found {
		l.view.Keep(egress.Notes, notes)
	}
	if job := t.first(); job.Origin == chat.FromCron && len(job.Sources) == 0 { // a person has wished it
		l.view.Person(job.Text)
	}
	l.now = true
	for _, it := range t.said {
		l.message(it.Message)
	}
	return l.view
}

type looker struct {
	turn    *turn
	view    *egress.View
	args    map[string]llm.Call // calls by their id
	specs   map[string]tools.Spec
	outside bool // text from outside has been read by now
	now     bool // these are messages of the turn itself
}

func (l *looker) message(m llm.Message) {
	switch m.Role {
	case llm.User:
		l.user(m.Text)
	case llm.Assistant:
		l.assistant(m)
	case llm.Tool:
		l.result(m)
	}
}

// user takes a message of the chat: what stands in no fence is the person's.
func (l *looker) user(text string) {
	l.view.Keep(egress.Conversation, text)
	own := text
	for _, f := range foreignFences {
		for _, found := range f.FindAllString(own, -1) {
			l.outside = true
			l.view.Found(found)
		}
		own = f.ReplaceAllString(own, "\n")
	}
	own = shownFence.ReplaceAllString(own, "\n")
	if l.turn.first().Origin != chat.FromTask && !strings.HasPrefix(text, labelJob) {
		l.view.Person(noteLine.ReplaceAllString(own, ""))
	}
}

// foreignFences are what stands in a message of others than its sender, and
// shownFence what the bot has shown.
var (
	foreignFences = []*regexp.Regexp{
		regexp.MustCompile(`(?s)<quoted\b[^>]*>\n.*?\n</quoted>`),
		regexp.MustCompile(`(?s)<overheard\b[^>]*>\n.*?\n</overheard>`),
		regexp.MustCompile(`(?s)<report\b[^>]*>\n.*?\n</report>`),
	}
	shownFence = regexp.MustCompile(`(?s)<reminder\b[^>]*>\n.*?\n</reminder>`)
	// noteLine is what the program says of a message: names of files in it are
	// the sender's choice, or that of whoever made the file.
	noteLine = regexp.MustCompile(`(?m)^\[.*\]$`)
)

// assistant takes what the bot has said. Before it had read anything of others
// it was led by nobody, so addresses that it gave then are known.
func (l *looker) assistant(m llm.Message) {
	switch {
	case l.outside:
		l.view.Own(m.Text)
	default:
		l.view.Found(m.Text)
	}
	if !l.now {
		l.view.Keep(egress.Conversation, m.Text)
	}
	for _, c := range m.Calls {
		l.args[c.ID] = c
		l.view.Own(c.Args)
	}
}

// result takes what a tool has returned. What only computes, or gives back what
// the bot has noted, finds nothing.
func (l *looker) result(m llm.Message) {
	spec := l.specs[m.Name]
	fetched := spec.Category == tools.Network
	l.outside = l.outside || spec.Untrusted || spec.Category == tools.MCP || spec.Category == ""
	if fetched && !m.Failed {
		for _, address := range addresses(l.args[m.CallID].Args) {
			l.view.Fetched(address)
		}
	}
	if !fetched { // pages are everybody's
		l.view.Keep(m.Name, m.Text)
	}
	if !m.Failed && !slices.Contains([]tools.Category{tools.System, tools.Data}, spec.Category) {
		l.view.Found(m.Text)
	}
}

// addresses are the addresses among the arguments of a call.
func addresses(args string) (all []string) {
	var values map[string]any
	if json.Unmarshal([]byte(args), &values) != nil {
		return nil
	}
	add := func(v any) {
		if s, ok := v.(string); ok && strings.Contains(s, "://") {
			all = append(all, s)
		}
	}
	for _, v := range values {
		add(v)
		if list, ok := v.([]any); ok {
			for _, each := range list {
				add(each)
			}
		}
	}
	return all
}

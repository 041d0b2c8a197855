package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	maxRefusal  = 8 << 10 // bytes of a refusal that are looked at
	refusalSays = 300     // characters of it that are shown
	manyStray   = 100     // lines that are no messages: said again
)

// noise takes note of what a started server printed in the place of a message.
func (s *server) noise(c *child, text string) {
	text = s.opt.Redact(plain(text))
	c.last.add(text)
	s.mu.Lock()
	s.state.Stray++
	count := s.state.Stray
	s.mu.Unlock()
	log := s.opt.Log.Debug
	if count == 1 || count == manyStray {
		log = s.opt.Log.Warn
	}
	log("mcp server prints what is no message; it is passed over, and belongs to its error output", "lines", count, "text", clip(text, sayRunes))
}

// heard looks through an answer for what the SDK does not know of a tool: that
// it can run as a task only (MCP 2025-11-25, basic/utilities/tasks).
func (s *server) heard(result []byte) {
	if !bytes.Contains(result, []byte(`"inputSchema"`)) {
		return
	}
	var list struct {
		Tools []struct {
			Name      string
			Execution struct{ TaskSupport string }
		}
	}
	if json.Unmarshal(result, &list) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range list.Tools {
		s.tasks = slices.DeleteFunc(s.tasks, func(name string) bool { return name == t.Name })
		if t.Execution.TaskSupport == "required" && len(s.tasks) < maxTools {
			s.tasks = append(s.tasks, t.Name)
		}
	}
}

// overheard is what a server over HTTP says: the same is looked for there.
type overheard struct {
	io.ReadCloser
	heard  func(result []byte)
	events bool // lines of server-sent events, else one document
	part   []byte
}

// Read implements io.Reader.
func (o *overheard) Read(p []byte) (int, error) {
	n, err := o.ReadCloser.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		piece, more, ended := bytes.Cut(rest, []byte("\n"))
		if rest = more; len(o.part) <= maxLine {
			o.part = append(o.part, piece...)
		}
		if ended && o.events {
			o.look()
		}
	}
	if err != nil {
		o.look()
	}
	return n, err
}

func (o *overheard) look() {
	defer func() { _ = recover() }() // on a goroutine of the SDK's; the SDK reads the same and says what is wrong
	if len(o.part) <= maxLine {
		m, _ := jsonrpc.DecodeMessage(bytes.TrimPrefix(o.part, []byte("data:")))
		if r, ok := m.(*jsonrpc.Response); ok {
			o.heard(r.Result)
		}
	}
	o.part = o.part[:0]
}

// overhear listens to an answer over HTTP.
func (s *server) overhear(resp *http.Response) {
	kind := resp.Header.Get("Content-Type")
	events := strings.HasPrefix(kind, "text/event-stream")
	if events || strings.HasPrefix(kind, "application/json") {
		resp.Body = &overheard{ReadCloser: resp.Body, heard: s.heard, events: events}
	}
}

var tags = regexp.MustCompile(`(?s)<(script|style)\b.*?</(script|style)>|<[^<>]*>`)

// refusal is what a server says when it lets nobody in; the SDK keeps the
// number only. nil: it is no such answer.
func refusal(resp *http.Response) error {
	if resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
		return nil
	}
	defer resp.Body.Close()
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // what came counts
	text := string(raw)
	var said map[string]any
	if json.Unmarshal(raw, &said) == nil {
		text = strings.Join(sentences(said), "; ")
	}
	text = clip(strings.Join(strings.Fields(plain(strings.ReplaceAll(tags.ReplaceAllString(text, " "), "\n", " "))), " "), refusalSays)
	if text != "" {
		text = ": " + text
	}
	if how := plain(resp.Header.Get("WWW-Authenticate")); how != "" {
		text += " (it wants " + clip(how, refusalSays) + ")"
	}
	return fmt.Errorf("the server answers %d %s%s", resp.StatusCode, http.StatusText(resp.StatusCode), text)
}

// sentences are the texts of an answer in JSON that are for people.
func sentences(said map[string]any) (all []string) {
	for _, key := range []string{"error", "error_description", "message", "detail", "title", "reason"} {
		switch v := said[key].(type) {
		case string:
			all = append(all, v)
		case map[string]any:
			all = append(all, sentences(v)...)
		}
	}
	return all
}

package anthropic

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"magpie/agent/llm"
	"magpie/agent/llm/internal/wire"
)

// event is one event of a streamed reply; only the fields of its type are set.
type event struct {
	Type    string  `json:"type"`
	Message *whole  `json:"message"`
	Index   int     `json:"index"`
	Block   *piece  `json:"content_block"`
	Delta   *change `json:"delta"`
	Usage   *usage  `json:"usage"`
}

// whole is a reply that is not streamed, or the beginning of one that is.
type whole struct {
	Type    string  `json:"type"`
	Model   string  `json:"model"`
	Content []piece `json:"content"`
	Stop    string  `json:"stop_reason"`
	Usage   *usage  `json:"usage"`
}

// piece is a block of content.
type piece struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
}

type change struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	JSON      string `json:"partial_json"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
	Stop      string `json:"stop_reason"`
}

// usage: pointers, since later events repeat only what changed.
type usage struct {
	Input  *int `json:"input_tokens"`
	Output *int `json:"output_tokens"`
	Read   *int `json:"cache_read_input_tokens"`
	Write  *int `json:"cache_creation_input_tokens"`
}

// reply gathers a reply while it comes.
type reply struct {
	client *wire.Client
	emit   func(llm.Event, error) bool
	model  string
	stop   string
	fresh  int // input tokens that were in no cache
	usage  llm.Usage
	text   strings.Builder
	blocks []*open
	byNum  map[int]*open
	ended  bool
}

// open is a block that is still being written.
type open struct {
	piece
	args    strings.Builder
	thought strings.Builder
}

func (r *reply) read(b *wire.Body) error {
	r.byNum = map[int]*open{}
	form, err := b.Form()
	if err != nil {
		return err
	}
	if form == wire.Events {
		return r.events(b)
	}
	raw, err := b.Rest()
	if err != nil {
		return err
	}
	if form == wire.JSON {
		return r.whole(raw)
	}
	return r.client.Unreadable("the server's answer is no reply", raw)
}

func (r *reply) events(b *wire.Body) error {
	for ev, err := range b.Events() {
		switch {
		case err != nil && r.ended:
			return nil // only what may follow the reply broke
		case err != nil:
			return err
		}
		var e event
		if json.Unmarshal([]byte(ev.Data), &e) != nil || e.Type == "" {
			return r.client.Unreadable("the server sent what is no piece of a reply", []byte(ev.Data))
		}
		if e.Type == "error" {
			return r.client.Refused(0, http.Header{}, []byte(ev.Data))
		}
		if err := r.event(e); err != nil {
			return err
		}
		if e.Type == "message_stop" {
			return nil
		}
		if r.stop != "" && !r.ended {
			r.ended = true
			b.Ended()
		}
	}
	if !r.ended {
		return errors.New("the reply broke off before its end")
	}
	return nil
}

// event takes one event; kinds that are not known are skipped, as the API asks
// its clients to.
func (r *reply) event(e event) error {
	switch e.Type {
	case "message_start":
		if e.Message != nil {
			r.model = e.Message.Model
			r.count(e.Message.Usage)
		}
	case "content_block_start":
		if e.Block != nil {
			return r.begin(e.Index, *e.Block)
		}
	case "content_block_delta":
		if o := r.byNum[e.Index]; o != nil && e.Delta != nil {
			return r.change(o, *e.Delta)
		}
	case "message_delta":
		r.count(e.Usage)
		if e.Delta != nil && e.Delta.Stop != "" {
			r.stop = e.Delta.Stop
		}
	}
	return nil
}

// begin opens a block. Kinds that are not known are passed over whole.
func (r *reply) begin(index int, p piece) error {
	switch p.Type {
	case "text", "thinking", "redacted_thinking", "tool_use":
	default:
		return nil
	}
	o := &open{piece: p}
	r.byNum[index] = o
	r.blocks = append(r.blocks, o)
	return r.change(o, change{Text: p.Text, Thinking: p.Thinking})
}

func (r *reply) change(o *open, c change) error {
	o.args.WriteString(c.JSON)
	if c.Signature != "" {
		o.Signature = c.Signature
	}
	if o.Type != "thinking" {
		c.Thinking = ""
	}
	r.text.WriteString(c.Text) // whatever block it says that it is of
	o.thought.WriteString(c.Thinking)
	if (c.Text != "" || c.Thinking != "") && !r.emit(llm.Event{Text: c.Text, Thinking: c.Thinking}, nil) {
		return wire.ErrStop
	}
	return nil
}

// whole takes a reply from a server that does not stream.
func (r *reply) whole(raw []byte) error {
	var w whole
	switch err := json.Unmarshal(raw, &w); {
	case err == nil && w.Type == "error":
		return r.client.Refused(0, http.Header{}, raw)
	case err != nil || w.Type != "message":
		return r.client.Unreadable("the server's answer is no reply", raw)
	}
	r.model, r.stop = w.Model, w.Stop
	r.count(w.Usage)
	for i, p := range w.Content {
		if err := r.begin(i, p); err != nil {
			return err
		}
	}
	return nil
}

func (r *reply) count(u *usage) {
	if u == nil {
		return
	}
	set := func(to *int, from *int) {
		if from != nil {
			*to = *from
		}
	}
	set(&r.fresh, u.Input)
	set(&r.usage.Output, u.Output)
	set(&r.usage.CacheRead, u.Read)
	set(&r.usage.CacheWrite, u.Write)
	r.usage.Input = r.fresh + r.usage.CacheRead + r.usage.CacheWrite
}

func (r *reply) done(history []llm.Message) llm.Reply {
	m := llm.Message{Role: llm.Assistant, Text: r.text.String()}
	for _, o := range r.blocks {
		switch o.Type {
		case "thinking":
			m.Thinking = append(m.Thinking, llm.Thinking{Provider: maker, Text: o.thought.String(), Signature: o.Signature})
		case "redacted_thinking":
			m.Thinking = append(m.Thinking, llm.Thinking{Provider: maker, Redacted: o.Data})
		case "tool_use":
			m.Calls = append(m.Calls, llm.Call{ID: o.ID, Name: o.Name, Args: o.arguments()})
		}
	}
	llm.Identify(m.Calls, history)
	return llm.Reply{Message: m, Usage: r.usage, Stop: r.reason(len(m.Calls) > 0), Model: r.model}
}

func (o *open) arguments() string {
	switch {
	case strings.TrimSpace(o.args.String()) != "":
		return o.args.String()
	case len(o.Input) > 0 && string(o.Input) != "null":
		return string(o.Input)
	default:
		return "{}"
	}
}

func (r *reply) reason(calls bool) llm.Stop {
	switch {
	case r.stop == "refusal":
		return llm.StopFilter
	case r.stop == "max_tokens", r.stop == "model_context_window_exceeded":
		return llm.StopLength
	case calls:
		return llm.StopTools
	default:
		return llm.StopEnd
	}
}

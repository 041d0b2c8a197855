// Package openai is the provider for every server that speaks OpenAI's chat
// completions: OpenAI itself, and the many that are nearly compatible. It is
// its own small client, because the types of the usual libraries lose what the
// nearly compatible ones send. It does not retry failures; it asks again, at
// once, only where a server refuses an optional field. It starts no goroutine
// that outlives an iteration.
package openai

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"sync"
	"time"

	"magpie/agent/llm"
	"magpie/agent/llm/internal/wire"
	"magpie/chat"
)

// DefaultBaseURL is OpenAI's own.
const DefaultBaseURL = "https://api.openai.com/v1"

// Config describes one model on one server.
type Config struct {
	Name      string // in the configuration; "" = Model
	BaseURL   string // with /v1 where the server has it; "" = DefaultBaseURL
	APIKey    chat.Secret
	Model     string
	Timeout   time.Duration // whole request; 0 = two minutes
	Idle      time.Duration // silence within a reply; 0 = one minute, at most Timeout
	MaxTokens int           // of a reply, when the request does not say; 0 = the server's
	Vision    bool          // the model can see images
	HTTP      *http.Client  // nil = one of its own; redirects are never followed
}

// Provider is one model. Safe for concurrent use.
type Provider struct {
	cfg   Config
	url   string
	wire  *wire.Client
	owned bool // the server is OpenAI's own

	mu   sync.Mutex
	want shape // what the server has been found to take
}

var _ llm.Provider = (*Provider)(nil)

// New checks the configuration. It sends nothing.
func New(cfg Config) (*Provider, error) {
	if cfg.Model == "" {
		return nil, errors.New("openai: model is missing")
	}
	if cfg.Name == "" {
		cfg.Name = cfg.Model
	}
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	base, err := wire.Base(cfg.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("openai: model %q: %w", cfg.Name, err)
	}
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("openai: model %q: base_url cannot be read", cfg.Name)
	}
	owned := u.Hostname() == "api.openai.com"
	return &Provider{
		cfg:   cfg,
		url:   base + "/chat/completions",
		wire:  wire.New(cfg.Name, cfg.APIKey, wire.Options{Timeout: cfg.Timeout, Idle: cfg.Idle, HTTP: cfg.HTTP}),
		owned: owned,
		want:  shape{usage: true, reasoning: true, completion: owned},
	}, nil
}

// Name returns the model's name in the configuration.
func (p *Provider) Name() string { return p.cfg.Name }

// shape is the choice of optional fields on which servers differ.
type shape struct {
	usage      bool // stream_options.include_usage
	reasoning  bool // reasoning_content in past messages
	completion bool // max_completion_tokens, else max_tokens
	swapped    bool // the field of the limit has been changed already
}

// other returns the shape to try after a refusal, and whether there is one.
// A failure inside a stream is none: something has been said already.
func (s shape) other(err error) (shape, bool) {
	var e *llm.Error
	r, ok := wire.IsRefusal(err)
	if !ok || !errors.As(err, &e) || e.Kind != llm.Rejected || e.Status == 0 {
		return s, false
	}
	switch {
	case s.usage && r.Names("stream_options"):
		s.usage = false
	case s.reasoning && r.Names("reasoning_content"):
		s.reasoning = false
	case !s.swapped && (r.Names("max_completion_tokens") || s.completion && r.Names("max_tokens")):
		s.completion, s.swapped = !s.completion, true
	default:
		return s, false
	}
	return s, true
}

// Stream sends the request and yields the reply as it is written.
func (p *Provider) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		p.mu.Lock()
		s := p.want
		p.mu.Unlock()
		tried := s
		err := p.once(ctx, req, tried, yield)
		for again := true; again; {
			if tried, again = tried.other(err); again {
				err = p.once(ctx, req, tried, yield)
			}
		}
		switch {
		case errors.Is(err, wire.ErrStop):
			return
		case err != nil:
			yield(llm.Event{}, err)
			return
		case tried != s:
			tried.swapped = false
			p.mu.Lock()
			p.want = tried
			p.mu.Unlock()
		}
	}
}

// once sends the request in one shape. It yields everything but an error.
func (p *Provider) once(ctx context.Context, req llm.Request, s shape, yield func(llm.Event, error) bool) error {
	header := http.Header{}
	if p.cfg.APIKey != "" {
		header.Set("Authorization", "Bearer "+string(p.cfg.APIKey))
	}
	return p.wire.Post(ctx, p.url, header, p.encode(req, s), func(b *wire.Body) error {
		r := &reply{client: p.wire, emit: yield}
		if err := r.read(b); err != nil {
			return err
		}
		done := r.done(req.Messages)
		yield(llm.Event{Done: &done}, nil)
		return nil
	})
}

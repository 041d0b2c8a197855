// Package anthropic is the provider for Anthropic's Messages API. It is its
// own small client: the vendor's SDK adds 5.7 MB to a program, more than this
// one costs in lines. Thinking blocks are kept and sent back as they came, and
// the stable parts of a request are marked for the prompt cache. It does not
// retry, and starts no goroutine that outlives an iteration.
package anthropic

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"time"

	"magpie/agent/llm"
	"magpie/agent/llm/internal/wire"
	"magpie/chat"
)

const (
	// DefaultBaseURL is Anthropic's own.
	DefaultBaseURL = "https://api.anthropic.com"
	// version is the value of the Anthropic-Version header.
	version = "2023-06-01"
	// defaultMaxTokens is asked for when nobody says how long a reply may be;
	// the API wants a number.
	defaultMaxTokens = 4096
)

// Config describes one model.
type Config struct {
	Name      string // in the configuration; "" = Model
	BaseURL   string // without /v1; "" = DefaultBaseURL
	APIKey    chat.Secret
	Model     string
	Timeout   time.Duration // whole request; 0 = two minutes
	Idle      time.Duration // silence within a reply; 0 = one minute, at most Timeout
	MaxTokens int           // of a reply, when the request does not say; 0 = 4096
	Vision    bool          // the model can see images
	HTTP      *http.Client  // nil = one of its own; redirects are never followed
}

// Provider is one model. Safe for concurrent use.
type Provider struct {
	cfg  Config
	url  string
	wire *wire.Client
}

var _ llm.Provider = (*Provider)(nil)

// New checks the configuration. It sends nothing.
func New(cfg Config) (*Provider, error) {
	if cfg.Model == "" {
		return nil, errors.New("anthropic: model is missing")
	}
	if cfg.Name == "" {
		cfg.Name = cfg.Model
	}
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	if cfg.MaxTokens == 0 {
		cfg.MaxTokens = defaultMaxTokens
	}
	base, err := wire.Base(cfg.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("anthropic: model %q: %w", cfg.Name, err)
	}
	return &Provider{
		cfg:  cfg,
		url:  strings.TrimSuffix(base, "/v1") + "/v1/messages",
		wire: wire.New(cfg.Name, cfg.APIKey, wire.Options{Timeout: cfg.Timeout, Idle: cfg.Idle, HTTP: cfg.HTTP}),
	}, nil
}

// Name returns the model's name in the configuration.
func (p *Provider) Name() string { return p.cfg.Name }

// Stream sends the request and yields the reply as it is written.
func (p *Provider) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		header := http.Header{}
		header.Set("Anthropic-Version", version)
		if p.cfg.APIKey != "" {
			header.Set("X-Api-Key", string(p.cfg.APIKey))
		}
		err := p.wire.Post(ctx, p.url, header, p.encode(req), func(b *wire.Body) error {
			r := &reply{client: p.wire, emit: yield}
			if err := r.read(b); err != nil {
				return err
			}
			done := r.done(req.Messages)
			yield(llm.Event{Done: &done}, nil)
			return nil
		})
		if err != nil && !errors.Is(err, wire.ErrStop) {
			yield(llm.Event{}, err)
		}
	}
}

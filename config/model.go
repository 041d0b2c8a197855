package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"magpie/chat"
	"magpie/internal/front"
	"magpie/internal/paste"
)

// LLM is the section llm. After Load there is at least one model; the first is
// the default and the others are fall-backs, in order.
type LLM struct {
	Models []Model
}

// The providers of models.
const (
	OpenAI    = "openai" // any server that speaks OpenAI's chat completions
	Anthropic = "anthropic"
	Offline   = "offline" // no model at all
)

// Model is one entry of llm.models.
type Model struct {
	Name            string
	Provider        string `oneof:"openai|anthropic|offline" required:"true"`
	BaseURL         string
	APIKey          chat.Secret
	Proxy           string        // as Channel.Proxy
	Model           string        // the server's name of the model
	ContextTokens   int           `min:"1"`
	MaxOutputTokens int           `min:"1"`
	Timeout         time.Duration `min:"1s"`
	ToolCalls       string        `oneof:"native|xml|json"`
	Vision          bool
	Price           Price
}

// Price is in USD for a million tokens.
type Price struct {
	Input  float64 `min:"0"`
	Output float64 `min:"0"`
}

// The official servers; they want a key.
const (
	openAIBase    = "https://api.openai.com/v1"
	anthropicBase = "https://api.anthropic.com"
)

// The models that are asked when only a key is known.
const (
	openAIModel    = "gpt-5-mini"
	anthropicModel = "claude-sonnet-5-5"
)

func (m *Model) defaults() {
	*m = Model{ContextTokens: 128_000, Timeout: 120 * time.Second, ToolCalls: "native", Vision: true}
}

// complete fills what the other keys of the entry leave open.
func (m *Model) complete(i int) {
	switch m.Provider {
	case OpenAI:
		m.BaseURL = or(m.BaseURL, openAIBase)
	case Anthropic:
		m.BaseURL = or(m.BaseURL, anthropicBase)
	}
	m.BaseURL = strings.TrimRight(m.BaseURL, "/")
	if m.MaxOutputTokens == 0 {
		m.MaxOutputTokens = max(1, min(4096, m.ContextTokens/2))
	}
	if m.Name == "" && i == 0 {
		m.Name = "main"
	}
	m.Name = or(m.Name, or(m.Model, m.Provider))
}

// Warnings are lines about what is legal but will not work, or was hardly
// meant, for the operator. names are the variables of the environment: one that
// is nearly the name of another that is missing is told.
func (c *Config) Warnings(names ...string) []string {
	all := slices.Concat(c.origin.warned, c.misspelt(names), c.idle(names), c.halfSaid())
	if said := c.guessable(); said != "" {
		all = append(all, said)
	}
	all = slices.Concat(all, c.unheard(), c.nobodies())
	if c.Blank {
		all = append(all, c.File+" is empty: the defaults count; write {} into it when they are meant")
	}
	for _, entry := range c.Web.TrustedProxies {
		if p, err := front.ParseProxy(entry); err == nil && p.Bits() == 0 {
			all = append(all, "web.trusted_proxies holds every address, so that anybody can say to be somebody else: give the address of the proxy alone")
		}
	}
	for _, m := range c.LLM.Models {
		if strings.ContainsFunc(m.Model, func(r rune) bool { return unicode.IsSpace(r) || r == ',' || r == ';' }) {
			all = append(all, fmt.Sprintf("model %s: its name for the server holds a blank or a comma: one model has one name, such as %s; several stand in llm.models", m.Provider, openAIModel))
		}
		if m.keyMissing() {
			all = append(all, fmt.Sprintf("model %s: %s wants a key: set api_key or %s_API_KEY", m.Name, m.BaseURL, strings.ToUpper(m.Provider)))
		} else if said := m.foreignKey(); said != "" {
			all = append(all, fmt.Sprintf("model %s: %s", m.Name, said))
		}
	}
	return all
}

// keyMissing says that the entry can never work: an official server refuses
// calls without a key.
func (m *Model) keyMissing() bool {
	return m.APIKey == "" && (m.Provider == OpenAI && m.BaseURL == openAIBase || m.Provider == Anthropic && m.BaseURL == anthropicBase)
}

// foreignKey says that a key is not of the form that an official server gives.
func (m *Model) foreignKey() string {
	key := string(m.APIKey)
	const anthropicKey = "sk-ant-"
	switch {
	case strings.Contains(key, "\n"):
		return "the key holds several lines, which no server takes"
	case paste.Flaw(key) != "":
		return "" // the check says that
	case m.BaseURL == openAIBase && strings.HasPrefix(key, anthropicKey):
		return "the key is one of Anthropic: give it as ANTHROPIC_API_KEY, or with provider: anthropic"
	case m.BaseURL == openAIBase && !strings.HasPrefix(key, "sk-"):
		return "keys of " + openAIBase + " begin with sk-; a key of another server needs its address (base_url, OPENAI_BASE_URL)"
	case m.BaseURL == anthropicBase && !strings.HasPrefix(key, anthropicKey):
		return "keys of " + anthropicBase + " begin with " + anthropicKey + "; a key of another server needs its address (base_url, ANTHROPIC_BASE_URL)"
	}
	return ""
}

func or(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

// modelsFrom makes the models of a configuration that names none: one for each
// key in the environment, else the offline assistant.
func modelsFrom(env func(string) (string, bool)) []Model {
	var all []Model
	for _, provider := range []struct{ name, prefix, model string }{
		{OpenAI, "OPENAI_", openAIModel},
		{Anthropic, "ANTHROPIC_", anthropicModel},
	} {
		value := func(name string) string {
			v, _ := env(provider.prefix + name)
			return strings.TrimSpace(v)
		}
		if key := value("API_KEY"); key != "" {
			var m Model
			m.defaults()
			m.Name, m.Provider, m.APIKey = provider.name, provider.name, chat.Secret(key)
			m.BaseURL, m.Model = value("BASE_URL"), or(value("MODEL"), provider.model)
			all = append(all, m)
		}
	}
	if all == nil {
		var m Model
		m.defaults()
		m.Name, m.Provider = Offline, Offline
		all = []Model{m}
	}
	return all
}

// Vendor returns the official server of a provider and the model that is asked
// there when only a key is known.
func Vendor(provider string) (baseURL, model string) {
	if provider == Anthropic {
		return anthropicBase, anthropicModel
	}
	return openAIBase, openAIModel
}

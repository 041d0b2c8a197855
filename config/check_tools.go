package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"magpie/internal/paste"
	"magpie/internal/proxy"
)

func index(key string, i int) string { return fmt.Sprintf("%s[%d]", key, i) }

func (c *checker) models() {
	names := map[string]bool{}
	for i, m := range c.cfg.LLM.Models {
		key := index("llm.models", i)
		if names[m.Name] {
			c.bad(key+".name", "the name %s is given twice", m.Name)
		}
		names[m.Name] = true
		if m.Provider != OpenAI && m.Provider != Anthropic {
			continue
		}
		at := func(name string) string { return key + "." + name }
		if !slices.Contains(c.root.keysOf("llm"), "models") { // they are the environment's
			at = func(name string) string { return strings.ToUpper(m.Provider + "_" + name) }
		}
		if flaw := paste.Flaw(string(m.APIKey)); m.APIKey != "" && flaw != "" && !strings.Contains(string(m.APIKey), "\n") { // Warnings says that
			c.bad(at("api_key"), "%s", flaw)
		}
		if odd := paste.Odd(m.Model); odd != "" {
			c.bad(at("model"), "%s", odd)
		}
		if likeKey.MatchString(m.Model) {
			c.bad(at("model"), "looks like a key, which belongs into %s: want the name that the server has for the model", at("api_key"))
		}
		if m.Model == "" {
			c.bad(key+".model", "is required: the name that the server has for the model")
		}
		if m.MaxOutputTokens >= m.ContextTokens {
			c.bad(key+".max_output_tokens", "want less than context_tokens (%d), got %d", m.ContextTokens, m.MaxOutputTokens)
		}
		if said := proxy.KeyFlaw("proxy", m.Proxy); said != "" {
			c.bad(at("proxy"), "%s", said)
		}
		c.base(at("base_url"), m)
	}
}

// base refuses the two usual mistakes: Anthropic's clients add /v1 themselves,
// and OpenAI's add the name of the call.
func (c *checker) base(key string, m Model) {
	odd := paste.Odd(m.BaseURL)
	switch {
	case odd != "":
		c.bad(key, "%s", odd)
	case noBase(m.BaseURL) != "":
		c.bad(key, "%s", noBase(m.BaseURL))
	case m.Provider == Anthropic && strings.HasSuffix(path(m.BaseURL), "/v1"):
		c.bad(key, "want it without /v1, for example %s", anthropicBase)
	case strings.HasSuffix(path(m.BaseURL), "/chat/completions"):
		c.bad(key, "want it without /chat/completions, for example %s", openAIBase)
	case strings.HasSuffix(path(m.BaseURL), "/messages"):
		c.bad(key, "want it without /messages, for example %s", anthropicBase)
	}
}

func path(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	return strings.TrimRight(u.Path, "/")
}

func (c *checker) tools() {
	t := c.cfg.Tools
	for i, rule := range t.Policy {
		c.pattern(index("tools.policy", i)+".match", rule.Match)
	}
	for i, name := range t.Enabled {
		if !toolName.MatchString(name) {
			c.bad(index("tools.enabled", i), `want the name of a tool, which may hold *, or one with a leading "-", got %s`, c.got(index("tools.enabled", i)))
		}
	}
	for i, cidr := range t.Web.AllowPrivate {
		if _, err := netip.ParsePrefix(cidr); err != nil {
			c.bad(index("tools.web.allow_private", i), "want a network such as 127.0.0.0/8, got %s", c.got(index("tools.web.allow_private", i)))
		}
	}
	s := t.Web.Search
	if s.Provider == "google" && s.EngineID == "" {
		c.bad("tools.web.search.engine_id", "is required for google")
	}
	if s.Provider == "searxng" && s.BaseURL == "" {
		c.bad("tools.web.search.base_url", "is required for searxng")
	}
	if said := noURL(s.BaseURL); s.BaseURL != "" && said != "" {
		c.bad("tools.web.search.base_url", "%s", said)
	}
}

// likeKey: the beginnings of keys of well-known servers.
var likeKey = regexp.MustCompile(`^(sk-|pk-|rk-|gsk_|xai-|AIza|nvapi-|hf_|tgp_|csk-|pplx-|(?i:bearer ))`)

var (
	toolName     = regexp.MustCompile(`^-?[A-Za-z0-9_*-]{1,64}$`)
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

func (c *checker) exec() {
	e := c.cfg.Tools.Exec
	for i, p := range e.DenyPatterns {
		c.pattern(index("tools.exec.deny_patterns", i), p)
	}
	for i, p := range e.AllowPatterns {
		c.pattern(index("tools.exec.allow_patterns", i), p)
	}
	for i, name := range e.Env {
		if !variableName.MatchString(name) {
			c.bad(index("tools.exec.env", i), "want the name of a variable, got %s", c.got(index("tools.exec.env", i)))
		}
	}
	for i, name := range e.SetEnv {
		if !variableName.MatchString(strings.TrimSuffix(name, "*")) {
			c.bad(index("tools.exec.set_env", i), "want the name of a variable, or its beginning and an * such as MYAPP_*, got %s", c.got(index("tools.exec.set_env", i)))
		}
	}
	c.network(e)
	if e.Timeout > e.MaxTimeout {
		c.bad("tools.exec.timeout", "want at most max_timeout (%s), got %s", short(e.MaxTimeout), short(e.Timeout))
	}
	if e.AllowListOnly && len(e.AllowPatterns) == 0 {
		c.bad("tools.exec.allow_list_only", "no command could run: give allow_patterns, or set tools.exec.enabled to false")
	}
}

// hostPattern: a name or an address, or all names below one.
var hostPattern = regexp.MustCompile(`^((\*\.)?[\pL\pN_-]+(\.[\pL\pN_-]+)*\.?|[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*)$`)

// network checks what commands have of it.
func (c *checker) network(e Exec) {
	for i, host := range e.Hosts {
		if !hostPattern.MatchString(host) {
			c.bad(index("tools.exec.hosts", i), "want a host such as example.org, or *.example.org for all below it, without scheme, port and path; got %s", c.got(index("tools.exec.hosts", i)))
		}
	}
	if e.Sandbox == "off" && (e.Network == "guarded" || e.Network == "none") {
		c.bad("tools.exec.network", "without a sandbox (tools.exec.sandbox: off) nothing holds commands back: want open, or a sandbox")
	}
	if len(e.Hosts) > 0 && (e.Network == "open" || e.Network == "none") {
		c.bad("tools.exec.hosts", "only a guarded network knows hosts: want tools.exec.network: guarded, or no hosts")
	}
}

func (c *checker) pattern(key, pattern string) {
	if _, err := regexp.Compile(pattern); err != nil {
		var e *syntax.Error
		errors.As(err, &e)
		c.bad(key, "want a regular expression (RE2), got %s: %s", c.got(key), e.Code)
	}
}

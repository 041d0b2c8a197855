package config

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"time"

	"magpie/chat"
)

// Tools is the section tools.
type Tools struct {
	ToolLimits
	Fence
	Enabled    []string // names; a leading "-" removes one, "*" is all
	Exec       Exec
	Web        WebTools
	Screenshot Screenshot
	Policy     []Rule
	MCPServers MCPServers `yaml:"mcp_servers"`
}

// ToolLimits bound every tool call that has no bounds of its own.
type ToolLimits struct {
	Timeout        time.Duration `min:"1ms"`
	NetworkTimeout time.Duration `min:"1ms"`
	MaxConcurrent  int           `min:"1" max:"1000"`
	MaxResultChars int           `min:"100"`
}

// Fence says which files the tools may reach.
type Fence struct {
	RestrictToWorkspace bool
	AllowedPaths        []string
	PathPolicy          string `oneof:"strict|resolve"`
	Symlinks            string `oneof:"deny|inside"`
}

// Exec is the section tools.exec. Patterns are RE2.
type Exec struct {
	Enabled        bool
	Timeout        time.Duration `min:"1ms"`
	MaxTimeout     time.Duration `min:"1ms"`
	MaxOutputChars int           `min:"100"`
	DenyPatterns   []string
	AllowPatterns  []string
	AllowListOnly  bool
	Sandbox        string `oneof:"auto|landlock|bwrap|off"`
	Variables
	Network string   `oneof:"auto|guarded|open|none"`
	Hosts   []string // that a guarded command reaches; none: all
	Listen  bool     // on TCP ports, although guarded
}

// Variables are names of those that commands see.
type Variables struct {
	Env    []string // of the bot's
	SetEnv []string // that set_env may set beside the usual ones; a final * stands for anything
}

// WebTools is the section tools.web.
type WebTools struct {
	Search       Search
	Fetch        Fetch
	AllowPrivate []string // CIDRs
}

// Search is the web search; Provider "" means that none is configured.
type Search struct {
	Provider   string `oneof:"|brave|tavily|google|bing|duckduckgo|searxng"`
	APIKey     chat.Secret
	EngineID   string
	BaseURL    string
	MaxResults int `min:"1" max:"100"`
}

// Fetch is how pages are read.
type Fetch struct {
	Format   string `oneof:"markdown|text|html"`
	MaxChars int    `min:"100"`
}

// Screenshot names the browser; "" looks for one in PATH.
type Screenshot struct{ Chrome string }

// Rule is one entry of tools.policy; empty fields match everything.
type Rule struct {
	Tool    string
	Match   string // RE2 on the tool's main argument
	Channel string
	Chat    string // id of the chat, as the channel writes it
	Sender  string
	Action  string `oneof:"allow|ask|deny" required:"true"`
}

// MCPServer is one entry of tools.mcp_servers: a Command to start or a URL to
// call.
type MCPServer struct {
	Name    string
	Command string
	Args    []string
	Env     map[string]chat.Secret
	URL     string
	Headers map[string]chat.Secret
	Tools   []string // patterns of the server's tool names; a leading "-" removes; none = all
	Paths   []string // what a started server reaches besides its own folder
	Sandbox string   `oneof:"|auto|off"` // "" is auto
	Enabled bool
}

func (m *MCPServer) defaults() { m.Enabled = true }

// MCPServers are sorted by name. In the file they are names with sections, or
// a list of sections with names.
type MCPServers []MCPServer

var mcpName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

func (s *MCPServers) decode(d *decoder, n *node, key string) {
	var all []MCPServer
	places := map[string]bool{}
	add := func(n *node, key string, m MCPServer) {
		switch {
		case !mcpName.MatchString(m.Name):
			d.add(n, key, "want a name of letters, digits, - and _, got %q", cut(m.Name))
		case places[m.Name]:
			d.add(n, key, "the name %s is given twice", m.Name)
		case (m.Command == "") == (m.URL == ""):
			d.add(n, key, "want either command or url")
		case m.URL != "" && noURL(m.URL) != "":
			d.add(n, join(key, "url"), "want a URL with http:// or https://")
		case m.URL != "" && len(m.Paths) > 0:
			d.add(n, join(key, "paths"), "want none beside url: they are for servers that are started")
		}
		places[m.Name] = true
		all = append(all, m)
	}
	switch n.kind {
	case table:
		for _, p := range n.pairs {
			m := MCPServer{Name: p.key}
			m.defaults()
			d.value(p.value, join(key, p.key), field{}.of(&m))
			add(p.place, join(key, p.key), m)
		}
	case list:
		var given []MCPServer
		d.value(n, key, field{}.of(&given))
		for i, m := range given {
			add(n.items[i], fmt.Sprintf("%s[%d]", key, i), m)
		}
	default:
		d.add(n, key, "want names with sections, or a list of sections with names, got %s", n.kind)
	}
	slices.SortStableFunc(all, func(a, b MCPServer) int { return cmp.Compare(a.Name, b.Name) })
	*s = all
}

func defaultTools() Tools {
	return Tools{
		ToolLimits: ToolLimits{Timeout: 30 * time.Second, NetworkTimeout: time.Minute, MaxConcurrent: 3, MaxResultChars: 16_000},
		Fence:      Fence{RestrictToWorkspace: true, PathPolicy: "strict", Symlinks: "deny"},
		Enabled:    []string{"*"},
		Exec:       Exec{Enabled: true, Timeout: time.Minute, MaxTimeout: 10 * time.Minute, MaxOutputChars: 10_000, Sandbox: "auto", Network: "auto"},
		Web:        WebTools{Search: Search{MaxResults: 10}, Fetch: Fetch{Format: "markdown", MaxChars: 50_000}},
	}
}

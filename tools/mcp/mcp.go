// Package mcp brings in the tools of MCP servers, over stdio, SSE and
// streamable HTTP. Each server has a goroutine of its own that connects,
// registers its tools as mcp_<server>_<tool>, follows changes of its list and
// connects again when it is gone; a server that crashes, hangs or offers
// nonsense hurts nobody but itself. Run owns the goroutines and the servers'
// processes.
package mcp

import (
	"cmp"
	"context"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"magpie/chat"
	"magpie/media"
	"magpie/tools"
	"magpie/tools/egress"
	"magpie/tools/shell/sandbox"
)

// Server is one server of the configuration: a Command to start, or a URL.
type Server struct {
	Name    string
	Command string
	Args    []string
	Env     map[string]chat.Secret // beside PATH, HOME, LANG and TMPDIR
	URL     string
	Headers map[string]chat.Secret
	// Paths are what a started server reaches besides its own folder, to read
	// and to change; Bare runs it without the sandbox.
	Paths []string
	Bare  bool
	// Tools are patterns of tool names as the server calls them; a leading "-"
	// removes. Empty: all.
	Tools []string
}

// Options of New; Registry is required.
type Options struct {
	Registry *tools.Registry
	Media    media.Store // keeps files that tools return; nil: they are named only
	// Save puts such a file into a folder for what came from outside, where file
	// tools find it, and returns its path; nil: it is in Media only.
	Save func(name string, data []byte) (path string, err error)
	// Dir holds a working folder for each started server, by its name. It must
	// be out of the reach of tools: servers run code that they find there.
	Dir string
	// Wall gives the sandbox that servers are started in; nil, or one that gives
	// nil: there is none.
	Wall func() *sandbox.Sandbox
	// Proxy is how servers reach the internet where their network is guarded;
	// nil: they do not.
	Proxy   *egress.Proxy
	Version string       // of the program, told to servers
	Log     *slog.Logger // nil = silent
	// Redact takes secrets out of what servers say; nil = nothing is taken.
	Redact func(string) string
	// Retry is the first pause before a server is tried again; doubles up to a
	// hundred times of it. 0 = 1 s.
	Retry time.Duration
}

// State is a moment's view of a server.
type State struct {
	Name      string    `json:"name"`
	Kind      string    `json:"kind"` // stdio, http or sse
	Connected bool      `json:"connected"`
	Since     time.Time `json:"since"`           // of the present state
	Tools     []string  `json:"tools,omitempty"` // as registered
	Skipped   []string  `json:"skipped,omitempty"`
	// Tasks are tools that are not offered because they run as tasks only.
	Tasks []string `json:"tasks,omitempty"`
	Err   string   `json:"err,omitempty"` // the last trouble
	// Stray counts what the server printed in the place of messages.
	Stray int `json:"stray,omitempty"`
	// Closed are paths that its configuration names and its sandbox keeps it from.
	Closed []string `json:"closed,omitempty"`
}

// Manager keeps the connections. Safe for concurrent use.
type Manager struct {
	opt     Options
	servers []*server
}

// New returns a Manager of the servers; nothing is started yet.
func New(servers []Server, o Options) *Manager {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if info, ok := debug.ReadBuildInfo(); ok && o.Version == "" { // the protocol wants one
		o.Version = cmp.Or(info.Main.Version, "(devel)")
	}
	if o.Redact == nil {
		o.Redact = func(s string) string { return s }
	}
	if o.Retry <= 0 {
		o.Retry = time.Second
	}
	m := &Manager{opt: o}
	for _, cfg := range servers {
		m.servers = append(m.servers, newServer(cfg, o))
	}
	return m
}

// Run keeps all servers connected until ctx ends; then it stops them and takes
// their tools away.
func (m *Manager) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	for _, s := range m.servers {
		wg.Go(func() { s.run(ctx) })
	}
	wg.Wait()
	return nil
}

// States tells how the servers are, in the order of the configuration.
func (m *Manager) States() []State {
	all := make([]State, len(m.servers))
	for i, s := range m.servers {
		all[i] = s.snapshot()
	}
	return all
}

// Test connects to each server once, lists its tools and ends; for bot mcp test
// and bot doctor.
func (m *Manager) Test(ctx context.Context) []State {
	var wg sync.WaitGroup
	for _, s := range m.servers {
		wg.Go(func() { s.try(ctx) })
	}
	wg.Wait()
	return m.States()
}

// matches knows * only: names of tools may hold the other signs of patterns.
func matches(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	if !strings.HasPrefix(name, parts[0]) {
		return false
	}
	name = name[len(parts[0]):]
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(name, p)
		if i < 0 {
			return false
		}
		name = name[i+len(p):]
	}
	return strings.HasSuffix(name, parts[len(parts)-1])
}

// sorted returns a copy in order.
func sorted(names []string) []string {
	names = slices.Clone(names)
	slices.Sort(names)
	return names
}

package app_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"magpie/config"
	"magpie/internal/app"
	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/nodetest"
	"magpie/internal/fakes/telegram"
	"magpie/internal/need"
)

// An MCP server's tool is offered, called and answered through the whole
// program, beside a server that does not work; the shell and /mcp show both.
func TestMCP(t *testing.T) {
	t.Parallel()
	const server = "@modelcontextprotocol/server-everything/dist/index.js"
	node, modules := nodetest.Find(t, server)
	file := filepath.Join(modules, server)
	w := newWorld(t, nil)
	w.extra = `tools:
  mcp_servers:
    all: {command: ` + node + `, args: [` + file + `, stdio], tools: [echo, "get-*"]}
    none: {command: /nonexistent/server}
    planted: {command: ` + node + `, args: [-e, "require('planted')"]}`
	w.model.Reply(func(r modelserver.Request) modelserver.Answer {
		if res := r.Results(); len(res) > 0 {
			return modelserver.Answer{Text: "outcome: " + res[0].Text}
		}
		return modelserver.Answer{Calls: []modelserver.Call{{Name: "mcp_all_echo", Args: `{"message":"喜鹊"}`}}}
	})
	path, listen := w.config("bot")
	marker := plant(t, filepath.Join(filepath.Dir(path), "workspace"))
	w.command(path, 0, "all (stdio): connected", "mcp", "test", "all") // before the first start
	w.command(path, 1, `no MCP server "nobody" is switched on; there are: all, none, planted`, "mcp", "test", "all", "nobody")
	b := w.startWith(path, listen)
	b.ready()
	b.until("one server is connected, and each of the others has failed", func() bool {
		said := b.log.String()
		return strings.Contains(said, "mcp server connected") && strings.Contains(said, "/nonexistent/server") && strings.Contains(said, "Cannot find module 'planted'")
	}, func() string { return b.log.String() })
	w.command(path, 0, "all (stdio): connected", "mcp", "list")
	w.command(path, 0, "none (stdio): not connected", "mcp", "list")
	w.command(path, 0, "exit status 1; it wrote: ", "mcp", "list")
	w.command(path, 0, "Cannot find module 'planted'", "mcp", "list")
	w.say("echo it")
	w.wait(owner, "the tool's answer", func(m []telegram.Message) bool { return count(m, "喜鹊") == 1 })
	w.say("/mcp")
	w.wait(owner, "the servers", func(m []telegram.Message) bool { return count(m, "❌ none") == 1 && count(m, "✅ all") == 1 })
	b.kill()
	w.command(path, 1, "2 of 3 MCP servers do not work", "mcp", "test")
	w.command(path, 1, "Cannot find module 'planted'", "doctor")
	if _, err := os.Stat(marker); err == nil {
		t.Error("a server has run what stands in the workspace")
	}
}

// plant puts a module of Node and one of Python into a folder; who loads one
// makes the marker.
func plant(t *testing.T, dir string) (marker string) {
	t.Helper()
	marker = filepath.Join(t.TempDir(), "loaded")
	for name, text := range map[string]string{
		"node_modules/planted/index.js": fmt.Sprintf("require('fs').writeFileSync(%q, '')", marker),
		"planted.py":                    fmt.Sprintf("open(%q, 'w')", marker),
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return marker
}

// What the agent may write is not loaded by servers, which run outside of the
// sandbox: neither by their language nor by their own relative arguments.
func TestMCPServersLoadNothingOfTheWorkspace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command string
		args    []string
		says    string
	}{
		"node":     {"node", []string{"-e", "require('planted')"}, "Cannot find module 'planted'"},
		"node arg": {"node", []string{"node_modules/planted/index.js"}, "Cannot find module"},
		"python":   {"python3", []string{"-m", "planted"}, "No module named planted"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(c.command); err != nil {
				need.Unmet(t, "%v", err)
			}
			cfg := &config.Config{}
			cfg.DataDir = filepath.Join(t.TempDir(), "data")
			cfg.Workspace = filepath.Join(cfg.DataDir, "workspace")
			cfg.Tools.MCPServers = config.MCPServers{{Name: "one", Command: c.command, Args: c.args, Enabled: true}}
			marker := plant(t, cfg.Workspace)
			// The trap works where it is laid.
			there := exec.CommandContext(t.Context(), c.command, c.args...)
			there.Dir = cfg.Workspace
			if out, err := there.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if err := os.Remove(marker); err != nil {
				t.Fatal(err)
			}
			states, err := app.TestMCP(t.Context(), cfg, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(marker); err == nil || !strings.Contains(states[0].Err, c.says) {
				t.Errorf("the marker: %v; the server says %q, want %q", err, states[0].Err, c.says)
			}
		})
	}
}

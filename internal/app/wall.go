package app

import (
	"log/slog"
	"sync"

	"magpie/config"
	"magpie/internal/proxy"
	"magpie/tools/egress"
	"magpie/tools/shell/sandbox"
	"magpie/tools/web/guard"
)

// serverProxy is how MCP servers reach the internet: they are the operator's, so
// the list of hosts for commands is not theirs.
func serverProxy(cfg *config.Config) *egress.Proxy {
	g, err := guard.New(&guard.Options{Allow: cfg.Tools.Web.AllowPrivate})
	if err != nil {
		return nil // web tools say what is wrong
	}
	return egress.New(egress.Options{Guard: g, Upstream: proxy.Environment})
}

// newWall makes the sandbox of what the program starts for itself: MCP servers,
// the browser, the reader of PDF files. It is tried when it is wanted first; nil
// = there is none here. What tools.exec.sandbox: off says is about commands.
func newWall(cfg *config.Config, log *slog.Logger) func() *sandbox.Sandbox {
	return sync.OnceValue(func() *sandbox.Sandbox {
		want := sandbox.Kind(cfg.Tools.Exec.Sandbox)
		if want == sandbox.Off {
			want = sandbox.Auto
		}
		network := sandbox.AutoNetwork
		if cfg.Tools.Exec.Network == string(sandbox.Open) {
			network = sandbox.Open
		}
		s, err := sandbox.New(sandbox.Options{Want: want, Hidden: hidden(cfg), Network: network, Listen: cfg.Tools.Exec.Listen})
		if err == nil && s.Report().Kind != sandbox.Off {
			return s
		}
		if log != nil {
			why := ""
			if err == nil {
				why = s.Report().Text
			}
			log.Warn("no sandbox here for MCP servers, browser and readers of files; they run with the rights of the bot's user", "state", why, "err", err)
		}
		return nil
	})
}

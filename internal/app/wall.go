package app

import (
	"log/slog"
	"sync"

	"magpie/config"
	"magpie/tools/shell/sandbox"
)

// newWall makes the sandbox of what the program starts for itself: MCP servers,
// the browser, the reader of PDF files. It is tried when it is wanted first; nil
// = there is none here. What tools.exec.sandbox: off says is about commands.
func newWall(cfg *config.Config, log *slog.Logger) func() *sandbox.Sandbox {
	return sync.OnceValue(func() *sandbox.Sandbox {
		want := sandbox.Kind(cfg.Tools.Exec.Sandbox)
		if want == sandbox.Off {
			want = sandbox.Auto
		}
		s, err := sandbox.New(sandbox.Options{Want: want, Hidden: hidden(cfg)})
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

package app

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"magpie/config"
	"magpie/internal/console"
	"magpie/internal/front"
)

// greet says how to go on: to the person at the terminal with the link that logs
// in, else in the log, which others read and keep, without the token; unconfined: see Info.
func (p *program) greet(s *console.Server, unconfined string) {
	p.log.Info("ready", "dur", time.Since(p.began).Round(time.Millisecond), "version", p.opts.Version, "url", cmp.Or(p.cfg.Web.PublicURL, s.URL()))
	if p.opts.Out != nil {
		fmt.Fprint(p.opts.Out, p.greeting(s))
	} else if p.hasPage() {
		p.log.Info("the chat page is open", "at", pageAt(p.cfg, s.URL(), contained()), "login", p.tokenIn())
		if p.isOffline() {
			p.log.Info("No model is configured, so the offline assistant answers", "todo", p.modelHint())
		}
	}
	if p.opts.Ready != nil {
		p.opts.Ready(Info{URL: s.URL(), Login: s.LoginURL(), Bot: s.Running(), Unsent: p.unsent, Unconfined: unconfined})
	}
}

func (p *program) greeting(s *console.Server) string {
	if !p.hasPage() {
		return "\nMagpie is running. Health and metrics are at " + s.URL() + "\nCtrl-C stops it.\n\n"
	}
	text := "\nMagpie is running. Open the chat page:\n  " + s.LoginURL() + "\n" + elsewhere(p.cfg, s.URL(), contained())
	if p.isOffline() {
		text += "No model is configured, so the offline assistant answers. To use one:\n  " + p.modelHint() + "\n"
	}
	return text + "Ctrl-C stops it.\n\n"
}

func (p *program) modelHint() string {
	if contained() {
		return "OPENAI_API_KEY=sk-... in .env, or ANTHROPIC_API_KEY, or llm.models in the configuration"
	}
	return "OPENAI_API_KEY=sk-... " + cmp.Or(p.opts.Command, "bot") + "        (or ANTHROPIC_API_KEY, or llm.models in config.yaml)"
}

// pageAt says where the page is opened, in words where the program cannot know:
// the address inside a container leads nowhere outside it.
func pageAt(cfg *config.Config, at string, inContainer bool) string {
	if cfg.Web.PublicURL != "" || !inContainer {
		return cmp.Or(cfg.Web.PublicURL, at)
	}
	u, err := url.Parse(at)
	if err != nil {
		return at
	}
	if shut(cfg) {
		return at + ", " + fmt.Sprintf(shutIn, u.Port())
	}
	return fmt.Sprintf("http://127.0.0.1:%s of the host with our Compose file; else the address that publishes port %[1]s of this container", u.Port())
}

// shutIn goes on from an address that only the container itself can open.
const shutIn = "only inside this container; set web.listen to 0.0.0.0:%s and web.token to open it from the host"

// elsewhere says to the person at the terminal where the page is to be opened
// besides, or why it cannot be.
func elsewhere(cfg *config.Config, at string, inContainer bool) string {
	if cfg.Web.PublicURL != "" {
		return "  " + cfg.Web.PublicURL + "/ from elsewhere; it asks for the token\n"
	}
	if u, err := url.Parse(at); err == nil && inContainer && shut(cfg) {
		return "  This is " + fmt.Sprintf(shutIn, u.Port()) + ".\n"
	}
	return ""
}

// shut says whether the page is open to this machine alone.
func shut(cfg *config.Config) bool {
	host, _, err := net.SplitHostPort(cfg.Web.Listen)
	return err == nil && front.Local(host)
}

// tokenIn says where the token is to be found.
func (p *program) tokenIn() string {
	if p.cfg.Web.Token != "" {
		return "with web.token of the configuration (WEB_TOKEN in .env with our Compose file)"
	}
	path := filepath.Join(p.cfg.DataDir, console.TokenFile)
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return "with the token in the file " + path
}

// contained says whether the program runs in a container, as far as engines
// tell.
func contained() bool {
	for _, mark := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(mark); err == nil {
			return true
		}
	}
	return os.Getenv("container") != "" || os.Getenv("KUBERNETES_SERVICE_HOST") != ""
}

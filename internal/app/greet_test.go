package app

import (
	"testing"

	"magpie/config"
)

// Where the page is to be opened is said as far as the program knows: not the
// address inside a container, and why nobody outside reaches one that listens to
// the container alone.
func TestWhereThePageIs(t *testing.T) {
	const at = "http://127.0.0.1:18990"
	const shutUp = "only inside this container; set web.listen to 0.0.0.0:18990 and web.token to open it from the host"
	for name, c := range map[string]struct {
		listen, public string
		inContainer    bool
		log, terminal  string
	}{
		"on a machine":                 {listen: "127.0.0.1:18990", log: at},
		"on a network":                 {listen: "0.0.0.0:18990", log: at},
		"behind a proxy":               {listen: "127.0.0.1:18990", public: "https://bot.example.org/x", log: "https://bot.example.org/x", terminal: "  https://bot.example.org/x/ from elsewhere; it asks for the token\n"},
		"in a container":               {listen: "0.0.0.0:18990", inContainer: true, log: at + " of the host with our Compose file; else the address that publishes port 18990 of this container"},
		"every address of a container": {listen: ":18990", inContainer: true, log: at + " of the host with our Compose file; else the address that publishes port 18990 of this container"},
		"shut in a container":          {listen: "127.0.0.1:18990", inContainer: true, log: at + ", " + shutUp, terminal: "  This is " + shutUp + ".\n"},
		"shut in by a name":            {listen: "localhost:18990", inContainer: true, log: at + ", " + shutUp, terminal: "  This is " + shutUp + ".\n"},
		"shut in by IPv6":              {listen: "[::1]:18990", inContainer: true, log: at + ", " + shutUp, terminal: "  This is " + shutUp + ".\n"},
		"a proxy in the same pod":      {listen: "127.0.0.1:18990", public: "https://bot.example.org", inContainer: true, log: "https://bot.example.org", terminal: "  https://bot.example.org/ from elsewhere; it asks for the token\n"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config.Default()
			cfg.Web.Listen, cfg.Web.PublicURL = c.listen, c.public
			if got := pageAt(&cfg, at, c.inContainer); got != c.log {
				t.Errorf("the log says %q, want %q", got, c.log)
			}
			if got := elsewhere(&cfg, at, c.inContainer); got != c.terminal {
				t.Errorf("the terminal says %q, want %q", got, c.terminal)
			}
		})
	}
}

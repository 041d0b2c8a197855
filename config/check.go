package config

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"magpie/internal/near"
	"magpie/internal/zone"
)

// checker looks for what no single key shows: combinations that cannot work,
// names that do not exist, addresses and patterns that cannot be read.
type checker struct {
	*report
	root *node
	cfg  *Config
}

func (c *checker) all() {
	c.home()
	c.bus()
	c.models()
	c.agent()
	c.media()
	c.tools()
	c.exec()
	c.security()
	c.web()
	c.proxies()
}

// bad reports a problem at the place of a key, or of the section around it.
func (c *checker) bad(key, format string, args ...any) {
	if slices.ContainsFunc(c.problems, func(p Problem) bool { return p.Key == key }) {
		return // said already, and better
	}
	at := c.root.find(key)
	if at == c.root || at.line == 0 {
		at = nil // the key stands in no file
	}
	c.add(at, key, format, args...)
	if at == nil && strings.ToUpper(key) == key { // a variable
		c.problems[len(c.problems)-1].File = ""
	}
}

// got quotes the value of a key as it stands in the file: an expanded variable
// may be a secret that was put into the wrong place.
func (c *checker) got(key string) string { return got(c.root.find(key)) }

func (c *checker) home() {
	if named := c.cfg.Timezone; named != "" {
		if _, err := time.LoadLocation(named); err != nil {
			c.bad("timezone", `want an IANA name such as Europe/Berlin or Asia/Shanghai, or "", got %s`, c.got("timezone"))
			c.problems[len(c.problems)-1].Text += zoneHint(named) // after what is said of variables: it is from our own table
		}
	}
	if c.cfg.DataDir == "" {
		c.bad("data_dir", "want a folder")
		return
	}
	data, err := filepath.Abs(c.cfg.DataDir)
	if err != nil {
		return
	}
	servers, err := filepath.Abs(c.cfg.MCPDir())
	if err != nil {
		return
	}
	for i, open := range append([]string{c.cfg.Workspace}, c.cfg.Tools.AllowedPaths...) {
		root, err := filepath.Abs(open)
		switch {
		case err != nil:
		case open == "" && i > 0: // it would mean the folder that the bot is started in
			c.bad(index("tools.allowed_paths", i-1), "want a folder, got nothing; take the entry out")
		case within(data, root):
			c.bad("data_dir", "stands inside %s, where the tools of the agent may read and write: keep them apart", open)
			return
		case within(root, servers):
			key := "workspace"
			if i > 0 {
				key = index("tools.allowed_paths", i-1)
			}
			c.bad(key, "%s is where MCP servers are started, and what the agent writes there they might run: want another folder", open)
		}
	}
}

// within says whether path is root or below it.
func within(path, root string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func (c *checker) bus() {
	b := c.cfg.Bus
	if pause, err := time.ParseDuration(b.Sync); b.Sync != "always" && (err != nil || pause <= 0) {
		c.bad("bus.sync", "want always or a duration such as 10s, got %s", c.got("bus.sync"))
	}
	if b.Replicas%2 == 0 {
		c.bad("bus.replicas", "want 1, 3 or 5, got %d", b.Replicas)
	}
	if (b.TLS.Cert == "") != (b.TLS.Key == "") {
		c.bad("bus.tls", "cert and key belong together: give both or none")
	}
	if said := busAddresses(b.URL); said != "" {
		c.bad("bus.url", "%s", said)
	}
	if b.URL != "" {
		return
	}
	const external = "only an external bus has that: set bus.url"
	if b.Replicas > 1 {
		c.bad("bus.replicas", "the embedded bus has one copy; %s", external)
	}
	if b.CredsFile != "" {
		c.bad("bus.creds_file", external)
	}
	if b.TLS != (TLS{}) {
		c.bad("bus.tls", external)
	}
}

func (c *checker) agent() {
	a := c.cfg.Agent
	if first := c.cfg.LLM.Models[0]; a.HistoryTokens >= first.ContextTokens {
		c.bad("agent.history_tokens", "want less than the context of model %s (%d)", first.Name, first.ContextTokens)
	}
	if a.SystemPromptFile != "" {
		if _, err := os.Stat(a.SystemPromptFile); err != nil {
			c.bad("agent.system_prompt_file", "%v", reason(err))
		}
	}
}

func (c *checker) media() {
	t := c.cfg.Media.Transcribe
	switch {
	case t.BaseURL != "" && noURL(t.BaseURL) != "":
		c.bad("media.transcribe.base_url", "%s", noURL(t.BaseURL))
	case (t.BaseURL == "") != (t.Model == ""):
		c.bad("media.transcribe", "base_url and model belong together: give both or none")
	}
	o := c.cfg.Media.OSS
	given := 0
	for _, value := range []string{o.Endpoint, o.Bucket, o.AccessKeyID, string(o.AccessKeySecret)} {
		if value != "" {
			given++
		}
	}
	if given != 0 && given != 4 {
		c.bad("media.oss", "endpoint, bucket, access_key_id and access_key_secret belong together: give all or none")
	}
	if at := o.Endpoint; at != "" {
		if !strings.Contains(at, "://") { // the scheme may be left out
			at = "https://" + at
		}
		if noURL(at) != "" {
			c.bad("media.oss.endpoint", "want an address such as https://oss-cn-hangzhou.aliyuncs.com")
		}
	}
	if said := noURL(o.PublicBaseURL); o.PublicBaseURL != "" && said != "" {
		c.bad("media.oss.public_base_url", "%s", said)
	}
}

// adminForm: the channel's instance name, a colon, the platform's id.
var adminForm = regexp.MustCompile(`^([A-Za-z0-9_-]+):\S+$`)

func (c *checker) security() {
	for i, admin := range c.cfg.Security.Admins {
		key := index("security.admins", i)
		m := adminForm.FindStringSubmatch(admin)
		if m == nil {
			c.bad(key, `want "<channel>:<sender id>", got %s`, c.got(key))
			continue
		}
		if !slices.ContainsFunc(c.cfg.Channels, func(ch Channel) bool { return ch.Name == m[1] }) {
			c.bad(key, "there is no channel of that name in channels")
		}
	}
	if c.cfg.Security.Budget.USDPerDay == 0 {
		return
	}
	costs := func(m Model) bool { return m.Provider == Offline || m.Price != Price{} }
	if !slices.ContainsFunc(c.cfg.LLM.Models, costs) {
		c.bad("security.budget.usd_per_day", "no model has a price: set llm.models[].price, or use tokens_per_day")
	}
}

// zoneHint says which name would be right. It is a name of our own table, so
// that nothing of the value is shown.
func zoneHint(said string) string {
	meant, sure := zone.Meant(said)
	switch {
	case strings.EqualFold(strings.TrimSpace(said), "CST"): // China's, and America's
		return "; perhaps Asia/Shanghai, or America/Chicago?"
	case meant == "":
		return ""
	case sure || near.Distance(strings.ToLower(cut(said)), strings.ToLower(meant)) <= 3:
		return fmt.Sprintf("; did you mean %s?", meant)
	}
	return fmt.Sprintf("; perhaps %s?", meant)
}

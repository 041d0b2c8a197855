package dockertest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const page = "127.0.0.1:18990"

// From the lines of the documentation to an answer, and through what happens to
// a bot: nothing is lost.
func TestAlone(t *testing.T) {
	need(t, false)
	p := open(t, "docker-compose.yml")
	p.install()
	p.commands()

	c := newCrowd(t, "alone", p.token(), 4, page)
	c.answered(3)
	p.killed(c)
	p.builtAgain(c)
	p.restored(c)
	c.fine()
	p.logs()
}

// install follows the documentation from nothing to healthy.
func (p *project) install() {
	p.t.Helper()
	began := time.Now()
	p.shown("cp env.example .env")
	p.becomes("healthy", "bot")
	p.figure("from cp env.example .env to healthy, image built", time.Since(began).Round(100*time.Millisecond))
	size := strings.TrimSpace(p.must("docker", "image", "inspect", "-f", "{{.Size}}", "magpie-test:bot"))
	p.figure("bytes of the image", size)
	if len(size) > 8 || size > "40100000" {
		p.t.Errorf("the image has %s bytes, want at most 40.1 MB", size)
	}
	commit := strings.TrimSpace(p.must("git", "rev-parse", "HEAD"))
	if said := p.bot("bot", "version"); !strings.Contains(said, commit[:12]) {
		p.t.Errorf("the version names no commit: %s, want %s", said, commit[:12])
	}
}

// commands are those of the operator: each answers.
func (p *project) commands() {
	p.t.Helper()
	chat := exec.Command("docker", "compose", "exec", "-T", "bot", "bot", "chat")
	chat.Dir = p.dir
	chat.Stdin = strings.NewReader("remind me in 2 hours to stretch\n")
	said, err := chat.CombinedOutput()
	if err != nil || !strings.Contains(string(said), "stretch") {
		p.t.Errorf("bot chat: %v: %s", err, said)
	}
	for command, want := range map[string]string{
		"doctor": "ok", "health": "ok", "health --ready": "ready", "cron list": "stretch", "memory list": "", "session list": "terminal",
		"session show web/terminal": "stretch", "dlq list": "", "audit verify": "", "audit tail": "", "pair list": "", "config check": "ok",
	} {
		if said := p.bot("bot", strings.Fields(command)...); !strings.Contains(said, want) {
			p.t.Errorf("bot %s: %s, want %q", command, said, want)
		}
	}
	trace := regexp.MustCompile(`trace=(\w+)`).FindStringSubmatch(p.compose("logs", "bot"))
	if trace == nil {
		p.t.Fatal("no message in the log")
	}
	if said := p.bot("bot", "trace", trace[1]); !strings.Contains(said, "receipt") {
		p.t.Errorf("bot trace: %s", said)
	}
	if said := p.bot("bot", "backup", "-"); !strings.HasPrefix(said, "\x1f\x8b") {
		p.t.Errorf("bot backup - writes %.40q", said)
	}
}

// killed ends the program by SIGKILL while people write.
func (p *project) killed(c *crowd) {
	p.t.Helper()
	pid := strings.TrimSpace(p.must("docker", "inspect", "-f", "{{.State.Pid}}", p.container("bot")))
	began := time.Now()
	// docker kill counts as a stop by hand, after which nothing restarts it
	p.must("docker", "run", "--rm", "--pid=host", "alpine:3.22", "kill", "-9", pid)
	p.until("the bot runs again", func() bool {
		_, err := p.try("docker", "compose", "exec", "-T", "bot", "bot", "health", "--ready")
		return err == nil
	}, func() string { return p.health("bot") })
	p.figure("ready after kill -9", time.Since(began).Round(100*time.Millisecond))
	p.becomes("healthy", "bot")
	c.answered(3)
}

// builtAgain replaces the bot by one of a new commit while people write.
func (p *project) builtAgain(c *crowd) {
	p.t.Helper()
	p.must("git", "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-q", "--allow-empty", "-m", "new")
	p.must("git", "tag", "v9.8.7")
	before := p.container("bot")
	began := time.Now()
	p.compose("up", "-d", "--build")
	p.becomes("healthy", "bot")
	p.figure("up -d --build over a conversation", time.Since(began).Round(100*time.Millisecond))
	if p.container("bot") == before {
		p.t.Error("up -d --build has not replaced the container")
	}
	if said := p.bot("bot", "version"); !strings.Contains(said, "magpie v9.8.7 ") {
		p.t.Errorf("the version names no tag: %s", said)
	}
	c.answered(3)
}

// restored goes back to a backup by the lines of the documentation. What people
// wrote since the backup would be gone with it, so they pause.
func (p *project) restored(c *crowd) {
	p.t.Helper()
	quiet := newCrowd(p.t, "kept", p.token(), 2, page)
	quiet.answered(2)
	before := quiet.told()
	n := c.told()
	p.shown("backup - >")
	p.becomes("healthy", "bot")
	if after := quiet.told(); after != before || after.lost > 0 {
		p.t.Errorf("before the backup %s, after the restore %s", before, after)
	}
	if after := c.told(); after != n {
		p.t.Errorf("before the backup %s, after the restore %s", n, after)
	}
	if said := p.bot("bot", "cron", "list"); !strings.Contains(said, "stretch") {
		p.t.Errorf("the reminder is not in the backup: %s", said)
	}
	again := newCrowd(p.t, "again", p.token(), 2, page)
	again.answered(2)
	again.fine()
}

// logs say no token, and no address that cannot be opened.
func (p *project) logs() {
	p.t.Helper()
	said := p.compose("logs", "--no-log-prefix", "bot")
	if strings.Contains(said, p.token()) {
		p.t.Error("the token stands in the log")
	}
	for _, address := range []string{"http://[::", "http://0.0.0.0"} {
		if strings.Contains(said, address) {
			p.t.Errorf("the log names %s, which opens nowhere", address)
		}
	}
}

// With log.format json each line of the log is JSON, from the first to the last.
func TestLogsAreJSON(t *testing.T) {
	need(t, false)
	p := open(t, "docker-compose.yml")
	raw, err := os.ReadFile(filepath.Join(p.dir, "docker.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	p.write("config.yaml", string(raw)+"\nlog: {format: json}\n")
	p.write("docker-compose.yml", strings.Replace(p.read("docker-compose.yml"), "# - ./config.yaml", "- ./config.yaml", 1))
	t.Cleanup(func() { p.must("git", "checkout", "-q", "docker-compose.yml") })
	p.compose("up", "-d")
	p.becomes("healthy", "bot")
	c := newCrowd(t, "json", p.token(), 1, page)
	c.answered(2)
	c.fine()
	p.compose("stop")
	lines := bytes.Split(bytes.TrimSpace([]byte(p.compose("logs", "--no-log-prefix", "bot"))), []byte("\n"))
	if len(lines) < 5 {
		t.Errorf("%d lines in the log", len(lines))
	}
	for _, line := range lines {
		if !json.Valid(line) {
			t.Errorf("not JSON: %s", line)
		}
	}
	p.logs()
}

func (p *project) read(name string) string {
	p.t.Helper()
	raw, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(raw)
}

// The power of the machine is cut while people write, and comes back.
func TestPowerCut(t *testing.T) {
	need(t, false)
	p := open(t, "docker-compose.yml")
	p.compose("up", "-d")
	p.becomes("healthy", "bot")
	c := newCrowd(t, "power", p.token(), 4, page)
	c.answered(3)
	for _, how := range []string{"crash", "stop"} {
		p.engine(how)
		began := time.Now()
		p.engine("start")
		p.becomes("healthy", "bot")
		p.figure("healthy after "+how+" and start of the engine", time.Since(began).Round(100*time.Millisecond))
		c.answered(3)
	}
	c.fine()
}

// Package dockertest tries the Compose files and images with a real engine:
// deploy/docker-test.sh calls it, with a copy of the source and an engine that
// answers. It has nothing but tests.
package dockertest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// patience bounds what is waited for on a slow machine.
const patience = 3 * time.Minute

// what an engine or a network says that has trouble of its own.
var (
	download = regexp.MustCompile(`dial tcp|i/o timeout|TLS handshake|no such host|server misbehaving|Temporary failure|connection reset by peer|` +
		`Could not resolve|Failed to fetch|Unable to connect|Bad Gateway|Service Unavailable|Gateway Timeout|toomanyrequests|unexpected EOF|pull access denied`)
	engineDown = regexp.MustCompile(`Cannot connect to the Docker daemon|no space left on device|failed to mount|failed to create shim`)
)

// ordinary are the lines of a log that complain of nothing.
var ordinary = regexp.MustCompile(`(?m)^.*("level":"(INFO|DEBUG)"|\[(INF|DBG)\]).*\n`)

// project is one Compose file in the copy of the source.
type project struct {
	t   *testing.T
	dir string // deploy
}

// need skips a test that docker-test.sh did not ask for.
func need(t *testing.T, long bool) {
	t.Helper()
	switch kind := os.Getenv("MAGPIE_DOCKER_TEST"); {
	case kind == "":
		t.Skip("deploy/docker-test.sh runs this")
	case long && kind != "long":
		t.Skip("deploy/docker-test.sh --long runs this")
	}
}

// open is a project with images of the source as it is, a .env as the
// documentation makes it, and nothing of an earlier test left.
func open(t *testing.T, files ...string) *project {
	t.Helper()
	p := &project{t: t, dir: filepath.Join(os.Getenv("MAGPIE_DOCKER_SOURCE"), "deploy")}
	t.Setenv("COMPOSE_PROJECT_NAME", "magpie-test")
	t.Setenv("MAGPIE_REPOSITORY", "magpie-test")
	t.Setenv("COMPOSE_ANSI", "never")
	t.Setenv("COMPOSE_PROGRESS", "plain")
	t.Setenv("EDITOR", "true")
	p.must("cp", "env.example", ".env")
	p.setEnv("WEB_TOKEN", "0123456789abcdef0123456789abcdef")
	t.Setenv("COMPOSE_FILE", strings.Join(files, ":"))
	t.Setenv("COMPOSE_FILE", strings.Join(append(files, p.withoutIPv6()...), ":"))
	p.compose("down", "-v", "--remove-orphans", "-t", "1")
	began := time.Now()
	p.compose("build")
	p.figure("images built in", time.Since(began).Round(time.Second))
	t.Cleanup(func() {
		if t.Failed() {
			said, _ := p.try("docker", "compose", "logs", "--tail", "300")
			t.Logf("what the services complained of last:\n%s", ordinary.ReplaceAllString(said, ""))
		}
		_, _ = p.try("docker", "compose", "down", "-v", "--remove-orphans", "-t", "1")
	})
	return p
}

// withoutIPv6 is a file more for an engine that gives containers IPv6, so that
// all stand on the same ground: before version 26 none did, not even on the
// loopback.
func (p *project) withoutIPv6() []string {
	if p.must("docker", "run", "--rm", "alpine:3.22", "cat", "/proc/net/if_inet6") == "" {
		return nil
	}
	p.t.Log("this engine gives IPv6 to containers; it is switched off for the test")
	services := p.compose("config", "--services")
	text := "services:\n"
	for _, name := range strings.Fields(services) {
		if name != "keys" { // which has no network
			text += "  " + name + ":\n    sysctls: {net.ipv6.conf.all.disable_ipv6: 1, net.ipv6.conf.lo.disable_ipv6: 1}\n"
		}
	}
	p.write("without-ipv6.yml", text)
	return []string{"without-ipv6.yml"}
}

func (p *project) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// setEnv fills a line of .env, as somebody would who edits it.
func (p *project) setEnv(name, value string) {
	p.t.Helper()
	raw, err := os.ReadFile(filepath.Join(p.dir, ".env"))
	if err != nil {
		p.t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^` + name + `=.*\n`)
	text := line.ReplaceAllString(string(raw), "") + name + "=" + value + "\n"
	if err := os.WriteFile(filepath.Join(p.dir, ".env"), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) token() string {
	p.t.Helper()
	raw, err := os.ReadFile(filepath.Join(p.dir, ".env"))
	if err != nil {
		p.t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^WEB_TOKEN=(.*)$`).FindSubmatch(raw)
	if found == nil {
		p.t.Fatal("no WEB_TOKEN in .env")
	}
	return string(found[1])
}

// try runs a command in deploy and returns what it wrote.
func (p *project) try(name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = p.dir
	var out, bad bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &bad
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, out.String(), bad.String())
	}
	return out.String(), nil
}

// must is try for what has to work. What the engine or a download does wrong is
// no fault of the product: the test ends and docker-test.sh is told.
func (p *project) must(name string, args ...string) string {
	p.t.Helper()
	said, err := p.try(name, args...)
	if err != nil {
		p.blame(err)
	}
	return said
}

func (p *project) blame(err error) {
	p.t.Helper()
	if download.MatchString(err.Error()) && strings.Contains(err.Error(), "failed to solve") || engineDown.MatchString(err.Error()) {
		p.write("engine-failed", err.Error())
		p.t.Skipf("NOT TRIED, the engine or a download failed: %v", err)
	}
	p.t.Fatal(err)
}

func (p *project) compose(args ...string) string {
	p.t.Helper()
	return p.must("docker", append([]string{"compose"}, args...)...)
}

// bot runs a command of the program in a service, as the documentation says.
func (p *project) bot(service string, args ...string) string {
	p.t.Helper()
	return p.compose(append([]string{"exec", "-T", service, "bot"}, args...)...)
}

// shown runs the lines of docs/operations.md that hold a text, as they stand
// there.
func (p *project) shown(holds string) string {
	p.t.Helper()
	raw, err := os.ReadFile(filepath.Join(p.dir, "../docs/operations.md"))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)```sh show\n(.*?)```").FindAllStringSubmatch(string(raw), -1) {
		if strings.Contains(block[1], holds) {
			return p.must("bash", "-euo", "pipefail", "-c", block[1])
		}
	}
	p.t.Fatalf("docs/operations.md has no lines with %q", holds)
	return ""
}

func (p *project) container(service string) string {
	p.t.Helper()
	return strings.TrimSpace(p.compose("ps", "-a", "-q", service))
}

// health is what docker compose ps shows: starting, healthy or unhealthy.
func (p *project) health(service string) string {
	said, _ := p.try("docker", "inspect", "-f", "{{.State.Status}} {{if .State.Health}}{{.State.Health.Status}}{{end}}", p.container(service))
	return strings.TrimPrefix(strings.TrimSpace(said), "running ")
}

// becomes waits until services are of that health and says how long it took.
func (p *project) becomes(health string, services ...string) time.Duration {
	p.t.Helper()
	began := time.Now()
	for _, service := range services {
		p.until(service+" becomes "+health, func() bool { return p.health(service) == health }, func() string { return p.health(service) })
	}
	return time.Since(began).Round(100 * time.Millisecond)
}

// until asks again and again.
func (p *project) until(what string, ok func() bool, now func() string) {
	p.t.Helper()
	end := time.After(patience)
	for !ok() {
		select {
		case <-end:
			p.t.Fatalf("waited for: %s; now: %s", what, now())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// engine orders the machine that docker-test.sh has started: stop, crash or
// start. A foreign one is left alone.
func (p *project) engine(what string) {
	p.t.Helper()
	dir := os.Getenv("MAGPIE_DOCKER_ENGINE")
	if dir == "" {
		p.t.Skip("NOT TRIED: the engine is not the test's own")
	}
	p.must("./engine.sh", what, dir, os.Getenv("MAGPIE_DOCKER_STORE"))
}

// figure is a measured number, for docs/bench.md.
func (p *project) figure(what string, value any) {
	p.t.Logf("figure: %s: %v", what, value)
}

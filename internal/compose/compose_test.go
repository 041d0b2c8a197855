// Package compose_test reads the Compose files that are shipped with Compose's
// own parser and holds them against what the documentation promises.
package compose_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// load reads a file as "docker compose" does, in a folder whose .env is the
// example, filled in as far as it must be.
func load(t *testing.T, file string, filled ...string) (*types.Project, error) {
	t.Helper()
	dir := t.TempDir()
	for from, to := range map[string]string{file: file, "env.example": ".env"} {
		raw, err := os.ReadFile(filepath.Join("../../deploy", from))
		if err != nil {
			t.Fatal(err)
		}
		text := string(raw)
		for _, line := range filled {
			name, _, _ := strings.Cut(line, "=")
			if to == ".env" {
				text = regexp.MustCompile(`(?m)^`+name+`=.*$`).ReplaceAllLiteralString(text, line)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, to), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	options, err := cli.NewProjectOptions([]string{filepath.Join(dir, file)},
		cli.WithWorkingDirectory(dir), cli.WithEnvFiles(), cli.WithDotEnv)
	if err != nil {
		t.Fatal(err)
	}
	return options.LoadProject(context.Background())
}

var files = []string{"docker-compose.yml", "compose.cluster.yml"}

func TestFilesAreValid(t *testing.T) {
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			p, err := load(t, file, "WEB_TOKEN=secret-for-the-page")
			if err != nil {
				t.Fatal(err)
			}
			for name, s := range p.Services {
				confined(t, name, s)
			}
		})
	}
}

// Without a token nothing starts, and what to do is said.
func TestTokenIsRequired(t *testing.T) {
	for _, file := range files {
		if _, err := load(t, file); err == nil || !strings.Contains(err.Error(), "openssl rand -hex 16") {
			t.Errorf("%s: got %v, want an error that says how to make one", file, err)
		}
	}
}

// confined: read-only, without rights, not root, and open to this machine only.
func confined(t *testing.T, name string, s types.ServiceConfig) {
	t.Helper()
	if !s.ReadOnly || s.Privileged || s.User != "65532:65532" {
		t.Errorf("%s: read_only %v, privileged %v, user %q", name, s.ReadOnly, s.Privileged, s.User)
	}
	if !slices.Contains(s.CapDrop, "ALL") || len(s.CapAdd) > 0 || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
		t.Errorf("%s: cap_drop %v, cap_add %v, security_opt %v", name, s.CapDrop, s.CapAdd, s.SecurityOpt)
	}
	for _, port := range s.Ports {
		if port.HostIP != "127.0.0.1" {
			t.Errorf("%s: port %s is published on %q", name, port.Published, port.HostIP)
		}
	}
	if s.Build == nil || s.Build.Dockerfile != "deploy/Dockerfile" {
		t.Errorf("%s is not built from deploy/Dockerfile", name)
	}
	if s.Restart != "unless-stopped" && name != "keys" {
		t.Errorf("%s: restart %q", name, s.Restart)
	}
	stop := map[bool]int64{true: 45, false: 15}[strings.HasPrefix(name, "nats")]
	if name != "keys" && (s.StopGracePeriod == nil || int64(*s.StopGracePeriod)/1e9 != stop) {
		t.Errorf("%s: stop_grace_period %v, want %d s", name, s.StopGracePeriod, stop)
	}
}

// mounts are the volumes of a service by target, with :ro where it cannot
// write and nocopy where the engine puts nothing of the image into it.
func mounts(s types.ServiceConfig) map[string]string {
	all := map[string]string{}
	for _, v := range s.Volumes {
		from := v.Source
		if v.ReadOnly {
			from += ":ro"
		}
		if v.Volume != nil && v.Volume.NoCopy {
			from += ",nocopy"
		}
		all[v.Target] = from
	}
	return all
}

func TestBotAlone(t *testing.T) {
	p, err := load(t, "docker-compose.yml", "WEB_TOKEN=secret-for-the-page", "TELEGRAM=true")
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Services) != 1 || len(p.Volumes) != 1 {
		t.Fatalf("%d services, %d volumes; want one of each", len(p.Services), len(p.Volumes))
	}
	bot := p.Services["bot"]
	if got := mounts(bot); len(got) != 1 || got["/data"] != "data" {
		t.Errorf("volumes %v", got)
	}
	for name, want := range map[string]string{"WEB_TOKEN": "secret-for-the-page", "TELEGRAM": "true"} {
		if got := bot.Environment[name]; got == nil || *got != want {
			t.Errorf("%s does not reach the container", name)
		}
	}
	if bot.Build.Target != "bot" || bot.Build.Context != filepath.Dir(p.WorkingDir) {
		t.Errorf("built as %q in %q", bot.Build.Target, bot.Build.Context)
	}
}

// What is built and what it is called can be chosen in .env.
func TestImages(t *testing.T) {
	for filled, want := range map[string][3]string{
		"":                   {"magpie:bot", "bot", "magpie-nats:latest"},
		"MAGPIE_IMAGE=full":  {"magpie:full", "full", "magpie-nats:latest"},
		"MAGPIE_IMAGE=shell": {"magpie:shell", "shell", "magpie-nats:latest"},
		"MAGPIE_REPOSITORY=example.org/magpie\nMAGPIE_TAG=v1.2.3":                         {"example.org/magpie:v1.2.3", "bot", "example.org/magpie-nats:v1.2.3"},
		"MAGPIE_REPOSITORY=example.org/magpie\nMAGPIE_TAG=v1.2.3-full\nMAGPIE_IMAGE=full": {"example.org/magpie:v1.2.3-full", "full", "example.org/magpie-nats:v1.2.3-full"},
	} {
		alone, err := load(t, "docker-compose.yml", "WEB_TOKEN=secret-for-the-page\n"+filled)
		cluster, err2 := load(t, "compose.cluster.yml", "WEB_TOKEN=secret-for-the-page\n"+filled)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		bot, agent, nats := alone.Services["bot"], cluster.Services["agent1"], cluster.Services["nats1"]
		if got := [3]string{bot.Image, bot.Build.Target, nats.Image}; got != want || agent.Image != bot.Image {
			t.Errorf("%q: got %v and %s, want %v", filled, got, agent.Image, want)
		}
	}
}

// Each role has its own key and no other; only agents reach the workspace, only
// servers the store, and the bus leads nowhere.
func TestCluster(t *testing.T) {
	p, err := load(t, "compose.cluster.yml", "WEB_TOKEN=secret-for-the-page")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]string{
		"keys": {
			"/keys/server": "keys-server", "/keys/gateway": "keys-gateway", "/keys/agent": "keys-agent",
			"/keys/cron": "keys-cron", "/keys/admin": "keys-admin",
		},
		"nats1":    {"/data": "nats1", "/etc/nats/keys": "keys-server:ro,nocopy"},
		"nats2":    {"/data": "nats2", "/etc/nats/keys": "keys-server:ro,nocopy"},
		"nats3":    {"/data": "nats3", "/etc/nats/keys": "keys-server:ro,nocopy"},
		"gateway1": {"/data": "gateway1", "/keys/gateway": "keys-gateway:ro,nocopy"},
		"gateway2": {"/data": "gateway2", "/keys/gateway": "keys-gateway:ro,nocopy"},
		"agent1":   {"/data": "agent1", "/workspace": "workspace", "/keys/agent": "keys-agent:ro,nocopy"},
		"agent2":   {"/data": "agent2", "/workspace": "workspace", "/keys/agent": "keys-agent:ro,nocopy"},
	}
	if len(p.Services) != len(want) {
		t.Errorf("services %v", p.ServiceNames())
	}
	for name, volumes := range want {
		s := p.Services[name]
		got := mounts(s)
		if len(got) != len(volumes) {
			t.Errorf("%s has the volumes %v, want %v", name, got, volumes)
		}
		for target, from := range volumes {
			if got[target] != from {
				t.Errorf("%s: %s is %q, want %q", name, target, got[target], from)
			}
		}
		role := strings.TrimRight(name, "123")
		switch role {
		case "nats":
			if *s.Environment["SERVER_NAME"] != name || len(s.Networks) != 1 || len(s.Ports) > 0 {
				t.Errorf("%s: name %s, networks %v, ports %v", name, *s.Environment["SERVER_NAME"], s.Networks, s.Ports)
			}
		case "gateway", "agent":
			if *s.Environment["ROLE"] != role || !strings.HasPrefix(strings.Join(s.Command, " "), "run --roles "+role) {
				t.Errorf("%s: role %s, command %v", name, *s.Environment["ROLE"], s.Command)
			}
			for _, server := range []string{"nats1", "nats2", "nats3"} {
				if s.DependsOn[server].Condition != types.ServiceConditionHealthy {
					t.Errorf("%s does not wait for %s", name, server)
				}
			}
		case "keys":
			if s.NetworkMode != "none" {
				t.Errorf("%s has a network", name)
			}
		}
	}
	if !p.Networks["bus"].Internal {
		t.Error("the network of the bus leads outside")
	}
}

// What .env holds reaches the program of every process as env.example says: a
// switch that is left empty stays so, a value with a $ is whole in single
// quotes, and typographic quotes, which Compose leaves, are the program's to see.
func TestVariablesReachTheProgram(t *testing.T) {
	for _, file := range files {
		p, err := load(t, file, "WEB_TOKEN='secret$for$the$page'", "TELEGRAM_BOT_TOKEN=“1:a”", "QQ_APP_ID= 123 ")
		if err != nil {
			t.Fatal(err)
		}
		for name, s := range p.Services {
			if strings.HasPrefix(name, "nats") || name == "keys" {
				continue
			}
			for variable, want := range map[string]string{
				"WEB_TOKEN": "secret$for$the$page", "TELEGRAM": "", "TELEGRAM_BOT_TOKEN": "“1:a”", "QQ_APP_ID": "123", "HTTPS_PROXY": "",
			} {
				if got := s.Environment[variable]; got == nil || *got != want {
					t.Errorf("%s of %s: %s is %v, want %q", name, file, variable, got, want)
				}
			}
		}
	}
}

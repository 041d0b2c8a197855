package dockertest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// What people have on their ground is said in the log in words that help.
func TestGround(t *testing.T) {
	need(t, true)
	t.Run("a port that is taken", func(t *testing.T) {
		p := open(t, "docker-compose.yml")
		p.must("docker", "run", "-d", "--rm", "--name", "magpie-test-port", "-p", page+":80", "alpine:3.22", "sleep", "600")
		t.Cleanup(func() { p.must("docker", "rm", "-f", "magpie-test-port") })
		if _, err := p.try("docker", "compose", "up", "-d"); err == nil || !strings.Contains(err.Error(), "18990") {
			t.Errorf("got %v, want an error that names the port", err)
		}
		p.must("docker", "rm", "-f", "magpie-test-port")
		p.compose("up", "-d")
		p.becomes("healthy", "bot")
	})
	t.Run("a folder of root", func(t *testing.T) {
		p := open(t, "docker-compose.yml")
		folder := p.mounted(t)
		p.compose("up", "-d")
		p.says(`chown -R 65532:65532 /data`)
		p.must("docker", "run", "--rm", "-v", folder+":/data", "alpine:3.22", "chown", "-R", "65532:65532", "/data")
		p.becomes("healthy", "bot")
	})
	t.Run("a full disk", func(t *testing.T) {
		p := open(t, "docker-compose.yml")
		p.write("override.yml", "services:\n  bot:\n    volumes: !reset []\n    tmpfs: [\"/tmp:mode=1777\", \"/data:size=40m,uid=65532,gid=65532,mode=0700\"]\n")
		t.Setenv("COMPOSE_FILE", os.Getenv("COMPOSE_FILE")+":override.yml")
		p.compose("up", "-d")
		p.until("the bot answers", func() bool {
			_, err := p.try("docker", "compose", "exec", "-T", "bot", "bot", "health")
			return err == nil
		}, func() string { return p.compose("logs") })
		if said, _ := p.try("docker", "compose", "exec", "-T", "bot", "bot", "doctor"); !regexp.MustCompile(`(?m)^(FAIL|warn) +disk space: `).MatchString(said) {
			t.Errorf("doctor does not see the disk: %s", said)
		}
	})
	t.Run("a memory limit that is too small", tooSmall)
}

// tooSmall: the log and the doctor say of a memory limit that it is too small,
// and of one that fits nothing.
func tooSmall(t *testing.T) {
	p := open(t, "docker-compose.yml")
	t.Setenv("COMPOSE_FILE", os.Getenv("COMPOSE_FILE")+":override.yml")
	const small = "MiB, which is too small"
	for _, limit := range []string{"64", "28", "24", "16"} {
		p.write("override.yml", "services:\n  bot: {mem_limit: "+limit+"m, memswap_limit: "+limit+"m}\n")
		p.compose("up", "-d", "--force-recreate")
		if limit != "64" {
			p.says("the memory limit is " + limit + " " + small)
		}
		if limit == "64" || limit == "28" { // too small, but alive
			p.becomes("healthy", "bot")
		}
		said, err := p.try("docker", "compose", "exec", "-T", "bot", "bot", "doctor")
		if said == "" { // it starts over and over
			t.Logf("limit %s: nothing runs: %v", limit, err)
			said, _ = p.try("docker", "compose", "run", "--rm", "--no-deps", "-T", "bot", "doctor")
		}
		want := regexp.MustCompile(`(?m)^FAIL +memory: the memory limit is ` + limit + ` ` + small + `$`)
		if limit == "64" {
			want = regexp.MustCompile(`(?m)^ok +memory: the memory limit is 64 MiB$`)
		}
		if log := p.compose("logs", "bot"); !want.MatchString(said) || strings.Contains(log, small) != (limit != "64") {
			t.Errorf("limit %s: doctor says\n%s\nand the log\n%s", limit, said, log)
		}
	}
}

// mounted makes a folder of the host, which belongs to root, the bot's /data.
func (p *project) mounted(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(p.dir, "of-root")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.must("rm", "-rf", folder) })
	p.write("override.yml", "services:\n  bot:\n    volumes: !override [\"./of-root:/data\"]\n")
	t.Setenv("COMPOSE_FILE", os.Getenv("COMPOSE_FILE")+":override.yml")
	return folder
}

// says waits until the log of the bot holds a text.
func (p *project) says(text string) {
	p.t.Helper()
	p.until("the log says "+text, func() bool { return strings.Contains(p.compose("logs", "bot"), text) }, func() string { return p.compose("logs", "bot") })
}

// The large image takes a picture of a page in Chinese.
func TestFull(t *testing.T) {
	need(t, true)
	p := open(t, "docker-compose.yml")
	for _, image := range []string{"shell", "full"} {
		p.setEnv("MAGPIE_IMAGE", image)
		began := time.Now()
		p.compose("build")
		size := strings.TrimSpace(p.must("docker", "image", "inspect", "-f", "{{.Size}}", "magpie-test:"+image))
		p.figure("bytes of the image "+image+", built in "+time.Since(began).Round(time.Second).String(), size)
		if len(size) > 9 {
			t.Errorf("the image %s has %s bytes, want less than a gigabyte", image, size)
		}
		p.compose("up", "-d")
		p.becomes("healthy", "bot")
		if said := p.bot("bot", "doctor"); !regexp.MustCompile(`(?m)^ok +sandbox: landlock`).MatchString(said) {
			t.Errorf("the sandbox in %s: %s", image, said)
		}
	}
	p.compose("exec", "-T", "bot", "sh", "-c", `printf '<meta charset=utf-8><h1>喜鹊 Magpie</h1><p>你好，世界' >/tmp/page.html &&
		cd /tmp && chromium --headless --screenshot=/tmp/page.png --window-size=400,200 --user-data-dir=/tmp/profile file:///tmp/page.html`)
	picture := p.compose("exec", "-T", "bot", "cat", "/tmp/page.png")
	if !strings.HasPrefix(picture, "\x89PNG") {
		t.Errorf("no picture: %.40q", picture)
	}
	if dir := os.Getenv("MAGPIE_DOCKER_PICTURES"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "page.png"), []byte(picture), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// How much memory the bot needs, at rest and with 128 people who write without
// a pause.
func TestMemory(t *testing.T) {
	need(t, true)
	p := open(t, "docker-compose.yml")
	t.Setenv("COMPOSE_FILE", os.Getenv("COMPOSE_FILE")+":override.yml")
	for _, limit := range []string{"128m", "64m", "48m", "32m"} {
		p.write("override.yml", "services:\n  bot: {mem_limit: "+limit+", memswap_limit: "+limit+"}\n")
		p.compose("down", "-v")
		p.compose("up", "-d")
		p.becomes("healthy", "bot")
		rest := strings.TrimSpace(p.must("docker", "stats", "--no-stream", "--format", "{{.MemUsage}}", p.container("bot")))
		people := 128
		if limit == "32m" {
			people = 1
		}
		began := time.Now()
		c := newCrowd(t, "memory", p.token(), people, page)
		c.answered(8)
		n, took := c.told(), time.Since(began)
		killed := strings.TrimSpace(p.must("docker", "inspect", "-f", "{{.RestartCount}}", p.container("bot")))
		p.figure("limit "+limit, []any{"at rest", rest, people, "people", n, took.Round(time.Second), "restarts", killed})
		p.figure("messages in a second with "+limit, int(float64(n.sent)/took.Seconds()))
		if n.lost > 0 || n.disordered > 0 {
			t.Errorf("limit %s: %s", limit, n)
		}
		if killed != "0" {
			t.Errorf("limit %s: killed %s times", limit, killed)
		}
	}
}

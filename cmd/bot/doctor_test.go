package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"magpie/config"
	"magpie/internal/app"
	"magpie/internal/console"
	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/oss"
	"magpie/internal/fakes/telegram"
)

// sections are what a test may change.
type sections struct{ tools, models, bus string }

// patient is a configuration with everything that the doctor looks at.
type patient struct {
	dir, listen           string
	bucket, secret, token string
	oss                   *oss.Server
	ossURL, telegramURL   string
	sections              // in braces or brackets
	env                   []string
	model                 *modelserver.Server
}

func newPatient(t *testing.T) *patient {
	t.Helper()
	tg := telegram.New(nil)
	tgSrv := httptest.NewServer(tg.Handler())
	bucket := oss.New(nil)
	ossSrv := httptest.NewServer(bucket.Handler())
	t.Cleanup(func() {
		tg.Close()
		tgSrv.CloseClientConnections()
		tgSrv.Close()
		bucket.Close()
		ossSrv.Close()
	})
	model := modelserver.New(t)
	model.RequireKey(modelKey)
	return &patient{
		model: model, sections: sections{models: fmt.Sprintf("[{name: main, provider: openai, base_url: %s, api_key: %s, model: scripted}]", model.OpenAI(), modelKey)},
		dir: t.TempDir(), listen: freeAddress(t), oss: bucket, bucket: bucket.Options().Bucket, secret: bucket.Options().KeySecret,
		token: tg.Token(), ossURL: ossSrv.URL, telegramURL: tgSrv.URL,
	}
}

func (p *patient) write(t *testing.T) {
	t.Helper()
	text := fmt.Sprintf(`data_dir: data
workspace: ws
web: {listen: %q}
channels: {telegram: {token: %q, api_base: %s, allow: ["*"]}}
media: {oss: {endpoint: %s, bucket: %s, access_key_id: %s, access_key_secret: %q, region: cn-test}}
tools: %s
bus: %s
llm: {models: %s}
`, p.listen, p.token, p.telegramURL, p.ossURL, p.bucket, p.oss.Options().KeyID, p.secret, cmp.Or(p.tools, "{}"), cmp.Or(p.bus, "{}"), p.models)
	if err := os.WriteFile(filepath.Join(p.dir, "config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// doctor runs bot doctor --json and returns the findings by check.
func (p *patient) doctor(t *testing.T, want int) map[string]app.Finding {
	t.Helper()
	code, stdout, stderr := run(t, p.dir, p.env, "doctor", "--json")
	if code != want {
		t.Errorf("exit code %d, want %d: %s", code, want, stderr)
	}
	for _, secret := range []string{p.secret, p.token, modelKey} {
		if strings.Contains(stdout+stderr, secret) {
			t.Error("a secret is shown")
		}
	}
	var report struct {
		OK       bool
		Findings []app.Finding
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || report.OK != (want == 0) {
		t.Fatalf("%v: %s", err, stdout)
	}
	all := map[string]app.Finding{}
	for _, f := range report.Findings {
		all[f.Check] = f
	}
	return all
}

func TestDoctor(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(t *testing.T, p *patient)
		check  string // that fails; "" = none
		todo   string
	}{
		{"well", func(*testing.T, *patient) {}, "", ""},
		{"a model that thinks before it writes", func(_ *testing.T, p *patient) { p.model.Reply(modelserver.Thinker(1000)) }, "", ""},
		{"bucket", func(_ *testing.T, p *patient) { p.bucket = "another" }, "oss", "media.oss.bucket"},
		{"secret of the bucket", func(_ *testing.T, p *patient) { p.secret = "wrong-secret" }, "oss", "access_key_secret"},
		{"deletion", func(_ *testing.T, p *patient) {
			p.oss.Fail(oss.Fault{Method: "DELETE", Status: 403, Code: "AccessDenied"})
		}, "oss", "oss:DeleteObject"},
		{"token", func(_ *testing.T, p *patient) { p.token = "123:another" }, "channel telegram", "credentials in channels.telegram"},
		{"nobody at the platform", func(t *testing.T, p *patient) { p.telegramURL = "http://" + freeAddress(t) }, "channel telegram", "reaches the platform"},
		{"a browser that is not there", func(_ *testing.T, p *patient) {
			p.tools = "{screenshot: {chrome: /nonexistent/chrome}}"
		}, "browser", "tools.screenshot.chrome"},
		{"an MCP server that does not start", func(_ *testing.T, p *patient) {
			p.tools = "{mcp_servers: {broken: {command: /nonexistent/server}}}"
		}, "mcp broken", "tools.mcp_servers.broken"},
		{"a key of the model", func(_ *testing.T, p *patient) {
			p.models = strings.ReplaceAll(p.models, modelKey, "sk-another")
		}, "model main", "correct api_key of main"},
		{"a model's server that is not there", func(t *testing.T, p *patient) {
			p.models = strings.ReplaceAll(p.models, p.model.URL(), "http://"+freeAddress(t))
		}, "model main", "reaches base_url"},
		{"a model that nobody knows", func(_ *testing.T, p *patient) {
			p.model.Reply(func(modelserver.Request) modelserver.Answer { return modelserver.Answer{Status: 404} })
		}, "model main", "model and base_url"},
		{"a wall that is not there", func(_ *testing.T, p *patient) {
			p.tools, p.env = "{exec: {sandbox: bwrap}}", []string{"PATH=/nonexistent"}
		}, "sandbox", "tools.exec"},
		{"keys that others can read", func(t *testing.T, p *patient) {
			file := filepath.Join(p.dir, ".env")
			if err := errors.Join(os.WriteFile(file, []byte("A=1\n"), 0o600), os.Chmod(file, 0o644)); err != nil {
				t.Fatal(err)
			}
		}, "configuration", "chmod 600"},
		{"a store that the disk cannot hold", func(_ *testing.T, p *patient) { p.bus = "{max_store: 9000000000000000}" }, "disk space", "bus.max_store"},
		{"a zone that is none", func(_ *testing.T, p *patient) { p.env = []string{"TZ=Mars/Base"} }, "zone", "correct TZ"},
		{"a clock that is wrong", func(t *testing.T, p *patient) { p.telegramURL = late(t, p.telegramURL) }, "clock", "timedatectl"},
		{"a bus that is not there", func(t *testing.T, p *patient) { p.bus = "{url: 'nats://" + freeAddress(t) + "'}" }, "bus", "reaches bus.url"},
		{"open data folder", func(t *testing.T, p *patient) {
			dir := filepath.Join(p.dir, "data")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(dir, 0o755); err != nil { // whatever the umask
				t.Fatal(err)
			}
		}, "data folder", "chmod 700"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t)
			c.change(t, p)
			p.write(t)
			code := exitDone
			if c.check != "" {
				code = exitFailed
			}
			findings := p.doctor(t, code)
			names := []string{
				"configuration", "store", "bus", "data folder", "disk space", "zone", "clock",
				"channel telegram", "channel web", "model main", "oss", "sandbox", "browser",
			}
			if c.check == "bus" { // which keeps the store
				names = slices.DeleteFunc(names, func(name string) bool { return name == "store" })
			}
			if c.check != "" && !slices.Contains(names, c.check) {
				names = append(names, c.check)
			}
			for _, name := range names {
				f, ok := findings[name]
				if !ok || f.OK != (name != c.check) || f.Text == "" || !strings.Contains(f.Todo, c.todo) && name == c.check {
					t.Errorf("%s: %+v", name, f)
				}
			}
			if n := len(p.oss.Objects()); n > 0 && c.name != "deletion" {
				t.Errorf("%d objects are left in the bucket", n)
			}
		})
	}
}

// late is a way to a server on which it is five minutes earlier.
func late(t *testing.T, to string) string {
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = func(r *http.Response) error {
		r.Header.Set("Date", time.Now().Add(-5*time.Minute).UTC().Format(http.TimeFormat))
		return nil
	}
	return serve(t, proxy, func() {})
}

// Without an answer of any server the clock is compared with nothing, which is
// neither good nor bad.
func TestDoctorWithoutServers(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	p.models, p.telegramURL = "[{provider: offline}]", "http://"+freeAddress(t)
	p.write(t)
	findings := p.doctor(t, exitFailed)
	if f := findings["clock"]; f.OK || !f.Skipped || f.Todo != "" || !strings.Contains(f.Text, "not compared") {
		t.Errorf("%+v", f)
	}
	_, stdout, stderr := run(t, p.dir, nil, "doctor")
	parts(t, "stdout", stdout, []string{"\nskip  clock: not compared", "\nFAIL  channel telegram"})
	parts(t, "stderr", stderr, []string{"problems found: 1\n"})
	if strings.Contains(stdout, "ok    clock") {
		t.Errorf("stdout:\n%s", stdout)
	}
}

// A configuration that cannot be read is a finding too.
func TestDoctorWithoutConfiguration(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte("timezon: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := run(t, dir, nil, "doctor")
	if code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	parts(t, "stdout", stdout, []string{"FAIL  configuration: ", "did you mean timezone?", "what to do: correct the places"})
	parts(t, "stderr", stderr, []string{"bot: problems found: 1"})
}

// So is one that has lost everything; {} is meant.
func TestDoctorOfAnEmptyFile(t *testing.T) {
	for text, want := range map[string]bool{"": false, "# nothing\n": false, "{}\n": true, "timezone:\n": true} {
		cfg, err := config.Parse(filepath.Join(t.TempDir(), "config.yaml"), []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		if f := new(program).configuration(cfg); f.OK != want || !want && !strings.Contains(f.Todo, "or write {}") {
			t.Errorf("%q: %+v", text, f)
		}
		if n := len(cfg.Warnings()); (n == 0) != want {
			t.Errorf("%q: %d warnings", text, n)
		}
	}
}

// Another program on the port is named, be it a bot of another folder or none at
// all; the store is not blamed.
func TestDoctorWithAnotherOnThePort(t *testing.T) {
	for _, name := range []string{"a bot", "something else"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t)
			p.write(t)
			if name == "a bot" {
				other := newPatient(t)
				other.listen = p.listen
				other.write(t)
				cmd, _ := running(t, other.dir)
				defer func() { _ = cmd.Wait() }()
				defer func() { _ = cmd.Process.Signal(syscall.SIGTERM) }()
			} else {
				l, err := net.Listen("tcp", p.listen)
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close() //nolint:errcheck // only listened
			}
			findings := p.doctor(t, exitFailed)
			if f := findings["store"]; !f.OK || !strings.Contains(f.Text, "no bot runs") {
				t.Errorf("store: %+v", f)
			}
			if f := findings["web.listen"]; f.OK || !strings.Contains(f.Text, p.listen) || !strings.Contains(f.Todo, "another port") {
				t.Errorf("web.listen: %+v", f)
			}
		})
	}
}

// Beside a running bot the store is that bot's.
func TestDoctorBesideARunningBot(t *testing.T) {
	p := newPatient(t)
	p.write(t)
	cmd, _ := running(t, p.dir)
	if f := p.doctor(t, exitDone)["store"]; f.Text != "the running bot uses it" {
		t.Errorf("%+v", f)
	}
	// A second configuration over the same folder must not open the store of a
	// bot that cannot be found.
	if err := os.Remove(filepath.Join(p.dir, "data", console.RunningFile)); err != nil {
		t.Fatal(err)
	}
	p.listen = freeAddress(t)
	p.write(t)
	if f := p.doctor(t, exitFailed)["store"]; !strings.Contains(f.Todo, "end the other program") {
		t.Errorf("%+v", f)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

package shell_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"magpie/chat"
	"magpie/internal/need"
	"magpie/tools"
	"magpie/tools/egress"
	"magpie/tools/shell"
	"magpie/tools/shell/sandbox"
	"magpie/tools/web/guard"
)

// depot is a server with what package managers fetch.
type depot struct {
	root  string
	asked atomic.Int32
}

func (d *depot) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.asked.Add(1)
	if r.URL.Path == "/npm/demo" {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"name":"demo","dist-tags":{"latest":"1.2.3"},"versions":{"1.2.3":{"name":"demo","version":"1.2.3","dist":{"tarball":"http://%s/demo.tgz","shasum":"0"}}}}`, r.Host)
		return
	}
	http.FileServer(http.Dir(d.root)).ServeHTTP(w, r)
}

func zipped(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err == nil {
			_, err = w.Write([]byte(files[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func newDepot(t *testing.T) *depot {
	t.Helper()
	d := &depot{root: t.TempDir()}
	for name, text := range map[string][]byte{
		"hello": []byte("hello from the depot\n"), "pip/demo/index.html": []byte(`<a href="demo-1.0-py3-none-any.whl">demo-1.0-py3-none-any.whl</a>`),
		"pip/demo/demo-1.0-py3-none-any.whl": zipped(t, "demo.py", "x = 1\n", "demo-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n",
			"demo-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n", "demo-1.0.dist-info/RECORD", ""),
		"go/depot.test/m/@v/list": []byte("v1.0.0\n"), "go/depot.test/m/@v/v1.0.0.info": []byte(`{"Version":"v1.0.0"}`),
		"go/depot.test/m/@v/v1.0.0.mod": []byte("module depot.test/m\n"), "go/depot.test/m/@v/v1.0.0.zip": zipped(t, "depot.test/m@v1.0.0/go.mod", "module depot.test/m\n", "depot.test/m@v1.0.0/m.go", "package m\n"),
	} {
		path := filepath.Join(d.root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git := exec.CommandContext(t.Context(), "sh", "-c", `git init -q w && cd w && echo x > a && git add a && git -c user.name=a -c user.email=a@b commit -qm first && cd .. && git clone -q --bare w repo.git && git -C repo.git update-server-info`)
	git.Dir = d.root
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return d
}

// names answers every question for an address with 127.0.0.1, over TCP.
func names(t *testing.T) *net.Resolver {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(func() { l.Close(); all.Wait() })
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				q := make([]byte, 512)
				n, err := c.Read(q[:2])
				if err == nil && n == 2 {
					n, err = c.Read(q)
				}
				if err != nil || n < 17 {
					return
				}
				end := 12 + bytes.IndexByte(q[12:n], 0) + 5
				answer := append(q[:2:2], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0)
				answer = append(answer, q[12:end]...)
				if q[end-3] == 1 { // A
					answer[7] = 1
					answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 127, 0, 0, 1)
				}
				_, _ = c.Write(append([]byte{0, byte(len(answer))}, answer...))
			})
		}
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
	}}
}

// way is a proxy whose guard lets this machine through, which has its servers.
func way(t *testing.T, o egress.Options, allow ...string) *egress.Proxy {
	t.Helper()
	g, err := guard.New(&guard.Options{Allow: allow, Resolver: names(t)})
	if err != nil {
		t.Fatal(err)
	}
	o.Guard = g
	return egress.New(o)
}

// guardedRig has commands with a guarded network.
func guardedRig(t *testing.T, kind sandbox.Kind, cfg shell.Config, deps shell.Deps) *rig {
	t.Helper()
	cfg.Sandbox, cfg.Network = kind, sandbox.Guarded
	return build(t, cfg, deps)
}

// Package managers and clients work out of the box, over HTTP and TLS, and what
// they have fetched is somebody else's.
func TestClients(t *testing.T) {
	d := newDepot(t)
	plain := httptest.NewServer(d)
	defer plain.Close()
	secure := httptest.NewTLSServer(d)
	defer secure.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	for _, kind := range []sandbox.Kind{sandbox.Landlock, sandbox.Bwrap} {
		vars := map[string]string{"GOFLAGS": "-modcacherw", "GOSUMDB": "off", "GONOSUMDB": "*", "GOTOOLCHAIN": "local", "npm_config_update_notifier": "false"}
		r := guardedRig(t, kind, shell.Config{}, shell.Deps{Proxy: way(t, egress.Options{}, "127.0.0.0/8"), Session: func(tools.Scope) map[string]string { return vars }})
		file := filepath.Join(r.dir, "ca.pem")
		if err := os.WriteFile(file, ca, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT", "NODE_EXTRA_CA_CERTS", "npm_config_cafile", "SSL_CERT_FILE"} {
			vars[name] = file
		}
		for scheme, base := range map[string]string{"http": plain.URL, "https": secure.URL} {
			base = strings.Replace(base, "127.0.0.1", "depot.example.com", 1) // of loopback some think that there is no proxy for it
			for name, c := range clients() {
				t.Run(fmt.Sprint(kind, " ", scheme, " ", name), func(t *testing.T) {
					if _, err := exec.LookPath(strings.Fields(c.command)[0]); err != nil {
						need.Unmet(t, "%v", err)
					}
					before := d.asked.Load()
					vars["GOPROXY"], vars["GOMODCACHE"] = base+"/go", filepath.Join(r.dir, strings.ReplaceAll(t.Name(), "/", "-"))
					res := r.command("cd $TMPDIR && " + strings.ReplaceAll(c.command, "URL", base))
					if !strings.Contains(res.Text, c.want) || d.asked.Load() == before {
						t.Errorf("said:\n%s\nwant %s", res.Text, c.want)
					}
					if !res.Untrusted || len(res.Sources) != 1 || res.Sources[0].Kind != chat.SourceCommand || res.Sources[0].Name != "depot.example.com" {
						t.Errorf("it is from %+v", res.Sources)
					}
				})
			}
		}
	}
}

type client struct{ command, want string }

func clients() map[string]client {
	fetch := `node -e 'fetch("URL/hello").then(r=>r.text()).then(t=>console.log("node",t))'`
	return map[string]client{
		"curl": {`curl -sS URL/hello`, "hello from the depot"}, "wget": {`wget -q --ca-certificate=$PIP_CERT -O - URL/hello`, "hello from the depot"},
		"git": {`git clone -q URL/repo.git && git -C repo log --format=%s`, "first"}, "pip": {`python3 -m pip download -q --trusted-host depot.example.com --no-deps --disable-pip-version-check -i URL/pip demo && ls`, "demo-1.0-py3-none-any.whl"},
		"npm":           {`npm view --registry URL/npm demo version`, "1.2.3"},
		"go":            {`go mod init x 2>/dev/null; go mod download -json depot.test/m@v1.0.0`, `"Path": "depot.test/m"`},
		"fetch of Node": {fetch, "node hello from the depot"},
		"http of Node":  {`node -e 'require("URL".split(":")[0]).get("URL/hello",r=>r.pipe(process.stdout))'`, "hello from the depot"},
		"urllib":        {`python3 -c 'import urllib.request,ssl,os; print(urllib.request.urlopen("URL/hello").read())'`, "hello from the depot"},
	}
}

// What a guarded command cannot reach, whatever it says, and how that is said.
func TestGuarded(t *testing.T) {
	var reached atomic.Int32
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		fmt.Fprint(w, "SECRET")
	}))
	defer service.Close()
	at := service.Listener.Addr().String()
	_, port, err := net.SplitHostPort(at)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []sandbox.Kind{sandbox.Landlock, sandbox.Bwrap} {
		r := guardedRig(t, kind, shell.Config{}, shell.Deps{Proxy: way(t, egress.Options{})})
		for name, c := range map[string]client{
			"by the proxy":         {"curl -sS http://" + at, "private or reserved"},
			"tunnel":               {"curl -sS -p http://" + at, "network: " + at},
			"tunnel for TLS":       {"curl -sS https://" + at, "private or reserved"},
			"localhost":            {"curl -sS http://localhost:" + port, "private or reserved"},
			"IPv6":                 {"curl -sS -g 'http://[::1]:" + port + "' 'http://[::ffff:127.0.0.1]:" + port + "'", "private or reserved"},
			"disguised":            {"curl -sS --proxy $http_proxy --request-target http://2130706433:" + port + "/ http://x.example", "disguised"},
			"metadata":             {"curl -sS http://169.254.169.254/latest/meta-data/", "private or reserved"},
			"local network":        {"curl -sS http://10.0.0.1 http://192.168.0.1 http://172.16.0.1 http://100.64.0.1", "private or reserved"},
			"without the proxy":    {"curl -sS --noproxy '*' http://" + at, "exit_code: 7"},
			"without variables":    {"env -i /usr/bin/curl -sS http://" + at, "exit_code: 7"},
			"bash":                 {"exec 3<>/dev/tcp/" + strings.Replace(at, ":", "/", 1) + "; echo GET / >&3; cat <&3", "Permission denied"},
			"another Host":         {"curl -sS -H 'Host: example.org' http://" + at, "private or reserved"},
			"names":                {"getent ahosts example.org || echo none", "none"},
			"git over SSH":         {"git clone ssh://git@example.org/a/b", "use the https:// address"},
			"git over SSH, short":  {"git clone git@example.org:a/b", "use the https:// address"},
			"listening":            {"python3 -c 'import socket; socket.create_server((\"127.0.0.1\", 0))'", "Permission denied"},
			"listening everywhere": {"python3 -c 'import socket; s=socket.socket(); s.listen()'", "Permission denied"},
			"not the proxy's":      {"printf 'GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' >&3 3<>/dev/tcp/127.0.0.1/3128; exec 3<>/dev/tcp/127.0.0.1/3128; printf 'GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' >&3; head -1 <&3", "400 Bad Request"},
		} {
			t.Run(fmt.Sprint(kind, " ", name), func(t *testing.T) {
				res := r.command(c.command)
				if strings.Contains(res.Text, "SECRET") || reached.Load() != 0 {
					t.Errorf("reached:\n%s", res.Text)
				}
				if !strings.Contains(res.Text, c.want) || res.Untrusted {
					t.Errorf("%v, said:\n%s\nwant %s", res.Untrusted, res.Text, c.want)
				}
			})
		}
		if said, err := r.shell.Proof(t.Context(), at); err != nil || !strings.Contains(said, at) {
			t.Errorf("proof: %q, %v", said, err)
		}
	}
}

// With a list, only its hosts are reached.
func TestHosts(t *testing.T) {
	d := &depot{root: t.TempDir()}
	server := httptest.NewServer(d)
	defer server.Close()
	r := guardedRig(t, sandbox.Landlock, shell.Config{}, shell.Deps{Proxy: way(t, egress.Options{Hosts: []string{"127.0.0.1", "*.Example.org"}}, "127.0.0.0/8")})
	if res := r.command("curl -sS " + server.URL); !res.Untrusted || strings.Contains(res.Text, "network:") {
		t.Errorf("a listed one: %s", res.Text)
	}
	for _, host := range []string{"example.org", "badexample.org", "127.0.0.2", "a.example.org.evil.test", "localhost"} {
		before := d.asked.Load()
		for _, option := range []string{"", "-p "} {
			if res := r.command("curl -sS " + option + strings.Replace(server.URL, "127.0.0.1", host, 1)); !strings.Contains(res.Text, "tools.exec.hosts") || res.Untrusted || d.asked.Load() != before {
				t.Errorf("%s: %v %s", host, res.Untrusted, res.Text)
			}
		}
	}
}

// Commands may listen if that is configured, and speak with what listens there;
// what others run stays out of reach.
func TestListen(t *testing.T) {
	service := httptest.NewServer(http.NotFoundHandler())
	defer service.Close()
	for _, kind := range []sandbox.Kind{sandbox.Landlock, sandbox.Bwrap} {
		r := guardedRig(t, kind, shell.Config{Listen: true}, shell.Deps{Proxy: way(t, egress.Options{})})
		res := r.command(`echo mine > mine; python3 -c '
import http.server,threading,subprocess
for h in ("127.0.0.1","::1"):
  class S(http.server.ThreadingHTTPServer): address_family = 10 if ":" in h else 2
  s=S((h,0),http.server.SimpleHTTPRequestHandler)
  threading.Thread(target=s.serve_forever,daemon=True).start()
  at="http://[%s]:%d/mine" % s.server_address[:2] if ":" in h else "http://%s:%d/mine" % s.server_address
  print(subprocess.run(["curl","-sSg",at],capture_output=True,text=True))
' 2>/dev/null; curl -sS ` + service.URL)
		if strings.Count(res.Text, `stdout='mine\n'`) != 2 || !strings.Contains(res.Text, "exit_code: 7") || res.Untrusted {
			t.Errorf("%s: %s", kind, res.Text)
		}
	}
}

// No network at all.
func TestNoNetwork(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "SECRET") }))
	defer service.Close()
	for _, kind := range []sandbox.Kind{sandbox.Landlock, sandbox.Bwrap} {
		r := build(t, shell.Config{Sandbox: kind, Network: sandbox.None}, shell.Deps{Proxy: way(t, egress.Options{}, "127.0.0.0/8")})
		for _, command := range []string{"curl -sS " + service.URL, "curl -sS -x http://" + sandbox.ProxyAddress + " " + service.URL, "python3 -c 'import socket; socket.socket(2,2)'"} {
			if res := r.command(command); strings.Contains(res.Text, "SECRET") || strings.Contains(res.Text, "exit_code: 0") || res.Untrusted {
				t.Errorf("%s %s: %s", kind, command, res.Text)
			}
		}
		if said, err := r.shell.Proof(t.Context()); err != nil || said == "" {
			t.Errorf("proof: %q, %v", said, err)
		}
	}
}

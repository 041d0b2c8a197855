package app_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"magpie/internal/console"
	"magpie/internal/fakes/telegram"
	"magpie/internal/need"
)

// example is what docs/proxies.md shows under a heading.
type example struct {
	kind string // "nginx" or "caddyfile"
	text string // the proxy's configuration
	yaml string // the bot's
	// told is false where the bot is to find out by itself what the proxy does.
	told bool
}

var codeBlock = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$|^#+ ([^\n]+)$")

// examples reads a page. Where a heading shows no configuration of the bot, the
// page's first one counts.
func examples(t *testing.T, page string) map[string]example {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", page))
	if err != nil {
		t.Fatal(err)
	}
	all, heading, first := map[string]example{}, "", ""
	for _, m := range codeBlock.FindAllStringSubmatch(string(text), -1) {
		if m[3] != "" {
			heading = m[3]
			continue
		}
		e := all[heading]
		switch kind := m[1]; {
		case kind == "nginx" || kind == "caddyfile":
			e.kind, e.text = kind, m[2]
		case kind == "yaml" && strings.HasPrefix(m[2], "web:"):
			e.yaml = m[2]
			first = cmp.Or(first, e.yaml)
		}
		all[heading] = e
	}
	for heading, e := range all {
		if e.kind == "" {
			delete(all, heading)
			continue
		}
		e.yaml, e.told = cmp.Or(e.yaml, first), true
		all[heading] = e
	}
	return all
}

// site is a bot behind a proxy, on this machine under the names of the page.
type site struct {
	*world
	bot    *bot
	proxy  string // where the proxy listens
	public string // web.public_url
	told   bool
	roots  *x509.CertPool
}

// newSite starts what an example shows. The addresses, ports and certificates
// are those of the test; change alters the proxy's configuration.
func newSite(t *testing.T, e example, change ...string) *site {
	t.Helper()
	program := tool(t, map[string]string{"nginx": "nginx", "caddyfile": "caddy"}[e.kind])
	s := &site{proxy: freeAddr(t), told: e.told}
	cert, key := s.certificate(t)
	_, port, _ := net.SplitHostPort(s.proxy)
	s.world = newWorld(t, &telegram.Options{HTTPHook: true, Client: s.client("127.0.0.1", "")})

	address := regexp.MustCompile(`https?://(bot\.)?example\.org`)
	e.yaml = address.ReplaceAllString(e.yaml, "$0:"+port)
	s.public = strings.TrimRight(regexp.MustCompile(`public_url: (\S+)`).FindStringSubmatch(e.yaml)[1], "/")
	hook := ""
	if !s.told {
		e.yaml, hook = "web:\n  hosts: [bot.example.org, example.org]\n", ", public_url: "+s.public
	}
	listen := freeAddr(t)
	dir := filepath.Join(s.dir, "bot")
	config := fmt.Sprintf(`data_dir: %s
llm: {models: [{name: main, provider: openai, base_url: %s, api_key: sk-test, model: scripted}]}
channels:
  telegram: {token: %q, api_base: %s, rate: "off", allow: ["*"], mode: webhook, webhook_secret: s3cret%s}
%s  listen: %s
`, dir, s.model.OpenAI(), s.tg.Token(), s.api+s.sent.born(), hook, e.yaml, listen)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s.bot = s.startWith(path, listen)

	text := replaced(t, e.text, `127\.0\.0\.1:18990`, listen)
	if len(change) == 2 {
		text = replaced(t, text, change[0], change[1])
	}
	if e.kind == "nginx" {
		if strings.Contains(text, "ssl") {
			text = replaced(t, text, `/etc/ssl/\S+\.pem`, cert)
			text = replaced(t, text, `/etc/ssl/\S+\.key`, key)
		}
		s.nginx(t, program, replaced(t, text, `listen (443|80)`, "listen "+s.proxy))
	} else {
		s.caddy(t, program, replaced(t, text, `(?m)^(\S+\.org) \{$`, "https://$1:"+port+" {\n\tbind 127.0.0.1\n\ttls "+cert+" "+key))
	}
	s.bot.ready()
	return s
}

func replaced(t *testing.T, text, pattern, by string) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	if !re.MatchString(text) {
		t.Fatalf("the example holds no %s:\n%s", pattern, text)
	}
	return re.ReplaceAllString(text, by)
}

// tool finds a program of Debian's.
func tool(t *testing.T, name string) string {
	t.Helper()
	for _, path := range []string{name, "/usr/sbin/" + name} {
		if found, err := exec.LookPath(path); err == nil {
			return found
		}
	}
	need.Unmet(t, "there is no %s: a bot behind it is not tested", name)
	return ""
}

func (s *site) nginx(t *testing.T, program, server string) {
	t.Helper()
	dir := t.TempDir()
	var temp strings.Builder
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&temp, "\t%s_temp_path %s/%s;\n", kind, dir, kind)
	}
	s.run(t, dir, "nginx.conf", fmt.Sprintf("daemon off;\nmaster_process off;\npid %s/pid;\nerror_log stderr;\nevents {}\nhttp {\n\taccess_log off;\n%s%s}\n", dir, temp.String(), server),
		program, "-p", dir, "-e", "stderr", "-c")
}

func (s *site) caddy(t *testing.T, program, site string) {
	t.Helper()
	s.run(t, t.TempDir(), "Caddyfile", "{\n\tadmin off\n\tauto_https disable_redirects\n\tservers {\n\t\tprotocols h1 h2\n\t}\n}\n"+site,
		program, "run", "--adapter", "caddyfile", "--config")
}

// run starts a proxy with a configuration and waits until it listens.
func (s *site) run(t *testing.T, dir, name, text string, command ...string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var said safeBuffer
	cmd := exec.Command(command[0], append(command[1:], path)...)
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(deadline):
			_ = cmd.Process.Kill()
			<-ended
		}
		if t.Failed() {
			t.Logf("%s with\n%s\nsaid:\n%s", command[0], text, said.String())
		}
	})
	s.bot.await(name+" listens", func() bool {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("%s ended: %v\n%s\n%s", command[0], err, text, said.String())
		default:
		}
		c, err := net.Dial("tcp", s.proxy)
		if err != nil {
			return false
		}
		return c.Close() == nil
	})
}

// certificate makes one for the names of the page.
func (s *site) certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "example.org"}, DNSNames: []string{"example.org", "bot.example.org"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.roots = x509.NewCertPool()
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	s.roots.AddCert(parsed)
	return cert, key
}

// client is somebody at an address of this machine who finds the names of the
// page at the proxy. With an origin it says of it what a browser does.
func (s *site) client(from, origin string) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	jar, _ := cookiejar.New(nil) // never fails
	inner := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, s.proxy)
		},
		TLSClientConfig: &tls.Config{RootCAs: s.roots}, ForceAttemptHTTP2: true,
	}
	s.closing(inner)
	return &http.Client{Jar: jar, Transport: &browserLike{inner: inner, origin: origin, modern: !s.told}}
}

func (s *site) closing(tr *http.Transport) {
	if s.world != nil {
		s.t.Cleanup(tr.CloseIdleConnections)
	}
}

type browserLike struct {
	inner  http.RoundTripper
	origin string
	modern bool // says also what browsers say over TLS
	mu     sync.Mutex
	key    string // of the login, which the page takes out of its address and sends
}

// RoundTrip implements http.RoundTripper.
func (b *browserLike) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	key := b.key
	b.mu.Unlock()
	r = r.Clone(r.Context())
	if strings.Contains(r.URL.Path, "/api/") {
		r.Header.Set(console.KeyHeader, key)
	} else {
		r.Header.Set("Accept", "text/html")
	}
	if b.origin != "" && r.Method != http.MethodGet {
		r.Header.Set("Origin", b.origin)
		if b.modern {
			r.Header.Set("Sec-Fetch-Site", "same-origin")
		}
	}
	resp, err := b.inner.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if to, key, ok := strings.Cut(resp.Header.Get("Location"), "#in="); ok {
		resp.Header.Set("Location", to)
		b.mu.Lock()
		b.key = key
		b.mu.Unlock()
	}
	return resp, nil
}

// visitor is a browser that is used at an address of this machine.
func (s *site) visitor(from string) *visitor {
	origin := regexp.MustCompile(`^https?://[^/]+`).FindString(s.public)
	return &visitor{s, s.client(from, origin)}
}

type visitor struct {
	*site
	http *http.Client
}

// fetch asks for an address below the public one, or a whole one.
func (v *visitor) fetch(method, path, body string, header ...string) (*http.Response, string) {
	v.t.Helper()
	if !strings.Contains(path, "://") {
		path = v.public + path
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := v.http.Do(r)
	if err != nil {
		v.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	var text bytes.Buffer
	if _, err := text.ReadFrom(resp.Body); err != nil {
		v.t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp, text.String()
}

const form = "application/x-www-form-urlencoded"

// token is what opens the page.
func (s *site) token() string {
	s.t.Helper()
	token, err := os.ReadFile(filepath.Join(s.dir, "bot", "web.token"))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(token))
}

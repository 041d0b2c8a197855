package app_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
	"magpie/internal/need"
)

// tiny is an MCP server of Node without dependencies; its tool says what it
// reaches.
const tiny = `#!/usr/bin/env node
const fs = require('fs')
const send = (m) => console.log(JSON.stringify({jsonrpc: '2.0', ...m}))
console.log('tiny is ready')
require('readline').createInterface({input: process.stdin}).on('line', (line) => {
  const {id, method} = JSON.parse(line)
  if (id === undefined) return
  if (method === 'initialize') return send({id, result: {protocolVersion: '2025-06-18', capabilities: {tools: {}}, serverInfo: {name: 'tiny', version: '1'}}})
  if (method === 'tools/list') return send({id, result: {tools: [{name: 'look', inputSchema: {type: 'object'}}]}})
  if (method !== 'tools/call') return send({id, error: {code: -32601, message: 'no such method'}})
  const text = process.argv.slice(2).map((f) => { try { return fs.readFileSync(f + '/a.txt', 'utf8') } catch (e) { return e.code } }).join(' ')
  send({id, result: {content: [{type: 'text', text: 'home ' + process.env.HOME + ' files ' + text}]}})
})
`

// registry is an npm registry with that server.
func registry(t *testing.T, asked *atomic.Int32) string {
	t.Helper()
	var pack bytes.Buffer
	zipped := gzip.NewWriter(&pack)
	files := tar.NewWriter(zipped)
	for name, text := range map[string]string{
		"package/package.json": `{"name":"@magpie-test/tiny","version":"1.0.0","bin":{"tiny":"index.js"}}`, "package/index.js": tiny,
	} {
		if err := files.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		_, _ = files.Write([]byte(text)) // Close says what went wrong
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	sum := sha512.Sum512(pack.Bytes())
	var srv *httptest.Server
	srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if strings.HasSuffix(r.URL.Path, ".tgz") {
			_, _ = w.Write(pack.Bytes())
			return
		}
		if !strings.Contains(r.URL.Path, "tiny") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"name": "@magpie-test/tiny", "dist-tags": map[string]string{"latest": "1.0.0"},
			"versions": map[string]any{"1.0.0": map[string]any{
				"name": "@magpie-test/tiny", "version": "1.0.0", "bin": map[string]string{"tiny": "index.js"},
				"dist": map[string]string{"tarball": srv.URL + "/tiny-1.0.0.tgz", "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])},
			}},
		})
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// The example of the guide: a server from npm, fetched by npx in the sandbox,
// over the guarded network, into its own folder. It reads what paths opens, and
// a section of before is told what it lacks.
func TestNPX(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("npx"); err != nil {
		need.Unmet(t, "npx is not installed")
	}
	var asked atomic.Int32
	url := registry(t, &asked)
	docs := t.TempDir()
	if err := os.WriteFile(filepath.Join(docs, "a.txt"), []byte("喜鹊"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, nil)
	section := func(rest string) string {
		return fmt.Sprintf(`tools:
  web: {allow_private: [127.0.0.0/8]}
  mcp_servers:
    tiny: {command: npx, args: [-y, "@magpie-test/tiny", %s], env: {npm_config_registry: %q}%s}`, docs, url, rest)
	}
	w.extra = section(", paths: [" + docs + "]")
	w.model.Reply(func(r modelserver.Request) modelserver.Answer {
		if res := r.Results(); len(res) > 0 {
			return modelserver.Answer{Text: "outcome: " + res[0].Text}
		}
		return modelserver.Answer{Calls: []modelserver.Call{{Name: "mcp_tiny_look", Args: `{}`}}}
	})
	path, listen := w.config("bot")
	w.command(path, 0, "mcp_tiny_look", "mcp", "test", "tiny")
	if asked.Load() < 2 {
		t.Errorf("the registry was asked %d times", asked.Load())
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(path), "mcp", "tiny", ".npm")); err != nil {
		t.Errorf("the server's folder has no cache of npm: %v", err)
	}
	w.command(path, 0, "1 tools; it prints", "doctor")
	b := w.startWith(path, listen)
	b.ready()
	b.until("the server is connected", func() bool { return strings.Contains(b.log.String(), "mcp server connected") }, func() string { return b.log.String() })
	w.say("look")
	w.wait(owner, "what it reads", func(m []telegram.Message) bool { return count(m, "喜鹊") == 1 })
	b.kill()

	w.extra = section("") // as it was written before there was a sandbox
	path, listen = w.config("before")
	replaceIn(t, path, "security: {", `security: {admins: ["telegram:1001"], `)
	w.command(path, 0, "out of its reach: "+docs+" (tools.mcp_servers.tiny.paths opens it)", "mcp", "test", "tiny")
	w.command(path, 1, "tools.mcp_servers.tiny.paths", "doctor")
	b = w.startWith(path, listen)
	b.ready()
	b.until("the log names the key", func() bool {
		said := b.log.String()
		return strings.Contains(said, "tools.mcp_servers.tiny.paths opens it") && strings.Contains(said, "mcp server connected")
	}, func() string { return b.log.String() })
	w.say("/mcp")
	w.wait(owner, "the advice", func(m []telegram.Message) bool { return count(m, "tools.mcp_servers.tiny.paths") == 1 })
	b.kill()
}

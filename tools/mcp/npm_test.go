package mcp_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"magpie/chat"
	"magpie/internal/fakes/nodetest"
	"magpie/internal/portlock"
	"magpie/tools/mcp"
)

// npmServer is the main file of a server from npm, or the test is skipped with
// the reason.
func npmServer(t *testing.T, name string) string {
	t.Helper()
	file := filepath.Join("@modelcontextprotocol", "server-"+name, "dist", "index.js")
	_, modules := nodetest.Find(t, file)
	return filepath.Join(modules, file)
}

func TestNPMEverythingOverStdio(t *testing.T) {
	w := start(t, mcp.Server{Name: "everything", Command: "node", Args: []string{npmServer(t, "everything"), "stdio"}})
	everything(w)
}

// everything talks with the reference server.
func everything(w *world) {
	w.t.Helper()
	w.has("mcp_everything_echo")
	w.until("the state is complete", func() bool { return w.States()[0].Connected })
	if res := w.call("mcp_everything_echo", `{"message":"喜鹊"}`); !res.OK || !strings.Contains(res.Text, "喜鹊") {
		w.t.Errorf("echo: %+v", res)
	}
	if res := w.call("mcp_everything_echo", `{"msg":"x"}`); res.OK {
		w.t.Errorf("echo without its argument: %+v", res)
	}
	if !w.reg.Has("mcp_everything_get-tiny-image") {
		w.t.Errorf("no picture tool among %v", w.States()[0].Tools)
		return
	}
	res := w.call("mcp_everything_get-tiny-image", `{}`)
	if !res.OK || len(res.Attachments) != 1 || res.Attachments[0].Kind != chat.Image || res.Attachments[0].Size == 0 {
		w.t.Errorf("picture: %+v", res)
	}
	if st := w.States()[0]; len(st.Skipped) > 0 {
		w.t.Errorf("tools left out: %q", st.Skipped)
	}
}

func TestNPMEverythingOverTheWeb(t *testing.T) {
	file := npmServer(t, "everything")
	for _, k := range []struct{ kind, path, want string }{
		{"streamableHttp", "/mcp", "http"},
		{"sse", "/sse", "sse"},
	} {
		t.Run(k.kind, func(t *testing.T) {
			addr := portlock.Free(t)
			_, port, _ := net.SplitHostPort(addr)
			cmd := exec.Command("node", file, k.kind)
			cmd.Env = append(os.Environ(), "PORT="+port)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
				_ = cmd.Wait()
			})
			w := start(t, mcp.Server{Name: "everything", URL: "http://" + addr + k.path})
			everything(w)
			if kind := w.States()[0].Kind; kind != k.want {
				t.Errorf("connected by %s, want %s", kind, k.want)
			}
			w.stop()
		})
	}
}

func TestNPMFilesystem(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("喜鹊 inside"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := start(t, mcp.Server{Name: "files", Command: "node", Args: []string{npmServer(t, "filesystem"), dir}})
	w.has("mcp_files_read_text_file")
	if res := w.call("mcp_files_read_text_file", fmt.Sprintf(`{"path":%q}`, filepath.Join(dir, "a.txt"))); !res.OK || !strings.Contains(res.Text, "喜鹊 inside") {
		t.Errorf("read: %+v", res)
	}
	if res := w.call("mcp_files_read_text_file", `{"path":"/etc/passwd"}`); res.OK || strings.Contains(res.Text, "root:") {
		t.Errorf("outside: %+v", res)
	}
}

func TestNPMMemory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memory.json")
	w := start(t, mcp.Server{Name: "memory", Command: "node", Args: []string{npmServer(t, "memory")}, Env: map[string]chat.Secret{"MEMORY_FILE_PATH": chat.Secret(file)}})
	w.has("mcp_memory_create_entities")
	res := w.call("mcp_memory_create_entities", `{"entities":[{"name":"喜鹊","entityType":"bird","observations":["black and white"]}]}`)
	if !res.OK {
		t.Fatalf("create: %+v", res)
	}
	if res := w.call("mcp_memory_search_nodes", `{"query":"喜鹊"}`); !res.OK || !strings.Contains(res.Text, "black and white") {
		t.Errorf("search: %+v", res)
	}
	if raw, err := os.ReadFile(file); err != nil || !strings.Contains(string(raw), "喜鹊") {
		t.Errorf("the server's file: %q, %v", raw, err)
	}
}

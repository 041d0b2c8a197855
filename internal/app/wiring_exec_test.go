package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"magpie/internal/fakes/modelserver"
)

// TestExecKeysReachTheTool runs commands through the program as it is shipped,
// which starts itself again for each.
func TestExecKeysReachTheTool(t *testing.T) {
	t.Parallel()
	run := func(command string) map[string]modelserver.Call {
		return map[string]modelserver.Call{"run it": {Name: "exec", Args: fmt.Sprintf(`{"command": %q}`, command)}}
	}
	answers := func(command string, words ...string) func(*testing.T, *world, *bot) {
		return func(t *testing.T, w *world, b *bot) {
			w.calls(run(command))
			shows("run it", words...)(t, w, b)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "SERVED") }))
	t.Cleanup(server.Close)
	get, listen := "curl -sS "+server.URL, `python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)))'`
	const private = ", web: {allow_private: [127.0.0.0/8]}}"
	for _, c := range []wiring{
		{key: "exec.network", check: answers(get+"; "+get+" --noproxy '*'", "network: 127.0.0.1", "private or reserved", "exit_code: 7")},
		{key: "exec.network guarded", extra: "tools: {exec: {network: guarded}" + private, check: answers(get, "SERVED")},
		{key: "exec.network open", extra: "tools: {exec: {network: open}}", check: answers(get, "SERVED")},
		{key: "exec.network none", extra: "tools: {exec: {network: none}" + private, check: answers(get, "exit_code: 7")},
		{key: "exec.hosts", extra: "tools: {exec: {hosts: ['*.example.org']}" + private, check: answers(get, "tools.exec.hosts")},
		{key: "exec.listen", check: answers(listen, "Permission denied")},
		{key: "exec.listen true", extra: "tools: {exec: {listen: true}}", check: answers(listen, "exit_code: 0")},
		{key: "exec", check: answers("echo 你好; pwd; exit 3", "exit_code: 3", "你好", "workspace")},
		{key: "exec.enabled", extra: "tools: {exec: {enabled: false}}", check: offers("exec", "current_time")},
		{key: "exec.timeout", extra: "tools: {exec: {timeout: 10s}}", check: answers("echo begun; sleep 60", "stopped after 10s", "begun")},
		{key: "exec.max_timeout", extra: "tools: {exec: {timeout: 100ms, max_timeout: 300ms}}", check: func(t *testing.T, w *world, b *bot) {
			w.calls(map[string]modelserver.Call{"run it": {Name: "exec", Args: `{"command": "sleep 60", "timeout": 99}`}})
			shows("run it", "stopped after 300ms")(t, w, b)
		}},
		{key: "exec.max_output_chars", extra: "tools: {exec: {max_output_chars: 400}}", check: answers("seq 1 5000", "left out here", "tool_output/")},
		{key: "exec.deny_patterns", extra: `tools: {exec: {deny_patterns: ["forbidden"]}}`, check: answers("echo forbidden", "deny_patterns")},
		{key: "exec.allow_patterns", extra: `tools: {exec: {allow_patterns: ["rm -rf build"]}}`, check: answers("rm -rf build", "exit_code: 0")},
		{key: "exec.allow_list_only", extra: `tools: {exec: {allow_patterns: ["echo .*"], allow_list_only: true}}`, check: answers("ls", "allow_patterns")},
		{key: "exec.sandbox", extra: "tools: {exec: {sandbox: off}}", check: answers("cat /etc/passwd", "outside the workspace")},
		{key: "exec's wall", check: checkWall},
	} {
		t.Run(c.key, c.run)
	}
}

// checkWall: no command reaches the keys, the configuration or the store of
// the running program.
func checkWall(t *testing.T, w *world, b *bot) {
	w.calls(map[string]modelserver.Call{"run it": {Name: "exec", Args: fmt.Sprintf(
		`{"command": %q}`, "ln -s ../.. up; env; cat up/*.yaml up/data/web.token; grep -ra . up; for p in /proc/[0-9]*; do cat $p/environ $p/cmdline; done",
	)}})
	got := w.ask("run it")
	token, err := os.ReadFile(w.data("web.token"))
	if err != nil {
		t.Fatal(err)
	}
	for name, secret := range map[string]string{"model's key": wiredKey, "token of Telegram": w.tg.Token(), "token of the console": strings.TrimSpace(string(token))} {
		if strings.Contains(got, secret) {
			t.Errorf("a command sees the %s", name)
		}
	}
	if !strings.Contains(got, "exit_code") || !strings.Contains(got, "ermission denied") {
		t.Errorf("the command did not run into the wall: %s", got)
	}
}

package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"magpie/chat"
	"magpie/media"
	"magpie/tools"
	"magpie/tools/mcp"
	"magpie/tools/shell/sandbox"
)

// asServer names the variable that makes this test program an MCP server.
const asServer = "MAGPIE_TEST_MCP_SERVER"

func TestMain(m *testing.M) {
	if sandbox.Helper() {
		os.Exit(1)
	}
	switch kind := os.Getenv(asServer); kind {
	case "":
	case "bot":
		beBot()
		return
	default:
		if !raw(kind) {
			serve(kind)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

const patience = 2 * time.Minute // of every wait

// serve is a server that misbehaves as its kind says.
func serve(kind string) {
	s := sdk.NewServer(&sdk.Implementation{Name: kind, Version: "1"}, nil)
	object := json.RawMessage(`{"type":"object"}`)
	say := func(text string) sdk.ToolHandler {
		return func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
		}
	}
	s.AddTool(&sdk.Tool{Name: "env", Description: "The environment.", InputSchema: object}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Join(os.Environ(), "\n")}}}, nil
	})
	s.AddTool(&sdk.Tool{Name: "crash", Description: "Ends the server.", InputSchema: object}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "it is too much for", os.Getenv("SERVER_KEY"), "and me")
		os.Exit(3)
		return nil, nil
	})
	s.AddTool(&sdk.Tool{Name: "hang", Description: "Never answers.", InputSchema: object}, func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	s.AddTool(&sdk.Tool{Name: "grow", Description: "Adds a tool.", InputSchema: object}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		s.AddTool(&sdk.Tool{Name: "grown.tool", Description: "Came later.", InputSchema: object}, say("grown"))
		s.RemoveTools("env")
		return &sdk.CallToolResult{}, nil
	})
	s.AddTool(&sdk.Tool{Name: "fail", Description: "Fails.", InputSchema: object}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "no such row; key " + os.Getenv("SERVER_KEY")}}}, nil
	})
	if kind == "child" { // a child that outlives a polite end
		_ = exec.Command("sleep", "3600").Start()
		fmt.Fprintln(os.Stderr, strings.Repeat("x", 200<<10))
	}
	if kind == "mute" {
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
	_ = s.Run(context.Background(), &sdk.StdioTransport{})
}

func self(kind string) mcp.Server {
	return mcp.Server{Name: kind, Command: os.Args[0], Args: []string{"-test.run=^$"}, Env: map[string]chat.Secret{asServer: chat.Secret(kind), "SERVER_KEY": "k3y"}}
}

// world is a manager that runs over a registry.
type world struct {
	t    *testing.T
	reg  *tools.Registry
	exec *tools.Executor
	*mcp.Manager
	stop func()
}

func start(t *testing.T, servers ...mcp.Server) *world {
	t.Helper()
	return startIn(t, t.TempDir(), 5*time.Millisecond, servers...)
}

func startIn(t *testing.T, dir string, retry time.Duration, servers ...mcp.Server) *world {
	t.Helper()
	w := &world{t: t, reg: &tools.Registry{}}
	w.exec = tools.NewExecutor(w.reg, &tools.Options{NetworkTimeout: patience})
	w.Manager = mcp.New(servers, mcp.Options{
		Registry: w.reg, Media: &media.Memory{}, Dir: dir, Version: "test", Retry: retry, Wall: wallOf,
		Redact: func(s string) string { return strings.ReplaceAll(s, "k3y", "***") },
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	w.stop = func() {
		if ctx.Err() != nil {
			return
		}
		cancel()
		select {
		case <-done:
		case <-time.After(patience):
			t.Error("Run does not end")
		}
	}
	t.Cleanup(w.stop)
	return w
}

// until waits for what announces itself by nothing.
func (w *world) until(what string, is func() bool) {
	w.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for !is() {
		select {
		case <-tick.C:
		case <-late:
			w.t.Fatalf("never: %s; %+v", what, w.States())
		}
	}
}

// has waits for a tool, and for all others of its server.
func (w *world) has(name string) {
	w.t.Helper()
	w.until("the tool "+name, func() bool {
		return w.reg.Has(name) && slices.ContainsFunc(w.States(), func(s mcp.State) bool { return slices.Contains(s.Tools, name) })
	})
}

func (w *world) call(name, args string) tools.Result {
	return w.exec.Run(w.t.Context(), tools.Scope{}, name, args)
}

// A crash takes the tools of that server away, and no other's; it comes back.
func TestCrashAndReturn(t *testing.T) {
	w := start(t, self("a"), self("b"))
	w.has("mcp_a_crash")
	w.has("mcp_b_env")
	if res := w.call("mcp_a_crash", `{}`); res.OK || res.Err != tools.Failed {
		t.Errorf("the call that crashed the server: %+v", res)
	}
	if res := w.call("mcp_b_env", `{}`); !res.OK {
		t.Errorf("the other server: %+v", res)
	}
	var res tools.Result
	w.until("the server is back", func() bool {
		res = w.call("mcp_a_env", `{}`)
		return res.OK
	})
	if !res.Untrusted || !strings.HasPrefix(res.Text, `<outside from="mcp_a_env">`) {
		t.Errorf("after the crash: %+v", res)
	}
	w.stop()
	if w.reg.Has("mcp_a_env") || w.reg.Has("mcp_b_env") {
		t.Error("tools are left after the end")
	}
}

// A server sees PATH, HOME, LANG, TMPDIR and what is configured for it.
func TestEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "bot-secret")
	w := start(t, self("a"))
	w.has("mcp_a_env")
	text := w.call("mcp_a_env", `{}`).Text
	if strings.Contains(text, "bot-secret") || !strings.Contains(text, "SERVER_KEY=k3y") || !strings.Contains(text, "PATH=") {
		t.Errorf("the server sees %s", text)
	}
	if res := w.call("mcp_a_fail", `{}`); res.OK || !strings.Contains(res.Text, "no such row; key ***") {
		t.Errorf("a failure: %+v", res)
	}
}

func TestListChanges(t *testing.T) {
	w := start(t, self("a"))
	w.has("mcp_a_grow")
	if res := w.call("mcp_a_grow", `{}`); !res.OK {
		t.Fatalf("%+v", res)
	}
	w.has("mcp_a_grown_tool")
	w.until("the removed tool is gone", func() bool { return !w.reg.Has("mcp_a_env") })
	if res := w.call("mcp_a_grown_tool", `{}`); !strings.Contains(res.Text, "grown") {
		t.Errorf("%+v", res)
	}
}

// A call that hangs ends with its turn and hurts no other call.
func TestHang(t *testing.T) {
	w := start(t, self("a"))
	w.has("mcp_a_hang")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan tools.Result, 1)
	go func() { done <- w.exec.Run(ctx, tools.Scope{}, "mcp_a_hang", `{}`) }()
	if res := w.call("mcp_a_env", `{}`); !res.OK {
		t.Errorf("beside a call that hangs: %+v", res)
	}
	cancel()
	select {
	case res := <-done:
		if res.OK {
			t.Errorf("%+v", res)
		}
	case <-time.After(patience):
		t.Fatal("the call does not end")
	}
	if res := w.call("mcp_a_env", `{}`); !res.OK {
		t.Errorf("after a call that hung: %+v", res)
	}
}

// Servers that cannot be started, say nothing or are no servers are named in
// their state and leave the others alone.
func TestBadServers(t *testing.T) {
	none := mcp.Server{Name: "none", Command: filepath.Join(t.TempDir(), "none")}
	quits := mcp.Server{Name: "quits", Command: "true"}
	chatty := mcp.Server{Name: "chatty", Command: "echo", Args: []string{"hello"}}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := mcp.Server{Name: "gone", URL: "http://" + closed.Addr().String() + "/mcp"}
	closed.Close()
	w := start(t, none, quits, chatty, gone, self("mute"), self("good"))
	w.has("mcp_good_env")
	w.until("the troubles are named", func() bool {
		for _, s := range w.States()[:4] {
			if s.Connected || s.Err == "" {
				return false
			}
		}
		return true
	})
	if st := w.States(); st[4].Connected || !st[5].Connected {
		t.Errorf("%+v", st)
	}
}

// What a server has started dies with it.
func TestChildrenAreKilled(t *testing.T) {
	w := start(t, self("child"))
	w.has("mcp_child_env")
	group := 0
	out, err := exec.Command("ps", "-eo", "pid=,pgid=,ppid=").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) == 3 && f[2] == strconv.Itoa(os.Getpid()) && f[0] == f[1] {
			group, _ = strconv.Atoi(f[1])
		}
	}
	if group == 0 {
		t.Fatalf("no process group of the server in %s", out)
	}
	w.stop()
	w.until("the group is gone", func() bool { return syscall.Kill(-group, 0) == syscall.ESRCH })
}

func TestToolsByName(t *testing.T) {
	s := self("a")
	s.Tools = []string{"*", "-c*", "-hang"}
	w := start(t, s)
	w.has("mcp_a_env")
	if names := w.States()[0].Tools; !slices.Equal(names, []string{"mcp_a_env", "mcp_a_fail", "mcp_a_grow"}) {
		t.Errorf("tools %v", names)
	}
}

// bad is a server over HTTP whose tools are nonsense.
func bad(t *testing.T) string {
	t.Helper()
	tool := func(name, rest string) string {
		return fmt.Sprintf(`{"name":%q,"description":"d"%s}`, name, rest)
	}
	list := strings.Join([]string{
		tool("good", `,"inputSchema":{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"]}`),
		tool("array", `,"inputSchema":{"type":"array"}`),
		tool("undefined", `,"inputSchema":{"type":"object","required":["x"]}`),
		tool("empty", `,"inputSchema":{}`),
		tool("a.b", `,"inputSchema":{"type":"object"}`), tool("a_b", `,"inputSchema":{"type":"object"}`),
		tool(strings.Repeat("long", 40), `,"inputSchema":{"type":"object"}`),
		tool("喜鹊", `,"inputSchema":{"type":"object"}`),
		tool("", `,"inputSchema":{"type":"object"}`), tool(" ", `,"inputSchema":{"type":"object"}`),
		tool("nowhere", `,"inputSchema":{"type":"object","properties":{"a":{"items":{"$ref":"#/nope"}}}}`),
		tool("abroad", `,"inputSchema":{"type":"object","properties":{"a":{"$ref":"https://example.org/a.json"}}}`),
		tool("refers", `,"inputSchema":{"type":"object","properties":{"$ref":{"type":"string","default":{"$ref":"#/x"}},`+
			`"a":{"$ref":"#/$defs/n"},"b":{"anyOf":[{"$ref":"#/properties/c~1d"},{"$ref":"#"},{"$ref":"#/properties/b/anyOf/0"}]},"c/d":{"type":"string"}},"$defs":{"n":{"type":"integer"}}}`),
	}, ",")
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer k3y" {
			http.Error(rw, "who are you?", http.StatusUnauthorized)
			return
		}
		var req struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&req) != nil {
			http.Error(rw, "no", http.StatusMethodNotAllowed)
			return
		}
		result := ""
		switch req.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"bad","version":"1"}}`
		case "tools/list":
			result = `{"tools":[` + list + `]}`
		case "tools/call":
			result = `{"content":[{"type":"text","text":"called"},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"},{"type":"resource","resource":{"uri":"x:y","text":"inside"}}]}`
		case "ping":
			result = `{}`
		default:
			if len(req.ID) == 0 {
				rw.WriteHeader(http.StatusAccepted)
				return
			}
			rw.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, req.ID)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":%s,"result":%s}`, req.ID, result)
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: mux}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	return "http://" + l.Addr().String() + "/mcp"
}

// Nonsense tools are left out and named; names fit models and do not collide.
func TestBadTools(t *testing.T) {
	w := start(t, mcp.Server{Name: "b", URL: bad(t), Headers: map[string]chat.Secret{"Authorization": "Bearer k3y"}})
	w.has("mcp_b_good")
	w.until("the state is complete", func() bool { return w.States()[0].Connected })
	st := w.States()[0]
	want := []string{" : ", ": a tool without a name", "abroad: ", "array: ", `nowhere: the schema's $ref "#/nope" leads nowhere`, "undefined: "}
	if !slices.EqualFunc(st.Skipped, want, strings.HasPrefix) {
		t.Errorf("left out: %q, want %q", st.Skipped, want)
	}
	if len(st.Tools) != 7 || st.Kind != "http" {
		t.Errorf("%+v", st)
	}
	for _, name := range st.Tools {
		if len(name) > 64 || !w.reg.Has(name) {
			t.Errorf("tool %q", name)
		}
	}
	if res := w.call("mcp_b_good", `{"n":0}`); res.Err != tools.InvalidArgs || res.Untrusted {
		t.Errorf("bad arguments: %+v", res)
	}
	res := w.call("mcp_b_good", `{"n":"3"}`)
	if !res.OK || !strings.Contains(res.Text, "called") || !strings.Contains(res.Text, "inside") || len(res.Attachments) != 1 || res.Attachments[0].Ref == "" {
		t.Errorf("%+v", res)
	}
}

// A wrong key is named without being shown.
func TestUnauthorized(t *testing.T) {
	w := start(t, mcp.Server{Name: "b", URL: bad(t), Headers: map[string]chat.Secret{"Authorization": "Bearer k3y-wrong"}})
	w.until("the trouble is named", func() bool { return w.States()[0].Err != "" })
	if text := w.States()[0].Err; strings.Contains(text, "k3y") || !strings.Contains(text, "401") && !strings.Contains(strings.ToLower(text), "unauthorized") {
		t.Errorf("err %q", text)
	}
}

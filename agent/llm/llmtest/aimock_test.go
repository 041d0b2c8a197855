package llmtest_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"magpie/agent/llm"
	"magpie/agent/llm/anthropic"
	"magpie/agent/llm/llmtest"
	"magpie/agent/llm/openai"
	"magpie/internal/fakes/nodetest"
)

// aimockWait bounds the start and the end of the other server.
const aimockWait = 2 * time.Minute

// aimockScript starts an independent fake of both vendors, and ends when its
// standard input does.
const aimockScript = `
import { LLMock } from "@copilotkit/aimock";
const m = new LLMock({ port: 0, host: "127.0.0.1" });
const read = { name: "read_file", arguments: JSON.stringify({ path: "文件.txt" }), id: "call_a" };
const list = { name: "list_dir", arguments: "{}", id: "call_b" };
m.onMessage("say hello", { content: "Hello, 世界! This is a streamed reply." }, { chunkSize: 5 });
m.onMessage("two calls", { content: "Let me look.", toolCalls: [read, list] }, { chunkSize: 7 });
m.onMessage("think", { content: "Done.", reasoning: "First I think." });
m.onMessage("usage", { content: "x", usage: { prompt_tokens: 120, completion_tokens: 7, input_tokens: 120, output_tokens: 7 } });
m.onMessage("too many", { error: { message: "slow down", type: "rate_limit_error" }, status: 429 });
m.onMessage("no key", { error: { message: "bad key", type: "authentication_error" }, status: 401 });
m.onMessage("broken", { error: { message: "oops", type: "server_error" }, status: 500 });
m.onMessage("cut", { content: "abcdefghijklmnopqrstuvwxyz" }, { chunkSize: 2, truncateAfterChunks: 4 });
m.onMessage("malformed", { content: "x" }, { chaos: { malformedRate: 1 } });
m.onMessage("limited", { content: "x" }, { chaos: { rateLimitRate: 1 } });
await m.start();
console.log(m.url);
process.stdin.resume();
process.stdin.on("end", async () => { await m.stop(); process.exit(0); });
`

// aimock returns the URL of a running server.
func aimock(t *testing.T) string {
	t.Helper()
	node, modules := nodetest.Find(t, "@copilotkit/aimock")
	dir := filepath.Dir(modules)
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, node, "--input-type=module", "-e", aimockScript)
	cmd.Dir, cmd.Stderr, cmd.WaitDelay = dir, t.Output(), aimockWait
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(aimockWait, cancel)
	url, err := bufio.NewReader(out).ReadString('\n')
	late.Stop()
	t.Cleanup(func() {
		defer cancel()
		end := time.AfterFunc(aimockWait, cancel)
		defer end.Stop()
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	})
	if err != nil {
		t.Fatalf("aimock did not start: %v", err)
	}
	return strings.TrimSpace(url)
}

// Our own fake and our providers may share a mistake; this one was written by
// others.
func TestAgainstAnIndependentFake(t *testing.T) {
	url := aimock(t)
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	client := &http.Client{Transport: tr}
	oa, err := openai.New(openai.Config{Name: "openai", BaseURL: url + "/v1", APIKey: llmtest.Key, Model: "gpt-5-mini", HTTP: client})
	if err != nil {
		t.Fatal(err)
	}
	an, err := anthropic.New(anthropic.Config{Name: "anthropic", BaseURL: url, APIKey: llmtest.Key, Model: "claude-sonnet-4-5", HTTP: client})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []llm.Provider{oa, an} {
		t.Run(p.Name(), func(t *testing.T) { checkIndependent(t, p) })
	}
}

func checkIndependent(t *testing.T, p llm.Provider) {
	ask := func(text string) llmtest.Seen {
		ctx, cancel := context.WithTimeout(t.Context(), aimockWait)
		defer cancel()
		req := llmtest.Request()
		req.Messages[len(req.Messages)-1].Text = text
		return llmtest.Check(ctx, t, p, req)
	}
	answer := func(text string) llm.Reply {
		t.Helper()
		s := ask(text)
		if s.Err != nil || s.Reply == nil {
			t.Fatalf("%s: %v", text, s.Err)
		}
		return *s.Reply
	}
	if s := ask("say hello"); s.Err != nil || s.Text() != "Hello, 世界! This is a streamed reply." || len(s.Pieces) < 3 {
		t.Errorf("text: got %q, %v", s.Pieces, s.Err)
	}
	r := answer("two calls")
	want := []llm.Call{{ID: "call_a", Name: "read_file", Args: `{"path":"文件.txt"}`}, {ID: "call_b", Name: "list_dir", Args: "{}"}}
	if diff := cmp.Diff(want, r.Message.Calls); diff != "" || r.Message.Text != "Let me look." || r.Stop != llm.StopTools {
		t.Errorf("calls: text %q, stop %q (-want +got)\n%s", r.Message.Text, r.Stop, diff)
	}
	r = answer("think")
	thought := []llm.Thinking{{Provider: p.Name(), Text: "First I think."}}
	if diff := cmp.Diff(thought, r.Message.Thinking, cmpopts.IgnoreFields(llm.Thinking{}, "Signature")); diff != "" || r.Message.Text != "Done." {
		t.Errorf("thinking: text %q (-want +got)\n%s", r.Message.Text, diff)
	}
	if r = answer("usage"); r.Usage.Input != 120 || r.Usage.Output != 7 || r.Model == "" {
		t.Errorf("usage: %+v from %q", r.Usage, r.Model)
	}
	for text, kind := range map[string]llm.Kind{
		"too many": llm.RateLimited, "limited": llm.RateLimited, "no key": llm.Unauthorized,
		"broken": llm.Temporary, "cut": llm.Temporary, "malformed": llm.Temporary,
	} {
		var e *llm.Error
		if s := ask(text); !errors.As(s.Err, &e) || e.Kind != kind {
			t.Errorf("%s: got %v, want %s", text, s.Err, kind)
		}
	}
}

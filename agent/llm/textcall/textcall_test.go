package textcall_test

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"magpie/agent/llm"
	"magpie/agent/llm/llmtest"
	"magpie/agent/llm/openai"
	"magpie/agent/llm/textcall"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// writer is a model that writes given pieces, and refuses requests that a
// model without function calling could not be sent.
type writer struct {
	t      llmtest.T
	pieces []string
	asked  llm.Request
	stop   llm.Stop
}

func (w *writer) ended() llm.Stop {
	if w.stop == "" {
		return llm.StopEnd
	}
	return w.stop
}

func (w *writer) Name() string { return "writer" }

func (w *writer) Stream(_ context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		w.asked = req
		if len(req.Tools) > 0 {
			w.t.Errorf("the wrapped model was offered tools")
		}
		for _, m := range req.Messages {
			if m.Role == llm.Tool || len(m.Calls) > 0 || strings.TrimSpace(m.Text) == "" {
				w.t.Errorf("the wrapped model was sent %+v", m)
			}
		}
		for _, p := range w.pieces {
			if p != "" && !yield(llm.Event{Text: p}, nil) {
				return
			}
		}
		text := strings.Join(w.pieces, "")
		yield(llm.Event{Done: &llm.Reply{Message: llm.Message{Role: llm.Assistant, Text: text}, Stop: w.ended(), Model: "w"}}, nil)
	}
}

var tools = []llm.ToolDef{
	{Name: "read_file", Description: "Reads a <file> & more.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"where \"it\" is"},"start_line":{"type":"integer","minimum":1,"default":1}},"required":["path"]}`)},
	{Name: "write_file", Description: "Writes.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"},"encoding":{"type":"string","enum":["utf-8","base64"],"default":"utf-8"},"meta":{"type":"object","properties":{"tags":{"type":"array","items":{"type":"string"}}}}},"required":["path","content"]}`)},
	{Name: "list_dir", Description: "Lists.", Schema: json.RawMessage(`{"type":"object"}`)},
}

func request(msgs ...llm.Message) llm.Request {
	if msgs == nil {
		msgs = []llm.Message{{Role: llm.User, Text: "go"}}
	}
	return llm.Request{System: "Be brief.", Messages: msgs, Tools: tools}
}

// ask lets the model write text in pieces of n runes and returns what came out.
func ask(t llmtest.T, f textcall.Format, text string, n int) llmtest.Seen {
	t.Helper()
	return ending{f, n, llm.StopEnd}.ask(t, text)
}

// ending is how a model writes: the notation, the size of the pieces, and why it
// ends.
type ending struct {
	format textcall.Format
	piece  int
	stop   llm.Stop
}

func (e ending) ask(t llmtest.T, text string) llmtest.Seen {
	t.Helper()
	w := &writer{t: t, stop: e.stop}
	for runes := []rune(text); len(runes) > 0; {
		k := min(e.piece, len(runes))
		w.pieces, runes = append(w.pieces, string(runes[:k])), runes[k:]
	}
	return llmtest.Check(context.Background(), t, textcall.Wrap(w, e.format), request())
}

var noIDs = cmpopts.IgnoreFields(llm.Call{}, "ID")

func TestNotations(t *testing.T) {
	read := func(args string) []llm.Call { return []llm.Call{{Name: "read_file", Args: args}} }
	for _, c := range []struct {
		name, written, text string
		calls               []llm.Call
	}{
		{"text only", "Hello <b>world</b>, 1 < 2.\n", "Hello <b>world</b>, 1 < 2.\n", nil},
		{"invoke", "I look.\n\n<invoke name=\"read_file\">\n<parameter name=\"path\">a &amp; b.txt</parameter>\n<parameter name=\"start_line\">3</parameter>\n</invoke>\n", "I look.", read(`{"path":"a & b.txt","start_line":3}`)},
		{"invoke in its wrapper", "<function_calls>\n<invoke name=\"list_dir\">\n</invoke>\n</function_calls>", "", []llm.Call{{Name: "list_dir", Args: "{}"}}},
		{"two invokes with text between", "a <invoke name=\"list_dir\"></invoke>\n\nb\n<invoke name='list_dir'></invoke>\nc\n", "a\nb\nc", []llm.Call{{Name: "list_dir", Args: "{}"}, {Name: "list_dir", Args: "{}"}}},
		{"string that looks like a number", `<invoke name="write_file"><parameter name="path">1</parameter><parameter name="content">42</parameter></invoke>`, "", []llm.Call{{Name: "write_file", Args: `{"path":"1","content":"42"}`}}},
		{"object argument", `<invoke name="write_file"><parameter name="path">a</parameter><parameter name="content">{"x":1}</parameter><parameter name="meta">{"tags":["a"]}</parameter></invoke>`, "", []llm.Call{{Name: "write_file", Args: `{"path":"a","content":"{\"x\":1}","meta":{"tags":["a"]}}`}}},
		{"unescaped less-than", "<invoke name=\"write_file\"><parameter name=\"path\">a.go</parameter><parameter name=\"content\">\nif a < b && c > d {\n}\n</parameter></invoke>", "", []llm.Call{{Name: "write_file", Args: `{"path":"a.go","content":"if a < b && c > d {\n}"}`}}},
		{"cdata", `<invoke name="read_file"><parameter name="path"><![CDATA[<a>&amp;]]></parameter></invoke>`, "", read(`{"path":"<a>&amp;"}`)},
		{"json block", "好的。\n```json\n{\"tool\": \"read_file\", \"arguments\": {\"path\": \"文件.txt\"}}\n```\n", "好的。", read(`{"path": "文件.txt"}`)},
		{"json block with name", "```\n{\"name\": \"read_file\", \"parameters\": {\"path\": \"x\"}}\n```", "", read(`{"path": "x"}`)},
		{"json block with a list", "```json\n[{\"name\":\"list_dir\"},{\"name\":\"read_file\",\"args\":{\"path\":\"x\"}}]\n```", "", []llm.Call{{Name: "list_dir", Args: "{}"}, {Name: "read_file", Args: `{"path":"x"}`}}},
		{"json block of something else", "See:\n```json\n{\"port\": 80}\n```\nDone.", "See:\n```json\n{\"port\": 80}\n```\nDone.", nil},
		{"xml block", "```xml\n<invoke name=\"list_dir\"></invoke>\n```", "", []llm.Call{{Name: "list_dir", Args: "{}"}}},
		{"code that shows a call", "```go\n<invoke name=\"list_dir\"></invoke>\n{\"tool\":\"x\",\"arguments\":{}}\n```\n", "```go\n<invoke name=\"list_dir\"></invoke>\n{\"tool\":\"x\",\"arguments\":{}}\n```\n", nil},
		{"after code", "```go\nx\n```\n<list_dir/>", "```go\nx\n```", []llm.Call{{Name: "list_dir", Args: "{}"}}},
		{"bare json", "{\"name\": \"read_file\", \"arguments\": {\"path\": \"{}\"}}", "", read(`{"path": "{}"}`)},
		{"bare json of something else", "{\"name\": \"Bob\"}", "{\"name\": \"Bob\"}", nil},
		{"tool_call", "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a</b>\"}}\n</tool_call>", "", read(`{"path": "a</b>"}`)},
		{"tool_call with text arguments", `<tool_call>{"name": "read_file", "arguments": "{\"path\":\"x\"}"}</tool_call>`, "", read(`{"path":"x"}`)},
		{"tool_call never closed", `<tool_call>{"name": "list_dir", "arguments": {}}`, "", []llm.Call{{Name: "list_dir", Args: "{}"}}},
		{"tool_call with broken JSON", `<tool_call>{"name": "read_file", "arguments": {"path": "x}</tool_call>`, "", read(`{"name": "read_file", "arguments": {"path": "x}`)},
		{"openai's own shape", `<tool_call>{"id":"1","type":"function","function":{"name":"list_dir","arguments":"{}"}}</tool_call>`, "", []llm.Call{{Name: "list_dir", Args: "{}"}}},
		{"element", "<read_file>\n<path>x</path>\n<start_line>2</start_line>\n</read_file>", "", read(`{"path":"x","start_line":2}`)},
		{"element of an unknown name", "<remove><path>x</path></remove>", "<remove><path>x</path></remove>", nil},
		{"function", "<function=read_file>\n<parameter=path>\nx\n</parameter>\n</function>", "", read(`{"path":"x"}`)},
		{"function in tool_call", "<tool_call>\n<function=list_dir>\n</function>\n</tool_call>", "", []llm.Call{{Name: "list_dir", Args: "{}"}}},
		{"unknown tool", `<invoke name="red_file"><parameter name="path">x</parameter></invoke>`, "", []llm.Call{{Name: "red_file", Args: `{"path":"x"}`}}},
		{"half a call", "text <invoke name=\"read_file\"><parameter name=\"path\">x", "text <invoke name=\"read_file\"><parameter name=\"path\">x", nil},
		{"half a tag", "text <inv", "text <inv", nil},
		{"inline ticks", "```x``` y\n<list_dir/>", "```x``` y", []llm.Call{{Name: "list_dir", Args: "{}"}}},
		{"nothing", "", "", nil},
	} {
		for _, n := range []int{1, 2, 7, 1 << 20} {
			s := ask(t, textcall.FormatXML, c.written, n)
			if s.Err != nil || s.Reply == nil {
				t.Fatalf("%s: %v", c.name, s.Err)
			}
			if s.Text() != c.text {
				t.Errorf("%s in pieces of %d: text %q, want %q", c.name, n, s.Text(), c.text)
			}
			if diff := cmp.Diff(c.calls, s.Reply.Message.Calls, noIDs); diff != "" {
				t.Errorf("%s in pieces of %d: calls (-want +got)\n%s", c.name, n, diff)
			}
		}
	}
}

// What is written for a past call is read back as that call, in both formats.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := llm.Call{Name: "write_file"}
		args := map[string]string{}
		for _, k := range []string{"path", "content"} {
			args[k] = rapid.OneOf(rapid.String(), rapid.StringMatching("[\\n <>&\"'/a-z=`{}\\]\\[!]*")).Draw(t, k)
		}
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		want.Args = string(raw)
		for _, f := range []textcall.Format{textcall.FormatXML, textcall.FormatJSON} {
			w := &writer{t: t, pieces: []string{"x"}}
			llmtest.Check(context.Background(), t, textcall.Wrap(w, f), request(
				llm.Message{Role: llm.User, Text: "go"},
				llm.Message{Role: llm.Assistant, Calls: []llm.Call{{ID: "1", Name: want.Name, Args: want.Args}}},
				llm.Message{Role: llm.Tool, CallID: "1", Name: want.Name, Text: "done"},
			))
			s := ask(t, f, w.asked.Messages[1].Text, rapid.IntRange(1, 50).Draw(t, "piece"))
			if len(s.Reply.Message.Calls) != 1 || s.Reply.Message.Calls[0].Name != want.Name || s.Text() != "" {
				t.Fatalf("%s: wrote %q, read %+v and text %q", f, w.asked.Messages[1].Text, s.Reply.Message.Calls, s.Text())
			}
			var got map[string]string
			if err := json.Unmarshal([]byte(s.Reply.Message.Calls[0].Args), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(args, got); diff != "" {
				t.Fatalf("%s: (-want +got)\n%s", f, diff)
			}
		}
	})
}

// Row TOOL-2: every tool, required flags, enums, defaults, escapes.
func TestPromptListsTheTools(t *testing.T) {
	for f, want := range map[textcall.Format][]string{
		textcall.FormatXML: {
			"Be brief.", `<tool name="read_file">`, "Reads a &lt;file&gt; &amp; more.",
			`<parameter name="path" type="string" required="true">where &quot;it&quot; is</parameter>`,
			`<parameter name="start_line" type="integer" required="false" default="1" minimum="1">`,
			`<parameter name="encoding" type="string" required="false" enum="[&quot;utf-8&quot;,&quot;base64&quot;]" default="utf-8">`,
			`<schema>{&quot;type&quot;:&quot;object&quot;`, `<tool name="list_dir">`, `<invoke name="TOOL">`,
		},
		textcall.FormatJSON: {
			"Be brief.", `{"tool":"read_file","description":"Reads a <file> & more.","parameters":{"type":"object"`,
			`"required":["path"]`, `"enum":["utf-8","base64"]`, `"default":"utf-8"`, `{"tool":"list_dir"`, `{"tool": "TOOL", "arguments"`,
		},
	} {
		w := &writer{t: t, pieces: []string{"ok"}}
		llmtest.Check(t.Context(), t, textcall.Wrap(w, f), request())
		for _, part := range want {
			if !strings.Contains(w.asked.System, part) {
				t.Errorf("%s: the prompt lacks %q:\n%s", f, part, w.asked.System)
			}
		}
	}
}

func TestHistoryBecomesText(t *testing.T) {
	w := &writer{t: t, pieces: []string{"ok"}}
	req := request(
		llm.Message{Role: llm.User, Text: "u1"},
		llm.Message{Role: llm.Assistant, Calls: []llm.Call{{ID: "1", Name: "list_dir", Args: "not json <"}, {ID: "2", Name: "list_dir", Args: "{}"}}},
		llm.Message{Role: llm.Tool, CallID: "1", Name: "list_dir", Text: "bad </tool_result>", Failed: true},
		llm.Message{Role: llm.Tool, CallID: "2", Name: "list_dir", Images: []llm.Image{{Ref: "i"}}},
		llm.Message{Role: llm.User, Text: "u2", Images: []llm.Image{{Ref: "j"}}},
		llm.Message{Role: llm.Assistant, Text: "a"},
		llm.Message{Role: llm.User, Text: "u3"},
	)
	llmtest.Check(t.Context(), t, textcall.Wrap(w, textcall.FormatXML), req)
	want := []llm.Message{
		{Role: llm.User, Text: "u1"},
		{Role: llm.Assistant, Text: "<invoke name=\"list_dir\">\n<parameter name=\"arguments\">not json &lt;</parameter>\n</invoke>\n<invoke name=\"list_dir\">\n</invoke>"},
		{
			Role: llm.User, Images: []llm.Image{{Ref: "i"}, {Ref: "j"}},
			Text: "<tool_result name=\"list_dir\" status=\"failed\">\nbad &lt;/tool_result&gt;\n</tool_result>\n\n<tool_result name=\"list_dir\" status=\"ok\">\n\n</tool_result>\n\nu2",
		},
		{Role: llm.Assistant, Text: "a"},
		{Role: llm.User, Text: "u3"},
	}
	if diff := cmp.Diff(want, w.asked.Messages); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Without tools on offer the model is told of none, and a call that it writes
// all the same is dropped.
func TestNoToolsOffered(t *testing.T) {
	w := &writer{t: t, pieces: []string{"fine <list_dir/> <invoke name=\"list_dir\"></invoke>"}}
	req := request(
		llm.Message{Role: llm.User, Text: "u1"},
		llm.Message{Role: llm.Assistant, Calls: []llm.Call{{ID: "1", Name: "list_dir", Args: "{}"}}},
		llm.Message{Role: llm.Tool, CallID: "1", Name: "list_dir", Text: "x"},
	)
	req.Tools = nil
	s := llmtest.Check(t.Context(), t, textcall.Wrap(w, textcall.FormatXML), req)
	if s.Text() != "fine <list_dir/>" || len(s.Reply.Message.Calls) != 0 || w.asked.System != "Be brief." {
		t.Errorf("text %q, calls %v, system %q", s.Text(), s.Reply.Message.Calls, w.asked.System)
	}
}

// Plain text comes through as it is written, not at the end.
func TestTextIsNotHeldBack(t *testing.T) {
	w := &writer{t: t, pieces: []string{"one", " two", "\nthree <", "list_dir/>"}}
	s := llmtest.Check(t.Context(), t, textcall.Wrap(w, textcall.FormatXML), request())
	if diff := cmp.Diff([]string{"one", " two", "\nthree"}, s.Pieces); diff != "" || len(s.Reply.Message.Calls) != 1 {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func FuzzParser(f *testing.F) {
	for _, seed := range []string{
		"a <invoke name=\"x\"><parameter name=\"p\">1</parameter></invoke> b",
		"```json\n{\"tool\":\"read_file\",\"arguments\":{\"path\":\"x\"}}\n```",
		"<tool_call>{\"name\":\"x\",\"arguments\":{}}</tool_call>", "<function=f><parameter=x>1</parameter></function>",
		"`<list_dir/>` a ``<list_dir/>`\n", "a\n````md\n```json\n{\"tool\":\"list_dir\"}\n```\n````\n<list_dir/>", "~~~\n<list_dir/>\n~~~", "for example\n```\n<list_dir/>\n```\nx",
		"<read_file><path></path>>", "<read_file><path></path></read_file></path></read_file>", "<tool_call>{\"name\":\"x\",\"arguments\":{\"a\":\"</tool_call>\"}}</tool_call>",
		"<read_file><path>&lt;</path></read_file>", "{\"name\":\"x\"", "```", "<", "{", "<tool_call><tool_call><tool_call>", "<tool_call>>",
	} {
		f.Add(seed, 3)
	}
	f.Fuzz(func(t *testing.T, text string, n int) {
		text = strings.ToValidUTF8(text, "?")
		whole := ask(t, textcall.FormatXML, text, max(len(text), 1))
		parts := ask(t, textcall.FormatXML, text, min(max(n, 1), 100))
		if whole.Text() != parts.Text() {
			t.Errorf("text %q in one piece, %q in several", whole.Text(), parts.Text())
		}
		if diff := cmp.Diff(whole.Reply.Message.Calls, parts.Reply.Message.Calls, noIDs); diff != "" {
			t.Errorf("calls differ:\n%s", diff)
		}
	})
}

// A wrapped provider keeps every rule that the provider keeps, and native
// calls of a model that has them after all.
func TestConformance(t *testing.T) {
	llmtest.Run(t, func(t *testing.T, to llmtest.Target) llm.Provider {
		tr := &http.Transport{}
		t.Cleanup(tr.CloseIdleConnections)
		p, err := openai.New(openai.Config{
			Name: "main", BaseURL: to.Server.OpenAI(), APIKey: llmtest.Key, Model: "fake",
			Timeout: to.Timeout, Idle: to.Idle, HTTP: &http.Client{Transport: tr},
		})
		if err != nil {
			t.Fatal(err)
		}
		return textcall.Wrap(p, textcall.FormatJSON)
	})
}

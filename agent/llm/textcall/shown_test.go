package textcall_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/agent/llm"
	"magpie/agent/llm/textcall"
)

// each runs a case in both formats and in pieces of several sizes.
func each(t *testing.T, name, written string, check func(t *testing.T, text string, reply llm.Reply)) {
	t.Helper()
	for _, f := range []textcall.Format{textcall.FormatXML, textcall.FormatJSON} {
		for _, n := range []int{1, 2, 7, 1 << 20} {
			t.Run(fmt.Sprintf("%s/%s/%d", name, f, n), func(t *testing.T) {
				s := ending{f, n, llm.StopEnd}.ask(t, written)
				if s.Err != nil || s.Reply == nil {
					t.Fatal(s.Err)
				}
				check(t, s.Text(), *s.Reply)
			})
		}
	}
}

const (
	inJSON = `{"tool": "write_file", "arguments": {"path": "a", "content": "b"}}`
	inXML  = "<invoke name=\"write_file\">\n<parameter name=\"path\">a</parameter>\n<parameter name=\"content\">b</parameter>\n</invoke>"
	inTag  = `<tool_call>{"name": "write_file", "arguments": {"path": "a", "content": "b"}}</tool_call>`
)

// What is only shown is no call, and reaches the person as it is.
func TestShownCalls(t *testing.T) {
	for _, call := range []string{inJSON, inXML, inTag, "<list_dir/>", "<function=list_dir></function>", "<write_file><path>a</path><content>b</content></write_file>"} {
		for name, written := range map[string]string{
			"code in a line":          "You could write `" + call + "` for that.",
			"code, two ticks":         "That is ``" + call + "``",
			"code at the beginning":   "`" + call + "` is the notation.",
			"code at the end":         "write `" + call + "`",
			"a block in the middle":   "You could write\n\n```json\n" + call + "\n```\n\nand it would be written.",
			"xml block in the middle": "The notation is\n```xml\n" + call + "\n```\nNothing was run.",
			"a block, then Chinese":   "写法如下：\n```\n" + call + "\n```\n这只是说明。",
			"an example at the end":   "For example:\n```\n" + call + "\n```",
			"Chinese example":         "例如：\n```json\n" + call + "\n```\n",
			"tildes":                  "~~~\n" + call + "\n~~~",
			"another language":        "```python\n" + call + "\n```",
			"a block within a block":  "````md\n```json\n" + call + "\n```\n````\nThat is all.",
			"four ticks alone":        "````md\n```json\n" + call + "\n```\n````",
		} {
			each(t, name, written, func(t *testing.T, text string, reply llm.Reply) {
				if text != written || len(reply.Message.Calls) != 0 {
					t.Errorf("text %q, calls %v", text, reply.Message.Calls)
				}
			})
		}
	}
}

// What looks much the same and is a call.
func TestCallsNearTicks(t *testing.T) {
	for name, c := range map[string]struct{ written, text string }{
		"only a block":            {"```json\n" + inJSON + "\n```", ""},
		"only a block of four":    {"````\n" + inJSON + "\n````\n", ""},
		"an element in a block":   {"```xml\n" + inXML + "\n```\n", ""},
		"never closed":            {"```json\n" + inJSON, ""},
		"words, then a block":     {"I will write it.\n```json\n" + inJSON + "\n```\n", "I will write it."},
		"code, then a block":      {"I write `a` now:\n\n```json\n" + inJSON + "\n```", "I write `a` now:"},
		"code, then an element":   {"I write `a` now.\n" + inXML, "I write `a` now."},
		"code in the same line":   {"I write `a` now: " + inTag, "I write `a` now:"},
		"a tick that means none":  {"It is 5` long.\n" + inXML, "It is 5` long."},
		"one in the same line":    {"It is 5` long: " + inTag, "It is 5` long:"},
		"after a block of code":   {"```go\nx := `a`\n```\n" + inXML, "```go\nx := `a`\n```"},
		"after a block in tildes": {"~~~\n```\n~~~\n" + inXML, "~~~\n```\n~~~"},
	} {
		each(t, name, c.written, func(t *testing.T, text string, reply llm.Reply) {
			if text != c.text || len(reply.Message.Calls) != 1 || reply.Message.Calls[0].Name != "write_file" {
				t.Errorf("text %q, calls %v; want text %q", text, reply.Message.Calls, c.text)
			}
		})
	}
}

// Arguments may hold what ends a call elsewhere.
func TestEndTagsInArguments(t *testing.T) {
	for name, c := range map[string]struct{ written, args string }{
		"tool_call":             {`<tool_call>{"name": "write_file", "arguments": {"path":"a","content":"</tool_call> x <tool_call>"}}</tool_call>`, `{"path":"a","content":"</tool_call> x <tool_call>"}`},
		"escaped quotes":        {`<tool_call>{"name": "write_file", "arguments": {"path":"a","content":"\"</tool_call>\\"}}</tool_call>`, `{"path":"a","content":"\"</tool_call>\\"}`},
		"function in tool_call": {"<tool_call>\n<function=write_file>\n<parameter=path>a</parameter>\n<parameter=content>\nx </tool_call> y </function> z\n</parameter>\n</function>\n</tool_call>", `{"path":"a","content":"x </tool_call> y </function> z"}`},
		"invoke":                {"<invoke name=\"write_file\">\n<parameter name=\"path\">a</parameter>\n<parameter name=\"content\">x </tool_call> </invoke> </parameter> y</parameter>\n</invoke>", `{"path":"a","content":"x </tool_call> </invoke> </parameter> y"}`},
		"a call in a call":      {"<invoke name=\"write_file\"><parameter name=\"path\">a</parameter><parameter name=\"content\"><invoke name=\"x\"><parameter name=\"p\">1</parameter></invoke> end</parameter></invoke>", `{"path":"a","content":"<invoke name=\"x\"><parameter name=\"p\">1</parameter></invoke> end"}`},
		"element":               {"<write_file><path>a</path><content><b>x</content></b></content></write_file>", `{"path":"a","content":"<b>x</content></b>"}`},
		"cdata":                 {"<invoke name=\"write_file\"><parameter name=\"path\">a</parameter><parameter name=\"content\"><![CDATA[</parameter></invoke>]]></parameter></invoke>", `{"path":"a","content":"</parameter></invoke>"}`},
		"json in invoke":        {`<invoke name="write_file">{"path":"a","content":"</invoke>"}</invoke>`, `{"path":"a","content":"</invoke>"}`},
		"a fence in a block":    {"```xml\n<invoke name=\"write_file\"><parameter name=\"path\">a</parameter><parameter name=\"content\">\n```go\nx\n```\n</parameter></invoke>\n```", "{\"path\":\"a\",\"content\":\"```go\\nx\\n```\"}"},
		"ticks":                 {"<invoke name=\"write_file\"><parameter name=\"path\">a</parameter><parameter name=\"content\">`x` ``y</parameter></invoke>", "{\"path\":\"a\",\"content\":\"`x` ``y\"}"},
	} {
		each(t, name, c.written, func(t *testing.T, text string, reply llm.Reply) {
			want := []llm.Call{{Name: "write_file", Args: c.args}}
			if diff := cmp.Diff(want, reply.Message.Calls, noIDs); diff != "" || text != "" {
				t.Errorf("text %q, calls (-want +got)\n%s", text, diff)
			}
		})
	}
}

// A call that was cut off at the model's limit is not the answer: the person
// sees nothing of it, and the agent learns that there was one.
func TestCutOffCalls(t *testing.T) {
	for _, call := range []string{"```json\n" + inJSON + "\n```", "```\n" + inJSON + "\n```", inJSON, inXML, inTag, "```xml\n" + inXML + "\n```"} {
		for _, before := range []string{"", "I write it.\n\n"} {
			for cut := len(call) - 1; cut > 0; cut-- {
				s := ending{textcall.FormatJSON, 5, llm.StopLength}.ask(t, before+call[:cut])
				if s.Err != nil {
					t.Fatal(s.Err)
				}
				calls := s.Reply.Message.Calls
				if s.Reply.Stop != llm.StopLength || s.Text() != before[:max(0, len(before)-2)] && s.Text() != before && s.Text() != before+call[:min(cut, 2)] {
					t.Errorf("%q: text %q, stop %s", before+call[:cut], s.Text(), s.Reply.Stop)
				}
				if cut > len(call)/2 && (len(calls) != 1 || calls[0].Name != "write_file") {
					t.Errorf("%q: calls %v", before+call[:cut], calls)
				}
			}
		}
	}
	// What is cut off and no call is shown as far as it came.
	for _, text := range []string{
		"A list:\n```json\n{\"port\": 80, \"ho", "{\"name\": \"Bob\", \"age\": 4", "```go\n<invoke name=\"x\">", "1 < 2 and <b>bold", "`<invoke name=\"x\">` is", "```json\n[1, 2",
		"For example:\n```json\n{\"tool\": \"write_file\", \"argu", "[see", "{x", "```\nplain",
	} {
		s := ending{textcall.FormatJSON, 5, llm.StopLength}.ask(t, text)
		if s.Text() != text || len(s.Reply.Message.Calls) != 0 {
			t.Errorf("%q: text %q, calls %v", text, s.Text(), s.Reply.Message.Calls)
		}
	}
}

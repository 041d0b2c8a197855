package textcall

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"magpie/agent/llm"
)

// notation writes what the model reads: tools, past calls, past results.
type notation interface {
	tools(list []llm.ToolDef) string
	call(c llm.Call) string
	result(m llm.Message) string
}

// flatten turns calls and results into text. Neighbouring results, and the
// user message after them, become one user message.
func flatten(n notation, list []llm.Message) []llm.Message {
	var out []llm.Message
	results := false // the last message of out holds results
	for _, m := range list {
		switch {
		case m.Role == llm.Assistant:
			parts := []string{m.Text}
			for _, c := range m.Calls {
				parts = append(parts, n.call(c))
			}
			m.Text = strings.TrimSpace(strings.Join(parts, "\n"))
			m.Calls = nil
		case m.Role == llm.Tool:
			m = llm.Message{Role: llm.User, Text: n.result(m), Images: m.Images}
			if results {
				out[len(out)-1] = join(out[len(out)-1], m)
				continue
			}
			results = true
			out = append(out, m)
			continue
		case results:
			out[len(out)-1] = join(out[len(out)-1], m)
			results = false
			continue
		}
		results = false
		out = append(out, m)
	}
	return out
}

func join(a, b llm.Message) llm.Message {
	a.Text = a.Text + "\n\n" + b.Text
	a.Images = append(slices.Clone(a.Images), b.Images...)
	return a
}

// xmlNotation is the element notation.
type xmlNotation struct{}

var (
	escapeXML = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;")
	escapeArg = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
)

const xmlRules = `# Tools

You can call the tools listed below. To call one, write exactly this and nothing after it:

<invoke name="TOOL">
<parameter name="NAME">VALUE</parameter>
</invoke>

One parameter element for each argument. Write & as &amp;, < as &lt; and > as &gt; inside a value. Objects and lists are written as JSON. Several invoke elements may follow each other. The results come in the next message as tool_result elements; never write those yourself. To answer without a tool, just answer.

`

func (xmlNotation) tools(list []llm.ToolDef) string {
	var b strings.Builder
	b.WriteString(xmlRules + "<tools>\n")
	for _, d := range list {
		fmt.Fprintf(&b, "<tool name=\"%s\">\n<description>%s</description>\n", escapeXML.Replace(d.Name), escapeXML.Replace(d.Description))
		for _, p := range parameters(d.Schema) {
			writeParameter(&b, p)
		}
		b.WriteString("</tool>\n")
	}
	b.WriteString("</tools>")
	return b.String()
}

// attributes are the keywords of a schema that are shown, in this order.
var attributes = []string{"enum", "default", "minimum", "maximum", "minLength", "maxLength", "pattern", "format"}

func writeParameter(b *strings.Builder, p parameter) {
	fmt.Fprintf(b, `<parameter name="%s" type="%s" required="%t"`, escapeXML.Replace(p.name), escapeXML.Replace(strings.Join(p.types(), "|")), p.required)
	for _, a := range attributes {
		raw, ok := p.schema[a]
		if !ok {
			continue
		}
		text, isString := str(raw)
		if !isString {
			text = string(raw)
		}
		fmt.Fprintf(b, ` %s="%s"`, a, escapeXML.Replace(text))
	}
	about, _ := str(p.schema["description"])
	b.WriteString(">" + escapeXML.Replace(about))
	if p.schema["properties"] != nil || p.schema["items"] != nil {
		b.WriteString("<schema>" + escapeXML.Replace(string(p.raw)) + "</schema>")
	}
	b.WriteString("</parameter>\n")
}

func (xmlNotation) call(c llm.Call) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<invoke name=\"%s\">\n", escapeXML.Replace(c.Name))
	args, ok := members([]byte(c.Args))
	if !ok {
		args = []member{{"arguments", json.RawMessage(quote(c.Args))}}
	}
	for _, a := range args {
		text, isString := str(a.value)
		if !isString {
			text = string(a.value)
		}
		if strings.HasPrefix(text, "\n") && strings.HasSuffix(text, "\n") {
			text = "\n" + text + "\n" // the reader takes one away at each end
		}
		fmt.Fprintf(&b, "<parameter name=\"%s\">%s</parameter>\n", escapeXML.Replace(a.name), escapeArg.Replace(text))
	}
	b.WriteString("</invoke>")
	return b.String()
}

func (xmlNotation) result(m llm.Message) string {
	status := "ok"
	if m.Failed {
		status = "failed"
	}
	return fmt.Sprintf("<tool_result name=\"%s\" status=\"%s\">\n%s\n</tool_result>", escapeXML.Replace(m.Name), status, escapeArg.Replace(m.Text))
}

// jsonNotation is fenced JSON.
type jsonNotation struct{}

const jsonRules = "# Tools\n\nYou can call the tools listed below. To call one, write exactly this and nothing after it:\n\n" +
	"```json\n{\"tool\": \"TOOL\", \"arguments\": {\"NAME\": VALUE}}\n```\n\n" +
	"Several such blocks may follow each other. The results come in the next message as tool_result objects; never write those yourself. " +
	"To answer without a tool, just answer.\n\n"

func (jsonNotation) tools(list []llm.ToolDef) string {
	var b strings.Builder
	b.WriteString(jsonRules)
	for _, d := range list {
		schema := d.Schema
		if !json.Valid(schema) {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		b.WriteString(encode(struct {
			Tool        string          `json:"tool"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		}{d.Name, d.Description, schema}) + "\n")
	}
	return strings.TrimSpace(b.String())
}

func (jsonNotation) call(c llm.Call) string {
	args := json.RawMessage(c.Args)
	if _, ok := members(args); !ok {
		args = json.RawMessage(quote(c.Args))
	}
	return "```json\n" + encode(struct {
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
	}{c.Name, args}) + "\n```"
}

func (jsonNotation) result(m llm.Message) string {
	return "```json\n" + encode(struct {
		Tool   string `json:"tool_result"`
		OK     bool   `json:"ok"`
		Output string `json:"output"`
	}{m.Name, !m.Failed, m.Text}) + "\n```"
}

// encode writes JSON on one line, with < > & as they are.
func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // only values that encode come here
		return "null"
	}
	return strings.TrimSpace(b.String())
}

func quote(s string) string { return encode(s) }

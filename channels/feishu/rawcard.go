package feishu

import "strings"

// A card that is told in its raw form (json_card) has what it shows in the
// property of each part, and its Markdown taken apart (larksuite/openclaw-lark
// card-converter.ts, June 2026, which asks for raw_card_content).

// unwrapped makes the parts of a raw card what they are in others.
func unwrapped(v any, depth int) any {
	if depth > 2*maxCardDepth {
		return nil
	}
	switch v := v.(type) {
	case []any:
		all := make([]any, len(v))
		for i, one := range v {
			all[i] = unwrapped(one, depth+1)
		}
		return all
	case map[string]any:
		out := map[string]any{}
		for name, one := range v {
			out[name] = unwrapped(one, depth+1)
		}
		if property, ok := out["property"].(map[string]any); ok {
			delete(out, "property")
			for name, one := range property {
				out[name] = one
			}
		}
		if name, ok := out["displayName"]; ok { // of a table's column
			out["display_name"] = name
		}
		return assembled(out)
	}
	return v
}

// assembled puts Markdown together that was taken apart.
func assembled(part map[string]any) map[string]any {
	switch tag, _ := part["tag"].(string); tag {
	case "markdown", "markdown_v1", "lark_md", "plain_text", "heading", "blockquote":
		if _, whole := part["content"].(string); !whole {
			part["content"] = inline(part["elements"])
		}
		if tag != "plain_text" {
			part["tag"] = "markdown"
		}
		delete(part, "elements")
	}
	return part
}

// inline is the text of what stands in a line, or of several lines.
func inline(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var b strings.Builder
		for _, one := range v {
			b.WriteString(inline(one))
		}
		return b.String()
	case map[string]any:
		return inlinePart(v)
	}
	return ""
}

func inlinePart(p map[string]any) string {
	switch tag, _ := p["tag"].(string); tag {
	case "br":
		return "\n"
	case "hr":
		return "\n---\n"
	case "at_all":
		return "@all"
	case "emoji":
		return "[" + inline(p["key"]) + "]"
	case "local_datetime":
		return inline(p["fallbackText"])
	case "code_block":
		return "\n" + inline(p["contents"]) + "\n"
	case "list":
		var b strings.Builder
		items, _ := p["items"].([]any)
		for _, one := range items {
			item, _ := one.(map[string]any)
			b.WriteString("\n- " + inline(item["elements"]))
		}
		return b.String() + "\n"
	}
	for _, name := range []string{"content", "text", "contents", "elements"} {
		if text := inline(p[name]); text != "" {
			return text
		}
	}
	return ""
}

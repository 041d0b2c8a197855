package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"magpie/chat"
	"magpie/media"
	"magpie/tools"
)

const (
	maxName        = 64   // of a tool, what models take
	maxDescription = 4000 // runes: a server may not fill the prompt
)

// remote is one tool of a server.
type remote struct {
	server *server
	name   string // as the server calls it
	spec   tools.Spec
	own    bool // it is ours, and reads a resource
}

// readResource is a tool beside those of a server that has resources: what its
// answers link to can be read by it only.
const readResource = "read_resource"

var resourceTool = &sdk.Tool{
	Name: readResource, Description: "Reads a resource of this server by its URI, such as one that an answer of another of its tools links to.",
	InputSchema: json.RawMessage(`{"type":"object","properties":{"uri":{"type":"string","minLength":1,"description":"The URI, as it was given."}},"required":["uri"]}`),
	Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true},
}

// fetchResource reads a resource as if a tool had answered with it.
func fetchResource(ctx context.Context, session *sdk.ClientSession, args json.RawMessage) (*sdk.CallToolResult, error) {
	var in struct{ URI string }
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, err
	}
	got, err := session.ReadResource(ctx, &sdk.ReadResourceParams{URI: in.URI})
	if err != nil {
		return nil, err
	}
	answer := &sdk.CallToolResult{}
	for _, c := range got.Contents {
		answer.Content = append(answer.Content, &sdk.EmbeddedResource{Resource: c})
	}
	if len(answer.Content) == 0 {
		answer.Content = []sdk.Content{&sdk.TextContent{Text: "[the resource is empty]"}}
	}
	return answer, nil
}

var _ tools.Tool = (*remote)(nil)

// Spec implements tools.Tool.
func (r *remote) Spec() tools.Spec { return r.spec }

// Call implements tools.Tool.
func (r *remote) Call(ctx context.Context, _ tools.Scope, args json.RawMessage) (tools.Result, error) {
	session, trouble := r.server.current()
	if session == nil {
		if trouble == "" {
			trouble = "it has not connected yet"
		}
		return tools.Result{}, tools.Errorf(tools.Failed, "the MCP server %s is not connected (%s); it is tried again, go on without it for now", r.server.cfg.Name, trouble)
	}
	var answer *sdk.CallToolResult
	var err error
	if r.own {
		answer, err = fetchResource(ctx, session, args)
	} else {
		answer, err = session.CallTool(ctx, &sdk.CallToolParams{Name: r.name, Arguments: args})
	}
	if err != nil {
		if ctx.Err() != nil {
			return tools.Result{}, context.Cause(ctx)
		}
		return tools.Result{}, tools.Errorf(tools.Failed, "the MCP server %s refused or lost the call: %w", r.server.cfg.Name, r.server.clean(err))
	}
	text, files, err := r.read(ctx, answer)
	if err != nil {
		return tools.Result{}, err
	}
	if answer.IsError {
		if strings.TrimSpace(text) == "" {
			text = "the tool failed and did not say why"
		}
		if how := r.server.advice(); how != "" && refused.MatchString(text) {
			text += "\n(" + how + "; its owner can do that)"
		}
		return tools.Result{}, tools.Errorf(tools.Failed, "%s", r.server.opt.Redact(text))
	}
	return tools.Result{Text: text, Attachments: files}, nil
}

// read turns what a server answers into text and files.
func (r *remote) read(ctx context.Context, answer *sdk.CallToolResult) (string, []chat.Attachment, error) {
	var parts []string
	var files []chat.Attachment
	for _, c := range answer.Content {
		switch c := c.(type) {
		case *sdk.TextContent:
			parts = append(parts, c.Text)
		case *sdk.ImageContent:
			note, file := r.keep(ctx, c.Data, c.MIMEType, r.spec.Name)
			parts, files = append(parts, note), append(files, file...)
		case *sdk.AudioContent:
			note, file := r.keep(ctx, c.Data, c.MIMEType, r.spec.Name)
			parts, files = append(parts, note), append(files, file...)
		case *sdk.ResourceLink:
			parts = append(parts, r.link(c))
		case *sdk.EmbeddedResource:
			if c.Resource != nil {
				note, file := r.resource(ctx, c.Resource)
				parts, files = append(parts, note), append(files, file...)
			}
		default:
			parts = append(parts, fmt.Sprintf("[content of a kind that is not known: %T]", c))
		}
	}
	text := strings.Join(parts, "\n")
	if text == "" && answer.StructuredContent != nil {
		raw, err := json.Marshal(answer.StructuredContent)
		if err != nil {
			return "", nil, fmt.Errorf("the structured answer of %s: %w", r.name, err)
		}
		text = string(raw)
	}
	return text, files, nil
}

// link names a resource and how to read it.
func (r *remote) link(c *sdk.ResourceLink) string {
	words := []string{"resource", c.Name, c.URI}
	if c.MIMEType != "" {
		words = append(words, c.MIMEType)
	}
	if c.Size != nil {
		words = append(words, fmt.Sprintf("%d bytes", *c.Size))
	}
	text := "[" + strings.Join(words, " ")
	if c.Description != "" {
		text += ": " + c.Description
	}
	r.server.mu.Lock()
	reader := r.server.reader
	r.server.mu.Unlock()
	if reader != "" {
		text += " (" + reader + " reads it)"
	}
	return text + "]"
}

// resource shows what is text and keeps what is not.
func (r *remote) resource(ctx context.Context, res *sdk.ResourceContents) (string, []chat.Attachment) {
	if res.Text != "" || len(res.Blob) == 0 {
		return fmt.Sprintf("[resource %s]\n%s", res.URI, res.Text), nil
	}
	name := res.URI
	if u, err := url.Parse(res.URI); err == nil {
		name = path.Base(u.Path)
	}
	note, files := r.keep(ctx, res.Blob, res.MIMEType, media.CleanName(name))
	return fmt.Sprintf("[resource %s]\n%s", res.URI, note), files
}

// keep stores a file for the model to look at, and to be sent on.
func (r *remote) keep(ctx context.Context, data []byte, mime, name string) (note string, files []chat.Attachment) {
	if mime == "" {
		mime, _ = media.Sniff(bytes.NewReader(data))
	}
	kind := media.KindOf(mime)
	note = fmt.Sprintf("[%s, %s, %d bytes]", kind, mime, len(data))
	if r.server.opt.Media == nil || len(data) == 0 {
		return note, nil
	}
	ref, size, err := r.server.opt.Media.Put(ctx, name, mime, bytes.NewReader(data))
	if err != nil {
		return note + " (could not be kept)", nil
	}
	if r.server.opt.Save != nil {
		if path.Ext(name) == "" {
			name += media.Extension(mime)
		}
		if file, err := r.server.opt.Save(name, data); err == nil {
			note = fmt.Sprintf("[%s, %s, %d bytes, saved as %s]", kind, mime, len(data), file)
		}
	}
	return note, []chat.Attachment{{Kind: kind, Name: name, MIME: mime, Size: size, Ref: ref}}
}

// localName is mcp_<server>_<tool> with other characters than models take
// replaced, cut to 64 with a hash where it is longer or taken.
func localName(server, tool string, taken map[string]bool) string {
	name := "mcp_" + strings.Map(safe, server) + "_" + strings.Map(safe, tool)
	if len(name) > maxName || taken[name] {
		sum := sha256.Sum256([]byte(server + "\x00" + tool))
		tail := "_" + hex.EncodeToString(sum[:4])
		name = name[:min(len(name), maxName-len(tail))] + tail
	}
	taken[name] = true
	return name
}

func safe(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
		return r
	}
	return '_'
}

func describe(server string, t *sdk.Tool) string {
	text := strings.TrimSpace(strings.ToValidUTF8(t.Description, "\uFFFD"))
	if text == "" {
		text = strings.TrimSpace(t.Title)
	}
	if r := []rune(text); len(r) > maxDescription {
		text = string(r[:maxDescription]) + "…"
	}
	return strings.TrimSpace(text + "\n(A tool of the MCP server " + server + ".)")
}

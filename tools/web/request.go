package web

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"magpie/tools"
	"magpie/tools/web/guard"
	"magpie/tools/web/page"
)

//go:embed http_get.md
var getText string

//go:embed http_post.md
var postText string

//go:embed http_request.md
var requestText string

// The limits of the http tools.
const (
	maxResponse     = 1 << 20 // bytes of a body, after decompression
	maxHeaderShown  = 40
	maxHeaderLength = 300 // characters of one that is shown
)

type getIn struct {
	URL     string            `json:"url" jsonschema:"The address." rule:"minlen=1"`
	Headers map[string]string `json:"headers,omitempty" jsonschema:"Request headers by name."`
}

type postIn struct {
	URL     string            `json:"url" jsonschema:"The address." rule:"minlen=1"`
	Headers map[string]string `json:"headers,omitempty" jsonschema:"Request headers by name."`
	Body    any               `json:"body,omitempty" jsonschema:"The body: a text, or an object or list that is sent as JSON."`
}

type requestIn struct {
	URL     string            `json:"url" jsonschema:"The address." rule:"minlen=1"`
	Method  string            `json:"method,omitempty" jsonschema:"The method; GET when it is not given." rule:"enum=GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS"`
	Headers map[string]string `json:"headers,omitempty" jsonschema:"Request headers by name."`
	Body    any               `json:"body,omitempty" jsonschema:"The body: a text, or an object or list that is sent as JSON."`
}

// Get makes http_get.
func Get(o *Options) tools.Tool {
	r := requester{o.client()}
	return tools.New(httpSpec("http_get", getText, tools.Reads), func(ctx context.Context, _ tools.Scope, in getIn) (tools.Result, error) {
		return r.send(ctx, requestIn{URL: in.URL, Method: http.MethodGet, Headers: in.Headers})
	}, tools.WithSubject(guard.Normal))
}

// Post makes http_post.
func Post(o *Options) tools.Tool {
	r := requester{o.client()}
	return tools.New(httpSpec("http_post", postText, tools.Acts), func(ctx context.Context, _ tools.Scope, in postIn) (tools.Result, error) {
		return r.send(ctx, requestIn{URL: in.URL, Method: http.MethodPost, Headers: in.Headers, Body: in.Body})
	}, tools.WithSubject(guard.Normal))
}

// Request makes http_request.
func Request(o *Options) tools.Tool {
	r := requester{o.client()}
	return tools.New(httpSpec("http_request", requestText, tools.Acts), func(ctx context.Context, _ tools.Scope, in requestIn) (tools.Result, error) {
		return r.send(ctx, in)
	}, tools.WithSubject(guard.Normal))
}

func (o *Options) client() *http.Client {
	opt := o.withDefaults()
	return opt.Guard.Client()
}

func httpSpec(name, text string, effect tools.Effect) tools.Spec {
	spec := tools.Spec{
		Name: name, Description: strings.TrimSpace(text), Category: tools.Network, Effect: effect,
		Main: "url", Untrusted: true, Aliases: map[string]string{"uri": "url"},
	}
	if effect == tools.Acts {
		spec.Aliases["data"] = "body"
	}
	return spec
}

type requester struct{ client *http.Client }

func (r requester) send(ctx context.Context, in requestIn) (tools.Result, error) {
	if in.Method == "" {
		in.Method = http.MethodGet
	}
	body, kind, err := payload(in.Body)
	if err != nil {
		return tools.Result{}, err
	}
	req, err := newRequest(ctx, in.Method, in.URL, body)
	if err != nil {
		return tools.Result{}, err
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	if err := setHeaders(req, in.Headers); err != nil {
		return tools.Result{}, err
	}
	a, err := ask(r.client, req, maxResponse)
	if err != nil {
		return tools.Result{}, err
	}
	return tools.Result{Text: a.show()}, nil
}

// payload is the body of a request and its type, which a header may change.
func payload(body any) (io.Reader, string, error) {
	text, ok := body.(string)
	switch {
	case body == nil || ok && text == "":
		return nil, "", nil
	case !ok:
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, "", tools.Errorf(tools.InvalidArgs, "body cannot be written as JSON: %w; give a text", err)
		}
		return bytes.NewReader(raw), jsonType, nil
	case strings.HasPrefix(strings.TrimSpace(text), "{") && json.Valid([]byte(text)), strings.HasPrefix(strings.TrimSpace(text), "[") && json.Valid([]byte(text)):
		return strings.NewReader(text), jsonType, nil
	}
	return strings.NewReader(text), "text/plain; charset=utf-8", nil
}

const jsonType = "application/json"

// connection are headers that belong to the connection or say who we are to it.
var connection = []string{"Host", "Connection", "Content-Length", "Transfer-Encoding", "Upgrade", "Te", "Trailer", "Keep-Alive", "Proxy-Connection", "Proxy-Authorization"}

func setHeaders(req *http.Request, headers map[string]string) error {
	for name, value := range headers {
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			return tools.Errorf(tools.InvalidArgs, "%q is no header name; want one such as Accept", clip(name, 60))
		case !httpguts.ValidHeaderFieldValue(value):
			return tools.Errorf(tools.InvalidArgs, "the value of header %s holds characters that are not allowed, such as a line break; want one line", name)
		case slices.Contains(connection, http.CanonicalHeaderKey(name)):
			return tools.Errorf(tools.InvalidArgs, "header %s cannot be set; leave it out, it follows from url and body", name)
		}
		req.Header.Set(name, value)
	}
	return nil
}

// show writes status, headers and body.
func (a *answer) show() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Status: %s\nURL: %s\n", clip(a.status, 100), a.url.Redacted())
	names := make([]string, 0, len(a.header))
	for name := range a.header {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		if i == maxHeaderShown {
			fmt.Fprintf(&b, "(%d more headers)\n", len(names)-i)
			break
		}
		fmt.Fprintf(&b, "%s: %s\n", clip(name, maxHeaderLength), clip(strings.Join(a.header[name], ", "), maxHeaderLength))
	}
	b.WriteByte('\n')
	kind, text := a.kind()
	switch {
	case len(a.body) == 0:
		b.WriteString("(no body)")
	case !text:
		b.WriteString(a.binary(kind))
	default:
		content, _ := page.Decode(a.body, a.header.Get("Content-Type"))
		b.WriteString(content)
		if a.cut {
			fmt.Fprintf(&b, "\n(the body is longer: the first %d bytes are shown)", len(a.body))
		}
	}
	return b.String()
}

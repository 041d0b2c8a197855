// Package data holds the tools that turn text into other text: JSON and
// base64. They are pure.
package data

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"

	"magpie/tools"
)

//go:embed json_parse.md
var jsonParseText string

//go:embed json_stringify.md
var jsonStringifyText string

//go:embed base64_encode.md
var base64EncodeText string

//go:embed base64_decode.md
var base64DecodeText string

func spec(name, text, main string, aliases map[string]string) tools.Spec {
	return tools.Spec{
		Name: name, Description: strings.TrimSpace(text), Category: tools.Data, Effect: tools.Reads, Main: main, Aliases: aliases,
	}
}

type textIn struct {
	Text string `json:"text" jsonschema:"The text."`
}

// JSONParse makes json_parse.
func JSONParse() tools.Tool {
	s := spec("json_parse", jsonParseText, "text", map[string]string{"json": "text", "data": "text", "input": "text", "json_string": "text"})
	return tools.New(s, func(_ context.Context, _ tools.Scope, in textIn) (tools.Result, error) {
		var out bytes.Buffer
		in.Text = strings.TrimPrefix(in.Text, "\uFEFF") // of a file that begins with a byte order mark
		if err := check(in.Text); err != nil {
			return tools.Result{}, err
		}
		if err := json.Indent(&out, []byte(strings.TrimSpace(in.Text)), "", "  "); err != nil {
			return tools.Result{}, bad(in.Text, err)
		}
		return tools.Result{Text: out.String()}, nil
	})
}

// check reports where a text stops being one JSON value.
func check(text string) error {
	if strings.TrimSpace(text) == "" {
		return tools.Errorf(tools.InvalidArgs, "the text is empty; want a JSON value")
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return bad(text, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		at := int(dec.InputOffset())
		return tools.Errorf(tools.InvalidArgs, "there is more after the JSON value, %s; want one value", place(text, at))
	}
	return nil
}

func bad(text string, err error) error {
	at := len(text)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = max(0, int(syntax.Offset)-1)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it ends too early")
	}
	return tools.Errorf(tools.InvalidArgs, "this is no JSON: %w, %s", err, place(text, at))
}

// place writes an offset as people count, with what stands there.
func place(text string, at int) string {
	at = min(max(at, 0), len(text))
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	before := text[:at]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	rest := []rune(strings.ToValidUTF8(text[at:], "\uFFFD"))
	return fmt.Sprintf("at line %d, column %d: %q", line, column, string(rest[:min(len(rest), 20)]))
}

type stringifyIn struct {
	Data   any  `json:"data" jsonschema:"Any JSON value."`
	Pretty bool `json:"pretty,omitempty" jsonschema:"Over several lines, indented."`
}

// UnmarshalJSON keeps Data as it is written, so that no number changes.
func (in *stringifyIn) UnmarshalJSON(raw []byte) error {
	var as struct {
		Data   json.RawMessage `json:"data"`
		Pretty *bool           `json:"pretty"`
	}
	if err := json.Unmarshal(raw, &as); err != nil {
		return err
	}
	in.Data = as.Data
	in.Pretty = as.Pretty != nil && *as.Pretty
	return nil
}

// JSONStringify makes json_stringify.
func JSONStringify() tools.Tool {
	s := spec("json_stringify", jsonStringifyText, "", map[string]string{"value": "data", "object": "data", "input": "data"})
	return tools.New(s, func(_ context.Context, _ tools.Scope, in stringifyIn) (tools.Result, error) {
		var out bytes.Buffer
		write := json.Compact
		if in.Pretty {
			write = func(dst *bytes.Buffer, src []byte) error { return json.Indent(dst, src, "", "  ") }
		}
		raw, _ := in.Data.(json.RawMessage)
		if err := write(&out, raw); err != nil {
			return tools.Result{}, fmt.Errorf("write as JSON: %w", err)
		}
		return tools.Result{Text: out.String()}, nil
	})
}

// Base64Encode makes base64_encode.
func Base64Encode() tools.Tool {
	s := spec("base64_encode", base64EncodeText, "text", map[string]string{"data": "text", "input": "text", "content": "text"})
	return tools.New(s, func(_ context.Context, _ tools.Scope, in textIn) (tools.Result, error) {
		return tools.Result{Text: base64.StdEncoding.EncodeToString([]byte(in.Text))}, nil
	})
}

type encodedIn struct {
	Encoded string `json:"encoded" jsonschema:"Base64, standard or URL-safe, with or without padding."`
}

// Base64Decode makes base64_decode.
func Base64Decode() tools.Tool {
	s := spec("base64_decode", base64DecodeText, "encoded", map[string]string{"text": "encoded", "data": "encoded", "input": "encoded", "base64": "encoded"})
	return tools.New(s, func(_ context.Context, _ tools.Scope, in encodedIn) (tools.Result, error) {
		raw, err := decode(in.Encoded)
		if err != nil {
			return tools.Result{}, err
		}
		if !utf8.Valid(raw) {
			what := ""
			if kind := mimetype.Detect(raw); !kind.Is("text/plain") { // which it says of what it does not know, too
				what = " (" + kind.String() + ")"
			}
			return tools.Result{}, tools.Errorf(tools.InvalidArgs,
				"it decodes to %d B that are no UTF-8 text%s; write_file with encoding base64 makes a file of it", len(raw), what)
		}
		return tools.Result{Text: string(raw)}, nil
	})
}

func decode(text string) ([]byte, error) {
	// Blanks and line ends are how base64 is pasted; both alphabets are common.
	plain := strings.NewReplacer(" ", "", "\n", "", "\r", "", "\t", "", "-", "+", "_", "/").Replace(text)
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(plain, "="))
	var at base64.CorruptInputError
	if errors.As(err, &at) {
		clean := plain[:min(int(at), len(plain))]
		return nil, tools.Errorf(tools.InvalidArgs, "this is no base64: character %d (blanks not counted) is wrong, after %q", len(clean)+1, clean[max(0, len(clean)-12):])
	}
	return raw, err
}

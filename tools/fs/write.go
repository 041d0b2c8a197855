package fs

import (
	"context"
	_ "embed"
	"encoding/base64"
	"fmt"
	"strings"

	"magpie/tools"
	"magpie/tools/fs/fence"
)

//go:embed write_file.md
var writeFileText string

type writeIn struct {
	Path      string `json:"path" jsonschema:"Path of the file, from the workspace." rule:"minlen=1"`
	Content   string `json:"content" jsonschema:"The whole content of the file."`
	Encoding  string `json:"encoding,omitempty" jsonschema:"How content is given: utf-8 text, or base64 for binary files." rule:"enum=utf-8|base64,default=utf-8"`
	Normalize bool   `json:"normalize,omitempty" jsonschema:"End lines with LF and the file with a newline." rule:"default=true"`
}

// WriteFile makes write_file. What the file held before can be had back.
func (e Editor) WriteFile() tools.Tool {
	spec := tools.Spec{
		Name: "write_file", Description: strings.TrimSpace(writeFileText), Category: tools.File, Effect: tools.Writes,
		Main: "path", Aliases: pathAliases(),
	}
	return tools.New(spec, func(_ context.Context, _ tools.Scope, in writeIn) (tools.Result, error) {
		text, err := in.text()
		if err != nil {
			return tools.Result{}, err
		}
		old, exists, err := e.current(in.Path)
		if err != nil {
			return tools.Result{}, err
		}
		note, err := e.remember(in.Path, old, exists, sumOf([]byte(text), true))
		if err != nil {
			return tools.Result{}, err
		}
		if err := e.restore(in.Path, []byte(text)); err != nil {
			return tools.Result{}, err
		}
		did := "created"
		if exists {
			did = "overwritten"
		}
		return tools.Result{Text: fmt.Sprintf("%s %s: %d bytes, %d lines%s", did, fence.Shown(e.Fence.Name(in.Path)), len(text), countLines(text), note)}, nil
	}, tools.WithSubject(e.Fence.Name), tools.WithShow(e.showWrite))
}

// text is what goes into the file.
func (in writeIn) text() (string, error) {
	if in.Encoding == "base64" {
		raw, err := base64.StdEncoding.DecodeString(in.Content)
		if err != nil {
			return "", tools.Errorf(tools.InvalidArgs, "content is no base64: %w; want standard base64 with padding and nothing before it", err)
		}
		return string(raw), nil
	}
	if !in.Normalize || in.Content == "" {
		return in.Content, nil
	}
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(in.Content)
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text, nil
}

// countLines counts a last line without its end, too.
func countLines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

func unknownEncoding(got, want string) error {
	return tools.Errorf(tools.InvalidArgs, "unknown encoding %q; want %s", got, want)
}

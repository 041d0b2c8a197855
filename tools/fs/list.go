package fs

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"magpie/tools"
	"magpie/tools/fs/fence"
)

//go:embed list_dir.md
var listDirText string

//go:embed list_files.md
var listFilesText string

type listIn struct {
	Path      string `json:"path,omitempty" jsonschema:"The folder, from the workspace; the workspace itself when it is not given." rule:"default=."`
	Recursive bool   `json:"recursive,omitempty" jsonschema:"Also everything below."`
	Pattern   string `json:"pattern,omitempty" jsonschema:"Only what matches: *, ?, [a-z]; a pattern with / is matched on the path from the folder, and ** stands for any folders."`
}

// ListDir makes list_dir.
func ListDir(f *fence.Fence) tools.Tool {
	return tools.New(listSpec("list_dir", listDirText), func(ctx context.Context, _ tools.Scope, in listIn) (tools.Result, error) {
		text, err := listText(ctx, f, in)
		return tools.Result{Text: text}, err
	}, tools.WithSubject(f.Name))
}

// ListFiles makes list_files.
func ListFiles(f *fence.Fence) tools.Tool {
	return tools.New(listSpec("list_files", listFilesText), func(ctx context.Context, sc tools.Scope, in listIn) (tools.Result, error) {
		text, err := listJSON(ctx, f, sc, in)
		return tools.Result{Text: text}, err
	}, tools.WithSubject(f.Name))
}

func listSpec(name, text string) tools.Spec {
	aliases := pathAliases()
	aliases["directory"], aliases["dir"] = "path", "path"
	return tools.Spec{
		Name: name, Description: strings.TrimSpace(text), Category: tools.File, Effect: tools.Reads,
		Main: "path", Aliases: aliases,
	}
}

func listText(ctx context.Context, f *fence.Fence, in listIn) (string, error) {
	l, err := list(ctx, f, in)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d folders, %d files\n", fence.Shown(f.Name(in.Path)), l.folders, l.files)
	for _, e := range l.entries {
		name := fence.Shown(e.path)
		switch e.kind {
		case "dir":
			fmt.Fprintf(&b, "📁 %s/%s\n", name, e.note)
		case "link":
			fmt.Fprintf(&b, "🔗 %s (link)\n", name)
		default:
			fmt.Fprintf(&b, "📄 %s  %s\n", name, size(e.size))
		}
	}
	if l.left > 0 {
		fmt.Fprintf(&b, "… %d more entries are not shown; give a pattern or a folder below.\n", l.left)
	}
	if l.stopped {
		fmt.Fprintf(&b, "There is more here than was looked through; list a folder below.\n")
	}
	b.WriteString(l.said())
	return b.String(), nil
}

// listedFile is one entry of list_files.
type listedFile struct {
	Path     string `json:"path"`
	Type     string `json:"type"`     // file, dir or link
	Size     int64  `json:"size"`     // bytes; 0 for folders
	Modified string `json:"modified"` // RFC 3339
}

func listJSON(ctx context.Context, f *fence.Fence, sc tools.Scope, in listIn) (string, error) {
	l, err := list(ctx, f, in)
	if err != nil {
		return "", err
	}
	out := struct {
		Path      string       `json:"path"`
		Files     []listedFile `json:"files"`
		Total     int          `json:"total"`
		Truncated bool         `json:"truncated"`
		LeftOut   string       `json:"left_out,omitempty"` // by the policy
	}{inJSON(f.Name(in.Path)), []listedFile{}, l.folders + l.files, l.left > 0 || l.stopped, strings.TrimSpace(l.said())}
	for _, e := range l.entries {
		out.Files = append(out.Files, listedFile{inJSON(e.path), e.kind, e.size, e.modified.In(sc.Zone).Format(time.RFC3339)})
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return "", fmt.Errorf("write list as JSON: %w", err)
	}
	return string(raw), nil
}

// inJSON is a path as a JSON text has it: what JSON itself escapes stays, so that
// the value is the name.
func inJSON(name string) string {
	if utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return r > 0x7e && fence.Shown(string(r)) != string(r) }) {
		return name
	}
	return fence.Shown(name)
}

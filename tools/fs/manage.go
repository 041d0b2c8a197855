package fs

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"magpie/tools"
	"magpie/tools/fs/fence"
)

//go:embed delete_file.md
var deleteFileText string

//go:embed move_file.md
var moveFileText string

//go:embed get_file_info.md
var fileInfoText string

type pathIn struct {
	Path string `json:"path" jsonschema:"Path, from the workspace." rule:"minlen=1"`
}

// DeleteFile makes delete_file.
func (e Editor) DeleteFile() tools.Tool {
	spec := tools.Spec{
		Name: "delete_file", Description: strings.TrimSpace(deleteFileText), Category: tools.File, Effect: tools.Writes,
		Main: "path", Aliases: pathAliases(),
	}
	return tools.New(spec, func(_ context.Context, _ tools.Scope, in pathIn) (tools.Result, error) {
		text, err := e.remove(in.Path)
		return tools.Result{Text: text}, err
	}, tools.WithSubject(e.Fence.Name), tools.WithShow(e.showDelete))
}

func (e Editor) remove(name string) (string, error) {
	file, info, err := open(e.Fence, name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	note := ""
	if info.IsDir() {
		if left, _ := file.Readdirnames(1); len(left) > 0 {
			return "", tools.Errorf(tools.InvalidArgs, "the folder %q is not empty; delete what is in it first, list_dir shows it", name)
		}
	} else {
		old, exists, err := e.current(name)
		if err != nil {
			return "", err
		}
		if note, err = e.remember(name, old, exists, ""); err != nil {
			return "", err
		}
	}
	if err := e.Fence.Remove(name); err != nil {
		return "", err
	}
	return "deleted " + fence.Shown(e.Fence.Name(name)) + note, nil
}

type moveIn struct {
	From string `json:"from" jsonschema:"The file or folder to move, from the workspace." rule:"minlen=1"`
	To   string `json:"to" jsonschema:"Its new path; it must not exist." rule:"minlen=1"`
}

// MoveFile makes move_file. A policy judges both ends.
func (e Editor) MoveFile() tools.Tool {
	spec := tools.Spec{
		Name: "move_file", Description: strings.TrimSpace(moveFileText), Category: tools.File, Effect: tools.Writes,
		Aliases: map[string]string{"source": "from", "src": "from", "path": "from", "file_path": "from", "old_path": "from", "destination": "to", "dest": "to", "dst": "to", "new_path": "to", "target": "to"},
	}
	return tools.New(spec, func(_ context.Context, _ tools.Scope, in moveIn) (tools.Result, error) {
		if err := e.Fence.Move(in.From, in.To); err != nil {
			return tools.Result{}, nearNames(e.Fence, in.From, err)
		}
		return tools.Result{Text: fmt.Sprintf("moved %s to %s", fence.Shown(e.Fence.Name(in.From)), fence.Shown(e.Fence.Name(in.To)))}, nil
	}, tools.WithSubjects(func(args json.RawMessage) []string {
		var in moveIn
		if json.Unmarshal(args, &in) != nil {
			return nil
		}
		return []string{e.Fence.Name(in.From), e.Fence.Name(in.To)}
	}), tools.WithShow(e.showMove))
}

// fileInfo is the answer of get_file_info.
type fileInfo struct {
	Path     string `json:"path"`
	Exists   bool   `json:"exists"`
	Type     string `json:"type,omitempty"` // file or dir
	Size     int64  `json:"size"`           // bytes
	Modified string `json:"modified,omitempty"`
	MIME     string `json:"mime,omitempty"`
	Mode     string `json:"mode,omitempty"`
}

// FileInfo makes get_file_info.
func FileInfo(f *fence.Fence) tools.Tool {
	spec := tools.Spec{
		Name: "get_file_info", Description: strings.TrimSpace(fileInfoText), Category: tools.File, Effect: tools.Reads,
		Main: "path", Aliases: pathAliases(),
	}
	return tools.New(spec, func(_ context.Context, sc tools.Scope, in pathIn) (tools.Result, error) {
		info, err := inspect(f, sc, in.Path)
		if err != nil {
			return tools.Result{}, err
		}
		raw, err := json.Marshal(info)
		return tools.Result{Text: string(raw)}, err
	}, tools.WithSubject(f.Name))
}

func inspect(f *fence.Fence, sc tools.Scope, name string) (fileInfo, error) {
	out := fileInfo{Path: inJSON(f.Name(name))}
	file, err := f.Open(name)
	if isKind(err, tools.NotFound) {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return out, fmt.Errorf("look at %q: %w", name, err)
	}
	out.Exists, out.Modified, out.Mode = true, info.ModTime().In(sc.Zone).Format(time.RFC3339), info.Mode().Perm().String()
	if info.IsDir() {
		out.Type = "dir"
		return out, nil
	}
	out.Type, out.Size = "file", info.Size()
	out.MIME, err = sniff(file)
	if err != nil {
		return out, fmt.Errorf("read %q: %w", name, err)
	}
	return out, nil
}

package fs

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"

	"magpie/tools"
	"magpie/tools/fs/fence"
	"magpie/tools/fs/undo"
)

//go:embed undo_edit.md
var undoEditText string

type undoIn struct {
	Path  string `json:"path" jsonschema:"Path of the file, from the workspace." rule:"minlen=1"`
	Clear bool   `json:"clear,omitempty" jsonschema:"Forget the remembered edits of the file instead of taking one back."`
}

// UndoEdit makes undo_edit; Undo must be set.
func (e Editor) UndoEdit() tools.Tool {
	spec := tools.Spec{
		Name: "undo_edit", Description: strings.TrimSpace(undoEditText), Category: tools.File, Effect: tools.Writes,
		Main: "path", Aliases: pathAliases(),
	}
	return tools.New(spec, func(_ context.Context, _ tools.Scope, in undoIn) (tools.Result, error) {
		text, err := e.undo(in)
		return tools.Result{Text: text}, err
	}, tools.WithSubject(e.Fence.Name), tools.WithShow(e.showUndo))
}

func (e Editor) undo(in undoIn) (string, error) {
	name := e.Fence.Name(in.Path)
	shown := fence.Shown(name)
	current, exists, err := e.current(in.Path)
	if err != nil {
		return "", err
	}
	if in.Clear {
		n, err := e.Undo.Clear(name)
		return fmt.Sprintf("forgot %d edits of %s", n, shown), err
	}
	did := ""
	var left int
	for did == "" {
		left, err = e.Undo.Pop(name, func(s undo.Step) error {
			switch {
			case exists == s.Existed && (!exists || undo.Sum(current) == undo.Sum(s.Before)) && sumOf(current, exists) != s.After:
				return nil // the program ended before this edit was made
			case sumOf(current, exists) != s.After:
				return tools.Errorf(tools.Failed, "%s was changed by something else since that edit, which an undo would wipe out; read it and edit it, or forget the edits with clear", shown)
			case s.Existed:
				did = fmt.Sprintf("%s is back to %d bytes, %d lines", shown, len(s.Before), countLines(string(s.Before)))
				return e.restore(in.Path, s.Before)
			}
			did = shown + " is removed: the edit had made it"
			return e.Fence.Remove(in.Path)
		})
		if errors.Is(err, undo.ErrNothing) {
			return "", tools.Errorf(tools.NotFound, "there is no edit of %s to undo", shown)
		}
		if err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("undone: %s; %d earlier edits can be undone", did, left), nil
}

// remember notes what a file holds before it is changed into what after names.
// note says that it could not, because the file is too large.
func (e Editor) remember(name string, old []byte, exists bool, after string) (note string, err error) {
	if e.Undo == nil {
		return "", nil
	}
	if len(old) > maxEdited {
		return "; the file was too large to be remembered, so this cannot be undone", nil
	}
	return "", e.Undo.Push(e.Fence.Name(name), undo.Step{Existed: exists, Before: old, After: after})
}

func (e Editor) restore(name string, content []byte) error {
	_, err := e.Fence.Write(name, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
	return err
}

// current is what the file holds now; too large a file was never remembered.
func (e Editor) current(name string) (content []byte, exists bool, err error) {
	file, err := e.Fence.Open(name)
	if isKind(err, tools.NotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return nil, false, tools.Errorf(tools.InvalidArgs, "%q is a folder, not a file", name)
	}
	content, err = io.ReadAll(io.LimitReader(file, maxEdited+1))
	if err != nil {
		return nil, false, fmt.Errorf("read %q: %w", name, err)
	}
	return content, true, nil
}

// sumOf names a state of a file as undo.Step.After does.
func sumOf(content []byte, exists bool) string {
	if !exists {
		return ""
	}
	return undo.Sum(content)
}

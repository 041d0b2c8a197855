package fs

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"

	"magpie/chat"
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
	return tools.New(spec, func(_ context.Context, sc tools.Scope, in undoIn) (tools.Result, error) {
		text, err := e.undo(sc, in)
		return tools.Result{Text: text}, err
	}, tools.WithSubject(e.Fence.Name), tools.WithShow(e.showUndo))
}

func (e Editor) undo(sc tools.Scope, in undoIn) (string, error) {
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
				return e.put(in.Path, s.Before, chat.JoinSources(sc.Sources, e.before(in.Path, s.Before)))
			}
			did = shown + " is removed: the edit had made it"
			return e.drop(in.Path, current)
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

// put writes a file. That it holds words from outside is noted before they are
// in it, that it no longer does only then.
func (e Editor) put(name string, content []byte, from []chat.Source) error {
	real := e.Fence.Real(name)
	if len(from) > 0 {
		if err := e.Fence.Origin().Wrote(real, content, from); err != nil {
			return err
		}
	}
	_, err := e.Fence.Write(name, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
	if err != nil || len(from) > 0 {
		return err
	}
	return e.Fence.Origin().Wrote(real, content, nil)
}

// drop removes a file or an empty folder.
func (e Editor) drop(name string, held []byte) error {
	real := e.Fence.Real(name)
	if err := e.Fence.Remove(name); err != nil {
		return err
	}
	e.Fence.Origin().Removed(real, held)
	return nil
}

// held are the sources of what a file holds now.
func (e Editor) held(name string) []chat.Source {
	file, err := e.Fence.Open(name)
	if err != nil {
		return nil
	}
	defer file.Close()
	return e.Fence.Sources(name, file)
}

// before are the sources of what a file held once.
func (e Editor) before(name string, content []byte) []chat.Source {
	return e.Fence.Origin().Known(e.Fence.Real(name), content)
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

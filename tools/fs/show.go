package fs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"magpie/tools"
	"magpie/tools/fs/undo"
)

// maxDiffed bounds in bytes what is compared line by line for a person; of more
// than that the new content is shown as it is.
const maxDiffed = 1 << 20

// showWrite is what write_file will make of a file.
func (e Editor) showWrite(_ context.Context, _ tools.Scope, args json.RawMessage) (tools.Shown, error) {
	in := writeIn{Encoding: "utf-8", Normalize: true}
	if err := json.Unmarshal(args, &in); err != nil {
		return tools.Shown{}, fmt.Errorf("decode the arguments: %w", err)
	}
	text, err := in.text()
	if err != nil {
		return tools.Shown{}, err
	}
	old, exists, err := e.current(in.Path)
	if err != nil {
		return tools.Shown{}, err
	}
	return e.change(in.Path, old, exists, text), nil
}

// showEdit is what edit_file will change.
func (e Editor) showEdit(_ context.Context, _ tools.Scope, args json.RawMessage) (tools.Shown, error) {
	var in editIn
	if err := json.Unmarshal(args, &in); err != nil {
		return tools.Shown{}, fmt.Errorf("decode the arguments: %w", err)
	}
	old, err := e.text(in.Path)
	if err != nil {
		return tools.Shown{}, err
	}
	text, _, err := in.apply(e.Fence.Name(in.Path), old)
	if err != nil {
		return tools.Shown{}, err
	}
	return e.change(in.Path, []byte(old), true, text), nil
}

// errSeen leaves a step that was only looked at where it is.
var errSeen = errors.New("seen")

// showUndo is what undo_edit will bring back.
func (e Editor) showUndo(_ context.Context, _ tools.Scope, args json.RawMessage) (tools.Shown, error) {
	var in undoIn
	if err := json.Unmarshal(args, &in); err != nil || in.Clear {
		return tools.Shown{}, err
	}
	now, exists, err := e.current(in.Path)
	if err != nil {
		return tools.Shown{}, err
	}
	var step undo.Step
	if _, err := e.Undo.Pop(e.Fence.Name(in.Path), func(s undo.Step) error { step = s; return errSeen }); !errors.Is(err, errSeen) {
		return tools.Shown{}, err
	}
	if sumOf(now, exists) != step.After {
		return tools.Shown{}, errors.New("the file was changed since that edit")
	}
	if step.Existed {
		return e.change(in.Path, now, exists, string(step.Before)), nil
	}
	return e.removed(in.Path, now), nil
}

// change shows one file becoming another text.
func (e Editor) change(name string, old []byte, exists bool, text string) tools.Shown {
	shown := e.about(name, sumOf(old, exists))
	after := e.Fence.Name(name)
	before := after
	if !exists {
		before = "/dev/null"
	}
	switch {
	case exists && string(old) == text:
		shown.Parts = append(shown.Parts, tools.Part{Name: tools.PartChange, Text: "="})
	case !readable(text) || exists && !readable(string(old)):
		shown.Parts = append(shown.Parts, bytesOf("+ ", []byte(text)))
		if exists {
			shown.Parts = append(shown.Parts, bytesOf("- ", old))
		}
		if readable(text) {
			shown.Parts = append(shown.Parts, tools.Part{Name: "content", Text: text})
		}
	case len(old)+len(text) > maxDiffed:
		shown.Parts = append(shown.Parts, tools.Part{Name: "content", Text: text}, bytesOf("- ", old))
	default:
		shown.Parts = append(shown.Parts, tools.Part{Name: tools.PartChange, Text: udiff.Unified(before, after, string(old), text)})
	}
	return shown
}

func readable(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }

// bytesOf names content that cannot be read, so that it can be told from other.
func bytesOf(sign string, content []byte) tools.Part {
	return tools.Part{Name: tools.PartBytes, Text: sign + size(int64(len(content))) + ", SHA-256 " + undo.Sum(content)}
}

// about begins with the file's name, and the state that an answer is for: its
// content and the folder that it stands in.
func (e Editor) about(name, sum string) tools.Shown {
	name = e.Fence.Name(name)
	return tools.Shown{Parts: []tools.Part{{Name: "path", Text: name}}, State: sum + " in " + e.folderID(name)}
}

// folderID tells a folder from another that took its place.
func (e Editor) folderID(name string) string {
	dir, err := e.Fence.Open(path.Dir(name))
	if err != nil {
		return ""
	}
	defer dir.Close()
	info, err := dir.Stat()
	if err != nil {
		return ""
	}
	sys, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprint(sys.Dev, " ", sys.Ino)
}

// showDelete is what delete_file will take away.
func (e Editor) showDelete(_ context.Context, _ tools.Scope, args json.RawMessage) (tools.Shown, error) {
	var in pathIn
	if err := json.Unmarshal(args, &in); err != nil {
		return tools.Shown{}, fmt.Errorf("decode the arguments: %w", err)
	}
	file, info, err := open(e.Fence, in.Path)
	if err != nil {
		return tools.Shown{}, err
	}
	defer file.Close()
	if info.IsDir() {
		shown := e.about(in.Path, "dir")
		shown.Parts = append(shown.Parts, tools.Part{Name: tools.PartRemoved, Text: e.Fence.Name(in.Path) + "/"})
		return shown, nil
	}
	old, _, err := e.current(in.Path)
	if err != nil {
		return tools.Shown{}, err
	}
	return e.removed(in.Path, old), nil
}

// removed shows a file that will be gone, with its content where it is text.
func (e Editor) removed(name string, old []byte) tools.Shown {
	shown := e.about(name, undo.Sum(old))
	shown.Parts = append(shown.Parts, tools.Part{Name: tools.PartRemoved, Text: e.Fence.Name(name) + " (" + size(int64(len(old))) + ")"})
	if readable(string(old)) && len(old) <= maxDiffed && len(old) > 0 {
		shown.Parts = append(shown.Parts, tools.Part{Name: tools.PartChange, Text: udiff.Unified(e.Fence.Name(name), "/dev/null", string(old), "")})
	} else if len(old) > 0 {
		shown.Parts = append(shown.Parts, bytesOf("- ", old))
	}
	return shown
}

// showMove is what move_file will move, and where to.
func (e Editor) showMove(_ context.Context, _ tools.Scope, args json.RawMessage) (tools.Shown, error) {
	var in moveIn
	if err := json.Unmarshal(args, &in); err != nil {
		return tools.Shown{}, fmt.Errorf("decode the arguments: %w", err)
	}
	file, info, err := open(e.Fence, in.From)
	if err != nil {
		return tools.Shown{}, err
	}
	defer file.Close()
	from, to := e.Fence.Name(in.From), e.Fence.Name(in.To)
	state := fmt.Sprint(from, " in ", e.folderID(from), ", ", to, " in ", e.folderID(to), ", ", info.Size(), " ", info.ModTime().Format(time.RFC3339Nano))
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		state += fmt.Sprint(" ", sys.Dev, " ", sys.Ino)
	}
	what := from
	if info.IsDir() {
		what += "/"
	} else {
		what += " (" + size(info.Size()) + ")"
	}
	return tools.Shown{Parts: []tools.Part{{Name: tools.PartMoved, Text: what + "\n→ " + to}}, State: state}, nil
}

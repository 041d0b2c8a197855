package fs

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"magpie/tools"
	"magpie/tools/fs/fence"
	"magpie/tools/fs/patch"
	"magpie/tools/fs/undo"
)

//go:embed edit_file.md
var editFileText string

// The limits of edit_file.
const (
	maxEdited  = 10 << 20 // bytes of a file that is edited or remembered
	shownHits  = 5        // places named when there are several
	nearestRun = 3        // like lines shown when there is none
)

type editIn struct {
	Path       string  `json:"path" jsonschema:"Path of the file, from the workspace." rule:"minlen=1"`
	OldText    string  `json:"old_text,omitempty" jsonschema:"The text to replace, exactly as it stands in the file, with enough around it to be there only once."`
	NewText    *string `json:"new_text,omitempty" jsonschema:"What stands there afterwards; empty to delete."`
	ReplaceAll bool    `json:"replace_all,omitempty" jsonschema:"Replace every occurrence."`
	Diff       string  `json:"diff,omitempty" jsonschema:"Instead of old_text and new_text: a unified diff of this file."`
}

// Editor makes the tools that change files and take changes back.
type Editor struct {
	Fence *fence.Fence
	Undo  *undo.Log // nil: nothing is remembered
}

// EditFile makes edit_file.
func (e Editor) EditFile() tools.Tool {
	aliases := pathAliases()
	for alias, name := range map[string]string{
		"old_str": "old_text", "old_string": "old_text", "oldstr": "old_text", "old": "old_text",
		"new_str": "new_text", "new_string": "new_text", "newstr": "new_text", "new": "new_text", "patch": "diff",
	} {
		aliases[alias] = name
	}
	spec := tools.Spec{
		Name: "edit_file", Description: strings.TrimSpace(editFileText), Category: tools.File, Effect: tools.Writes,
		Main: "path", Aliases: aliases,
	}
	return tools.New(spec, func(_ context.Context, _ tools.Scope, in editIn) (tools.Result, error) {
		text, err := e.edit(in)
		// A diff shows lines around the change, a failure those that are alike.
		return tools.Result{Text: text, Untrusted: foreign(e.Fence.Name(in.Path)) && !isKind(err, tools.NotFound)}, err
	}, tools.WithSubject(e.Fence.Name), tools.WithShow(e.showEdit))
}

func (e Editor) edit(in editIn) (string, error) {
	old, err := e.text(in.Path)
	if err != nil {
		return "", err
	}
	text, n, err := in.apply(e.Fence.Name(in.Path), old)
	if err != nil {
		return "", err
	}
	if text == old {
		return "", tools.Errorf(tools.InvalidArgs, "the edit changes nothing in %s: the new text is the old one", e.Fence.Name(in.Path))
	}
	if _, err := e.remember(in.Path, []byte(old), true, undo.Sum([]byte(text))); err != nil {
		return "", err
	}
	if err := e.restore(in.Path, []byte(text)); err != nil {
		return "", err
	}
	name := fence.Shown(e.Fence.Name(in.Path))
	times := ""
	switch {
	case !in.ReplaceAll || in.Diff != "":
	case n == 1:
		times = ": replaced once"
	default:
		times = fmt.Sprintf(": replaced %d times", n)
	}
	return "edited " + name + times + "\n" + udiff.Unified(name, name, old, text), nil
}

// text reads a file that can be edited: text, and not too large.
func (e Editor) text(name string) (string, error) {
	file, info, err := open(e.Fence, name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	switch {
	case info.IsDir():
		return "", tools.Errorf(tools.InvalidArgs, "%q is a folder, not a file", name)
	case info.Size() > maxEdited:
		return "", tools.Errorf(tools.InvalidArgs, "%q has %s; edit_file takes files up to %s", name, size(info.Size()), size(maxEdited))
	}
	raw, err := io.ReadAll(io.LimitReader(file, maxEdited+1))
	if err != nil {
		return "", fmt.Errorf("read %q: %w", name, err)
	}
	if !utf8.Valid(raw) || strings.ContainsRune(string(raw[:min(len(raw), sniffed)]), 0) {
		return "", tools.Errorf(tools.InvalidArgs, "%q is no UTF-8 text; read it with its encoding and write_file the whole", name)
	}
	return string(raw), nil
}

// apply makes the new text of the old one of that file, and counts the places.
func (in editIn) apply(name, old string) (text string, n int, err error) {
	switch {
	case in.Diff != "" && (in.OldText != "" || in.NewText != nil && *in.NewText != ""):
		return "", 0, tools.Errorf(tools.InvalidArgs, "give either diff, or old_text and new_text")
	case in.Diff != "":
		text, err = patch.Apply(name, old, in.Diff)
		if err != nil {
			return "", 0, tools.Errorf(tools.InvalidArgs, "the diff does not apply: %w", err)
		}
		return text, 1, nil
	case in.OldText == "":
		return "", 0, tools.Errorf(tools.InvalidArgs, "old_text is empty; want the text to replace, or a diff; write_file writes a whole file")
	case in.NewText == nil: // a call that was cut off must not delete
		return "", 0, tools.Errorf(tools.InvalidArgs, "new_text is missing; want what is to stand there instead, an empty text to delete it")
	}
	find, with := in.OldText, *in.NewText
	if !strings.Contains(old, find) && strings.Contains(old, "\r\n") && !strings.Contains(find, "\r") {
		find, with = strings.ReplaceAll(find, "\n", "\r\n"), strings.ReplaceAll(with, "\n", "\r\n")
	}
	switch n = strings.Count(old, find); {
	case n == 0:
		return "", 0, notThere(old, in.OldText)
	case n > 1 && !in.ReplaceAll:
		return "", 0, tools.Errorf(tools.InvalidArgs, "old_text stands there %d times (%s); give more of the text around it, or replace_all", n, places(old, find))
	}
	return strings.ReplaceAll(old, find, with), n, nil
}

// places names the lines of the first hits.
func places(text, find string) string {
	var lines []string
	at, line := 0, 1
	for len(lines) < shownHits {
		i := strings.Index(text[at:], find)
		if i < 0 {
			break
		}
		line += strings.Count(text[at:at+i], "\n")
		lines = append(lines, fmt.Sprint(line))
		line += strings.Count(find, "\n")
		at += i + len(find)
	}
	return "at line " + strings.Join(lines, ", ")
}

// notThere shows the lines that are most like the first line looked for.
func notThere(text, find string) error {
	first := ""
	for line := range strings.Lines(find) {
		if first = strings.TrimSpace(line); first != "" {
			break
		}
	}
	type like struct {
		n, score int
		text     string
	}
	var near []like
	n := 0
	for line := range strings.Lines(text) {
		n++
		if score := alike(strings.TrimSpace(line), first); score > 0 {
			near = append(near, like{n, score, strings.TrimRight(line, "\r\n")})
		}
	}
	if len(near) == 0 {
		return tools.Errorf(tools.InvalidArgs, "old_text is not in the file, and nothing like it; read the file again")
	}
	slices.SortStableFunc(near, func(a, b like) int { return cmp.Compare(b.score, a.score) })
	var b strings.Builder
	for _, l := range near[:min(len(near), nearestRun)] {
		fmt.Fprintf(&b, "\n%6d  %s", l.n, clip(l.text))
	}
	return tools.Errorf(tools.InvalidArgs, "old_text is not in the file as it is; blanks and line ends count. The nearest lines:%s", b.String())
}

// alike counts the words of want that a line holds, and finds lines that
// differ in blanks only.
func alike(line, want string) int {
	if line == "" || want == "" {
		return 0
	}
	if strings.Join(strings.Fields(line), "") == strings.Join(strings.Fields(want), "") {
		return 1000
	}
	score := 0
	for _, word := range strings.Fields(want) {
		if len(word) > 1 && strings.Contains(line, word) {
			score += len(word)
		}
	}
	if score*2 < len(want) {
		return 0
	}
	return score
}

func clip(line string) string {
	const most = 200
	if r := []rune(line); len(r) > most {
		return string(r[:most]) + "…"
	}
	return line
}

// isKind says whether err is a failure of that kind.
func isKind(err error, k tools.ErrorKind) bool {
	var said *tools.Error
	return errors.As(err, &said) && said.Kind == k
}

package lineedit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	keepTyped = 1000     // texts that can be recalled
	maxTyped  = 16 << 10 // bytes of one that goes to the file
)

// history is what was typed, the oldest first. In its file a text has a line;
// one of several lines has a backslash before each break.
type history struct {
	file  string
	texts []string
	at    int    // of the text that is shown; len(texts): none of them
	now   string // what was being typed before
}

func loadHistory(file string) (history, error) {
	h := history{file: file}
	if file == "" {
		return h, nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return h, fmt.Errorf("make the folder of the history: %w", err)
	}
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return h, fmt.Errorf("read the history: %w", err)
	}
	text := ""
	for l := range strings.Lines(string(data)) {
		l, goesOn := strings.CutSuffix(strings.TrimSuffix(l, "\n"), `\`)
		if text += Clean(l); goesOn {
			text += "\n"
			continue
		}
		h.texts = append(h.texts, text)
		text = ""
	}
	if len(h.texts) > 2*keepTyped {
		h.texts = h.texts[len(h.texts)-keepTyped:]
		err = h.rewrite()
	} else {
		err = nil
	}
	h.at = len(h.texts)
	return h, err
}

func asLine(text string) string {
	if strings.HasSuffix(text, `\`) {
		text += " " // else it would go on with the next one
	}
	return strings.ReplaceAll(text, "\n", "\\\n") + "\n"
}

func (h *history) rewrite() error {
	var b strings.Builder
	for _, t := range h.texts {
		b.WriteString(asLine(t))
	}
	if err := os.WriteFile(h.file, []byte(b.String()), 0o600); err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	return nil
}

// add notes a text, unless it is the last one again; very long ones are not
// written to the file.
func (h *history) add(text string) error {
	last := len(h.texts) - 1
	if last < 0 || h.texts[last] != text {
		h.texts = append(h.texts, text)
	}
	h.leave()
	if h.file == "" || last >= 0 && h.texts[last] == text || len(text) > maxTyped {
		return nil
	}
	f, err := os.OpenFile(h.file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	_, err = f.WriteString(asLine(text))
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	return nil
}

// leave goes back to what is typed anew.
func (h *history) leave() { h.at, h.now = len(h.texts), "" }

// older and newer return the text before and after the one that is shown.
func (h *history) older(typed string) (string, bool) {
	if h.at == 0 {
		return "", false
	}
	if h.at == len(h.texts) {
		h.now = typed
	}
	h.at--
	return h.texts[h.at], true
}

func (h *history) newer() (string, bool) {
	if h.at >= len(h.texts) {
		return "", false
	}
	h.at++
	if h.at == len(h.texts) {
		return h.now, true
	}
	return h.texts[h.at], true
}

package prompt

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
)

const (
	// maxSkills and maxAbout (in runes) keep the summary short.
	maxSkills = 50
	maxAbout  = 300
	// maxFront is how much of a SKILL.md is searched for its front matter, in
	// bytes.
	maxFront = 16 << 10
)

// skills knows the skills of a workspace. A file is read again when its time
// or size has changed.
type skills struct {
	folder string
	log    *slog.Logger

	mu    sync.Mutex
	known map[string]known // by folder name
}

type known struct {
	stamped // text: the skill's line in the summary
	bad     bool
}

func newSkills(workspace string, log *slog.Logger) *skills {
	return &skills{folder: filepath.Join(workspace, "skills"), log: log, known: map[string]known{}}
}

// summary lists the skills, "" when there are none.
func (s *skills) summary() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Through a root no symlink leads out of the folder.
	root, err := os.OpenRoot(s.folder)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.log.Warn("skills cannot be read", "err", err)
		}
		return ""
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		s.log.Warn("skills cannot be read", "err", err)
		return ""
	}
	var lines []string
	seen := make(map[string]known, len(entries))
	for _, e := range entries {
		if !e.IsDir() && e.Type() != fs.ModeSymlink {
			continue
		}
		if k, ok := s.look(root, e.Name()); ok {
			seen[e.Name()] = k
			if !k.bad {
				lines = append(lines, k.text)
			}
		}
	}
	s.known = seen
	if len(lines) == 0 {
		return ""
	}
	text := "# Skills\nBefore you do something that a skill is for, read skills/<name>/SKILL.md and follow it.\n"
	if more := len(lines) - maxSkills; more > 0 {
		lines = append(lines[:maxSkills], fmt.Sprintf("- and %d more, see the folder skills/", more))
	}
	return text + strings.Join(lines, "\n")
}

// look returns what is known of a skill, reading it when it is new or has
// changed; false when the folder holds none.
func (s *skills) look(root *os.Root, name string) (known, bool) {
	file := path.Join(name, "SKILL.md")
	info, err := root.Stat(file)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && !info.Mode().IsRegular()) {
		return known{}, false
	}
	k := known{bad: true}
	old, was := s.known[name]
	if err == nil {
		k.changed, k.size = info.ModTime(), info.Size()
		if was && k.changed.Equal(old.changed) && k.size == old.size {
			return old, true
		}
		k.text, err = readSkill(root, file, name)
	}
	k.bad = err != nil
	if k.bad && !(was && old.bad && old.changed.Equal(k.changed)) { // once, not with every turn
		s.log.Warn("skill is left out", "skill", name, "err", err)
	}
	return k, true
}

// readSkill returns the line of the summary.
func readSkill(root *os.Root, file, name string) (string, error) {
	f, err := root.Open(file)
	if err != nil {
		return "", fmt.Errorf("open skill: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFront))
	if err != nil {
		return "", fmt.Errorf("read skill: %w", err)
	}
	if oneLine(name, maxName) != name {
		return "", errors.New("the folder's name is too long or holds control characters")
	}
	front, err := frontMatter(string(data))
	if err != nil {
		return "", err
	}
	about := oneLine(front["description"], maxAbout)
	if about == "" {
		return "", errors.New("the front matter has no description")
	}
	line := "- " + name
	if called := oneLine(front["name"], maxName); called != "" && called != name {
		line += " (" + called + ")"
	}
	return line + ": " + about, nil
}

// frontMatter reads the "key: value" lines between the two "---" at the
// beginning of a text. Indented lines go on with the value above them; quotes
// around a value and the marks of block values are taken off.
func frontMatter(text string) (map[string]string, error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\uFEFF"), "\r\n", "\n")
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return nil, errors.New(`it does not begin with front matter ("---")`)
	}
	front, key := map[string]string{}, ""
	for line := range strings.Lines(rest) {
		line = strings.TrimRight(line, " \t\n")
		if line == "---" {
			for key, value := range front {
				front[key] = unquote(value)
			}
			return front, nil
		}
		before, value, pair := strings.Cut(line, ":")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t"):
			front[key] = strings.TrimSpace(front[key] + " " + strings.TrimSpace(line))
		case pair:
			key = strings.ToLower(strings.TrimSpace(before))
			value = strings.TrimSpace(value)
			if strings.Trim(value, "|>+-") == "" {
				value = ""
			}
			front[key] = value
		default:
			key = ""
		}
	}
	return nil, errors.New(`the front matter has no end ("---")`)
}

func unquote(s string) string {
	if n := len(s); n >= 2 && s[0] == s[n-1] && (s[0] == '"' || s[0] == '\'') {
		inner := s[1 : n-1]
		if s[0] == '"' {
			return strings.ReplaceAll(inner, `\"`, `"`)
		}
		return strings.ReplaceAll(inner, "''", "'")
	}
	return s
}

package prompt

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	maxSkill  = 200 << 10 // bytes of a SKILL.md that is given as a whole
	maxBeside = 50        // files of its folder that are named
)

// LoadSkill returns what a skill of the workspace tells to do: its SKILL.md
// without the front matter, after a line about the folder. The error Is
// fs.ErrNotExist where there is no skill, or a file that is none.
func LoadSkill(workspace, name string) (string, error) {
	root, err := os.OpenRoot(filepath.Join(workspace, "skills"))
	if err != nil {
		return "", fmt.Errorf("open the skills: %w", err)
	}
	defer root.Close()
	dir, err := root.OpenRoot(name)
	if err != nil {
		return "", fmt.Errorf("open skill: %w", err)
	}
	defer dir.Close()
	f, err := dir.Open("SKILL.md")
	if err != nil {
		return "", fmt.Errorf("open skill: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSkill+1))
	if err != nil {
		return "", fmt.Errorf("read skill: %w", err)
	}
	text := strings.ReplaceAll(strings.TrimPrefix(string(data), "\uFEFF"), "\r\n", "\n")
	if _, err := frontMatter(text); err != nil || len(data) > maxSkill {
		return "", fmt.Errorf("skill %s: %w", name, fs.ErrNotExist)
	}
	about := fmt.Sprintf("Skill %s. Paths in it count from skills/%s/.", name, name)
	if beside := filesOf(dir); beside != "" {
		about += " Files there: " + beside + "."
	}
	return about + "\n\n" + strings.TrimSpace(afterFront(text)), nil
}

// afterFront is what follows the front matter of a text that has one.
func afterFront(text string) string {
	marks, rest := 0, text
	for line := range strings.Lines(text) {
		rest = rest[len(line):]
		if strings.TrimRight(line, " \t\n") == "---" {
			marks++
		}
		if marks == 2 {
			break
		}
	}
	return rest
}

// filesOf names what a skill's folder holds beside SKILL.md.
func filesOf(dir *os.Root) string {
	var names []string
	_ = fs.WalkDir(dir.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir() || path == "SKILL.md":
			return nil
		case len(names) == maxBeside:
			names = append(names, "and more")
			return fs.SkipAll
		}
		names = append(names, path)
		return nil
	})
	return strings.Join(names, ", ")
}

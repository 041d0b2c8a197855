package prompt_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/agent/prompt"
)

func TestLoadSkill(t *testing.T) {
	work := t.TempDir()
	outside := filepath.Join(t.TempDir(), "SKILL.md")
	for path, text := range map[string]string{
		filepath.Join(work, "skills/天气/SKILL.md"):        "\uFEFF---\r\nname: weather\r\ndescription: 查天气\r\n---\r\n\r\n# 步骤\r\n1. run scripts/now.sh\r\n",
		filepath.Join(work, "skills/天气/scripts/now.sh"):  "date",
		filepath.Join(work, "skills/plain/SKILL.md"):     "no front matter",
		filepath.Join(work, "skills/endless/SKILL.md"):   "---\ndescription: x\n",
		filepath.Join(work, "skills/huge/SKILL.md"):      "---\ndescription: x\n---\n" + strings.Repeat("x", 300_000),
		filepath.Join(work, "skills/silent/SKILL.md"):    "---\ndescription: x\n--- ",
		filepath.Join(work, "skills/lines/SKILL.md"):     "---\ndescription: x\n---\nabove\n---\nbelow",
		filepath.Join(work, "skills/not-a-skill/README"): "x",
		outside: "---\ndescription: secret\n---\nsecret",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(work, "skills/link"), 0o700), os.Symlink(outside, filepath.Join(work, "skills/link/SKILL.md"))); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"天气":     "Skill 天气. Paths in it count from skills/天气/. Files there: scripts/now.sh.\n\n# 步骤\n1. run scripts/now.sh",
		"silent": "Skill silent. Paths in it count from skills/silent/.\n\n",
		"lines":  "Skill lines. Paths in it count from skills/lines/.\n\nabove\n---\nbelow",
	} {
		if got, err := prompt.LoadSkill(work, name); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	for _, name := range []string{"nobody", "plain", "endless", "huge", "not-a-skill"} {
		if got, err := prompt.LoadSkill(work, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %q, %v; want ErrNotExist", name, got, err)
		}
	}
	for _, name := range []string{"link", "..", "../.."} {
		if got, err := prompt.LoadSkill(work, name); err == nil {
			t.Errorf("%s: %q came from outside", name, got)
		}
	}
}

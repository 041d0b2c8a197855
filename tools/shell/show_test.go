package shell_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"magpie/tools"
	"magpie/tools/shell"
)

func text(q *tools.Question, name string) string {
	i := slices.IndexFunc(q.Parts, func(p tools.Part) bool { return p.Name == name })
	if i < 0 {
		return ""
	}
	return q.Parts[i].Text
}

// A question about a command shows the command, its folder and what its chat has
// set; each of them is part of what an answer is for.
func TestShown(t *testing.T) {
	set := map[string]string{}
	r := build(t, shell.Config{}, shell.Deps{Session: func(tools.Scope) map[string]string { return set }})
	tool := r.shell.Tool()
	ask := func(args string) *tools.Question {
		t.Helper()
		shown, err := tool.(tools.Shower).Show(t.Context(), tools.Scope{}, json.RawMessage(args))
		if err != nil {
			t.Fatal(err)
		}
		return tools.Asking(tool.Spec(), json.RawMessage(args), shown)
	}
	const plain = `{"command":"git diff"}`
	bare := ask(plain)
	root, err := filepath.EvalSymlinks(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	if text(bare, "command") != "git diff" || text(bare, tools.PartFolder) != root || text(bare, tools.PartEnv) != "" {
		t.Errorf("without variables: %+v", bare.Parts)
	}
	if again := ask(plain); again.Digest != bare.Digest || again.Rule != bare.Rule {
		t.Error("the same call has another digest")
	}
	set["GIT_EXTERNAL_DIFF"], set["X_TOKEN"], set["PAGER"] = "touch A1", "q1", "cat"
	full := ask(plain)
	if got := text(full, tools.PartEnv); got != "GIT_EXTERNAL_DIFF=touch A1\nX_TOKEN=q1" { // PAGER=cat is the default
		t.Errorf("the variables are %q", got)
	}
	if full.Digest == bare.Digest || full.Rule == bare.Rule || !strings.Contains(full.Setting, "touch A1") {
		t.Error("the variables are no part of what is allowed")
	}
	set["PAGER"] = "evil"
	if other := ask(plain); other.Digest == full.Digest || !strings.Contains(text(other, tools.PartEnv), "PAGER=evil") {
		t.Errorf("a default that was changed: %+v", other.Parts)
	}
	// A folder behind another name is another folder.
	for _, dir := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(r.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	const there = `{"command":"ls","working_dir":"a"}`
	before := ask(there)
	if text(before, tools.PartFolder) != filepath.Join(root, "a") {
		t.Errorf("the folder is %q", text(before, tools.PartFolder))
	}
	for old, name := range map[string]string{"a": "c"} {
		if err := os.Rename(filepath.Join(r.dir, old), filepath.Join(r.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(filepath.Join(r.dir, "b"), filepath.Join(r.dir, "a")); err != nil {
		t.Fatal(err)
	}
	if after := ask(there); after.Digest == before.Digest {
		t.Error("another folder under the same name has the same digest")
	}
}

package fs_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/tools"
	"magpie/tools/fs"
	"magpie/tools/fs/fence"
	"magpie/tools/fs/undo"
)

// ruled are the file tools under a policy.
type ruled struct {
	t     *testing.T
	dir   string
	exec  *tools.Executor
	allow bool // the person allows
	asked int

	meanwhile func() // happens while the person thinks
}

func (r *ruled) Approve(context.Context, tools.Scope, tools.Spec, json.RawMessage) error {
	r.asked++
	if r.meanwhile != nil {
		r.meanwhile()
	}
	if r.allow {
		return nil
	}
	return tools.Errorf(tools.Permission, "no")
}

func newRuled(t *testing.T, rules ...tools.Rule) *ruled {
	t.Helper()
	r := &ruled{t: t, dir: filepath.Join(t.TempDir(), "w")}
	f, err := fence.New(r.dir, &fence.Options{FollowLinks: true, ResolveDots: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	log, err := undo.Open(filepath.Join(t.TempDir(), "undo"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	policy, err := tools.NewPolicy(rules)
	if err != nil {
		t.Fatal(err)
	}
	reg := &tools.Registry{}
	e := fs.Editor{Fence: f, Undo: log}
	if err := reg.RegisterAll(fs.ReadFile(f, nil), e.WriteFile(), e.EditFile(), e.UndoEdit(), e.DeleteFile(), e.MoveFile(), fs.FileInfo(f), fs.FileSearch(f), fs.ListDir(f), fs.ListFiles(f)); err != nil {
		t.Fatal(err)
	}
	r.exec = tools.NewExecutor(reg, &tools.Options{Policy: policy.Knows(tools.Paths{Names: f.Names}), Approver: r})
	for name, text := range map[string]string{
		"private/x.txt": "the secret", "private/sub/y.txt": "the secret too", "pub/a.txt": "hello", "data/private.txt": "hello private", "café/menu.txt": "the secret of the café", "pub/deep/private/z.txt": "the secret below",
	} {
		r.write(name, text)
	}
	return r
}

func (r *ruled) write(name, text string) {
	r.t.Helper()
	file := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *ruled) call(tool, args string) tools.Result {
	r.t.Helper()
	return r.exec.Run(r.t.Context(), tools.Scope{CallID: "c"}, tool, args)
}

// TestPathRulesJudgeEveryFile: whatever a rule denies is neither named nor read
// nor moved, through whatever tool, folder, link or name.
func TestPathRulesJudgeEveryFile(t *testing.T) {
	r := newRuled(t, tools.Rule{Tool: "*", Match: `(^|/)private(/|$)`, Action: tools.Deny})
	for link, to := range map[string]string{"way": "private", "pub/up": "../private/x.txt", "wayway": "way"} {
		if err := os.Symlink(to, filepath.Join(r.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(r.dir, "private", "x.txt"), filepath.Join(r.dir, "pub", "twin.txt")); err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct{ tool, args string }{
		{"read_file", `{"path":"private/x.txt"}`},
		{"read_file", `{"path":"./private//x.txt"}`},
		{"read_file", `{"path":"pub/../private/x.txt"}`},
		{"read_file", `{"path":"way/x.txt"}`},
		{"read_file", `{"path":"wayway/x.txt"}`},
		{"read_file", `{"path":"pub/up"}`},
		{"read_file", `{"path":"pub/twin.txt"}`},
		{"read_file", `{"path":"` + r.dir + `/private/x.txt"}`},
		{"read_file", `{"path":"private"}`},
		{"list_dir", `{"path":"private"}`},
		{"list_dir", `{"path":"way"}`},
		{"list_files", `{"path":"wayway"}`},
		{"file_search", `{"path":"way","pattern":"*"}`},
		{"get_file_info", `{"path":"way/x.txt"}`},
		{"write_file", `{"path":"way/new.txt","content":"x"}`},
		{"edit_file", `{"path":"pub/up","old_text":"the","new_text":"a"}`},
		{"delete_file", `{"path":"pub/twin.txt"}`},
		{"undo_edit", `{"path":"way/x.txt"}`},
		{"move_file", `{"from":"pub/a.txt","to":"private/a.txt"}`},
		{"move_file", `{"from":"pub/a.txt","to":"way/a.txt"}`},
		{"move_file", `{"from":"private","to":"mine"}`},
		{"move_file", `{"from":"pub","to":"mine"}`},
		{"move_file", `{"from":"pub/deep","to":"mine"}`},
	} {
		if res := r.call(k.tool, k.args); res.Err != tools.Permission || strings.Contains(res.Text, "secret") {
			t.Errorf("%s %s: %s", k.tool, k.args, res.Text)
		}
	}
	for _, k := range []struct{ tool, args, left string }{
		{"list_dir", `{"path":".","recursive":true}`, "entries are left out"},
		{"list_dir", `{"path":"."}`, "entries are left out"},
		{"list_files", `{"path":".","recursive":true}`, "entries are left out"},
		{"list_dir", `{"path":".","pattern":"**/*.txt"}`, "entries are left out"},
		{"file_search", `{"pattern":"*"}`, "entries are left out"},
		{"file_search", `{"content":"the secret"}`, "entries are left out"},
		{"file_search", `{"path":"pub","pattern":"**"}`, "entries are left out"},
		{"read_file", `{"path":"."}`, "entries are left out"},
	} {
		res := r.call(k.tool, k.args)
		for _, word := range []string{"private/", "x.txt", "y.txt", "z.txt", "way", "twin", "up ", "secret below", "secret too"} {
			if !res.OK || strings.Contains(res.Text, word) {
				t.Errorf("%s %s says %q: %s", k.tool, k.args, word, res.Text)
			}
		}
		if !strings.Contains(res.Text, k.left) {
			t.Errorf("%s %s does not say that something was left out: %s", k.tool, k.args, res.Text)
		}
	}
	// Nor by a name that is like it.
	if res := r.call("read_file", `{"path":"privat"}`); strings.Contains(res.Text, "private") {
		t.Errorf("a near name: %s", res.Text)
	}
	if res := r.call("file_search", `{"content":"private"}`); res.Err != "" && res.Err != tools.Permission {
		t.Errorf("%+v", res)
	}
	if res := r.call("read_file", `{"path":"data/private.txt"}`); !res.OK {
		t.Errorf("a file that only sounds like it: %s", res.Text)
	}
}

// TestPathRulesThatAsk: a walk leaves out what has to be asked about, and says to
// name it; who names it is asked, and what was allowed is then shown.
func TestPathRulesThatAsk(t *testing.T) {
	r := newRuled(t, tools.Rule{Tool: "*", Match: `^private(/|$)`, Action: tools.Ask})
	if res := r.call("list_dir", `{"path":".","recursive":true}`); !res.OK || strings.Contains(res.Text, "x.txt") || !strings.Contains(res.Text, "name the file or folder itself") || r.asked != 0 {
		t.Errorf("%s, asked %d", res.Text, r.asked)
	}
	if res := r.call("list_dir", `{"path":"private","recursive":true}`); res.OK || r.asked != 1 {
		t.Errorf("denied: %s, asked %d", res.Text, r.asked)
	}
	r.allow = true
	if res := r.call("list_dir", `{"path":"private","recursive":true}`); !res.OK || !strings.Contains(res.Text, "sub/y.txt") || r.asked != 2 {
		t.Errorf("allowed: %s, asked %d", res.Text, r.asked)
	}
	if res := r.call("file_search", `{"path":"private","content":"secret"}`); !res.OK || !strings.Contains(res.Text, "y.txt") {
		t.Errorf("allowed: %s", res.Text)
	}
}

// TestRulesOfLettersWithMarks: é is one letter or two.
func TestRulesOfLettersWithMarks(t *testing.T) {
	for _, match := range []string{"^café/", "^cafe\u0301/"} {
		r := newRuled(t, tools.Rule{Tool: "*", Match: match, Action: tools.Deny})
		r.write("cafe\u0301/two.txt", "the secret")
		for _, name := range []string{"café/menu.txt", "cafe\u0301/two.txt"} {
			raw, _ := json.Marshal(map[string]string{"path": name})
			if res := r.call("read_file", string(raw)); res.Err != tools.Permission {
				t.Errorf("%q, %q: %s", match, name, res.Text)
			}
		}
	}
}

// TestLinkPutThereMeanwhile: what was judged is what is read, also when a link
// comes to lead elsewhere while the question stands.
func TestLinkPutThereMeanwhile(t *testing.T) {
	r := newRuled(t, tools.Rule{Tool: "*", Match: `^private/`, Action: tools.Deny}, tools.Rule{Tool: "read_file", Match: `^pub/`, Action: tools.Ask})
	link := filepath.Join(r.dir, "pub", "link")
	if err := os.Symlink("a.txt", link); err != nil {
		t.Fatal(err)
	}
	r.allow = true
	if res := r.call("read_file", `{"path":"pub/link"}`); !res.OK {
		t.Fatal(res.Text)
	}
	r.meanwhile = func() {
		_ = os.Remove(link)
		_ = os.Symlink("../private/x.txt", link)
	}
	if res := r.call("read_file", `{"path":"pub/link"}`); res.Err != tools.Permission || strings.Contains(res.Text, "secret") || r.asked != 2 {
		t.Errorf("asked %d: %s", r.asked, res.Text)
	}
}

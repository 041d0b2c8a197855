package archtest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/internal/archtest"
)

// TestEachRule: a rule that never finds anything proves nothing.
func TestEachRule(t *testing.T) {
	const head = "// Package p is p.\npackage p\n"
	fields := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "\tF%d int\n", i)
		}
		return b.String()
	}
	for _, c := range []struct {
		name, file, source string
		want               []string
	}{
		{"fine", "chat/a.go", head + "var _ = 1\nvar errX = 2\nfunc f(a, b, c, d int) {}\n", nil},
		{"unknown package", "what/a.go", head, []string{"what/a.go:2: imports: package what has no row in internal/archtest/table.go: add one"}},
		{"ours", "chat/a.go", head + "import _ \"magpie/channels\"\n", []string{"chat/a.go:3: imports: chat may not import channels; it may: "}},
		{"ours allowed", "channels/all/a.go", head + "import _ \"magpie/channels/telegram\"\n", nil},
		{"ours in a test", "agent/a_test.go", head + "import _ \"magpie/agent\"\nimport _ \"magpie/bus/bustest\"\n", nil},
		{"ours in another's test", "agent/a_test.go", head + "import _ \"magpie/config\"\n", []string{"agent/a_test.go:3: imports: agent may not import config; it may: chat, agent/..., channels/render, tools, internal/kv, internal/links, internal/near"}},
		{"tested is not free", "agent/a.go", head + "import _ \"magpie/bus/bustest\"\n", []string{"agent/a.go:3: imports: agent may not import bus/bustest; it may: chat, agent/..., channels/render, tools, internal/kv, internal/links, internal/near"}},
		{"yaml", "chat/a.go", head + "import _ \"github.com/goccy/go-yaml/ast\"\n", []string{"chat/a.go:3: imports: github.com/goccy/go-yaml belongs to config, channels/channeltest"}},
		{"yaml at home", "config/a.go", head + "import _ \"github.com/goccy/go-yaml/ast\"\n", nil},
		{"SDK in another adapter", "channels/qq/a.go", head + "import _ \"github.com/bwmarrin/discordgo\"\n", []string{"channels/qq/a.go:3: imports: github.com/bwmarrin/discordgo belongs to channels/discord"}},
		{"unknown module", "chat/a.go", head + "import _ \"example.com/x\"\n", []string{"chat/a.go:3: imports: example.com/x has no owner in internal/archtest/table.go"}},
		{"test module outside tests", "chat/a.go", head + "import _ \"github.com/google/go-cmp/cmp\"\n", []string{"chat/a.go:3: imports: github.com/google/go-cmp belongs to internal/kv/kvtest, channels/channeltest, tools/tooltest, agent/llm/llmtest, bus/bustest"}},
		{"test module", "chat/a_test.go", head + "import _ \"github.com/google/go-cmp/cmp\"\n", nil},
		{"400 lines", "chat/a.go", head + strings.Repeat("\n", 398), nil},
		{"401 lines", "chat/a.go", head + strings.Repeat("\n", 399), []string{"chat/a.go:2: file size: 401 lines, at most 400"}},
		{"60 lines", "chat/a.go", head + "func f() {\n" + strings.Repeat("\n", 58) + "}\n", nil},
		{"61 lines", "chat/a.go", head + "func f() {\n" + strings.Repeat("\n", 59) + "}\n", []string{"chat/a.go:3: function size: f has 61 lines, at most 60"}},
		{"a table in a test", "chat/a_test.go", head + "func f() {\n_ = []int{\n" + strings.Repeat("1,\n", 70) + "}\n}\n", nil},
		{"a table elsewhere", "chat/a.go", head + "func f() {\n_ = []int{\n" + strings.Repeat("1,\n", 70) + "}\n}\n", []string{"chat/a.go:3: function size: f has 74 lines, at most 60"}},
		{"5 parameters", "chat/a.go", head + "func f(ctx context.Context, a, b, c, d, e int) {}\n", []string{"chat/a.go:3: parameters: f has 5 parameters, at most 4 besides ctx and options"}},
		{"free parameters", "chat/a.go", head + "func f(ctx context.Context, t *testing.T, a, b, c, d int, o *Options, v ...int) {}\n", nil},
		{"12 fields", "chat/a.go", head + "type s struct {\n" + fields(12) + "}\n", nil},
		{"13 fields of a type that may", "chat/a.go", "// Package chat is chat.\npackage chat\n\n// Inbound is wide.\ntype Inbound struct {\n" + fields(13) + "}\n", nil},
		{"13 fields", "chat/a.go", head + "type s struct {\n" + fields(13) + "}\n", []string{"chat/a.go:3: struct size: 13 fields, at most 12"}},
		{"6 methods", "chat/a.go", head + "type i interface{ A(); B(); C(); D(); E(); F() }\n", []string{"chat/a.go:3: interface size: 6 methods, at most 5"}},
		{"init", "chat/a.go", head + "func init() {}\n", []string{"chat/a.go:3: no init: do it where it is needed"}},
		{"variable", "chat/a.go", head + "var x int\n", []string{"chat/a.go:3: no globals that change: x: want a constant, an error, a compiled pattern or a literal"}},
		{"mutex", "chat/a.go", head + "var mu = sync.Mutex{}\n", []string{"chat/a.go:3: no globals that change: mu: want a constant, an error, a compiled pattern or a literal"}},
		{"made", "chat/a.go", head + "var m = make(map[int]int)\n", []string{"chat/a.go:3: no globals that change: m: want a constant, an error, a compiled pattern or a literal"}},
		{"fixed variables", "chat/a.go", head + "var e = errors.New(\"e\")\nvar r = regexp.MustCompile(`x`)\nvar l = []int{1}\nvar b = []byte(\"x\")\nvar ty = reflect.TypeFor[int]()\n//go:embed x\nvar page string\n", nil},
		{"version", "cmd/bot/a.go", head + "// x\nvar version string\n", nil},
		{"changed table", "chat/a.go", head + "var m = map[int]int{}\nfunc f() { m[1] = 2 }\n", []string{"chat/a.go:4: no globals that change: m is changed"}},
		{"deleted", "chat/a.go", head + "var m = map[int]int{}\nfunc f() { delete(m, 1) }\n", []string{"chat/a.go:4: no globals that change: m is changed"}},
		{"a local of that name", "chat/a.go", head + "var m = map[int]int{}\nfunc f(m map[int]int) { m[1] = 2 }\n", nil},
		{"sleep", "chat/a_test.go", head + "func f() { time.Sleep(1) }\n", []string{"chat/a_test.go:3: no sleeping tests: wait for the event, or use testing/synctest"}},
		{"skip", "chat/a_test.go", head + "func f() { t.Skip(1) }\n", []string{"chat/a_test.go:3: no hidden skips: say it by need.Unmet, or give the reason in internal/archtest/table.go"}},
		{"skip in a helper", "chat/a.go", head + "func f() { r.t.Skipf(\"x\") }\nfunc g() { t.SkipNow() }\n", []string{"chat/a.go:3: no hidden skips: say it by need.Unmet, or give the reason in internal/archtest/table.go", "chat/a.go:4: no hidden skips: say it by need.Unmet, or give the reason in internal/archtest/table.go"}},
		{"skip with a reason", "tools/web/web_test.go", head + "func f() { t.Skip() }\n", nil},
		{"no package comment", "chat/a.go", "package p\n", []string{"chat/a.go:1: package comment: chat has 0, want one"}},
		{"odd package comment", "chat/a.go", "// Hello.\npackage p\n", []string{"chat/a.go:1: package comment: want it to begin with Package or Command"}},
		{"undocumented", "chat/a.go", head + "func F() {}\ntype T int\nfunc (T) M() {}\nfunc (T) String() {}\nfunc (t) M() {}\nconst C = 1\n", []string{
			"chat/a.go:3: documented names: F has no comment",
			"chat/a.go:4: documented names: T has no comment",
			"chat/a.go:5: documented names: M has no comment",
			"chat/a.go:8: documented names: C has no comment",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree, err := archtest.Load(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if err := tree.Add(c.file, []byte(c.source)); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, v := range tree.Check() {
				got = append(got, v.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTwoPackageComments(t *testing.T) {
	tree, err := archtest.Load(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"chat/a.go", "chat/b.go"} {
		if err := tree.Add(name, []byte("// Package chat is chat.\npackage chat\n")); err != nil {
			t.Fatal(err)
		}
	}
	if got := tree.Check(); len(got) != 1 || got[0].Text != "chat has 2, want one" {
		t.Errorf("violations: %v", got)
	}
}

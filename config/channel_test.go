package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/config"
)

// A group is its id, as ever, or a section that lets its members in.
func TestNobodysID(t *testing.T) {
	for section, want := range map[string]string{
		`type: telegram, allow: ["@bob"]`:            `channels.x.allow[0] is the text "@bob"`,
		`type: telegram, allow: [5, "telegram:5"]`:   `channels.x.allow[1] is`,
		`type: discord, allow: ["bob#1234"]`:         `channels.x.allow[0] is`,
		`type: telegram, allow: ['${ID}']`:           `channels.x.allow[0] is "${ID}"`,
		`type: telegram, allow: ["*", 5, "1234"]`:    "",
		`type: telegram, allow: ["-1001234567890"]`:  "",
		`type: telegram, allow: [-1001234567890]`:    "",
		`type: discord, allow: ["-5"]`:               "channels.x.allow[0] is",
		`type: discord, allow: [80351110224678912]`:  "",
		`type: feishu, allow: ["ou_1"]`:              "",
		`type: telegram, enabled: false, allow: [x]`: "",
	} {
		got := strings.Join(load(t, "channels: {x: {"+section+"}}", env{"ID": "s3cret-value"}).Warnings(), "\n")
		if (want == "") != (got == "") || !strings.Contains(got, want) || strings.Contains(got, "s3cret") {
			t.Errorf("%s: %q, want %q", section, got, want)
		}
	}
}

func TestGroups(t *testing.T) {
	cfg := load(t, `
channels:
  a: {type: telegram, groups: [-100123, "oc_1", '${G}', {id: '${G}', members: true}, {id: 7}, {id: c, members: '${YES}'}], group_context: '${N}'}
  b: {type: telegram, group_context: 0}
`, env{"G": "群.1", "YES": "true", "N": "50"})
	want := []config.Group{{ID: "-100123"}, {ID: "oc_1"}, {ID: "群.1"}, {ID: "群.1", Members: true}, {ID: "7"}, {ID: "c", Members: true}}
	if diff := cmp.Diff(want, cfg.Channels[0].Groups); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if a, b := cfg.Channels[0].GroupContext, cfg.Channels[1].GroupContext; a != 50 || b != 0 {
		t.Errorf("group_context %d and %d, want 50 and 0", a, b)
	}
	shown, err := config.Show(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	again := load(t, strings.ReplaceAll(string(shown), "'***'", "x"), nil)
	if diff := cmp.Diff(want, again.Channels[0].Groups); diff != "" {
		t.Errorf("what is shown reads otherwise (-want +got):\n%s\n%s", diff, shown)
	}
}

func TestGroupProblems(t *testing.T) {
	got := problems(t, `
channels:
  a: {type: telegram, groups: [{members: true}, {id: a, member: true}, [b], {id: c, members: maybe}, ], group_context: -1}
  b: {type: telegram, groups: -100123, group_context: 101}
`, nil)
	want := []string{
		"channels.a.groups[0].id: is required", "channels.a.groups[1].member: unknown key; did you mean members?", "channels.a.groups[2]: want ",
		"channels.a.groups[3].members: want true or false", "channels.a.group_context: want at least 0",
		"channels.b.groups: want a list such as [a, b]", "channels.b.group_context: want at most 100",
	}
	all := strings.Join(got, "\n")
	for _, w := range want {
		if !strings.Contains(all, w) {
			t.Errorf("%q is not said:\n%s", w, all)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d problems, want %d:\n%s", len(got), len(want), all)
	}
}

func TestGroupsThatAreNotHeard(t *testing.T) {
	for text, want := range map[string]int{
		"{type: telegram, group: off, groups: [a]}": 1, "{type: telegram, group: off}": 0, "{type: telegram, groups: [a]}": 0,
		"{type: telegram, group: off, groups: [a], enabled: false}": 0,
	} {
		got := load(t, "channels: {x: "+text+"}", nil).Warnings()
		if len(got) != want || want == 1 && !strings.Contains(got[0], "channels.x.group is off") {
			t.Errorf("%s: warnings %q", text, got)
		}
	}
}

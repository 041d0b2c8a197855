package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"magpie/tools"
)

// TOOL-14: a long output is cut in its middle and stays readable.
func TestLongOutputIsCut(t *testing.T) {
	var kept string
	keep := func(_ context.Context, sc tools.Scope, text string) (string, error) {
		kept = text
		return "tool_output/" + sc.CallID + ".txt", nil
	}
	broken := func(context.Context, tools.Scope, string) (string, error) { return "", errors.New("disk full") }
	lines := strings.Repeat("一行字\n", 1000)
	for _, c := range []struct {
		name, text string
		most, own  int
		keep       func(context.Context, tools.Scope, string) (string, error)
		says       string // "" when nothing is cut
	}{
		{"at the limit", strings.Repeat("字", 500), 500, 0, keep, ""},
		{"one more", strings.Repeat("字", 501), 500, 0, keep, "of 501 characters left out here; the whole is in tool_output/call-1.txt, read_file shows"},
		{"own limit is larger", strings.Repeat("字", 501), 500, 600, keep, ""},
		{"own limit is smaller", strings.Repeat("x", 401), 500, 400, keep, "of 401 characters"},
		{"lines", lines, 500, 0, keep, "of 4000 characters"},
		{"default limit", strings.Repeat("x", 16001), 0, 0, keep, "of 16001 characters"},
		{"nobody keeps", strings.Repeat("x", 501), 500, 0, nil, "the rest was not kept"},
		{"cannot be kept", strings.Repeat("x", 501), 500, 0, broken, "the rest was not kept"},
	} {
		kept = ""
		e := with(t, &tools.Options{MaxResultChars: c.most, Keep: c.keep}, tools.Spec{MaxChars: c.own},
			func(context.Context, tools.Scope) (tools.Result, error) { return tools.Result{Text: c.text}, nil })
		res := run(t, e, "t", "")
		if c.says == "" {
			if res.Text != c.text || kept != "" {
				t.Errorf("%s: it was cut", c.name)
			}
			continue
		}
		limit := c.own
		if limit == 0 {
			limit = max(c.most, 500)
		}
		if c.most == 0 {
			limit = 16000
		}
		head, tail, _ := strings.Cut(res.Text, "[…")
		if n := utf8.RuneCountInString(res.Text); n > limit || n < limit/2 || !strings.Contains(res.Text, c.says) {
			t.Errorf("%s: %d runes: %s", c.name, n, res.Text)
		}
		if !strings.HasPrefix(c.text, strings.TrimSpace(head)) || !strings.HasSuffix(c.text, tail[strings.LastIndex(tail, "\n\n")+2:]) {
			t.Errorf("%s: head or tail is not the text's:\n%s", c.name, res.Text)
		}
		if strings.Contains(c.says, "tool_output") && kept != c.text {
			t.Errorf("%s: kept %d bytes of %d", c.name, len(kept), len(c.text))
		}
	}
}

// TOOL-15: within a turn a repeated read comes from the cache.
func TestReadsAreReused(t *testing.T) {
	var stamp atomic.Value
	stamp.Store("1")
	calls := 0
	reg := &tools.Registry{}
	read := tools.New(tools.Spec{Name: "read", Description: "Reads a thing.", Category: tools.File, Effect: tools.Reads},
		func(_ context.Context, _ tools.Scope, in struct {
			A int `json:"a,omitempty"`
		},
		) (tools.Result, error) {
			calls++
			if in.A == 9 {
				return tools.Result{}, errors.New("broken")
			}
			return tools.Result{Text: fmt.Sprint(calls)}, nil
		}, tools.WithStamp(func(context.Context, tools.Scope, json.RawMessage) (string, bool) {
			s := stamp.Load().(string)
			return s, s != ""
		}))
	write := tools.New(tools.Spec{Name: "write", Description: "Writes a thing.", Category: tools.File, Effect: tools.Writes},
		func(context.Context, tools.Scope, none) (tools.Result, error) { return tools.Result{}, nil })
	if err := reg.RegisterAll(read, write); err != nil {
		t.Fatal(err)
	}
	e := tools.NewExecutor(reg, nil)
	expect := func(what, chat, args, want string) {
		t.Helper()
		if res := e.Run(t.Context(), scope(chat), "read", args); res.Text != want {
			t.Errorf("%s: want %s, got %s", what, want, res.Text)
		}
	}
	expect("first", "1", `{"a":1}`, "1")
	expect("again", "1", ` {"a": "1"} `, "1")
	expect("other arguments", "1", `{"a":2}`, "2")
	expect("other turn", "2", `{"a":1}`, "3")
	stamp.Store("2")
	expect("changed", "1", `{"a":1}`, "4")
	expect("changed, again", "1", `{"a":1}`, "4")
	run(t, e, "write", "")
	expect("after a write", "1", `{"a":1}`, "5")
	stamp.Store("")
	expect("cannot tell", "1", `{"a":1}`, "6")
	stamp.Store("2")
	run(t, e, "read", `{"a":9}`)
	run(t, e, "read", `{"a":9}`)
	if calls != 8 {
		t.Errorf("failures are cached: %d calls", calls)
	}
	for i := range 300 {
		run(t, e, "read", fmt.Sprintf(`{"a":%d}`, 100+i))
	}
	if before := calls; run(t, e, "read", `{"a":399}`).OK && calls != before {
		t.Error("the newest was forgotten")
	}
	if before := calls; run(t, e, "read", `{"a":100}`).OK && calls == before {
		t.Error("the cache is not bounded")
	}
}

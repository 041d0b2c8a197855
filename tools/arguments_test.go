package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"magpie/tools"
)

// allKinds has a parameter of every kind.
type allKinds struct {
	Path  string   `json:"path" jsonschema:"The file." rule:"minlen=1,maxlen=5"`
	Count int      `json:"line_count,omitempty" jsonschema:"How many." rule:"min=1,max=100,default=20"`
	Ratio float64  `json:"ratio,omitempty" rule:"min=0"`
	Deep  bool     `json:"deep,omitempty"`
	Mode  string   `json:"mode,omitempty" rule:"enum=text|html,default=text"`
	Tags  []string `json:"tags,omitempty" rule:"minitems=1,maxitems=3,maxlen=4"`
	Meta  *meta    `json:"meta,omitempty"`
	Key   string   `json:"key,omitempty" rule:"pattern=^[a-z]{2,}$"`
	Skip  int      `json:"skip,omitempty" rule:"hidden,min=0"`
}

type meta struct {
	Flags []string          `json:"flags,omitempty"`
	Names map[string]string `json:"names,omitempty"`
	Level int               `json:"level" rule:"max=9"`
}

// echo answers with its arguments as it got them.
func echo(t *testing.T) *tools.Executor {
	t.Helper()
	reg := &tools.Registry{}
	spec := tools.Spec{
		Name: "echo", Description: "Says what it was told.", Category: tools.System, Effect: tools.Reads,
		Aliases: map[string]string{"file_path": "path", "n": "line_count"},
	}
	if err := reg.Register(tools.New(spec, func(_ context.Context, _ tools.Scope, in allKinds) (tools.Result, error) {
		raw, err := json.Marshal(in)
		return tools.Result{Text: string(raw)}, err
	})); err != nil {
		t.Fatal(err)
	}
	return tools.NewExecutor(reg, nil)
}

func run(t *testing.T, e *tools.Executor, name, args string) tools.Result {
	t.Helper()
	return e.Run(t.Context(), scope("1"), name, args)
}

func scope(chat string) tools.Scope {
	sc := tools.Scope{Turn: "turn-" + chat, CallID: "call-" + chat, Trace: "trace-" + chat}
	sc.Addr.Channel, sc.Addr.Chat, sc.Sender.ID = "test", chat, "sender-"+chat
	return sc
}

// TOOL-3: parse → alias → cast → validate → run.
func TestArgumentsThatAreAccepted(t *testing.T) {
	e := echo(t)
	const rest = `"line_count":20,"mode":"text"`
	for args, want := range map[string]string{
		`{"path":"a"}`:                                                            `{"path":"a",` + rest + `}`,
		`{"filePath":"a"}`:                                                        `{"path":"a",` + rest + `}`,
		`{"file_path":"a","path":"a"}`:                                            `{"path":"a",` + rest + `}`,
		`"{\"path\":\"a\"}"`:                                                      `{"path":"a",` + rest + `}`,
		" {\"path\":\"字字字字字\"}\n":                                                 `{"path":"字字字字字",` + rest + `}`,
		`{"path":"a","lineCount":"42"}`:                                           `{"path":"a","line_count":42,"mode":"text"}`,
		`{"path":"a","n":42.0}`:                                                   `{"path":"a","line_count":42,"mode":"text"}`,
		`{"path":"a","n":"4e1"}`:                                                  `{"path":"a","line_count":40,"mode":"text"}`,
		`{"path":"a","ratio":"3.5","deep":"1"}`:                                   `{"path":"a","line_count":20,"ratio":3.5,"deep":true,"mode":"text"}`,
		`{"path":"a","deep":"false","skip":3}`:                                    `{"path":"a",` + rest + `,"skip":3}`,
		`{"path":"a","tags":"[\"x\",\"y\"]"}`:                                     `{"path":"a",` + rest + `,"tags":["x","y"]}`,
		`{"path":"a","meta":"{\"level\":\"3\",\"names\":{\"a\":\"b\"}}"}`:         `{"path":"a",` + rest + `,"meta":{"names":{"a":"b"},"level":3}}`,
		`{"path":"42","key":"true"}`:                                              `{"path":"42",` + rest + `,"key":"true"}`,
		`{"path":"a","tags":"x"}`:                                                 `{"path":"a",` + rest + `,"tags":["x"]}`,
		`{"path":"a","tags":"x,y"}`:                                               `{"path":"a",` + rest + `,"tags":["x,y"]}`,
		`{"path":"a","deep":null}`:                                                `{"path":"a",` + rest + `}`,
		`{"path":"a","lineCount":null,"ratio":null,"mode":null,"skip":null}`:      `{"path":"a",` + rest + `}`,
		`{"path":null,"filePath":"a","file_path":null}`:                           `{"path":"a",` + rest + `}`,
		`{"path":"a","file_path":null}`:                                           `{"path":"a",` + rest + `}`,
		`{"path":"a","tags":["x",null,"y"],"meta":null}`:                          `{"path":"a",` + rest + `,"tags":["x","y"]}`,
		`{"path":"a","meta":{"level":1,"flags":null,"names":{"a":null,"b":"c"}}}`: `{"path":"a",` + rest + `,"meta":{"names":{"b":"c"},"level":1}}`,
		`{"path":"a","meta":"{\"level\":1,\"flags\":\"one, two\"}"}`:              `{"path":"a",` + rest + `,"meta":{"flags":["one, two"],"level":1}}`,
		`{"path":"<&>"}`:                                                          `{"path":"\u003c\u0026\u003e",` + rest + `}`,
	} {
		res := run(t, e, "echo", args)
		if d := cmp.Diff(want, res.Text); d != "" || !res.OK {
			t.Errorf("%s (-want +got):\n%s", args, d)
		}
	}
}

// What is accepted and not advertised is in no message either.
func TestHiddenIsNotNamed(t *testing.T) {
	e := echo(t)
	for _, name := range []string{"zzz", "skp", "skipp"} {
		res := run(t, e, "echo", `{"path":"a","`+name+`":1}`)
		if res.Err != tools.InvalidArgs || strings.Contains(strings.ReplaceAll(res.Text, name, ""), "skip") {
			t.Errorf("%s: %s", name, res.Text)
		}
	}
}

// TOOL-4: every violation in one message, with its path.
func TestArgumentsThatAreRefused(t *testing.T) {
	e := echo(t)
	for args, want := range map[string][]string{
		``:                  {`path: required, but missing; want string: The file.`},
		`null`:              {`path: required`},
		`{}`:                {`path: required`},
		`{"path":""}`:       {`path: want at least 1 characters, got 0`},
		`{"path":"字字字字字字"}`: {`path: want at most 5 characters, got 6`},
		`{"path":1,"line_count":"x","deep":"yes","tags":"['a']","meta":[]}`: {
			`path: want string, got integer`, `line_count: want integer, got string`, `deep: want boolean, got string`,
			`tags: want array, got string`, `meta: want object, got array`,
		},
		`{"path":"a","line_count":0}`:                    {`line_count: want at least 1, got 0`},
		`{"path":"a","line_count":101}`:                  {`line_count: want at most 100, got 101`},
		`{"path":"a","line_count":1.5}`:                  {`line_count: want integer, got number`},
		`{"path":"a","line_count":"0x10"}`:               {`line_count: want integer, got string`},
		`{"path":"a","line_count":" 7"}`:                 {`line_count: want integer, got string`},
		`{"path":"a","line_count":1e400}`:                {`line_count: want integer, got number`},
		`{"path":"a","line_count":1e-999999999}`:         {`line_count: want integer, got number`},
		`{"path":"a","line_count":99999999999999999999}`: {`line_count: want integer, got number`},
		`{"path":"a","ratio":-0.5}`:                      {`ratio: want at least 0, got -0.5`},
		`{"path":"a","mode":"pdf"}`:                      {`mode: want one of "text", "html", got "pdf"`},
		`{"path":"a","tags":[]}`:                         {`tags: want at least 1 items, got 0`},
		`{"path":"a","tags":["a","b","c","d"]}`:          {`tags: want at most 3 items, got 4`},
		`{"path":"a","tags":["a","toolong"]}`:            {`tags[1]: want at most 4 characters, got 7`},
		`{"path":"a","key":"A"}`:                         {`key: want text that matches ^[a-z]{2,}$, got "A"`},
		`{"path":"a","meta":{"flags":[1],"level":10,"extra":1,"names":{"x":7}}}`: {
			`meta.flags[0]: want string, got integer`, `meta.level: want at most 9, got 10`, `meta.extra: unknown parameter`,
			`meta.names.x: want string, got integer`,
		},
		`{"path":"a","meta":{}}`:             {`meta.level: required, but missing; want integer`},
		`{"path":"a","pathh":"b"}`:           {`pathh: unknown parameter; accepted: `},
		`{"pth":"a"}`:                        {`pth: unknown parameter; did you mean "path"?`, `path: required`},
		`{"path":"a","file_path":"b"}`:       {`path: also given as file_path with another value`},
		`{"path":null}`:                      {`path: required, but null; want string: The file.`},
		`{"file_path":null}`:                 {`path: required, but null`},
		`{"path":"a","zzz":null}`:            {`zzz: unknown parameter`},
		`{"path":"a","tags":[null]}`:         {`tags: want at least 1 items, got 0`},
		`{"path":"a","tags":""}`:             {`tags: want at least 1 items, got 0`},
		`{"path":"a","tags":7}`:              {`tags: want array, got integer`},
		`{"path":"a","tags":{"a":1}}`:        {`tags: want array, got object`},
		`{"path":"a","meta":{"level":null}}`: {`meta.level: required, but null; want integer`},
		`{"path":`:                           {`it ends too early`, `want one JSON object`},
		`{"path":"a"}}`:                      {`more text after the end`},
		`[1]`:                                {`got array`},
		`"text"`:                             {`holds no JSON`},
		`{'path':'a'}`:                       {`no valid JSON`},
	} {
		res := run(t, e, "echo", args)
		if res.OK || res.Err != tools.InvalidArgs {
			t.Errorf("%s: ok=%v %s", args, res.OK, res.Err)
		}
		for _, w := range want {
			if !strings.Contains(res.Text, w) {
				t.Errorf("%s: want %q in:\n%s", args, w, res.Text)
			}
		}
	}
}

func TestAHugeWrongValueGivesAShortAnswer(t *testing.T) {
	e := echo(t)
	res := run(t, e, "echo", `{"path":"a","meta":{"level":1,"flags":[`+strings.Repeat("1,", 100_000)+`1]}}`)
	if res.Err != tools.InvalidArgs || !strings.Contains(res.Text, "and 99801 more") || len(res.Text) > 16000 {
		t.Errorf("%s, %d bytes: …%s", res.Err, len(res.Text), res.Text[max(0, len(res.Text)-80):])
	}
	deep := strings.Repeat(`{"names":`, 9000) + "1" + strings.Repeat("}", 9000)
	if res := run(t, e, "echo", `{"path":"a","meta":`+deep+`}`); res.OK {
		t.Error("9000 levels were accepted")
	}
}

// foreign is a tool with a schema of its own, as MCP servers have.
type foreign struct{ schema string }

func (f foreign) Spec() tools.Spec {
	return tools.Spec{Name: "foreign", Description: "From elsewhere.", Category: tools.MCP, Effect: tools.Acts, Schema: json.RawMessage(f.schema)}
}

func (f foreign) Call(_ context.Context, _ tools.Scope, args json.RawMessage) (tools.Result, error) {
	return tools.Result{Text: string(args)}, nil
}

func TestForeignSchemas(t *testing.T) {
	const schema = `{"type":"object","properties":{
		"n":{"anyOf":[{"type":"integer"},{"type":"null"}]}, "either":{"type":["string","integer"]},
		"node":{"$ref":"#/$defs/node"}, "one":{"const":1}, "pair":{"type":"array","prefixItems":[{"type":"integer"},{"type":"boolean"}]},
		"odd":{"type":"string","pattern":"(?!x)"}, "more":{"exclusiveMinimum":0,"type":"number"}},
		"$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},"next":{"$ref":"#/$defs/node"}},"required":["v"]}}}`
	reg := &tools.Registry{}
	if err := reg.Register(foreign{schema}); err != nil {
		t.Fatal(err)
	}
	e := tools.NewExecutor(reg, nil)
	for args, want := range map[string]string{
		`{"n":"7"}`: `{"n":7}`, `{"n":null}`: `{"n":null}`, `{"either":"7"}`: `{"either":"7"}`, `{"other":[1]}`: `{"other":[1]}`,
		`{"node":{"v":"1","next":{"v":2}}}`: `{"node":{"next":{"v":2},"v":1}}`, `{"pair":["1","true"]}`: `{"pair":[1,true]}`,
		`{"odd":"x"}`: `{"odd":"x"}`, `{"one":1.0}`: `{"one":1.0}`,
	} {
		if res := run(t, e, "foreign", args); res.Text != want {
			t.Errorf("%s: want %s, got %s", args, want, res.Text)
		}
	}
	for args, want := range map[string]string{
		`{"n":"x"}`: "n: fits none of the 2 accepted forms", `{"node":{"v":1,"next":{}}}`: "node.next.v: required",
		`{"one":2}`: "one: want 1, got 2", `{"more":0}`: "more: want more than 0", `{"either":true}`: "either: want string or integer, got boolean",
	} {
		if res := run(t, e, "foreign", args); res.Err != tools.InvalidArgs || !strings.Contains(res.Text, want) {
			t.Errorf("%s: want %q, got %s", args, want, res.Text)
		}
	}
}

// Servers list what has a default as required, since their own checker puts it
// in; it is not demanded of the model.
func TestForeignDefaults(t *testing.T) {
	const schema = `{"type":"object","required":["url","wait","limit","button","odd","box","rows"],"properties":{
		"url":{"type":"string"}, "wait":{"type":"boolean","default":false}, "limit":{"$ref":"#/$defs/limit"},
		"button":{"type":"string","enum":["left","right"],"default":"left"}, "odd":{"type":"string","default":7},
		"box":{"type":"object","default":{}}, "free":{"type":"integer","default":1},
		"rows":{"type":"array","default":[],"items":{"type":"object","required":["n"],"properties":{"n":{"type":"number","default":0.5},"x":{"type":"integer"}}}},
		"form":{"oneOf":[{"type":"object","required":["kind","a"],"properties":{"kind":{"const":"a"},"a":{"type":"string","default":"x"}}},{"type":"object","required":["b"],"properties":{"b":{"type":"null"}}}]},
		"ids":{"type":"array","items":{"type":"integer"}}, "words":{"type":"array","items":{"enum":["on","off"]}}, "any":{"type":"array"},
		"maybe":{"type":["string","null"]}, "many":{"type":["array","number"]}, "some":{"anyOf":[{"type":"array","items":{"type":"integer"}},{"type":"null"}]}, "pair":{"type":"array","prefixItems":[{"type":"integer"},{"type":["integer","null"]}],"items":{"type":"integer"}}},
		"$defs":{"limit":{"type":"integer","default":20}}}`
	reg := &tools.Registry{}
	if err := reg.Register(foreign{schema}); err != nil {
		t.Fatal(err)
	}
	e := tools.NewExecutor(reg, nil)
	const rest = `"box":{},"button":"left",`
	const tail = `"limit":20,`
	for args, want := range map[string]string{
		`{"url":"u"}`: `{` + rest + tail + `"rows":[],"url":"u","wait":false}`,
		`{"url":"u","wait":null,"limit":null,"button":null,"free":null,"maybe":null}`: `{` + rest + tail + `"maybe":null,"rows":[],"url":"u","wait":false}`,
		`{"url":"u","rows":[{},{"n":2,"x":null},null]}`:                               `{` + rest + tail + `"rows":[{"n":0.5},{"n":2}],"url":"u","wait":false}`,
		`{"url":"u","rows":{"n":"3"}}`:                                                `{` + rest + tail + `"rows":[{"n":3}],"url":"u","wait":false}`,
		`{"url":"u","form":{"kind":"a"}}`:                                             `{` + rest + `"form":{"kind":"a"},` + tail + `"rows":[],"url":"u","wait":false}`,
		`{"url":"u","form":{"b":null}}`:                                               `{` + rest + `"form":{"b":null},` + tail + `"rows":[],"url":"u","wait":false}`,
		`{"url":"u","ids":"1, 2,3","words":"on,off","any":"a,b"}`: `{"any":["a,b"],` + rest + `"ids":[1,2,3],` + tail +
			`"rows":[],"url":"u","wait":false,"words":["on","off"]}`,
		`{"url":"u","ids":7,"words":"on","any":true,"pair":[1,null,null,2],"many":2,"some":"7"}`: `{"any":[true],` + rest + `"ids":[7],` + tail +
			`"many":2,"pair":[1,null,2],"rows":[],"some":[7],"url":"u","wait":false,"words":["on"]}`,
	} {
		if res := run(t, e, "foreign", args); res.Text != want {
			t.Errorf("%s:\nwant %s\ngot  %s", args, want, res.Text)
		}
	}
	for args, want := range map[string]string{
		`{}`: "url: required, but missing", `{"url":null}`: "url: required, but null; want string",
		`{"url":"u","ids":"1,x"}`: "ids: want array, got string", `{"url":"u","limit":"x"}`: "limit: want integer, got string",
		`{"url":"u","pair":[null]}`: "pair[0]: want integer, got null",
	} {
		if res := run(t, e, "foreign", args); res.Err != tools.InvalidArgs || !strings.Contains(res.Text, want) {
			t.Errorf("%s: want %q, got %s", args, want, res.Text)
		}
	}
}

// A schema that refers to itself in every alternative must not take for ever.
func TestAMaliciousSchemaEnds(t *testing.T) {
	reg := &tools.Registry{}
	if err := reg.Register(foreign{`{"type":"object","anyOf":[{"$ref":"#"},{"$ref":"#"},{"$ref":"#"}],"allOf":[{"$ref":"#"}],"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"$ref":"#/$defs/a"}}}`}); err != nil {
		t.Fatal(err)
	}
	if res := run(t, tools.NewExecutor(reg, nil), "foreign", `{"a":"x"}`); res.Err != tools.InvalidArgs {
		t.Errorf("got %+v", res)
	}
}

// Whatever a model writes, Run answers, and only valid arguments arrive.
func TestArgumentsProperty(t *testing.T) {
	e := echo(t)
	names := rapid.SampledFrom([]string{"path", "filePath", "line_count", "n", "ratio", "deep", "mode", "tags", "meta", "key", "x"})
	value := rapid.Custom(func(t *rapid.T) any {
		return rapid.OneOf(
			rapid.Just[any](nil), rapid.Map(rapid.String(), func(s string) any { return s }), rapid.Map(rapid.Int(), func(i int) any { return i }),
			rapid.Map(rapid.Float64Range(-1e9, 1e9), func(f float64) any { return f }), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
			rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]any{"a", 1, nil, "[1]", "true"}), 0, 4), func(s []any) any { return s }),
			rapid.Just[any](map[string]any{"level": "3", "flags": []any{"x"}}),
		).Draw(t, "value")
	})
	rapid.Check(t, func(rt *rapid.T) {
		args := rapid.MapOf(names, value).Draw(rt, "args")
		raw, err := json.Marshal(args)
		if err != nil {
			rt.Fatal(err)
		}
		res := e.Run(t.Context(), scope("1"), "echo", string(raw))
		if !res.OK {
			if res.Err != tools.InvalidArgs {
				rt.Fatalf("%s: %s %s", raw, res.Err, res.Text)
			}
			return
		}
		var in allKinds
		if err := json.Unmarshal([]byte(res.Text), &in); err != nil {
			rt.Fatal(err)
		}
		if n := len([]rune(in.Path)); n < 1 || n > 5 || in.Count < 1 || in.Count > 100 || in.Mode != "text" && in.Mode != "html" {
			rt.Fatalf("%s: arrived as %s", raw, res.Text)
		}
	})
}

func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{"path":"a"}`, `"{\"path\":\"a\"}"`, `{"n":1e-999999999}`, `{"tags":"[1]"}`, `[`, "\xff", `{"meta":{"level":"9"}}`} {
		f.Add(s)
	}
	reg := &tools.Registry{}
	spec := tools.Spec{Name: "echo", Description: "Says what it was told.", Category: tools.System, Effect: tools.Reads}
	if err := reg.Register(tools.New(spec, func(_ context.Context, _ tools.Scope, in allKinds) (tools.Result, error) {
		return tools.Result{Text: fmt.Sprint(in)}, nil
	})); err != nil {
		f.Fatal(err)
	}
	e := tools.NewExecutor(reg, nil)
	f.Fuzz(func(t *testing.T, args string) {
		if res := e.Run(t.Context(), tools.Scope{}, "echo", args); !res.OK && (res.Err != tools.InvalidArgs || res.Text == "") {
			t.Errorf("%q: %s %q", args, res.Err, res.Text)
		}
	})
}

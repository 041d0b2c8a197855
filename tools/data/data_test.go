package data_test

import (
	"encoding/json"
	"strings"
	"testing"

	"magpie/tools"
	"magpie/tools/data"
	"magpie/tools/tooltest"
)

func executor(t testing.TB) *tools.Executor {
	t.Helper()
	reg := &tools.Registry{}
	if err := reg.RegisterAll(data.JSONParse(), data.JSONStringify(), data.Base64Encode(), data.Base64Decode()); err != nil {
		t.Fatal(err)
	}
	return tools.NewExecutor(reg, nil)
}

func TestConformance(t *testing.T) {
	tooltest.Run(t, data.JSONParse(), &tooltest.Options{Good: []string{`{"text":"{\"a\":[1,null]}"}`}})
	tooltest.Run(t, data.JSONStringify(), &tooltest.Options{Good: []string{`{"data":{"a":1},"pretty":true}`, `{"data":null}`}})
	tooltest.Run(t, data.Base64Encode(), &tooltest.Options{Good: []string{`{"text":"喜鹊"}`, `{"text":""}`}})
	tooltest.Run(t, data.Base64Decode(), &tooltest.Options{Good: []string{`{"encoded":"5Zac6bmK"}`, `{"encoded":""}`}})
}

func TestTools(t *testing.T) {
	e := executor(t)
	for _, k := range []struct {
		tool, args, want string
		kind             tools.ErrorKind
	}{
		{"json_parse", `{"text":" {\"b\":1,\"a\":\"喜\"} "}`, "{\n  \"b\": 1,\n  \"a\": \"喜\"\n}", ""},
		{"json_parse", `{"text":"12345678901234567890"}`, "12345678901234567890", ""},
		{"json_parse", `{"text":"{\n \"a\": 1,\n}"}`, "line 3, column 1", tools.InvalidArgs},
		{"json_parse", `{"text":"{\"喜\": x}"}`, "line 1, column 7", tools.InvalidArgs},
		{"json_parse", `{"text":"\ufeff{\"a\":1}"}`, "{\n  \"a\": 1\n}", ""},
		{"json_parse", `{"text":"\ufeff"}`, "is empty", tools.InvalidArgs},
		{"json_parse", `{"text":"[1,2"}`, "ends too early", tools.InvalidArgs},
		{"json_parse", `{"text":"1 2"}`, "more after the JSON value", tools.InvalidArgs},
		{"json_parse", `{"text":"  "}`, "is empty", tools.InvalidArgs},
		{"json_stringify", `{"data":{"z":12345678901234567890,"a":"<喜>"}}`, `"z":12345678901234567890`, ""},
		{"json_stringify", `{"data":{"a":[1]},"pretty":true}`, "{\n  \"a\": [\n    1\n  ]\n}", ""},
		{"json_stringify", `{"data":"text"}`, `"text"`, ""},
		{"json_stringify", `{}`, "data", tools.InvalidArgs},
		{"base64_encode", `{"text":"喜鹊"}`, "5Zac6bmK", ""},
		{"base64_decode", `{"encoded":"5Zac\n6bmK"}`, "喜鹊", ""},
		{"base64_decode", `{"encoded":"_-8"}`, "2 B that are no UTF-8 text; write_file", tools.InvalidArgs},
		{"base64_decode", `{"encoded":"/w=="}`, "1 B that are no UTF-8 text; write_file", tools.InvalidArgs},
		{"base64_decode", `{"encoded":"YQ"}`, "a", ""},
		{"base64_decode", `{"encoded":"YWJj*A=="}`, `character 5 (blanks not counted) is wrong, after "YWJj"`, tools.InvalidArgs},
		{"base64_decode", `{"encoded":"iVBORw0KGgo="}`, "8 B that are no UTF-8 text (image/png); write_file", tools.InvalidArgs},
	} {
		res := e.Run(t.Context(), tools.Scope{}, k.tool, k.args)
		if res.Err != k.kind || !strings.Contains(res.Text, k.want) {
			t.Errorf("%s(%s) = %s %q, want %s %q", k.tool, k.args, res.Err, res.Text, k.kind, k.want)
		}
	}
}

// What is stringified and parsed again is the same, whatever it is.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5,null,"喜"]}`, `1e400`, `"\ud800"`, `[`, ``, "\x00"} {
		f.Add(seed)
	}
	e := executor(f)
	f.Fuzz(func(t *testing.T, text string) {
		args, err := json.Marshal(map[string]string{"text": text})
		if err != nil {
			t.Fatal(err)
		}
		res := e.Run(t.Context(), tools.Scope{}, "json_parse", string(args))
		if res.OK && !json.Valid([]byte(res.Text)) {
			t.Errorf("%q was parsed as %q", text, res.Text)
		}
		e.Run(t.Context(), tools.Scope{}, "json_stringify", text)
		e.Run(t.Context(), tools.Scope{}, "base64_decode", string(args))
	})
}

package tools

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"magpie/chat"
)

func TestRedactText(t *testing.T) {
	r := NewRedactor([]chat.Secret{"sk-12345", "sk-12345-longer", "abc", ""})
	for in, want := range map[string]string{
		"key is sk-12345, or sk-12345-longer.":           "key is ***, or ***.",
		"abc stays: too short to be searched for":        "abc stays: too short to be searched for",
		"curl -H 'Authorization: Bearer x.y.z' http://a": "curl -H 'Authorization: ***' http://a",
		"Cookie: a=b; c=d\nAccept: text/html":            "Cookie: ***\nAccept: text/html",
		"API_KEY=q1 PATH=/bin":                           "API_KEY=*** PATH=/bin",
		`{"access_token":"q1","n":1}`:                    `{"access_token":***,"n":1}`,
		"https://h/x?token=q1&page=2":                    "https://h/x?token=***&page=2",
		"postgres://me:q1@db/x":                          "postgres://***@db/x",
		"export DB_PASSWORD='q 1'; ls":                   "export DB_PASSWORD=***; ls",
		"the keyboard and the tokens of 2026":            "the keyboard and the tokens of 2026",
		"密码 password: 秘密 ok":                             "密码 password: *** ok",
	} {
		if got := r.Text(in); got != want {
			t.Errorf("%q:\nwant %q\n got %q", in, want, got)
		}
	}
}

func TestRedactArguments(t *testing.T) {
	r := NewRedactor([]chat.Secret{"hunter2-hunter2"})
	for in, want := range map[string]string{
		`{"url":"https://a","headers":{"Authorization":"x","X-Api-Key":"y","Accept":"z"}}`: `{"headers":{"Accept":"z","Authorization":"***","X-Api-Key":"***"},"url":"https://a"}`,
		`{"key":"DB_PASSWORD","value":"q1"}`:                                               `{"key":"DB_PASSWORD","value":"***"}`,
		`{"key":"EDITOR","value":"vi"}`:                                                    `{"key":"EDITOR","value":"vi"}`,
		`{"key":"q1"}`:                                                                     `{"key":"***"}`,
		`{"path":"a","key":{"deep":"q1"}}`:                                                 `{"key":"***","path":"a"}`,
		`{"accessToken":"q1","max_tokens":5,"keywords":["a"]}`:                             `{"accessToken":"***","keywords":["a"],"max_tokens":5}`,
		`{"a":["x hunter2-hunter2 y"],"password":1234}`:                                    `{"a":["x *** y"],"password":"***"}`,
		`{"hunter2-hunter2":1,"cookie":null}`:                                              `{"***":1,"cookie":null}`,
		`not json hunter2-hunter2`:                                                         `"not json ***"`,
		``:                                                                                 `null`,
	} {
		if got := string(r.arguments(in, "path")); got != want {
			t.Errorf("%s:\nwant %s\n got %s", in, want, got)
		}
	}
	if got := string(r.arguments(`{"key":"HOME"}`, "key")); got != `{"key":"HOME"}` {
		t.Errorf("the main argument: %s", got)
	}
	if got := string(r.arguments(`{"key":"hunter2-hunter2"}`, "key")); got != `{"key":"***"}` {
		t.Errorf("a secret as main argument: %s", got)
	}
}

func TestRedactIsBounded(t *testing.T) {
	r := NewRedactor([]chat.Secret{"hunter2-hunter2"})
	for name, args := range map[string]string{
		"long text":  `{"content":"` + strings.Repeat("字", 1<<20) + `"}`,
		"long list":  `{"a":[` + strings.Repeat("1,", 1<<20) + `1]}`,
		"many names": `{"a":{"` + strings.Repeat(`x":1,"y`, 1<<10) + `":1}}`,
		"many lists": `[` + strings.Repeat(`["`+strings.Repeat("x", 1000)+`"],`, 90) + `1]`,
	} {
		got := r.arguments(args, "")
		if len(got) > auditArgsBytes || !json.Valid(got) {
			t.Errorf("%s: %d bytes, valid %v", name, len(got), json.Valid(got))
		}
	}
}

// Wherever a secret stands, also at a cut, no useful part of it comes through.
func TestRedactProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[a-zA-Z0-9]{8,40}`).Draw(t, "secret")
		r := NewRedactor([]chat.Secret{chat.Secret(secret)})
		n := rapid.IntRange(0, 3*searchRunes).Draw(t, "before")
		text := strings.Repeat("-", n) + strings.Repeat(secret, rapid.IntRange(1, 3000).Draw(t, "times")) + "-"
		for _, got := range []string{r.short(text, 100), r.short(text, auditTextRunes), r.Text(text)} {
			if strings.Contains(got, secret[:4]) {
				t.Fatalf("%d before: %q in …%s", n, secret[:4], got[max(0, len(got)-80):])
			}
		}
	})
}

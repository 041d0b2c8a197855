package tools

import (
	"encoding/json"
	"fmt"
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
		`{"token":"q1 and more`:                          `{"token":***`,
		"secret='q1":                                     "secret=***",
		"the keyboard and the tokens of 2026":            "the keyboard and the tokens of 2026",
		"密码 password: 秘密 ok":                             "密码 password: *** ok",
	} {
		if got := r.Text(in); got != want {
			t.Errorf("%q:\nwant %q\n got %q", in, want, got)
		}
	}
}

// shown is what the audit shows of arguments as a model wrote them.
func shown(r *Redactor, args, main string) string {
	return string(r.arguments((&call{raw: args}).decoded(), main))
}

func TestRedactArguments(t *testing.T) {
	r := NewRedactor([]chat.Secret{"hunter2-hunter2"})
	for in, want := range map[string]string{
		`{"url":"https://a","headers":{"Authorization":"x","X-Api-Key":"y","Accept":"z"}}`:              `{"headers":{"Accept":"z","Authorization":"[hidden: 1 characters]","X-Api-Key":"[hidden: 1 characters]"},"url":"https://a"}`,
		`{"key":"DB_PASSWORD","value":"q1"}`:                                                            `{"key":"DB_PASSWORD","value":"[hidden: 2 characters]"}`,
		`{"key":"EDITOR","value":"vi"}`:                                                                 `{"key":"EDITOR","value":"vi"}`,
		`{"key":"q1"}`:                                                                                  `{"key":"[hidden: 2 characters]"}`,
		`{"path":"a","key":{"deep":"q1"}}`:                                                              `{"key":{"deep":"q1"},"path":"a"}`,
		`{"accessToken":"q1","max_tokens":5,"keywords":["a"]}`:                                          `{"accessToken":"[hidden: 2 characters]","keywords":["a"],"max_tokens":5}`,
		`{"a":["x hunter2-hunter2 y"],"password":1234}`:                                                 `{"a":["x *** y"],"password":"[hidden: a number]"}`,
		`{"hunter2-hunter2":1,"cookie":null}`:                                                           `{"***":1,"cookie":null}`,
		`{"key":"DB_TOKEN","value":"$(touch A1)"}`:                                                      `{"key":"DB_TOKEN","value":"$(touch A1)"}`,
		`{"command":"KEY=\"$(curl a; touch B)\" git log --grep=cookie: -1; touch C","password":"a; b"}`: `{"command":"KEY=\"$(curl a; touch B)\" git log --grep=cookie: -1; touch C","password":"a; b"}`,
		`not json hunter2-hunter2`:                                                                      `"not json ***"`,
		``:                                                                                              `null`,
	} {
		if got := shown(r, in, "path"); got != want {
			t.Errorf("%s:\nwant %s\n got %s", in, want, got)
		}
	}
	if got := shown(r, `{"key":"HOME"}`, "key"); got != `{"key":"HOME"}` {
		t.Errorf("the main argument: %s", got)
	}
	if got := shown(r, `{"key":"hunter2-hunter2"}`, "key"); got != `{"key":"***"}` {
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
		got := shown(r, args, "")
		if len(got) > auditArgsBytes || !json.Valid([]byte(got)) {
			t.Errorf("%s: %d bytes, valid %v", name, len(got), json.Valid([]byte(got)))
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

// Of what ran the beginning and the end are shown, and how much is not; a
// configured secret never, also where the text was cut.
func TestWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[A-Z]{8,40}`).Draw(t, "secret")
		r := NewRedactor([]chat.Secret{chat.Secret(secret)})
		n := rapid.IntRange(10, 60).Draw(t, "n")
		piece := rapid.SampledFrom([]string{secret, "a", "字", strings.Repeat("b", 300), "\n"})
		text := strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(t, "pieces"), "")
		got := r.whole(text, n)
		for i := 0; i+4 <= len(secret); i++ {
			if strings.Contains(got, secret[i:i+4]) {
				t.Fatalf("%q of %q in %q", secret[i:i+4], secret, got)
			}
		}
		if !strings.Contains(text, secret) {
			runes := []rune(text)
			if len(runes) <= n && got != text {
				t.Fatalf("a short one: want %q\n got %q", text, got)
			}
			head, tail, cut := strings.Cut(got, fmt.Sprintf(leftOut, len(runes)-n))
			if len(runes) > n && (!cut || head != string(runes[:n*2/3]) || tail != string(runes[len(runes)-(n-n*2/3):])) {
				t.Fatalf("%d of %d: %q", n, len(runes), got)
			}
		}
	})
}

// The main argument, a command for example, stands whole in the audit whatever
// stands beside it.
func TestMainArgumentIsWhole(t *testing.T) {
	command := strings.Repeat("echo 字; ", 1500) + "touch LAST"
	args, err := json.Marshal(map[string]any{"command": command, "padding": strings.Repeat("x", 50_000), "list": strings.Split(strings.Repeat("y ", 20_000), " ")})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(shown(NewRedactor(nil), string(args), "command")), &got); err != nil || got["command"] != command {
		t.Errorf("the command is %.80q…, %v", got["command"], err)
	}
}

// However much is hidden, what is shown is the beginning of what is left.
func TestShort(t *testing.T) {
	r := NewRedactor([]chat.Secret{"hunter2-hunter2"})
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{"hunter2-hunter2", "api_key=0123456789 ", "word ", "字", strings.Repeat("x", 50) + " ", `token: "` + strings.Repeat("q", 300) + `" `, "\n"})
		text := strings.Join(rapid.SliceOfN(piece, 0, 300).Draw(t, "pieces"), "")
		n := rapid.IntRange(1, 400).Draw(t, "n")
		got, want := r.short(text, n), clip(r.text(text, veil), n)
		if len(first(text, searchRunes)) == len(text) && got != want {
			t.Fatalf("want %q\n got %q", want, got)
		}
		if strings.Contains(got, "hunter2") || strings.Contains(got, "qq") || strings.Contains(got, "0123") {
			t.Fatalf("a secret is in %q", got)
		}
	})
}

// slowText is Text without a look at what could be left out.
func slowText(r *Redactor, s string) string {
	s = r.known.Load().replace.Replace(s)
	s = headerLine.ReplaceAllString(s, "${1}${2}"+hidden)
	s = namedValue.ReplaceAllString(s, "${1}"+hidden)
	s = bearerValue.ReplaceAllString(s, "${1} "+hidden)
	return userInfo.ReplaceAllString(s, "${1}"+hidden+"@")
}

// What is left out would have changed nothing, whatever the letters look like.
func TestRedactTextLeavesNothingOut(t *testing.T) {
	r := NewRedactor([]chat.Secret{"s3cr"})
	piece := rapid.SampledFrom([]string{
		"Authorization", "proxy-authorization", "Set-Cookie", "COOKIE", "to", "ken", "TOKEN", "to\u212Aen", "\u212AEY", "api_", "api-\u212Aey",
		"pa\u017F\u017Fword", "passw", "PASSWD", "passphrase", "\u017Fecret", "secret", "credential", "private_key", "-key", "key",
		":", "=", " ", "\n", "'", "\"", "&", "bearer", "BA\u017FIC", "basic", "abcdefgh", "a.b.c-d/e+f", "http", "://", "u:p@h", "@", "s3cr", "密码", "\xff", "***",
	})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 1, 12).Draw(t, "pieces"), "")
		if got, want := r.Text(text), slowText(r, text); got != want {
			t.Fatalf("%q:\nwant %q\n got %q", text, want, got)
		}
	})
	for _, text := range []string{"pa\u017F\u017Fword=q1", "\u017Fecret: q1", "BA\u017FIC abcdefgh", "to\u212Aen=q1", "x-\u212Aey=q1", "ftp://u:p@h"} {
		if got := r.Text(text); got != slowText(r, text) || !strings.Contains(got, hidden) {
			t.Errorf("%q: got %q", text, got)
		}
	}
}

// The same for names, whose words are looked at only where a part is found.
func TestSecretNames(t *testing.T) {
	for name, want := range map[string]bool{
		"key": true, "API_KEY": true, "apiKey": true, "sort-key": true, "k_e_y": false, "keyword": false, "monkey": false,
		"accessToken": true, "access_token": true, "mytoken": true, "token_count": true, "tokens": false, "max_tokens": false,
		"pass_word": true, "x-auth": true, "author": false, "Authorization": true, "DB_PWD": true, "pwdx": false, "bearer": true,
		"set-cookie": true, "cookies": true, "value": false, "path": false, "": false, "\u212Aey": true,
	} {
		if got := secretName(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}

// What is written by hand is the value, in one line.
func TestAppendValue(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~\x00-\x1f]*`), rapid.StringMatching(`[a\x{2028}\x{2029}\x{fffd}\x7f]*`),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	scalar := rapid.OneOf(rapid.Map(text, func(s string) any { return s }), rapid.SampledFrom([]any{nil, true, false, json.Number("1e4"), json.Number("-0.5")}))
	list := rapid.OneOf(scalar, rapid.Map(rapid.SliceOf(scalar), func(l []any) any { return l }))
	value := rapid.OneOf(list, rapid.Map(rapid.MapOf(text, list), func(m map[string]any) any { return m }))
	rapid.Check(t, func(t *rapid.T) {
		want := value.Draw(t, "value")
		raw := appendValue(nil, want)
		if text, err := encode(want); err != nil || string(text) != string(raw) {
			t.Fatalf("want %s\n got %s: %v", text, raw, err)
		}
	})
}

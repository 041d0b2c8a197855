package qq

import (
	"strings"
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/qq"
)

// An address in a text costs its dots, and those of no command, file name,
// version or IP address.
func TestOnlyAddressesAreChanged(t *testing.T) {
	for _, c := range [][2]string{
		{"see https://docs.python.org/3/x.html#a.b", "see https://docs。python。org/3/x.html#a.b"},
		{"http://user:p.w@a.b.example:80/x.y?z=1.2", "http://user:p.w@a。b。example:80/x.y?z=1.2"},
		{"www.some.where/x.y", "www。some。where/x.y"},
		{"请看example.com。它是Go写的", "请看example。com。它是Go写的"},
		{"https://例子.公司/x", "https://例子。公司/x"},
		{"write to ann@mail.example.com.", "write to ann@mail。example。com."},
		{"[the page](https://a.example.org/b.c)", "the page (https://a。example。org/b.c)"},
		{"| a | b |\n|---|---|\n| go.dev | x.go |", "a       | b\n--------+-----\ngo。dev | x.go"},
		{"http://127.0.0.1:8000/x and 10.0.0.1", "http://127.0.0.1:8000/x and 10.0.0.1"},
		{"Version 1.2.3, e.g. os.path.join in config.yaml or ./dist/site.com, 3.14", "Version 1.2.3, e.g. os.path.join in config.yaml or ./dist/site.com, 3.14"},
		{"`curl https://a.example.com` and\n\n```sh\nping b.example.com\n```", "curl https://a.example.com and\n\nping b.example.com"},
		{"    cat example.com", "cat example.com"},
	} {
		l := letter{hide: hideHosts}
		if got := l.text(c[0]); got != c[1] {
			t.Errorf("%q becomes %q, want %q", c[0], got, c[1])
		}
	}
}

// What people copy survives an address elsewhere in the answer; only when QQ
// refuses again all dots are changed. However often it refuses, the tries are
// few, and one reply is used up.
func TestRefusedAddresses(t *testing.T) {
	const code = "```sh\npython3 -m http.server 8000 --bind 127.0.0.1\ncat config.yaml > out.txt\n```\n\nVersion 1.2.3"
	for name, c := range map[string]struct {
		text, want string
		calls      int
	}{
		"outside code": {
			"From https://docs.python.org/3/:\n\n" + code,
			"From https://docs。python。org/3/:\n\npython3 -m http.server 8000 --bind 127.0.0.1\ncat config.yaml > out.txt\n\nVersion 1.2.3", 2,
		},
		"in code": {
			"Do `curl go.dev`:\n\n" + code,
			"Do curl go。dev:\n\npython3 -m http。server 8000 --bind 127。0。0。1\ncat config。yaml > out。txt\n\nVersion 1。2。3", 3,
		},
		"named, in code": {
			"Do `curl go.dev`:\n\n" + code,
			"Do curl go。dev:\n\npython3 -m http.server 8000 --bind 127.0.0.1\ncat config.yaml > out.txt\n\nVersion 1.2.3", 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.Grant(fake.Policy{Silent: !strings.HasPrefix(name, "named")})
			r := start(t, w.channel(t, channels.Deps{}))
			id := heard(t, w, r, ann, "how?")
			r.mustSend(t, answering(ann, "m", c.text))
			shown := w.Messages(ann)
			if len(shown) != 1 || shown[0].Text != c.want || w.Calls("messages") != c.calls || w.Replies(ann, id) != 1 {
				t.Errorf("%d calls, %d replies, the chat shows %+v", w.Calls("messages"), w.Replies(ann, id), shown)
			}
		})
	}
	for _, words := range []string{"消息包含未备案的链接", "url not registered: https://docs.python.org/3/", "域名不合法"} { // of a code that no table has
		w := newWorld(t, &fake.Options{Markdown: true, URLs: true})
		r := start(t, w.channel(t, channels.Deps{}, withMarkdown))
		heard(t, w, r, ann, "how?")
		w.Fail(fake.Fault{Status: 400, Code: 40034995, Text: words})
		r.mustSend(t, answering(ann, "m", "**See** https://docs.python.org/3/ now"))
		if shown := w.Messages(ann); len(shown) != 1 || shown[0].Text != "**See** https://docs。python。org/3/ now" {
			t.Errorf("%s: the chat shows %+v", words, shown)
		}
	}
	w := newWorld(t, &fake.Options{Markdown: true})
	r := start(t, w.channel(t, channels.Deps{}, withMarkdown))
	heard(t, w, r, ann, "how?")
	w.Fail(fake.Fault{Times: 100, Status: 400, Code: 40054010, Text: "不允许发送url"})
	if _, err := r.Send(channeltest.Bounded(t), answering(ann, "m", "x")); channels.KindOf(err) != channels.Rejected || err == nil {
		t.Errorf("refused for ever: %v", err)
	}
	if calls := w.Calls("messages"); calls != 4 || calls >= forms {
		t.Errorf("%d calls", calls)
	}
}

// The caption of a file goes the same way.
func TestAddressInCaption(t *testing.T) {
	w := newWorld(t, nil)
	q := w.channel(t, channels.Deps{})
	_, err := q.SendMedia(channeltest.Bounded(t), reminder(ann, "m", "go.dev, `x.go`"), []channels.Upload{upOf(chat.File, "a.txt", "text/plain", []byte("x"))})
	if err != nil {
		t.Fatal(err)
	}
	if shown := w.Messages(ann); len(shown) != 1 || shown[0].Text != "go。dev, x.go" {
		t.Errorf("the chat shows %+v", shown)
	}
}

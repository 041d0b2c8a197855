package feishu

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"io"
	"net/http"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/channels/render"
	"magpie/chat"
	fake "magpie/internal/fakes/feishu"
	"magpie/internal/kv"
)

func outbound(a chat.Address, id, text string) chat.Outbound {
	return chat.Outbound{Meta: chat.Meta{V: chat.Version, ID: id, Addr: a}, Text: text}
}

// dot is a small picture.
func dot() []byte {
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, 16, 16))) // a Buffer takes everything
	return b.Bytes()
}

func mustSend(t *testing.T, f *Feishu, msg chat.Outbound) chat.MessageRef {
	t.Helper()
	ref, err := f.Send(channeltest.Bounded(t), msg)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// Plain text is a plain message, formatted text a card, and what is refused
// goes in a simpler form, down to plain text.
func TestForms(t *testing.T) {
	refused := func(types ...string) fake.Fault {
		return fake.Fault{Types: types, Code: 230099, Msg: "Failed to create card content, ext=ErrCode: 200621; ErrMsg: parse card json err"}
	}
	tables := fake.Fault{Types: []string{"interactive"}, Code: 230099, Msg: "Failed to create card content, ext=ErrCode: 11310; ErrMsg: card table number over limit; "}
	yes := [][]chat.Button{{{Label: "Yes", Data: "y"}}}
	table := "| a | b |\n|---|---|\n| 1 | `x` & 2 |\n\nend"
	for _, c := range []struct {
		name, text string
		buttons    [][]chat.Button
		faults     []fake.Fault
		form, want string
	}{
		{name: "plain", text: "好的 👍", form: "text", want: "好的 👍"},
		{name: "formatted", text: "**好**", form: "interactive", want: "好"},
		{name: "buttons", text: "ok?", buttons: yes, form: "interactive", want: "ok?"},
		{name: "no card", text: "**b** _i_", faults: []fake.Fault{refused("interactive")}, form: "post", want: "b i"},
		{name: "no card, no post", text: "**b** _i_", faults: []fake.Fault{refused("interactive"), refused("post")}, form: "text", want: "b i"},
		{name: "no card with buttons", text: "ok?", buttons: yes, faults: []fake.Fault{refused("interactive")}, form: "post", want: "Yes"},
		{name: "no card here", text: "**b**", faults: []fake.Fault{{Types: []string{"interactive"}, Code: 230054, Msg: "unavailable in the connection group"}}, form: "post", want: "b"},
		{name: "tables", text: table, faults: []fake.Fault{tables}, form: "interactive", want: "```\n| a | b |"},
		{name: "tables at all", text: table, faults: []fake.Fault{tables, tables}, form: "post", want: "end"},
	} {
		w := newWorld(t, fake.Options{})
		for _, f := range c.faults {
			w.Fail(f)
		}
		msg := outbound(at(ann), "1", c.text)
		msg.Buttons = c.buttons
		ref, err := w.channel(t, channels.Deps{}).Send(channeltest.Bounded(t), msg)
		shown := w.Messages(at(ann).Chat)
		if err != nil || len(shown) != 1 || shown[0].ID != ref.ID || shown[0].Type != c.form || !strings.Contains(shown[0].Text, c.want) {
			t.Errorf("%s: %v, the chat shows %+v", c.name, err, shown)
		}
	}
}

// Refusals that are about the chat are not tried in other forms.
func TestFormsGiveUp(t *testing.T) {
	w := newWorld(t, fake.Options{})
	f := w.channel(t, channels.Deps{})
	w.Shut(at(ann).Chat, 230013, "Bot has NO availability to this user.")
	_, err := f.Send(channeltest.Bounded(t), outbound(at(ann), "1", "**b**"))
	if channels.KindOf(err) != channels.Rejected || !strings.Contains(err.Error(), "230013") || w.Calls("create") != 1 {
		t.Errorf("%v after %d calls", err, w.Calls("create"))
	}
	_, err = f.Send(channeltest.Bounded(t), outbound(chat.Address{Channel: instance, Chat: "12345"}, "1", "b"))
	if channels.KindOf(err) != channels.Rejected || !strings.Contains(err.Error(), "oc_") {
		t.Errorf("a chat that is none: %v", err)
	}
}

// Whatever the model writes, nobody is notified.
func TestMentionsAreHarmless(t *testing.T) {
	texts := []string{
		"<at user_id=\"all\">everybody</at>", "<at id=all></at> **now**", "`<at id=all></at>`", "```\n<at id=all></at>\n```",
		"| <at id=all></at> | b |\n|---|---|\n| <at id=ou_ann></at> | 2 |", "&lt;at id=all&gt;&lt;/at&gt; *x*", "[<at id=all></at>](https://example.org)",
		"> <at id=ou_bob></at>", "<person id = 'ou_ann'></person> **x**", `\<at id=all>\</at> **x**`,
	}
	for _, types := range [][]string{nil, {"interactive"}, {"interactive", "post"}} {
		w := newWorld(t, fake.Options{})
		f := w.channel(t, channels.Deps{})
		for _, text := range texts {
			for _, form := range types {
				w.Fail(fake.Fault{Types: []string{form}, Code: 230099, Msg: "Failed to create card content"})
			}
			mustSend(t, f, outbound(at(crowd), text, text))
		}
		shown := w.Messages(crowd)
		if len(shown) != len(texts) {
			t.Fatalf("%d of %d arrived", len(shown), len(texts))
		}
		for i, m := range shown {
			if len(m.Mentions) > 0 {
				t.Errorf("%q mentions %q as %s %s", texts[i], m.Mentions, m.Type, m.Content)
			}
		}
	}
}

// A reply is one, in threads too; where it cannot be one the text still comes.
func TestReplies(t *testing.T) {
	w := newWorld(t, fake.Options{})
	f := w.channel(t, channels.Deps{})
	first := w.Say(fake.Said{From: ann, Chat: crowd, Text: "first"})
	second := w.Say(fake.Said{From: bob, Chat: crowd, Text: "second", ReplyTo: first, InThread: true})
	gone := w.Say(fake.Said{From: ann, Chat: crowd, Text: "gone"})
	w.Recall(gone)
	w.AddGroup(fake.Group{ID: "oc_flat", NoThreads: true})
	flat := w.Say(fake.Said{From: ann, Chat: "oc_flat", Text: "x"})
	type where struct{ Chat, Thread, ReplyTo string }
	for _, c := range []struct {
		name  string
		at    chat.Address
		reply string
		want  where
	}{
		{"to the chat", chat.Address{Chat: crowd}, "", where{crowd, "", ""}},
		{"a reply", chat.Address{Chat: crowd}, first, where{crowd, "", first}},
		{"into a thread", chat.Address{Chat: crowd, Thread: first}, "", where{crowd, first, first}},
		{"a reply in a thread", chat.Address{Chat: crowd, Thread: first}, second, where{crowd, first, second}},
		{"to what is gone", chat.Address{Chat: crowd}, gone, where{crowd, "", ""}},
		{"without threads", chat.Address{Chat: "oc_flat", Thread: flat}, "", where{"oc_flat", "", flat}},
		{"to a person", chat.Address{Chat: ann}, "", where{at(ann).Chat, "", ""}},
		{"to no id of a message", chat.Address{Chat: crowd}, "17", where{crowd, "", ""}},
	} {
		msg := outbound(c.at, c.name, "**"+c.name+"**")
		msg.ReplyTo = c.reply
		ref := mustSend(t, f, msg)
		for _, m := range w.Messages(c.want.Chat) {
			if got := (where{m.Chat, m.Thread, m.ReplyTo}); m.ID == ref.ID && got != c.want {
				t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
			}
		}
	}
}

// A repeat of a send that had arrived is recognised, after a restart too, and
// in whatever form it had arrived.
func TestRepeats(t *testing.T) {
	w := newWorld(t, fake.Options{})
	for i, text := range []string{"plain", "**card**", "**post**"} {
		w.Fail(fake.Fault{After: true, Drop: true, Types: []string{[]string{"text", "interactive", "post"}[i]}})
		card := fake.Fault{Types: []string{"interactive"}, Code: 230099, Msg: "Failed to create card content"}
		if i == 2 {
			w.Fail(card)
		}
		msg := outbound(at(ann), text, text)
		_, err := w.channel(t, channels.Deps{}).Send(channeltest.Bounded(t), msg)
		if channels.KindOf(err) != channels.Ambiguous {
			t.Errorf("%s: %v, want Ambiguous", text, err)
		}
		ref := mustSend(t, w.channel(t, channels.Deps{}), msg)
		if shown := w.Messages(at(ann).Chat); len(shown) != i+1 || shown[i].ID != ref.ID {
			t.Errorf("%s: the chat shows %+v", text, shown)
		}
	}
}

// Each code becomes the kind that says what to do.
func TestErrorKinds(t *testing.T) {
	type want struct {
		Kind  channels.Kind
		After time.Duration
	}
	for _, c := range []struct {
		fault fake.Fault
		want  want
	}{
		{fake.Fault{Code: 99991400, Msg: "slow", Reset: 52}, want{channels.RateLimited, 52 * time.Second}},
		{fake.Fault{Status: 429, Code: 99991400, Msg: "slow", Reset: 7}, want{channels.RateLimited, 7 * time.Second}},
		{fake.Fault{Status: 429, Page: true}, want{channels.RateLimited, 0}},
		{fake.Fault{Code: 230020, Msg: "frequency limit"}, want{channels.RateLimited, time.Second}},
		{fake.Fault{Code: 99991403, Msg: "quota"}, want{channels.RateLimited, time.Hour}},
		{fake.Fault{Code: 230025, Msg: "length"}, want{channels.TooLong, 0}},
		{fake.Fault{Code: 230099, Msg: "Failed to create card content, ext=ErrCode: 200860; ErrMsg: Card content exceeds limit"}, want{channels.TooLong, 0}},
		{fake.Fault{Status: 413, Page: true}, want{channels.TooLong, 0}},
		{fake.Fault{Code: 230049, Msg: "being sent"}, want{channels.Temporary, 0}},
		{fake.Fault{Code: 2200, Status: 500, Msg: "internal error"}, want{channels.Temporary, 0}},
		{fake.Fault{Code: 77777, Status: 503, Msg: "?"}, want{channels.Temporary, 0}},
		{fake.Fault{Status: 504, Page: true}, want{channels.Ambiguous, 0}},
		{fake.Fault{Status: 200, Page: true}, want{channels.Ambiguous, 0}},
		{fake.Fault{Drop: true}, want{channels.Ambiguous, 0}},
		{fake.Fault{Status: 200, Code: 230002, Msg: "outside the group"}, want{channels.Rejected, 0}},
		{fake.Fault{Code: 230022, Msg: "sensitive"}, want{channels.Rejected, 0}},
		{fake.Fault{Code: 99991672, Msg: "Access denied. One of the following scopes is required"}, want{channels.Rejected, 0}},
		{fake.Fault{Code: 99991401, Msg: "ip denied"}, want{channels.Unauthorized, 0}},
		{fake.Fault{Op: "token", Status: 502, Page: true}, want{channels.Temporary, 0}},
		{fake.Fault{Op: "token", Drop: true}, want{channels.Temporary, 0}},
		{fake.Fault{Op: "token", Status: 200, Code: 10003, Msg: "invalid param"}, want{channels.Unauthorized, 0}},
	} {
		w := newWorld(t, fake.Options{})
		w.Fail(c.fault)
		_, err := w.channel(t, channels.Deps{}).Send(channeltest.Bounded(t), outbound(at(ann), "1", "x"))
		var got want
		got.Kind = channels.KindOf(err)
		if e, ok := err.(*channels.Error); ok {
			got.After = e.RetryAfter
		}
		if diff := cmp.Diff(c.want, got); err == nil || diff != "" {
			t.Errorf("%+v: %v %s", c.fault, err, diff)
		}
	}
}

// A token that the platform has revoked is replaced within the call, one that
// has ended before it, and sixteen calls fetch one.
func TestToken(t *testing.T) {
	w := newWorld(t, fake.Options{})
	now := time.Now()
	f := w.channel(t, channels.Deps{Now: func() time.Time { return now }})
	mustSend(t, f, outbound(at(ann), "1", "one"))
	first := f.api.Token().Current()
	w.RevokeTokens()
	mustSend(t, f, outbound(at(ann), "2", "two"))
	second := f.api.Token().Current()
	if first == second {
		t.Error("the token is the same")
	}
	now = now.Add(2*time.Hour - tokenMargin)
	mustSend(t, f, outbound(at(ann), "3", "three"))
	if f.api.Token().Current() == second {
		t.Error("a token at its end is still used")
	}
	w.RevokeTokens()
	body := strings.NewReader("late")
	up := channels.Upload{Attachment: chat.Attachment{Kind: chat.File, Name: "a.txt", Size: 4}, Open: func(context.Context) (io.ReadCloser, error) {
		_, err := body.Seek(0, io.SeekStart)
		return io.NopCloser(body), err
	}}
	if _, err := f.SendMedia(channeltest.Bounded(t), outbound(at(ann), "4", ""), []channels.Upload{up}); err != nil {
		t.Errorf("an upload with a revoked token: %v", err)
	}
	if n := len(w.Messages(at(ann).Chat)); n != 4 {
		t.Errorf("the chat shows %d messages", n)
	}
}

// The limit counts what goes over the wire: at the limit the platform takes
// it, in every form, and tables weigh what a card may have of them.
func TestLimit(t *testing.T) {
	w := newWorld(t, fake.Options{})
	f := w.channel(t, channels.Deps{})
	for _, unit := range []string{"a", "好", "\"", "<", "*x* ", "\\"} {
		n := sort.Search(maxText, func(n int) bool { return sizeOf(strings.Repeat(unit, n+1)) > maxText })
		text := strings.Repeat(unit, n)
		msg := outbound(at(ann), unit, text)
		msg.Buttons = [][]chat.Button{{{Label: strings.Repeat("键", 20), Data: strings.Repeat("d", 64)}, {Label: "b", Data: strings.Repeat("\"", 64)}}}
		mustSend(t, f, msg)
		if m := w.Messages(at(ann).Chat); m[len(m)-1].Type != "interactive" {
			t.Errorf("%q went as %s", unit, m[len(m)-1].Type)
		}
	}
	one := "| a | b |\n|---|---|\n| 1 | 2 |\n\ntext\n\n"
	mustSend(t, f, outbound(at(bob), "tables", strings.Repeat(one, maxTables)))
	if m := w.Messages(at(bob).Chat)[0]; m.Type != "interactive" || strings.Contains(m.Content, "```") {
		t.Errorf("%d tables went as %s %s", maxTables, m.Type, m.Content)
	}
	if _, err := f.Send(channeltest.Bounded(t), outbound(at(bob), "more", strings.Repeat(one, maxTables+1))); channels.KindOf(err) != channels.TooLong {
		t.Errorf("one table too many: %v", err)
	}
	long := strings.Repeat(one, 3*maxTables+1)
	parts := render.Split(long, f.Limits().Text, f.Limits().Size)
	for i, part := range parts {
		mustSend(t, f, outbound(at(eve), part+string(rune('a'+i)), part))
	}
	if n := len(w.Messages(at(eve).Chat)); n != len(parts) || n < 4 {
		t.Errorf("%d parts, %d messages", len(parts), n)
	}
}

func TestDeleteAndReact(t *testing.T) {
	w := newWorld(t, fake.Options{})
	f := w.channel(t, channels.Deps{})
	theirs := w.Say(fake.Said{From: ann, Text: "x"})
	ref := chat.MessageRef{Chat: at(ann).Chat, ID: theirs}
	if err := f.Delete(channeltest.Bounded(t), ref); channels.KindOf(err) != channels.Rejected {
		t.Errorf("deleting what another wrote: %v", err)
	}
	for _, step := range []struct{ emoji, want string }{{"👍", "THUMBSUP"}, {"👀", "THUMBSUP GLANCE"}, {"", ""}, {"", ""}} {
		if err := f.React(channeltest.Bounded(t), ref, step.emoji); err != nil {
			t.Error(err)
		}
		if got := strings.Join(w.Reactions(theirs), " "); got != step.want {
			t.Errorf("after %q: %q", step.emoji, got)
		}
	}
	if err := f.React(channeltest.Bounded(t), ref, "🦤"); channels.KindOf(err) != channels.Rejected {
		t.Errorf("an emoji that Feishu does not have: %v", err)
	}
}

// Sixteen private chats at once, at the platform's pace, and what is too fast
// says when to come again.
func TestRates(t *testing.T) {
	now := time.Now()
	w := newWorld(t, fake.Options{Rates: true, Now: func() time.Time { return now }})
	f := w.channel(t, channels.Deps{})
	var err error
	n := 0
	for ; n < 20 && err == nil; n++ {
		_, err = f.Send(channeltest.Bounded(t), outbound(at(ann), string(rune('a'+n)), "x"))
	}
	burst := f.Limits().Rate.ChatBurst
	if channels.KindOf(err) != channels.RateLimited || n != burst+1 {
		t.Errorf("%d sends, then %v", n-1, err)
	}
	now = now.Add(f.Limits().Rate.PerChat)
	mustSend(t, f, outbound(at(ann), "later", "x"))
}

// Check names a permission that is missing.
func TestCheck(t *testing.T) {
	w := newWorld(t, fake.Options{})
	f := w.channel(t, channels.Deps{})
	if err := f.Check(channeltest.Bounded(t)); err != nil {
		t.Error(err)
	}
	// What docs/channels/feishu.md says that it does not try.
	w.Deny("/open-apis/cardkit", "/open-apis/contact", "/open-apis/im/v1/files", "/open-apis/im/v1/images", "/open-apis/im/v1/messages/om_0/")
	if err := f.Check(channeltest.Bounded(t)); err != nil {
		t.Errorf("without other permissions: %v", err)
	}
	w.Deny("/open-apis/im")
	if err := f.Check(channeltest.Bounded(t)); channels.KindOf(err) != channels.Rejected || err == nil || !strings.Contains(err.Error(), "im:message") {
		t.Errorf("without permission: %v", err)
	}
	w.Deny()
	w.Fail(fake.Fault{Op: "get", Status: 502, Page: true})
	if err := f.Check(channeltest.Bounded(t)); channels.KindOf(err) != channels.Temporary || err == nil {
		t.Errorf("a server that fails: %v", err)
	}
}

// An error of the transport that repeats the request shows no secret.
func TestHTTPErrorsHoldNoSecret(t *testing.T) {
	cfg := Config{AppID: "cli_a", AppSecret: "topsecret", APIBase: "http://127.0.0.1:1"}
	if err := cfg.complete(); err != nil {
		t.Fatal(err)
	}
	f := newFeishu(instance, cfg, channels.Deps{HTTP: &http.Client{Transport: failing{}}, Table: &kv.Memory{}}, quick())
	err := f.Check(channeltest.Bounded(t))
	if channels.KindOf(err) != channels.Temporary || strings.Contains(err.Error(), "topsecret") {
		t.Errorf("got %v", err)
	}
}

// failing repeats the request's body in its error, as a debugging proxy might.
type failing struct{}

func (failing) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	return nil, &echoed{string(body)}
}

type echoed struct{ text string }

func (e *echoed) Error() string { return "cannot send " + e.text }

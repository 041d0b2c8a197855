package discord

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/discord"
)

// A repeat of the same message is recognised, also by another process; another
// message with the same text is not taken for one.
func TestSendIsIdempotent(t *testing.T) {
	w := newWorld(t, nil)
	var refs []chat.MessageRef
	for _, id := range []string{"out:1", "out:1", "out:2"} {
		ref, err := w.channel(t, channels.Deps{}).Send(channeltest.Bounded(t), out(at(annDM), id, "same"))
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, ref)
	}
	if refs[0] != refs[1] || refs[0] == refs[2] || len(w.Messages(annDM)) != 2 {
		t.Errorf("refs %v", refs)
	}
}

// What a model writes pings nobody, and the one who is replied to neither.
func TestNobodyIsPinged(t *testing.T) {
	w := newWorld(t, nil)
	d := w.channel(t, channels.Deps{})
	id := w.Say(fake.Said{From: ann, Channel: crowd, Text: "hi"})
	msg := out(at(crowd), "1", "@everyone @here <@"+bob+"> <@&"+botRole+"> `<@"+eve+">`")
	msg.ReplyTo = id
	ref, err := d.Send(channeltest.Bounded(t), msg)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Edit(channeltest.Bounded(t), ref, out(at(crowd), "1", "now <@"+bob+"> @everyone `@here`")); err != nil {
		t.Fatal(err)
	}
	shown := w.Messages(crowd)[0]
	if len(shown.Pings) != 0 || shown.ReplyTo != id || shown.Edits != 1 {
		t.Errorf("shown %+v", shown)
	}
}

func TestReplies(t *testing.T) {
	w := newWorld(t, nil)
	d := w.channel(t, channels.Deps{})
	msg := out(at(crowd), "1", "to a message that is gone")
	msg.ReplyTo = "12345"
	if _, err := d.Send(channeltest.Bounded(t), msg); err != nil {
		t.Errorf("deleted: %v", err)
	}
	msg.ReplyTo = w.Say(fake.Said{From: ann, Channel: crowd, Text: "hi"})
	msg.ID = "2"
	w.Fail(fake.Fault{Status: 403, Code: 160002, Text: "Cannot reply without permission to read message history"})
	if _, err := d.Send(channeltest.Bounded(t), msg); err != nil {
		t.Errorf("without history: %v", err)
	}
	if shown := w.Messages(crowd); len(shown) != 2 || shown[1].ReplyTo != "" {
		t.Errorf("shown %+v", shown)
	}
}

// The answer to a thread that was deleted goes into its channel.
func TestThreadGone(t *testing.T) {
	w := newWorld(t, nil)
	w.Remove(topic)
	ref, err := w.channel(t, channels.Deps{}).Send(channeltest.Bounded(t), out(chat.Address{Channel: instance, Chat: crowd, Thread: topic}, "1", "hello"))
	if err != nil || ref.Chat != crowd || len(w.Messages(crowd)) != 1 {
		t.Errorf("%+v, %v", ref, err)
	}
}

// So does that to a thread which is locked, or archived for good.
func TestThreadClosed(t *testing.T) {
	w := newWorld(t, nil)
	d := w.channel(t, channels.Deps{})
	for i, code := range []int{160005, 50083} {
		w.Fail(fake.Fault{Status: 400, Code: code, Text: "closed"})
		ref, err := d.Send(channeltest.Bounded(t), out(chat.Address{Channel: instance, Chat: crowd, Thread: topic}, strconv.Itoa(i), "hello"))
		if err != nil || ref.Chat != crowd || len(w.Messages(crowd)) != i+1 {
			t.Errorf("%d: %+v, %v", code, ref, err)
		}
	}
}

// Codes of Discord's, and what follows from each.
func TestErrorKinds(t *testing.T) {
	w := newWorld(t, nil)
	d := w.channel(t, channels.Deps{})
	for _, c := range []struct {
		fault fake.Fault
		kind  channels.Kind
		after time.Duration
	}{
		{fake.Fault{Status: 403, Code: 50007, Text: "Cannot send messages to this user"}, channels.Rejected, 0},
		{fake.Fault{Status: 403, Code: 50001, Text: "Missing Access"}, channels.Rejected, 0},
		{fake.Fault{Status: 404, Code: 10003, Text: "Unknown Channel"}, channels.Rejected, 0},
		{fake.Fault{Status: 400, Code: 200000, Text: "Message was blocked by automatic moderation"}, channels.Rejected, 0},
		{fake.Fault{Status: 400, Code: 50035, Fields: `{"content":{"_errors":[{"code":"BASE_TYPE_MAX_LENGTH"}]}}`}, channels.TooLong, 0},
		{fake.Fault{Status: 400, Code: 50035, Fields: `{"nonce":{"_errors":[{"code":"BASE_TYPE_MAX_LENGTH"}]}}`}, channels.Rejected, 0},
		{fake.Fault{Status: 413, Code: 40005, Text: "Request entity too large"}, channels.TooLong, 0},
		{fake.Fault{Status: 413, Page: true}, channels.TooLong, 0},
		{fake.Fault{Status: 403, Code: 50014, Text: "Invalid authentication token"}, channels.Unauthorized, 0},
		{fake.Fault{Status: 400, Code: 20016, Text: "slowmode", RetryAfter: 7.5}, channels.RateLimited, 7500 * time.Millisecond},
		{fake.Fault{Status: 403, Code: 20028, Text: "write limit", RetryAfter: 2}, channels.RateLimited, 2 * time.Second},
		{fake.Fault{Status: 429, RetryAfter: 0.25}, channels.RateLimited, 250 * time.Millisecond},
		{fake.Fault{Status: 429, RetryAfter: 64.5, Global: true}, channels.RateLimited, 64500 * time.Millisecond},
		{fake.Fault{Status: 429, Page: true, RetryAfter: 60}, channels.RateLimited, time.Minute},
		{fake.Fault{Status: 429, Page: true}, channels.RateLimited, time.Minute},
		{fake.Fault{Status: 403, Page: true, Text: "error code: 1015"}, channels.RateLimited, time.Minute},
		{fake.Fault{Status: 403, Code: 50278, Text: "no mutual guilds"}, channels.Rejected, 0},
		{fake.Fault{Status: 400, Code: 20009, Text: "explicit content"}, channels.Rejected, 0},
		{fake.Fault{Status: 400, Code: 240000, Text: "harmful links"}, channels.Rejected, 0},
		{fake.Fault{Status: 400, Code: 160005, Text: "Thread is locked"}, channels.Rejected, 0},
		{fake.Fault{Status: 403, Code: 400001, Text: "file uploads limited"}, channels.Rejected, 0},
		{fake.Fault{Status: 403, Code: 40004, Text: "Send messages has been temporarily disabled"}, channels.Temporary, 0},
		{fake.Fault{Status: 403, Code: 40006, Text: "temporarily disabled server-side"}, channels.Temporary, 0},
		{fake.Fault{Status: 400, Code: 110000, Text: "Index not yet available"}, channels.Temporary, 0},
		{fake.Fault{Status: 400, Code: 30046, Text: "edits to messages older than 1 hour", RetryAfter: 9}, channels.RateLimited, 9 * time.Second},
		{fake.Fault{Status: 401, Code: 50027, Text: "Invalid Webhook Token"}, channels.Rejected, 0},
		{fake.Fault{Status: 503, Code: 130000, Text: "API resource is currently overloaded"}, channels.Temporary, 0},
		{fake.Fault{Status: 500, Text: "500: Internal Server Error"}, channels.Temporary, 0},
		{fake.Fault{Status: 504, Page: true}, channels.Ambiguous, 0},
		{fake.Fault{Status: 403, Page: true}, channels.Temporary, 0},
		{fake.Fault{Status: 302, Page: true}, channels.Temporary, 0},
		{fake.Fault{Drop: true}, channels.Ambiguous, 0},
	} {
		w.Fail(c.fault)
		_, err := d.Send(channeltest.Bounded(t), out(at(annDM), fmt.Sprint(c.fault), "x"))
		var ce *channels.Error
		if !errors.As(err, &ce) || ce.Kind != c.kind || ce.RetryAfter != c.after {
			t.Errorf("%+v: %v, after %v", c.fault, err, ce.RetryAfter)
		}
		if all := c.fault.Global || c.fault.Page && c.kind == channels.RateLimited; ce.Global != all {
			t.Errorf("%+v: concerns the whole bot: %v, want %v", c.fault, ce.Global, all)
		}
		if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), w.Token()) {
			t.Errorf("%+v: the token is seen", c.fault)
		}
	}
	if n := len(w.Messages(annDM)); n != 0 {
		t.Errorf("%d messages", n)
	}
	w.Shut(annDM, 50007)
	if _, err := d.Send(channeltest.Bounded(t), out(at(annDM), "closed", "x")); channels.KindOf(err) != channels.Rejected {
		t.Errorf("closed chat: %v", err)
	}
}

// After a refusal with limits the next call is made at once: discordgo would
// sleep inside it.
func TestNoSleepInside(t *testing.T) {
	w := newWorld(t, nil)
	d := w.channel(t, channels.Deps{})
	w.Fail(fake.Fault{Status: 429, RetryAfter: 3600})
	if _, err := d.Send(channeltest.Bounded(t), out(at(annDM), "1", "x")); channels.KindOf(err) != channels.RateLimited {
		t.Fatal(err)
	}
	if _, err := d.Send(channeltest.Bounded(t), out(at(annDM), "1", "x")); err != nil {
		t.Error(err)
	}
}

// One chat whose call hangs does not hold up another.
func TestHangHoldsNobodyUp(t *testing.T) {
	w := newWorld(t, nil)
	d := w.channel(t, channels.Deps{})
	w.Fail(fake.Fault{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := d.Send(ctx, out(at(annDM), "1", "hangs"))
		done <- err
	}()
	channeltest.Eventually(t, "the first call", func() bool { return w.Calls("create message") == 1 })
	if _, err := d.Send(channeltest.Bounded(t), out(at(annDM), "2", "goes")); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-done; channels.KindOf(err) != channels.Ambiguous || !errors.Is(err, context.Canceled) {
		t.Errorf("the call that hung: %v", err)
	}
}

func media(name, mime string, kind chat.Kind, data []byte) channels.Upload {
	return channels.Upload{
		Attachment: chat.Attachment{Kind: kind, Name: name, MIME: mime, Size: int64(len(data))},
		Open:       func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
	}
}

// Ten files of which two fill a request go in as many messages as it takes;
// a file of the limit is taken and one byte more is TooLong.
func TestFileLimits(t *testing.T) {
	w := newWorld(t, nil)
	d := w.channel(t, channels.Deps{})
	limit := d.Limits().Media[chat.File]
	full := media("full.bin", "application/octet-stream", chat.File, make([]byte, limit))
	small := media("图.png", "image/png", chat.Image, []byte("png"))
	msg := out(at(annDM), "1", "caption")
	msg.Buttons = [][]chat.Button{{{Label: "A", Data: "a"}}}
	refs, err := d.SendMedia(channeltest.Bounded(t), msg, []channels.Upload{full, full, full, small, small})
	if err != nil || len(refs) != 2 {
		t.Fatalf("%v, %v", refs, err)
	}
	shown := w.Messages(annDM)
	if len(shown) != 2 || len(shown[0].Files) != 2 || len(shown[1].Files) != 3 || shown[0].Text != "caption" || shown[1].Text != "" {
		t.Fatalf("%d messages", len(shown))
	}
	if len(shown[0].Buttons) != 0 || len(shown[1].Buttons) != 1 || shown[1].Files[1].Name != "图.png" {
		t.Errorf("shown %v %v, %q", shown[0].Buttons, shown[1].Buttons, shown[1].Files[1].Name)
	}
	over := media("over.bin", "", chat.File, make([]byte, limit+1))
	if _, err := d.SendMedia(channeltest.Bounded(t), out(at(bobDM), "2", ""), []channels.Upload{over}); channels.KindOf(err) != channels.TooLong {
		t.Errorf("over the limit: %v", err)
	}
	// The same files once more, as after a crash.
	again, err := d.SendMedia(channeltest.Bounded(t), msg, []channels.Upload{full, full, full, small, small})
	if err != nil || !cmp.Equal(refs, again) || len(w.Messages(annDM)) != 2 {
		t.Errorf("%v, %v", again, err)
	}
}

// A file whose address has run out is asked for anew.
func TestFetchAfterExpiry(t *testing.T) {
	w := newWorld(t, nil)
	r := start(t, w.channel(t, channels.Deps{}), nil)
	connected(t, w, 1)
	id := w.Say(fake.Said{From: ann, Channel: annDM, Files: []fake.File{{Name: "a.txt", MIME: "text/plain", Data: []byte("data")}}})
	in := r.Next(t)
	w.ExpireFiles()
	body, err := w.channel(t, channels.Deps{}).Fetch(channeltest.Bounded(t), in.Attachments[0])
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(body)
	_ = body.Close()
	if err != nil || string(data) != "data" || in.MessageID != id {
		t.Errorf("%q, %v", data, err)
	}
}

// Files are fetched from Discord's servers only, without the token, and no
// redirect leads elsewhere.
func TestFetchGoesNowhereElse(t *testing.T) {
	asked := 0
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked++ }))
	defer elsewhere.Close()
	base := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the token goes to the file server")
		}
		http.Redirect(w, r, elsewhere.URL, http.StatusFound)
	}))
	defer base.Close()
	d := newDiscord(instance, Config{Token: "t.o.ken", APIBase: base.URL}, channels.Deps{}, quick())
	defer d.api.CloseIdle()
	for _, address := range []string{
		elsewhere.URL + "/x", base.URL + "/redirect", "file:///etc/passwd", "http://cdn.discordapp.com/x",
		"https://cdn.discordapp.com.evil.example/x", "https://evil@cdn.discordapp.com/x", "https://cdn.discordapp.com:444/x", "", "://",
	} {
		body, err := d.Fetch(channeltest.Bounded(t), chat.Attachment{Source: source{URL: address}.String()})
		if err == nil {
			_ = body.Close()
			t.Errorf("%q was fetched", address)
		}
	}
	if asked != 0 {
		t.Errorf("%d calls elsewhere", asked)
	}
}

// What is over Discord's measure of buttons is cut or left out, and what
// Discord refuses all the same is written out.
func TestButtons(t *testing.T) {
	w := newWorld(t, nil)
	d := w.channel(t, channels.Deps{})
	msg := out(at(annDM), "1", "many")
	var row []chat.Button
	for i := range 30 {
		row = append(row, chat.Button{Label: strings.Repeat("标", 100), Data: fmt.Sprint(i)})
	}
	msg.Buttons = [][]chat.Button{row}
	if _, err := d.Send(channeltest.Bounded(t), msg); err != nil {
		t.Fatal(err)
	}
	if shown := w.Messages(annDM)[0].Buttons; len(shown) != 5 || len(shown[4]) != 5 || units(shown[0][0].Label) != maxLabel {
		t.Errorf("shown %v", shown)
	}
	msg = out(at(annDM), "2", "twice")
	msg.Buttons = [][]chat.Button{{{Label: "Yes", Data: "same"}, {Label: "No", Data: "same"}}}
	ref, err := d.Send(channeltest.Bounded(t), msg)
	if err != nil {
		t.Fatal(err)
	}
	if shown := w.Messages(annDM)[1]; len(shown.Buttons) != 0 || !strings.Contains(shown.Text, "Yes") || !strings.Contains(shown.Text, "No") {
		t.Errorf("shown %+v", shown)
	}
	if err := d.Edit(channeltest.Bounded(t), ref, msg); err != nil {
		t.Errorf("edit: %v", err)
	}
}

// More buttons than Discord has rows stand side by side; none is missing.
func TestManyButtons(t *testing.T) {
	w := newWorld(t, nil)
	msg := out(at(annDM), "m", "which?")
	for i := range 12 {
		msg.Buttons = append(msg.Buttons, []chat.Button{{Label: fmt.Sprint("选", i), Data: fmt.Sprint(i)}})
	}
	if _, err := w.channel(t, channels.Deps{}).Send(channeltest.Bounded(t), msg); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range w.Messages(annDM)[0].Buttons {
		for _, b := range row {
			got = append(got, b.Data)
		}
	}
	if strings.Join(got, " ") != "0 1 2 3 4 5 6 7 8 9 10 11" {
		t.Errorf("the message has the buttons %q", got)
	}
}

// A streamed reply: sent as a draft, edited as it grows, and whole at the end.
func TestStreaming(t *testing.T) {
	w := newWorld(t, nil)
	d := w.channel(t, channels.Deps{})
	msg := out(at(annDM), "draft:1", "The ans")
	msg.Draft = true
	ref, err := d.Send(channeltest.Bounded(t), msg)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"The answer", "The answer is", "The answer is 42."} {
		msg.Text, msg.Draft = text, text != "The answer is 42."
		if err := d.Edit(channeltest.Bounded(t), ref, msg); err != nil {
			t.Fatal(err)
		}
	}
	if shown := w.Messages(annDM); len(shown) != 1 || shown[0].Text != "The answer is 42." || shown[0].Edits != 3 {
		t.Errorf("shown %+v", shown)
	}
	w.Fail(fake.Fault{Route: "edit message", Status: 429, RetryAfter: 1.5})
	if err := d.Edit(channeltest.Bounded(t), ref, msg); channels.KindOf(err) != channels.RateLimited || retryAfter(err) != 1500*time.Millisecond {
		t.Errorf("edit too fast: %v", err)
	}
	w.Fail(fake.Fault{Route: "edit message"})
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := d.Edit(ctx, ref, msg); channels.KindOf(err) != channels.Temporary {
		t.Errorf("an edit without an answer: %v", err) // it can be made again
	}
}

// Cutting keeps whole characters and the measure.
func TestCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOfN(rapid.RuneFrom([]rune("ab好😀\n")), 0, 300, -1).Draw(t, "s")
		for _, c := range []struct {
			cut  string
			most int
		}{{cutLabel(s), maxLabel}, {cutNotice(strings.Repeat(s, 20)), maxNotice}} {
			if units(c.cut) > c.most || !strings.HasPrefix(strings.Repeat(s, 20), strings.TrimSuffix(c.cut, "…")) {
				t.Fatalf("cut to %d units: %q", units(c.cut), c.cut)
			}
		}
	})
}

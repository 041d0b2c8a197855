package telegram

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/telegram"
)

func out(to int64, text string) chat.Outbound {
	return chat.Outbound{Meta: chat.Meta{Addr: at(to)}, Text: text}
}

func TestSendToTopicAsReply(t *testing.T) {
	w := newWorld(t, nil)
	tg := w.channel(t, channels.Deps{})
	asked := w.Say(fake.Said{From: ann, Chat: crowd, Thread: topic, Text: "question"})
	msg := out(crowd, "answer")
	msg.Addr.Thread, msg.ReplyTo = strconv.Itoa(topic), strconv.Itoa(asked)
	ref, err := tg.Send(channeltest.Bounded(t), msg)
	if err != nil {
		t.Fatal(err)
	}
	shown := w.Messages(crowd)
	if len(shown) != 1 || shown[0].Thread != topic || shown[0].ReplyTo != asked || ref.ID != strconv.Itoa(shown[0].ID) {
		t.Errorf("%+v; ref %+v", shown, ref)
	}
	// The message is gone, the topic is gone, the id is none: it still arrives.
	msg.Addr.Thread, msg.ReplyTo = "99", "888888"
	if _, err := tg.Send(channeltest.Bounded(t), msg); err != nil {
		t.Error(err)
	}
	msg.ReplyTo = "not a number"
	if _, err := tg.Send(channeltest.Bounded(t), msg); err != nil {
		t.Error(err)
	}
	if n := len(w.Messages(crowd)); n != 3 {
		t.Errorf("the group shows %d messages", n)
	}
	for _, why := range []string{"Bad Request: TOPIC_DELETED", "Bad Request: TOPIC_CLOSED"} {
		w.Fail(fake.Fault{Code: 400, Text: why})
		msg.Addr.Thread = strconv.Itoa(topic)
		if _, err := tg.Send(channeltest.Bounded(t), msg); err != nil {
			t.Errorf("%s: %v", why, err)
		}
	}
	if shown := w.Messages(crowd); len(shown) != 5 || shown[4].Thread != 0 {
		t.Errorf("the group shows %+v", shown)
	}
	if err := tg.Typing(channeltest.Bounded(t), at(crowd)); err != nil {
		t.Error(err)
	}
}

func TestSendRefused(t *testing.T) {
	w := newWorld(t, nil)
	tg := w.channel(t, channels.Deps{})
	w.Shut(bob, fake.Blocked)
	for _, c := range []struct {
		msg  chat.Outbound
		kind channels.Kind
	}{
		{out(404, "x"), channels.Rejected},
		{out(bob, "x"), channels.Rejected},
		{out(ann, ""), channels.Rejected},
		{out(ann, strings.Repeat("x", 100_000)), channels.TooLong},
		{chat.Outbound{Meta: chat.Meta{Addr: at(ann)}, Text: "x", Buttons: [][]chat.Button{{{Label: "b", Data: strings.Repeat("x", 65)}}}}, channels.Rejected},
	} {
		if _, err := tg.Send(channeltest.Bounded(t), c.msg); err == nil || channels.KindOf(err) != c.kind {
			t.Errorf("%.40q to %s: %v, want %v", c.msg.Text, c.msg.Addr.Chat, err, c.kind)
		}
	}
	if shown := w.Messages(ann); len(shown) != 0 {
		t.Errorf("the chat shows %+v", shown)
	}
}

// The kinds of the documented errors.
func TestErrorKinds(t *testing.T) {
	w := newWorld(t, nil)
	tg := w.channel(t, channels.Deps{})
	for _, c := range []struct {
		code int
		text string
		kind channels.Kind
	}{
		{400, "Bad Request: message is too long", channels.TooLong},
		{400, "Bad Request: MEDIA_CAPTION_TOO_LONG", channels.TooLong},
		{400, "Bad Request: file is too big", channels.TooLong},
		{413, "Request Entity Too Large", channels.TooLong},
		{400, "Bad Request: PEER_ID_INVALID", channels.Rejected},
		{400, "Bad Request: not enough rights to send text messages to the chat", channels.Rejected},
		{403, "Forbidden: bot was kicked from the group chat", channels.Rejected},
		{404, "Not Found", channels.Unauthorized},
		{404, "Not Found: method not found", channels.Rejected},
		{409, "Conflict: terminated by other long poll or webhook", channels.Temporary},
		{500, "Internal Server Error", channels.Temporary},
		{504, "Gateway Timeout", channels.Ambiguous},
	} {
		w.Fail(fake.Fault{Code: c.code, Text: c.text})
		_, err := tg.Send(channeltest.Bounded(t), out(ann, "x"))
		if err == nil || channels.KindOf(err) != c.kind {
			t.Errorf("%d %s: %v, want %v", c.code, c.text, err, c.kind)
		}
	}
	w.Fail(fake.Fault{Drop: true, After: true})
	if _, err := tg.Send(channeltest.Bounded(t), out(ann, "x")); channels.KindOf(err) != channels.Ambiguous {
		t.Errorf("connection cut: %v", err)
	}
	w.Fail(fake.Fault{Method: "getFile", Drop: true})
	if _, err := tg.Fetch(channeltest.Bounded(t), chat.Attachment{Source: "x"}); channels.KindOf(err) != channels.Temporary || err == nil {
		t.Errorf("a read that was cut: %v", err)
	}
	w.Fail(fake.Fault{Code: 403, Page: true})
	if _, err := tg.Send(channeltest.Bounded(t), out(ann, "x")); channels.KindOf(err) != channels.Temporary || !strings.Contains(err.Error(), "api_base") {
		t.Errorf("a proxy's page: %v", err)
	}
}

func TestEditKeepsButtons(t *testing.T) {
	w := newWorld(t, nil)
	tg := w.channel(t, channels.Deps{})
	ref, err := tg.Send(channeltest.Bounded(t), out(ann, "draft"))
	if err != nil {
		t.Fatal(err)
	}
	final := out(ann, "final **text**")
	final.Buttons = [][]chat.Button{{{Label: "Done", Data: "d"}}, {{Label: "Later", Data: "l"}}}
	w.Fail(fake.Fault{Method: "editMessageText", Formatted: true, Code: 400, Text: "Bad Request: can't parse entities: x"})
	if err := tg.Edit(channeltest.Bounded(t), ref, final); err != nil {
		t.Fatal(err)
	}
	m := w.Messages(ann)[0]
	want := [][]fake.Button{{{Text: "Done", Data: "d"}}, {{Text: "Later", Data: "l"}}}
	if diff := cmp.Diff(want, m.Keyboard); diff != "" || !strings.HasPrefix(m.Text, "final") {
		t.Errorf("%q %s", m.Text, diff)
	}
	if last := w.Requests("editMessageText"); last[len(last)-1].Params["parse_mode"] != "" {
		t.Error("the second try was not plain")
	}
}

func TestNotices(t *testing.T) {
	w := newWorld(t, nil)
	tg := w.channel(t, channels.Deps{})
	for _, notice := range []string{"", strings.Repeat("好", 200), strings.Repeat("好", 201), strings.Repeat("😀", 300)} {
		msg := out(ann, "ask")
		msg.Buttons = [][]chat.Button{{{Label: "x", Data: "d"}}}
		ref, err := tg.Send(channeltest.Bounded(t), msg)
		if err != nil {
			t.Fatal(err)
		}
		id, _ := strconv.Atoi(ref.ID)
		press, err := w.Press(ann, ann, id, "d")
		if err != nil {
			t.Fatal(err)
		}
		if err := tg.AnswerPress(channeltest.Bounded(t), at(ann), chat.Answer{Press: press, Notice: notice}); err != nil {
			t.Errorf("%.10q: %v", notice, err)
		}
		calls := w.Requests("answerCallbackQuery")
		if got := calls[len(calls)-1].Params["text"]; len([]rune(got)) > 200 || (notice == "") != (got == "") {
			t.Errorf("notice %.10q went as %d characters", notice, len([]rune(got)))
		}
	}
}

// drawn is a PNG of that size.
func drawn(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func up(kind chat.Kind, name, mime string, data []byte) channels.Upload {
	return channels.Upload{
		Attachment: chat.Attachment{Kind: kind, Name: name, MIME: mime, Size: int64(len(data))},
		Open:       func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
	}
}

// What goes as what, and what goes together.
func TestMediaKinds(t *testing.T) {
	dot := drawn(t, 8, 8)
	x := []byte("x")
	for name, c := range map[string]struct {
		files   []channels.Upload
		buttons bool
		want    string
	}{
		"photo and video share":      {[]channels.Upload{up(chat.Image, "a.png", "image/png", dot), up(chat.Video, "b.mp4", "video/mp4", x)}, false, "photo+video"},
		"documents among themselves": {[]channels.Upload{up(chat.Image, "a.png", "image/png", dot), up(chat.File, "a", "text/plain", x), up(chat.File, "b", "text/plain; charset=utf-8", x), up(chat.Audio, "c.mp3", "audio/mpeg", x), up(chat.Audio, "d.mp3", "audio/mpeg", x)}, false, "photo document+document audio+audio"},
		"singles":                    {[]channels.Upload{up(chat.Voice, "v.ogg", "audio/ogg", x), up(chat.Voice, "v.mp3", "audio/mpeg", x), up(chat.Voice, "v.wav", "audio/wav", x), up(chat.Image, "g.gif", "image/gif", x), up(chat.Sticker, "s.webp", "image/webp", x), up(chat.Video, "v.avi", "video/x-msvideo", x)}, false, "voice audio document animation document+document"},
		"buttons need a file alone":  {[]channels.Upload{up(chat.File, "a", "", x), up(chat.File, "b", "", x), up(chat.File, "c", "", x)}, true, "document+document document"},
		"too long for a photo":       {[]channels.Upload{up(chat.Image, "wide.png", "image/png", drawn(t, 2100, 10))}, false, "document"},
		"one bad picture of two":     {[]channels.Upload{up(chat.Image, "a.png", "image/png", dot), up(chat.Image, "b.png", "image/png", []byte("no picture"))}, false, "document+document"},
		"an unknown picture":         {[]channels.Upload{up(chat.Image, "a.heic", "image/heic", x)}, false, "document"},
		"no name":                    {[]channels.Upload{up(chat.File, "", "", x)}, false, "document"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			tg := w.channel(t, channels.Deps{})
			msg := out(ann, "caption")
			if c.buttons {
				msg.Buttons = [][]chat.Button{{{Label: "x", Data: "d"}}}
			}
			refs, err := tg.SendMedia(channeltest.Bounded(t), msg, c.files)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			shown := w.Messages(ann)
			for i, m := range shown {
				if i > 0 {
					got.WriteString(map[bool]string{true: "+", false: " "}[m.Album != "" && m.Album == shown[i-1].Album])
				}
				got.WriteString(m.Kind)
				if (m.Text == "caption") != (i == 0) || (len(m.Keyboard) > 0) != (c.buttons && i == len(shown)-1) {
					t.Errorf("message %d: text %q, keyboard %v", i, m.Text, m.Keyboard)
				}
				if refs[i].ID != strconv.Itoa(m.ID) {
					t.Errorf("ref %d is %+v, the message %d", i, refs[i], m.ID)
				}
			}
			if got.String() != c.want {
				t.Errorf("went as %q, want %q", got.String(), c.want)
			}
		})
	}
}

// What Telegram does not take as what it is, it gets as a document.
func TestMediaRefusedAsWhatItIs(t *testing.T) {
	for why, kind := range map[string]chat.Attachment{
		"VIDEO_FILE_INVALID": {Kind: chat.Video, MIME: "video/mp4"},
		"not enough rights to send voice notes to the chat": {Kind: chat.Voice, MIME: "audio/ogg"},
		"VOICE_MESSAGES_FORBIDDEN":                          {Kind: chat.Voice, MIME: "audio/ogg"},
		"not enough rights to send photos to the chat":      {Kind: chat.Image, MIME: "image/png"},
		"MEDIA_INVALID": {Kind: chat.Audio, MIME: "audio/mpeg"},
		"not enough rights to send animations to the chat":     {Kind: chat.Image, MIME: "image/gif"},
		"failed to send message #1: \"PHOTO_EXT_INVALID\"":     {Kind: chat.Image, MIME: "image/jpeg"},
		"IMAGE_PROCESS_FAILED":                                 {Kind: chat.Image, MIME: "image/webp"},
		"not enough rights to send music files: AUDIO_INVALID": {Kind: chat.Audio, MIME: "audio/mp4"},
	} {
		w := newWorld(t, nil)
		w.Fail(fake.Fault{Code: 400, Text: "Bad Request: " + why})
		_, err := w.channel(t, channels.Deps{}).SendMedia(channeltest.Bounded(t), out(ann, "c"), []channels.Upload{up(kind.Kind, "f", kind.MIME, []byte("x"))})
		if shown := w.Messages(ann); err != nil || len(shown) != 1 || shown[0].Kind != "document" || shown[0].Text != "c" {
			t.Errorf("%s: %v, %+v", why, err, shown)
		}
	}
}

func TestMediaLimits(t *testing.T) {
	w := newWorld(t, nil)
	tg := w.channel(t, channels.Deps{})
	const mega = 1 << 20
	big := up(chat.Image, "big.png", "image/png", append(drawn(t, 8, 8), make([]byte, 10*mega)...))
	if _, err := tg.SendMedia(channeltest.Bounded(t), out(ann, ""), []channels.Upload{big}); err != nil {
		t.Errorf("a picture over 10 MB: %v", err)
	}
	if shown := w.Messages(ann); len(shown) != 1 || shown[0].Kind != "document" {
		t.Errorf("the chat shows %d messages", len(shown))
	}
	small := up(chat.File, "a", "", []byte("x"))
	for text, kind := range map[string]channels.Kind{strings.Repeat("好", 1024): -1, strings.Repeat("好", 1025): channels.TooLong} {
		_, err := tg.SendMedia(channeltest.Bounded(t), out(bob, text), []channels.Upload{small})
		if (err == nil) != (kind == -1) || (err != nil && channels.KindOf(err) != kind) {
			t.Errorf("caption of %d: %v", len([]rune(text)), err)
		}
	}
	huge := up(chat.File, "huge", "", make([]byte, 50*mega+1))
	_, err := tg.SendMedia(channeltest.Bounded(t), out(bob, ""), []channels.Upload{small, huge})
	if channels.KindOf(err) != channels.TooLong {
		t.Errorf("50 MB and a byte: %v", err)
	}
	lost := up(chat.File, "lost", "", nil)
	lost.Open = func(context.Context) (io.ReadCloser, error) { return nil, fs.ErrNotExist }
	if _, err := tg.SendMedia(channeltest.Bounded(t), out(bob, ""), []channels.Upload{lost}); channels.KindOf(err) != channels.Rejected || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is gone: %v", err)
	}
}

func TestFetchTooBig(t *testing.T) {
	w := newWorld(t, nil)
	r := start(t, w.channel(t, channels.Deps{}))
	w.Say(fake.Said{From: ann, Files: []fake.File{{Name: "big.bin", Data: make([]byte, 20<<20+1)}}})
	_, err := r.Fetch(channeltest.Bounded(t), r.Next(t).Attachments[0])
	if channels.KindOf(err) != channels.TooLong {
		t.Errorf("20 MB and a byte: %v", err)
	}
}

package feishu

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/feishu"
)

func fileOf(kind chat.Kind, name, mime string, data []byte) channels.Upload {
	return channels.Upload{
		Attachment: chat.Attachment{Kind: kind, Name: name, MIME: mime, Size: int64(len(data))},
		Open:       func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
	}
}

// Every kind of file goes as what Feishu shows best, else as a file.
func TestShapes(t *testing.T) {
	w := newWorld(t, fake.Options{})
	f := w.channel(t, channels.Deps{})
	for _, c := range []struct {
		up   channels.Upload
		form string
	}{
		{fileOf(chat.Image, "a.png", "image/png", dot()), "image"},
		{fileOf(chat.Image, "a.png", "image/png", []byte("no picture")), "file"},
		{fileOf(chat.Image, "a.svg", "image/svg+xml", []byte("<svg/>")), "file"},
		{fileOf(chat.Image, "big.png", "image/png", append(dot(), make([]byte, maxImage)...)), "file"},
		{fileOf(chat.Voice, "voice.ogg", "audio/ogg; codecs=opus", []byte("OggS")), "audio"},
		{fileOf(chat.Audio, "song.opus", "", []byte("OggS")), "audio"},
		{fileOf(chat.Audio, "song.mp3", "audio/mpeg", []byte("ID3")), "file"},
		{fileOf(chat.Video, "v.mp4", "video/mp4", []byte("ftyp")), "media"},
		{fileOf(chat.Video, "v.webm", "video/webm", []byte("webm")), "file"},
		{fileOf(chat.File, "v.mp4", "video/mp4", []byte("ftyp")), "file"},
		{fileOf(chat.File, "报告 \"x\".pdf", "application/pdf", []byte("%PDF")), "file"},
		{fileOf(chat.File, "", "", []byte("x")), "file"},
		{fileOf(chat.File, "../../etc/passwd", "", []byte("x")), "file"},
	} {
		msg := outbound(at(ann), c.up.Name+string(c.up.Kind)+c.form, "")
		msg.ReplyTo = w.Say(fake.Said{From: ann, Text: "send it"})
		refs, err := f.SendMedia(channeltest.Bounded(t), msg, []channels.Upload{c.up})
		shown := w.Messages(at(ann).Chat)
		if err != nil || len(refs) != 1 {
			t.Fatalf("%+v: %v, %v", c.up.Attachment, refs, err)
		}
		m := shown[len(shown)-1]
		if m.ID != refs[0].ID || m.Type != c.form || int64(len(m.File.Data)) != c.up.Size || m.ReplyTo != msg.ReplyTo || strings.Contains(m.File.Name, "/") {
			t.Errorf("%+v went as %s %q", c.up.Attachment, m.Type, m.File.Name)
		}
	}
	two := []channels.Upload{fileOf(chat.File, "a.txt", "", []byte("a")), fileOf(chat.File, "b.txt", "", nil)}
	refs, err := f.SendMedia(channeltest.Bounded(t), outbound(at(bob), "two", ""), two)
	if channels.KindOf(err) != channels.Rejected || !strings.Contains(err.Error(), "234010") || len(refs) != 1 {
		t.Errorf("an empty file: %v, %v", refs, err)
	}
	large := fileOf(chat.File, "large", "", make([]byte, maxFile+1))
	if _, err := f.SendMedia(channeltest.Bounded(t), outbound(at(bob), "large", ""), []channels.Upload{large}); channels.KindOf(err) != channels.TooLong {
		t.Errorf("a file over the limit: %v", err)
	}
	gone := channels.Upload{Attachment: chat.Attachment{Name: "x"}, Open: func(context.Context) (io.ReadCloser, error) { return nil, fs.ErrNotExist }}
	if _, err := f.SendMedia(channeltest.Bounded(t), outbound(at(bob), "gone", ""), []channels.Upload{gone}); channels.KindOf(err) != channels.Rejected {
		t.Errorf("a file that is gone: %v", err)
	}
	short := fileOf(chat.File, "short", "", []byte("abc"))
	short.Size = 100 // the file has become shorter since
	if _, err := f.SendMedia(channeltest.Bounded(t), outbound(at(bob), "short", ""), []channels.Upload{short}); err == nil {
		t.Error("a file that is shorter than it says was sent")
	}
	if n := len(w.Messages(at(bob).Chat)); n != 1 {
		t.Errorf("the chat shows %d files", n)
	}
}

// An attachment can be fetched minutes later, by another process, and its
// Source leads nowhere but to the platform.
func TestFetch(t *testing.T) {
	w := newWorld(t, fake.Options{})
	r := start(t, w.channel(t, channels.Deps{}))
	voice := []byte("OggS voice")
	id := w.Say(fake.Said{From: ann, Files: []fake.File{{Kind: "audio", Data: voice}}})
	in := r.Next(t)
	if len(in.Attachments) != 1 || in.Attachments[0].Kind != chat.Voice || in.Attachments[0].Duration != 2*time.Second {
		t.Fatalf("got %+v", in)
	}
	later := w.channel(t, channels.Deps{})
	w.RevokeTokens()
	body, err := later.Fetch(channeltest.Bounded(t), in.Attachments[0])
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(body)
	if err != nil || !bytes.Equal(got, voice) {
		t.Errorf("%q, %v", got, err)
	}
	_ = body.Close()
	key := strings.Split(in.Attachments[0].Source, "/")[1]
	for _, source := range []string{
		"", "x", "om_x/../../y/file", "om_x/k/file?type=image", "https://example.org/om_x/k/file", id + "/" + key + "/image", id + "/other/file", "om_none/" + key + "/file",
	} {
		if _, err := later.Fetch(channeltest.Bounded(t), chat.Attachment{Source: source}); channels.KindOf(err) != channels.Rejected || err == nil {
			t.Errorf("%q: %v, want Rejected", source, err)
		}
	}
	w.Fail(fake.Fault{Op: "resource", Status: 502, Page: true})
	if _, err := later.Fetch(channeltest.Bounded(t), in.Attachments[0]); channels.KindOf(err) != channels.Temporary || err == nil {
		t.Errorf("a server that fails: %v", err)
	}
	w.Fail(fake.Fault{Op: "resource", Status: 200, Page: true})
	if body, err := later.Fetch(channeltest.Bounded(t), in.Attachments[0]); channels.KindOf(err) != channels.Temporary || err == nil {
		t.Errorf("the page of a proxy: %v, %v", body, err)
	}
}

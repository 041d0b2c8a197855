package qq

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"
	fake "magpie/internal/fakes/qq"
	"magpie/internal/kv"
)

func upOf(kind chat.Kind, name, mime string, data []byte) channels.Upload {
	return channels.Upload{
		Attachment: chat.Attachment{Kind: kind, Name: name, MIME: mime, Size: int64(len(data))},
		Open:       func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
	}
}

func dot(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 4, 4))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Every outbound kind, and what goes as a file because QQ would not show it.
func TestKindsOfFiles(t *testing.T) {
	w := newWorld(t, &fake.Options{Active: 1000})
	q := w.channel(t, channels.Deps{})
	mp4 := append([]byte("\x00\x00\x00\x18ftypmp42"), make([]byte, 100)...)
	for i, c := range []struct {
		up   channels.Upload
		want string
	}{
		{upOf(chat.Image, "a.png", "image/png", dot(t)), "image"},
		{upOf(chat.Image, "a.gif", "image/gif", []byte("GIF89a")), "image"},
		{upOf(chat.Image, "a.webp", "image/webp", []byte("RIFFxxxxWEBPVP8 ")), "image"},
		{upOf(chat.Image, "a.bmp", "image/bmp", []byte("BMxxxx")), "image"},
		{upOf(chat.Image, "a.svg", "image/svg+xml", []byte("<svg/>")), "file"},
		{upOf(chat.Image, "broken.png", "image/png", []byte("no picture")), "file"},
		{upOf(chat.Video, "v.mp4", "video/mp4", mp4), "video"},
		{upOf(chat.Video, "v.webm", "video/webm", []byte("\x1aE\xdf\xa3")), "file"},
		{upOf(chat.Voice, "v.silk", "application/octet-stream", []byte("\x02#!SILK_V3...")), "voice"},
		{upOf(chat.Voice, "v.ogg", "audio/ogg", []byte("OggS\x00xxxx")), "voice"},
		{upOf(chat.Voice, "v.mp3", "audio/mpeg", []byte("ID3xxxx")), "voice"},
		{upOf(chat.Voice, "v.wav", "audio/wav", []byte("RIFFxxxxWAVEfmt ")), "voice"},
		{upOf(chat.Voice, "odd.ogg", "audio/ogg", []byte("no voice")), "file"},
		{upOf(chat.Voice, "v.flac", "audio/flac", []byte("fLaC")), "file"},
		{upOf(chat.File, "报告.pdf", "application/pdf", []byte("%PDF-1.4")), "file"},
		{upOf(chat.File, "pic.png", "image/png", dot(t)), "file"},
		{upOf(chat.File, "../../etc/passwd", "", []byte("x")), "file"},
	} {
		refs, err := q.SendMedia(channeltest.Bounded(t), reminder(ann, fmt.Sprint("m", i), ""), []channels.Upload{c.up})
		if err != nil || len(refs) != 1 || refs[0].ID == "" {
			t.Errorf("%s: %v, %v", c.up.Name, refs, err)
			continue
		}
		shown := w.Messages(ann)
		f := shown[len(shown)-1].File
		if f.Kind != c.want || f.Kind == "file" && strings.Contains(f.Name, "/") {
			t.Errorf("%s came as %s %q, want %s", c.up.Name, f.Kind, f.Name, c.want)
		}
	}
}

// public is a place on the web for files, as OSS is.
func public(t *testing.T, works bool) func(context.Context, channels.Upload) (string, error) {
	files := map[string][]byte{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !works {
			http.Error(w, "gone", http.StatusNotFound)
			return
		}
		_, _ = w.Write(files[r.URL.Path])
	}))
	t.Cleanup(web.Close)
	return func(ctx context.Context, up channels.Upload) (string, error) {
		r, err := up.Open(ctx)
		if err != nil {
			return "", err
		}
		defer r.Close()
		data, err := io.ReadAll(r)
		files["/"+up.Name] = data
		return web.URL + "/" + up.Name, err
	}
}

// By its address where there is a public place, whole where there is none or
// where the platform cannot fetch it.
func TestUploadsByAddressAndWhole(t *testing.T) {
	data := dot(t)
	for name, c := range map[string]struct {
		public func(context.Context, channels.Upload) (string, error)
		upload string
		calls  int
	}{
		"no public place":      {nil, "", 1},
		"public place":         {public(t, true), "", 1},
		"oss demanded":         {public(t, true), uploadOSS, 1},
		"base64 demanded":      {public(t, false), uploadBase64, 1},
		"platform cannot":      {public(t, false), "", 2},
		"public place is down": {func(context.Context, channels.Upload) (string, error) { return "", errors.New("down") }, "", 1},
	} {
		w := newWorld(t, nil)
		q := w.channel(t, channels.Deps{Public: c.public}, func(cfg *Config) { cfg.Upload = c.upload })
		_, err := q.SendMedia(channeltest.Bounded(t), reminder(ann, "m", ""), []channels.Upload{upOf(chat.Image, "a.png", "image/png", data)})
		shown := w.Messages(ann)
		if err != nil || len(shown) != 1 || !bytes.Equal(shown[0].File.Data, data) || w.Calls("files") != c.calls {
			t.Errorf("%s: %v, %d uploads, shown %+v", name, err, w.Calls("files"), shown)
		}
	}
}

func TestFileLimit(t *testing.T) {
	w := newWorld(t, nil)
	q := w.channel(t, channels.Deps{})
	_, err := q.SendMedia(channeltest.Bounded(t), reminder(ann, "large", ""), []channels.Upload{upOf(chat.File, "f", "", make([]byte, maxFile+1))})
	if channels.KindOf(err) != channels.TooLong {
		t.Errorf("more than there may be: %v", err)
	}
	q.learnt.refused(asParts, nil)
	for size, want := range map[int]channels.Kind{10 << 20: channels.Temporary, maxWhole + 1: channels.TooLong} {
		_, err := q.SendMedia(channeltest.Bounded(t), reminder(ann, fmt.Sprint(size), ""), []channels.Upload{upOf(chat.File, "f", "", make([]byte, size))})
		if (err == nil) != (want == channels.Temporary) || err != nil && channels.KindOf(err) != want {
			t.Errorf("%d bytes in one call: %v", size, err)
		}
	}
	two := []channels.Upload{upOf(chat.File, "a", "", nil), upOf(chat.File, "b", "", nil)}
	if _, err := q.SendMedia(channeltest.Bounded(t), reminder(ann, "two", ""), two); channels.KindOf(err) != channels.Rejected || err == nil {
		t.Errorf("two files: %v", err)
	}
}

// A file that finds no place is named at the next contact, once, whatever
// dispatch tries in between.
func TestMissedFileIsNamed(t *testing.T) {
	w := newWorld(t, nil)
	r := start(t, w.channel(t, channels.Deps{}))
	w.Refuse(ann)
	heard(t, w, r, bob, "the event before is handled")
	up := []channels.Upload{upOf(chat.File, "report.pdf", "application/pdf", []byte("x"))}
	for _, id := range []string{"m", "m/1"} {
		if _, err := r.SendMedia(channeltest.Bounded(t), answering(ann, id, ""), up); channels.KindOf(err) != channels.Rejected || err == nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	if w.Calls("files") != 0 {
		t.Error("uploaded without a place for it")
	}
	heard(t, w, r, ann, "hi")
	shown, err := w.WaitMessages(channeltest.Bounded(t), ann, 1)
	if err != nil || shown[0].Text != "1 messages could not be delivered earlier:\n\n📎 report.pdf" {
		t.Errorf("%+v, %v", shown, err)
	}
}

// Inbound files come by an address of the platform, minutes later and after a
// restart; no other address is fetched.
func TestFetch(t *testing.T) {
	w := newWorld(t, nil)
	table := &kv.Memory{}
	r := start(t, w.channel(t, channels.Deps{Table: table}))
	w.Say(fake.Said{Chat: ann, Files: []fake.File{{Kind: "voice", Name: "v.amr", Data: []byte("RIFF"), Words: "你好"}}})
	a := r.Next(t).Attachments[0]
	if a.Kind != chat.Voice || a.Text != "你好" || a.MIME != "audio/wav" {
		t.Errorf("%+v", a)
	}
	later := w.channel(t, channels.Deps{Table: table})
	body, err := later.Fetch(channeltest.Bounded(t), a)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if data, err := io.ReadAll(body); err != nil || string(data) != "RIFF" {
		t.Errorf("%q, %v", data, err)
	}
	for _, source := range []string{
		"", "no-such-file", "file:///etc/passwd", "http://multimedia.nt.qq.com.cn/x", "https://example.org/x", "https://qq.com.evil.example/x",
		"https://evilqq.com/x", "https://127.0.0.1/x", "https://multimedia.nt.qq.com.cn:8443/x", "https://user@qq.com/x", "https://169.254.169.254/latest",
		strings.Replace(a.Source, "127.0.0.1", "127.0.0.2", 1),
	} {
		_, err := later.Fetch(channeltest.Bounded(t), chat.Attachment{Source: source})
		if channels.KindOf(err) != channels.Rejected || err == nil {
			t.Errorf("%q: %v", source, err)
		}
	}
	if _, err := later.Fetch(channeltest.Bounded(t), chat.Attachment{Source: w.url + "/download/999/x"}); channels.KindOf(err) != channels.Rejected || err == nil {
		t.Errorf("an expired address: %v", err)
	}
}

// A redirect leads nowhere that a first address may not.
func TestFetchFollowsOnlyThePlatform(t *testing.T) {
	target := ""
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/file":
			_, _ = io.WriteString(w, "bytes")
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		default:
			http.Redirect(w, r, target, http.StatusFound)
		}
	}))
	defer web.Close()
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the bot's own network was asked") }))
	defer inside.Close()
	q := plainQQ(t)
	q.cfg.APIBase = web.URL
	for to, works := range map[string]bool{"/file": true, inside.URL: false, "/loop": false, "file:///etc/passwd": false} {
		target = to
		body, err := q.Fetch(channeltest.Bounded(t), chat.Attachment{Source: web.URL + "/start"})
		if (err == nil) != works {
			t.Errorf("to %s: %v", to, err)
		}
		if err == nil {
			_ = body.Close()
		}
	}
	q.api.CloseIdle()
}

package dingtalk

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"magpie/channels"
	"magpie/channels/channeltest"
	"magpie/chat"

	fake "magpie/internal/fakes/dingtalk"
)

func upload(kind chat.Kind, name string, size int) channels.Upload {
	data := bytes.Repeat([]byte("d"), size)
	return channels.Upload{
		Attachment: chat.Attachment{Kind: kind, Name: name, Size: int64(size)},
		Open:       func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
	}
}

// Each kind is shown as itself where DingTalk can, else as a file.
func TestMediaKinds(t *testing.T) {
	w := newWorld(t, nil)
	ch := robotOf(t, w, channels.Deps{}).(channels.MediaSender)
	for _, c := range []struct {
		kind   chat.Kind
		name   string
		mime   string
		length time.Duration
		want   string
	}{
		{chat.Image, "a.PNG", "", 0, "image"},
		{chat.Image, "a", "image/jpeg", 0, "image"},
		{chat.Image, "a.webp", "", 0, "file"},
		{chat.Sticker, "a.gif", "", 0, "image"},
		{chat.Voice, "a.amr", "", 3 * time.Second, "audio"},
		{chat.Audio, "a.mp3", "", 3 * time.Second, "audio"},
		{chat.Voice, "a.amr", "", 0, "file"},
		{chat.Voice, "a.ogg", "", 3 * time.Second, "file"},
		{chat.Video, "a.mp4", "", 3 * time.Second, "video"},
		{chat.Video, "a.mp4", "", 0, "file"},
		{chat.File, "笔记.pdf", "", 0, "file"},
		{chat.File, "picture.png", "", 0, "file"},
		{chat.File, "Makefile", "", 0, "file"},
	} {
		for _, to := range []string{ann().Chat(), crowd().Chat()} {
			up := upload(c.kind, c.name, 100)
			up.MIME, up.Duration = c.mime, c.length
			refs, err := ch.SendMedia(channeltest.Bounded(t), outbound(to, ""), []channels.Upload{up})
			if err != nil || len(refs) != 1 {
				t.Fatalf("%+v: %v, %v", c, refs, err)
			}
			m := w.Messages(to)
			last := m[len(m)-1]
			if last.ID != refs[0].ID || last.Kind != c.want || len(last.File.Data) != 100 {
				t.Errorf("%+v: shown as %s, %d bytes", c, last.Kind, len(last.File.Data))
			}
			if c.want == "file" && last.File.Name != c.name {
				t.Errorf("%+v: is called %q", c, last.File.Name)
			}
		}
	}
}

// The limits that dispatch is told are those of DingTalk: a file of just that
// size is taken, one byte more is TooLong.
func TestMediaLimits(t *testing.T) {
	w := newWorld(t, &fake.Options{Forget: true})
	ch := robotOf(t, w, channels.Deps{})
	for kind, name := range map[chat.Kind]string{chat.Voice: "a.mp3", chat.File: "a.zip"} {
		most := int(ch.Limits().Media[kind])
		for extra, want := range []bool{true, false} {
			up := upload(kind, name, most+extra)
			up.Duration = 5 * time.Second
			_, err := ch.(channels.MediaSender).SendMedia(channeltest.Bounded(t), outbound(ann().Chat(), ""), []channels.Upload{up})
			if (err == nil) != want || !want && channels.KindOf(err) != channels.TooLong {
				t.Errorf("%s of %d bytes: %v", kind, most+extra, err)
			}
		}
	}
}

// A type that DingTalk does not take travels in an archive.
func TestZipped(t *testing.T) {
	w := newWorld(t, &fake.Options{StrictFiles: true})
	ch := robotOf(t, w, channels.Deps{}).(channels.MediaSender)
	if _, err := ch.SendMedia(channeltest.Bounded(t), outbound(ann().Chat(), ""), []channels.Upload{upload(chat.File, "数据.csv", 5000)}); err != nil {
		t.Fatal(err)
	}
	m := w.Messages(ann().Chat())
	if len(m) != 1 || m[0].File.Name != "数据.csv.zip" {
		t.Fatalf("the chat shows %+v", m)
	}
	z, err := zip.NewReader(bytes.NewReader(m[0].File.Data), int64(len(m[0].File.Data)))
	if err != nil || len(z.File) != 1 || z.File[0].Name != "数据.csv" || z.File[0].UncompressedSize64 != 5000 {
		t.Errorf("the archive holds %+v, %v", z.File, err)
	}
}

// What is refused as what it is goes as something less, and the next one of the
// kind at once: a voice of the wrong type as a file, a file of the wrong type in
// an archive. Refusals that are not the file's are not worked round.
func TestLesserFiles(t *testing.T) {
	w := newWorld(t, &fake.Options{StrictFiles: true})
	ch := robotOf(t, w, channels.Deps{}).(channels.MediaSender)
	send := func(up channels.Upload) (fake.Message, error) {
		up.Duration = 3 * time.Second
		_, err := ch.SendMedia(channeltest.Bounded(t), outbound(ann().Chat(), ""), []channels.Upload{up})
		m := w.Messages(ann().Chat())
		if err != nil || len(m) == 0 {
			return fake.Message{}, err
		}
		return m[len(m)-1], nil
	}
	for _, c := range []struct {
		up      channels.Upload
		kind    string
		name    string
		uploads int
	}{
		{upload(chat.Voice, "a.amr", 10), "audio", "a.amr", 1},
		{upload(chat.Voice, "a.mp3", 10), "file", "a.mp3.zip", 3},
		{upload(chat.Voice, "b.mp3", 10), "file", "b.mp3.zip", 2}, // remembered
		{upload(chat.Voice, "a.ogg", 10), "file", "a.ogg.zip", 3}, // cannot be uploaded as voice
		{upload(chat.File, "a.pptx", 10), "file", "a.pptx.zip", 2},
		{upload(chat.File, "a.docx", 10), "file", "a.docx", 1},
	} {
		before := w.Calls(fake.OpUpload)
		m, err := send(c.up)
		if err != nil || m.Kind != c.kind || m.File.Name != c.name || w.Calls(fake.OpUpload)-before != c.uploads {
			t.Errorf("%s: %v, shown as %s %+v after %d uploads, want %s %s after %d", c.up.Name, err, m.Kind, m.File, w.Calls(fake.OpUpload)-before, c.kind, c.name, c.uploads)
		}
	}
	for _, code := range []string{"staffId.notExisted", "invalidParameter.robotCode.auth", "chatbotId.notAllow.sendOTO"} {
		calls := w.Calls(fake.OpUpload)
		w.Fail(fake.Fault{Op: fake.OpPerson, Code: code})
		if _, err := send(upload(chat.File, "a.docx", 10)); channels.KindOf(err) != channels.Rejected || w.Calls(fake.OpUpload)-calls != 1 {
			t.Errorf("%s: %v after %d uploads", code, err, w.Calls(fake.OpUpload)-calls)
		}
	}
}

// A token that expires between upload and message costs neither.
func TestUploadWithStaleToken(t *testing.T) {
	w := newWorld(t, nil)
	ch := robotOf(t, w, channels.Deps{})
	if err := ch.(channels.Checker).Check(channeltest.Bounded(t)); err != nil {
		t.Fatal(err)
	}
	w.Expire()
	refs, err := ch.(channels.MediaSender).SendMedia(channeltest.Bounded(t), outbound(ann().Chat(), "see"), []channels.Upload{upload(chat.File, "a.pdf", 9)})
	if err != nil || len(refs) != 2 {
		t.Fatalf("%v, %v", refs, err)
	}
	if m := w.Messages(ann().Chat()); len(m) != 2 || m[0].Text != "see" || m[1].Kind != "file" {
		t.Errorf("the chat shows %+v", m)
	}
}

// Every inbound kind can be fetched, also later and by another process; a
// code that is over is an error for good.
func TestFetch(t *testing.T) {
	w := newWorld(t, nil)
	r := w.start(t, nil, nil)
	for _, f := range []fake.File{
		{Kind: "picture", Data: []byte("p")},
		{Kind: "audio", Data: []byte("a"), Transcript: "你好"},
		{Kind: "video", Data: []byte("v")},
		{Kind: "file", Name: "x.txt", Data: []byte("f")},
	} {
		w.Say(fake.Said{Chat: ann().Chat(), Files: []fake.File{f}})
		in := r.Next(t)
		if len(in.Attachments) != 1 || in.Attachments[0].Text != f.Transcript {
			t.Fatalf("%s: %+v", f.Kind, in)
		}
		w.Expire()
		body, err := base(robotOf(t, w, channels.Deps{})).Fetch(channeltest.Bounded(t), in.Attachments[0])
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(body)
		if err := errors.Join(err, body.Close()); err != nil || !bytes.Equal(data, f.Data) {
			t.Errorf("%s: %q, %v", f.Kind, data, err)
		}
	}
	for _, source := range []string{"", " ", "gone", "dingother01 code"} {
		if _, err := r.Fetch(channeltest.Bounded(t), chat.Attachment{Source: source}); channels.KindOf(err) != channels.Rejected || err == nil {
			t.Errorf("source %q: %v", source, err)
		}
	}
}

func TestFileURL(t *testing.T) {
	dt := lonely(t)
	for at, want := range map[string]string{
		"http://wukong.oss-cn-x.aliyuncs.com/f?Signature=a%2Bb": "https://wukong.oss-cn-x.aliyuncs.com/f?Signature=a%2Bb",
		"https://down.dingtalk.com/f":                           "https://down.dingtalk.com/f",
		"ftp://x/f":                                             "", "file:///etc/passwd": "", "": "", "/f": "", "https://me:pw@x/f": "",
	} {
		if got, err := dt.fileURL(at); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", at, got, err)
		}
	}
}

// A file server that sends elsewhere is not followed.
func TestFetchRedirect(t *testing.T) {
	reached := false
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "accessToken"):
			answerToken(w)
		case strings.HasSuffix(r.URL.Path, "download"):
			_, _ = w.Write([]byte(`{"downloadUrl":"http://` + r.Host + `/file"}`))
		case r.URL.Path == "/file":
			http.Redirect(w, r, "/inner", http.StatusFound)
		default:
			reached = true
		}
	}))
	defer web.Close()
	cfg := Config{ClientID: "c", ClientSecret: "s", APIBase: web.URL, OAPIBase: web.URL}
	if err := cfg.complete(); err != nil {
		t.Fatal(err)
	}
	dt := newDingTalk(instance, cfg, channels.Deps{}, quick())
	defer dt.api.CloseIdle()
	if _, err := dt.Fetch(channeltest.Bounded(t), chat.Attachment{Source: "c code"}); err == nil || reached {
		t.Errorf("the redirect was followed: %v", err)
	}
}

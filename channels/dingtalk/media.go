package dingtalk

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"magpie/channels"
	"magpie/channels/rest"
	"magpie/chat"
)

// The types of uploads and of the messages that show them.
const (
	asImage = "image"
	asVoice = "voice"
	asVideo = "video"
	asFile  = "file"
)

// uploadTypes are the file types that DingTalk takes by kind
// (https://open.dingtalk.com/document/development/upload-media-files, page of 2026-06).
var uploadTypes = map[string][]string{
	asImage: {"jpg", "jpeg", "gif", "png", "bmp"},
	asVoice: {"amr", "ogg", "mp3", "wav"},
	asVideo: {"mp4"},
}

// file is a file on its way out.
type file struct {
	channels.Upload
	as  string
	ext string
}

// shape decides as what a file is shown. Voice and video need a length, which
// only the one who made the file knows; without one they go as files.
func shape(up channels.Upload) file {
	f := file{Upload: up, as: asFile, ext: strings.ToLower(strings.TrimPrefix(path.Ext(up.Name), "."))}
	if f.Name == "" {
		f.Name = "file"
	}
	if f.ext == "" {
		if _, sub, ok := strings.Cut(f.MIME, "/"); ok && slices.Contains([]string{"jpeg", "png", "gif", "bmp", "mp4", "amr", "wav", "pdf", "zip"}, sub) {
			f.ext = sub
			f.Name += "." + sub
		}
	}
	as := map[chat.Kind]string{chat.Image: asImage, chat.Sticker: asImage, chat.Voice: asVoice, chat.Audio: asVoice, chat.Video: asVideo}[f.Kind]
	if !slices.Contains(uploadTypes[as], f.ext) || (as != asImage && f.Duration < time.Second) {
		return f
	}
	f.as = as
	return f
}

// SendMedia sends one file; texts go as messages of their own, for DingTalk's
// files have no captions.
func (t *DingTalk) SendMedia(ctx context.Context, msg chat.Outbound, ups []channels.Upload) ([]chat.MessageRef, error) {
	to, err := parseTarget(msg.Addr.Chat)
	if err != nil {
		return nil, t.api.Fail("send", channels.Rejected, err)
	}
	var refs []chat.MessageRef
	for i, up := range ups {
		f := t.types.known(shape(up))
		show, err := t.bring(ctx, to, msg, &f)
		if err != nil {
			return refs, err
		}
		if i == 0 && msg.Text != "" { // only now: the file is sure to follow
			ref, err := t.Send(ctx, msg)
			if err != nil {
				return nil, err
			}
			refs = append(refs, ref)
		}
		id, err := show()
		for err != nil && t.types.lesser(ctx, &f, err) {
			t.deps.Log.Info("dingtalk does not show a file as that, it goes otherwise", "as", f.as, "type", f.ext, "err", err)
			if show, err = t.bring(ctx, to, msg, &f); err == nil {
				id, err = show()
			}
		}
		if err != nil {
			return refs, err
		}
		t.sent.keep(ctx, to.chat, sentMessage{ID: id})
		refs = append(refs, t.ref(to.chat, id))
		if t.cards != nil {
			t.cards.settle(ctx, to.chat, "📎 "+up.Name)
		}
	}
	if msg.Final {
		t.worked(ctx, to.chat, time.Time{})
	}
	return refs, nil
}

// bring uploads a file, as something lesser when DingTalk does not take it as
// what it is; show puts it into the chat and returns the message's id.
func (t *DingTalk) bring(ctx context.Context, to target, msg chat.Outbound, f *file) (show func() (string, error), err error) {
	s, ok, err := t.sessions.get(ctx, to.chat)
	if !to.reachable() && (err != nil || !ok || f.as != asImage) {
		why := errors.New("people outside the organisation can be sent texts and pictures only, for a while after a message of theirs")
		return nil, t.api.Fail("send", channels.Rejected, errors.Join(why, err))
	}
	id, err := t.upload(ctx, *f)
	for err != nil && to.reachable() && t.types.lesser(ctx, f, err) {
		id, err = t.upload(ctx, *f)
	}
	if err != nil {
		return nil, t.wrap("media/upload", err)
	}
	if !to.reachable() {
		return func() (string, error) { return t.pictureBySession(ctx, s, msg, id) }, nil
	}
	key, param, err := t.fileMessage(ctx, *f, id)
	if err != nil {
		return nil, err
	}
	return func() (string, error) { return t.robot(ctx, to, key, param) }, nil
}

// wrap makes errors of our own side *channels.Error.
func (t *DingTalk) wrap(op string, err error) error {
	var ce *channels.Error
	if errors.As(err, &ce) {
		return err
	}
	return t.api.Fail(op, channels.Temporary, err)
}

func (t *DingTalk) fileMessage(ctx context.Context, f file, id string) (key string, param map[string]string, err error) {
	switch f.as {
	case asImage:
		return "sampleImageMsg", map[string]string{"photoURL": id}, nil
	case asVoice:
		return "sampleAudio", map[string]string{"mediaId": id, "duration": strconv.FormatInt(f.Duration.Milliseconds(), 10)}, nil
	case asVideo:
		cover, err := t.upload(ctx, blank())
		if err != nil {
			return "", nil, err
		}
		return "sampleVideo", map[string]string{
			"videoMediaId": id, "videoType": f.ext, "picMediaId": cover, "duration": strconv.Itoa(int(f.Duration.Seconds())),
		}, nil
	}
	return "sampleFile", map[string]string{"mediaId": id, "fileName": f.Name, "fileType": cmp.Or(f.ext, "txt")}, nil
}

// blank is the cover of a video: DingTalk demands one, and taking a picture
// out of the video is beyond this program.
func blank() file {
	img := image.NewPaletted(image.Rect(0, 0, 320, 180), color.Palette{color.Gray{Y: 32}})
	var b bytes.Buffer
	_ = png.Encode(&b, img) // a Buffer takes everything
	return file{as: asImage, ext: "png", Upload: channels.Upload{
		Attachment: chat.Attachment{Kind: chat.Image, Name: "cover.png", MIME: "image/png", Size: int64(b.Len())},
		Open: func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(b.Bytes())), nil
		},
	}}
}

// pictureBySession shows a picture to somebody whom only the session webhook
// reaches.
func (t *DingTalk) pictureBySession(ctx context.Context, s session, msg chat.Outbound, id string) (string, error) {
	body := map[string]any{"msgtype": "markdown", "markdown": map[string]string{"title": title(msg.Text), "text": "![](" + id + ")"}}
	err := t.api.do(ctx, call{op: "sendBySession", url: s.URL, in: body, sends: true, bare: true}, nil)
	return bySession + msg.ID, err
}

// upload puts a file on DingTalk's server and returns its media id.
func (t *DingTalk) upload(ctx context.Context, f file) (string, error) {
	const op = "media/upload"
	form := &rest.Form{Values: [][2]string{{"type", f.as}}, Field: "media", Name: f.Name, Type: f.MIME, File: f.Upload}
	at := t.cfg.OAPIBase + "/media/upload?" + url.Values{"type": {f.as}}.Encode()
	var got struct {
		ID string `json:"media_id"`
	}
	if err := t.api.do(ctx, call{op: op, url: at, form: form}, &got); err != nil {
		return "", err
	}
	if got.ID == "" {
		return "", t.api.Fail(op, channels.Temporary, errors.New("answer without a media_id"))
	}
	return got.ID, nil
}

// zipped is the same file in an archive. It fits in memory: files are at most
// 20 MB.
func zipped(ctx context.Context, f file) (file, error) {
	r, err := f.Open(ctx)
	if err != nil {
		return f, fmt.Errorf("read the file: %w", err)
	}
	defer r.Close()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	in, err := w.Create(f.Name)
	if err == nil {
		_, err = io.Copy(in, io.LimitReader(r, 20*megabyte+1))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return f, fmt.Errorf("pack the file: %w", err)
	}
	f.Name, f.ext, f.MIME, f.Size = f.Name+".zip", "zip", "application/zip", int64(b.Len())
	f.Open = func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil }
	return f, nil
}

// Fetch gets the bytes of an inbound file: DingTalk exchanges the download
// code for an address that is good for a short time.
func (t *DingTalk) Fetch(ctx context.Context, a chat.Attachment) (io.ReadCloser, error) {
	const op = "messageFiles/download"
	robot, code, ok := strings.Cut(a.Source, " ")
	if !ok || robot == "" {
		robot, code = t.cfg.RobotCode, strings.TrimSpace(a.Source)
	}
	var got struct {
		URL string `json:"downloadUrl"`
	}
	if err := t.api.post(ctx, op, "/v1.0/robot/messageFiles/download", map[string]string{"downloadCode": code, "robotCode": robot}, &got); err != nil {
		return nil, err
	}
	at, err := t.fileURL(got.URL)
	if err != nil {
		return nil, t.api.Fail(op, channels.Rejected, err)
	}
	return t.api.Open(ctx, rest.Download{Op: op, URL: at, Bare: true})
}

// fileURL is the address of a file over TLS; DingTalk names some with http.
// The configured servers, which may be of one's own, are taken as they are.
func (t *DingTalk) fileURL(s string) (string, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.User != nil:
		return "", errors.New("the answer is no address")
	case t.api.trusted(s):
		return s, nil
	case u.Scheme == "http":
		u.Scheme = "https"
	case u.Scheme != "https":
		return "", fmt.Errorf("an address with the scheme %q is not followed", u.Scheme)
	}
	return u.String(), nil
}

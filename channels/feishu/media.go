package feishu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"magpie/channels"
	"magpie/channels/rest"
	"magpie/chat"
)

// Sizes of files in bytes (im/v1/image/create, im/v1/file/create, read
// November 2026).
const (
	maxImage = 10 << 20
	maxFile  = 30 << 20
)

// imageTypes are the pictures that im/v1/image/create takes.
var imageTypes = []string{"image/jpeg", "image/png", "image/webp", "image/gif", "image/bmp", "image/x-icon", "image/tiff", "image/heic"}

// fileTypes are the names that im/v1/file/create has for files, by their
// ending; others are "stream".
var fileTypes = map[string]string{
	".mp4": "mp4", ".pdf": "pdf", ".doc": "doc", ".docx": "doc", ".xls": "xls", ".xlsx": "xls", ".ppt": "ppt", ".pptx": "ppt", ".opus": "opus",
}

// shape is how a file goes: what it is uploaded as and what message it makes.
type shape struct {
	form string // msg_type: image, audio, media, file
	kind string // file_type of the upload
}

// shapeOf is how a file is best shown. What Feishu would not play goes as a
// file.
func shapeOf(a chat.Attachment) shape {
	mediaType, _, _ := strings.Cut(strings.ToLower(a.MIME), ";")
	ending := strings.ToLower(path.Ext(a.Name))
	sound := a.Kind == chat.Voice || a.Kind == chat.Audio
	switch {
	case a.Kind == chat.Image && a.Size <= maxImage && slices.Contains(imageTypes, mediaType):
		return shape{form: "image"}
	case sound && (mediaType == "audio/opus" || ending == ".opus" || a.Kind == chat.Voice && mediaType == "audio/ogg"):
		return shape{"audio", "opus"}
	case a.Kind == chat.Video && (mediaType == "video/mp4" || ending == ".mp4"):
		return shape{"media", "mp4"}
	}
	// Opus and mp4 uploads are tied to their own types of message (230055).
	if kind, ok := fileTypes[ending]; ok && kind != "opus" && kind != "mp4" {
		return shape{"file", kind}
	}
	return shape{"file", "stream"}
}

// SendMedia sends files, each as a message of its own; Feishu has no captions
// (Limits.Caption is 0). When it fails half-way the refs of what was sent come
// with the error.
func (f *Feishu) SendMedia(ctx context.Context, msg chat.Outbound, files []channels.Upload) ([]chat.MessageRef, error) {
	var refs []chat.MessageRef
	for i, up := range files {
		part := msg
		part.ID = fmt.Sprintf("%s/file%d", msg.ID, i)
		if i > 0 {
			part.ReplyTo = ""
		}
		id, err := f.sendFile(ctx, part, up)
		if err != nil {
			return refs, err
		}
		refs = append(refs, chat.MessageRef{Channel: f.name, Chat: msg.Addr.Chat, ID: id})
	}
	f.answered(ctx, msg.Addr)
	return refs, nil
}

// sendFile sends one file; as a mere file when Feishu does not take it as what
// it is.
func (f *Feishu) sendFile(ctx context.Context, msg chat.Outbound, up channels.Upload) (string, error) {
	s := shapeOf(up.Attachment)
	key, err := f.upload(ctx, s, up)
	if s.form != "file" && (refused(err, codeNoImage, codeResolution) || s.form == "image" && channels.KindOf(err) == channels.TooLong && err != nil) {
		f.deps.Log.Info("feishu refused a file as what it is, sending it as a file", "err", err)
		s = shape{"file", "stream"}
		key, err = f.upload(ctx, s, up)
	}
	if err != nil {
		return "", err
	}
	id, err := f.post(ctx, msg, s.form, keyContent(s, key))
	if refused(err, codeUploadKind) && s.form != "image" {
		s = shape{"file", "stream"}
		if key, err = f.upload(ctx, s, up); err == nil {
			id, err = f.post(ctx, msg, s.form, keyContent(s, key))
		}
	}
	return id, err
}

func keyContent(s shape, key string) string {
	if s.form == "image" {
		return mustEncode(map[string]string{"image_key": key})
	}
	return mustEncode(map[string]string{"file_key": key})
}

func (f *Feishu) upload(ctx context.Context, s shape, up channels.Upload) (string, error) {
	name := path.Base("/" + up.Name)
	if name == "/" {
		name = s.form
	}
	r := request{op: "image/create", method: http.MethodPost, path: "/open-apis/im/v1/images"}
	form := &rest.Form{File: up, Field: "image", Name: name, Values: [][2]string{{"image_type", "message"}}}
	if s.form != "image" {
		r.op, r.path = "file/create", "/open-apis/im/v1/files"
		form.Field, form.Values = "file", [][2]string{{"file_type", s.kind}, {"file_name", name}}
		if ms := up.Duration.Milliseconds(); ms > 0 && s.form != "file" {
			form.Values = append(form.Values, [2]string{"duration", strconv.FormatInt(ms, 10)})
		}
	}
	r.form = form
	raw, err := f.api.call(ctx, r)
	if err != nil {
		return "", err
	}
	var made struct {
		Image string `json:"image_key"`
		File  string `json:"file_key"`
	}
	if err := json.Unmarshal(raw, &made); err != nil || made.Image+made.File == "" {
		return "", f.api.Fail(r.op, channels.Temporary, errors.New("answer without a key"))
	}
	return made.Image + made.File, nil
}

// source names an inbound file: Attachment.Source.
type source struct {
	message, key string
	image        bool
}

var sourceShape = regexp.MustCompile(`^(om_[\w-]+)/([\w.-]+)/(image|file)$`)

func (s source) String() string {
	kind := "file"
	if s.image {
		kind = "image"
	}
	return s.message + "/" + s.key + "/" + kind
}

// Fetch opens an inbound file. The context must last until the file is read.
func (f *Feishu) Fetch(ctx context.Context, a chat.Attachment) (io.ReadCloser, error) {
	const op = "message/resource"
	m := sourceShape.FindStringSubmatch(a.Source)
	if m == nil {
		return nil, f.api.Fail(op, channels.Rejected, fmt.Errorf("%q is no source of a file", a.Source))
	}
	body, err := f.api.download(ctx, op, messagePath(m[1])+"/resources/"+url.PathEscape(m[2]), url.Values{"type": {m[3]}})
	if refused(err, codeNoFiles) {
		return nil, f.api.Fail(op, channels.Rejected, fmt.Errorf("feishu gives out no files of cards and forwarded messages: %w", err))
	}
	return body, err
}

// codeNoFiles: a card or a forwarded message (im-v1/message/get-2, read November
// 2026).
const codeNoFiles = 234043

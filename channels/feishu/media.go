package feishu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"magpie/channels"
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
	form := &form{up: up, field: "image", name: name, values: [][2]string{{"image_type", "message"}}}
	if s.form != "image" {
		r.op, r.path = "file/create", "/open-apis/im/v1/files"
		form.field, form.values = "file", [][2]string{{"file_type", s.kind}, {"file_name", name}}
		if ms := up.Duration.Milliseconds(); ms > 0 && s.form != "file" {
			form.values = append(form.values, [2]string{"duration", strconv.FormatInt(ms, 10)})
		}
	}
	if err := form.write(); err != nil {
		return "", f.api.fail(r.op, channels.Rejected, err)
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
		return "", f.api.fail(r.op, channels.Temporary, errors.New("answer without a key"))
	}
	return made.Image + made.File, nil
}

// form is a multipart body around a file that is streamed.
type form struct {
	up          channels.Upload
	field, name string
	values      [][2]string

	head, tail []byte
	boundary   string
}

// write makes what stands before and after the file.
func (m *form) write() error {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, v := range m.values {
		if err := w.WriteField(v[0], v[1]); err != nil {
			return err
		}
	}
	if _, err := w.CreateFormFile(m.field, m.name); err != nil {
		return err
	}
	head := b.Len()
	if err := w.Close(); err != nil {
		return err
	}
	m.head, m.tail, m.boundary = b.Bytes()[:head], b.Bytes()[head:], w.Boundary()
	return nil
}

func (m *form) contentType() string {
	return mime.FormatMediaType("multipart/form-data", map[string]string{"boundary": m.boundary})
}

// size is the length of the body, 0 when the file's is not known.
func (m *form) size() int64 {
	if m.up.Size <= 0 {
		return 0
	}
	return int64(len(m.head)) + m.up.Size + int64(len(m.tail))
}

// open begins the body anew.
func (m *form) open(ctx context.Context) (*body, error) {
	file, err := m.up.Open(ctx)
	if err != nil {
		return nil, err
	}
	b := &body{file: file}
	b.all = io.MultiReader(bytes.NewReader(m.head), watched{b}, bytes.NewReader(m.tail))
	return b, nil
}

// body is read by the connection, which may go on for a moment after the call
// is over: from finish on it gives nothing.
type body struct {
	all io.Reader

	mu     sync.Mutex
	file   io.ReadCloser // nil = over
	broken error
}

func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.file == nil {
		return 0, errOver
	}
	return b.all.Read(p)
}

var errOver = errors.New("the call is over")

// finish closes the file, and returns what was wrong with the file itself.
func (b *body) finish() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.file != nil {
		_ = b.file.Close() // it was only read
		b.file = nil
	}
	return b.broken
}

// watched tells a file's own errors from those of the connection.
type watched struct{ *body }

func (w watched) Read(p []byte) (int, error) {
	n, err := w.file.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		w.broken = err
	}
	return n, err
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
		return nil, f.api.fail(op, channels.Rejected, fmt.Errorf("%q is no source of a file", a.Source))
	}
	body, err := f.api.download(ctx, op, messagePath(m[1])+"/resources/"+url.PathEscape(m[2]), url.Values{"type": {m[3]}})
	if refused(err, codeNoFiles) {
		return nil, f.api.fail(op, channels.Rejected, fmt.Errorf("feishu gives out no files of cards and forwarded messages: %w", err))
	}
	return body, err
}

// codeNoFiles: a card or a forwarded message (im-v1/message/get-2, read November
// 2026).
const codeNoFiles = 234043

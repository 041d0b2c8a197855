package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"magpie/channels"
	"magpie/channels/render"
	"magpie/chat"
)

// maxPhoto is the largest photo in bytes; larger pictures go as documents
// (https://core.telegram.org/bots/api#sending-files, read November 2026).
const maxPhoto = 10 << 20

// file is one upload with the kind under which Telegram gets it.
type file struct {
	channels.Upload
	kind  string // photo, video, animation, audio, voice, document
	field string // name of the form's part
}

// methodOf is the method that sends one file of a kind.
var methodOf = map[string]string{
	"photo": "sendPhoto", "video": "sendVideo", "animation": "sendAnimation",
	"audio": "sendAudio", "voice": "sendVoice", "document": "sendDocument",
}

// telegramKind is how a file is best shown. What Telegram would not play goes
// as a document.
func telegramKind(a chat.Attachment) string {
	mime, _, _ := strings.Cut(strings.ToLower(a.MIME), ";")
	small := a.Size <= maxPhoto
	switch {
	case mime == "image/gif" && a.Kind != chat.File:
		return "animation"
	case a.Kind == chat.Image && small && slices.Contains([]string{"image/jpeg", "image/png", "image/webp"}, mime):
		return "photo"
	case a.Kind == chat.Voice && (mime == "audio/ogg" || mime == "audio/opus"):
		return "voice"
	case (a.Kind == chat.Voice || a.Kind == chat.Audio) && slices.Contains([]string{"audio/mpeg", "audio/mp4", "audio/x-m4a", "audio/m4a", "audio/aac"}, mime):
		return "audio"
	case a.Kind == chat.Video && mime == "video/mp4":
		return "video"
	}
	return "document"
}

// albumOf is the kind of album a file can be in; "" means none.
func albumOf(kind string) string {
	switch kind {
	case "photo", "video":
		return "visual"
	case "document", "audio":
		return kind
	}
	return ""
}

// SendMedia sends files, together as far as Telegram lets them be. When it
// fails half-way the refs of what was sent come with the error.
func (t *Telegram) SendMedia(ctx context.Context, msg chat.Outbound, ups []channels.Upload) ([]chat.MessageRef, error) {
	var refs []chat.MessageRef
	groups := grouped(ups, len(msg.Buttons) > 0)
	for i, g := range groups {
		part := chat.Outbound{Meta: msg.Meta}
		if i == 0 {
			part.Text, part.ReplyTo = msg.Text, msg.ReplyTo
		}
		if i == len(groups)-1 {
			part.Buttons = msg.Buttons
		}
		sent, err := t.sendGroup(ctx, part, g)
		refs = append(refs, sent...)
		if err != nil {
			return refs, err
		}
	}
	return refs, nil
}

// grouped makes albums of neighbours that may share one. An album cannot have
// buttons, so the file that gets them stays alone.
func grouped(ups []channels.Upload, buttons bool) [][]*file {
	var groups [][]*file
	for i, up := range ups {
		f := &file{Upload: up, kind: telegramKind(up.Attachment)}
		alone := buttons && i == len(ups)-1
		if n := len(groups) - 1; n >= 0 && !alone {
			last := groups[n]
			if a := albumOf(f.kind); a != "" && a == albumOf(last[0].kind) && len(last) < albumFull {
				groups[n] = append(last, f)
				continue
			}
		}
		groups = append(groups, []*file{f})
	}
	return groups
}

// sendGroup sends one file or one album; as documents when Telegram does not
// take a picture, video or voice as what it is.
func (t *Telegram) sendGroup(ctx context.Context, msg chat.Outbound, files []*file) ([]chat.MessageRef, error) {
	refs, err := t.tryGroup(ctx, msg, files)
	// PHOTO_INVALID_DIMENSIONS, VIDEO_FILE_INVALID, VOICE_MESSAGES_FORBIDDEN, or no right to send just that.
	if files[0].kind == "document" || !said(err, "photo", "image_process_failed", "video", "animation", "audio", "voice", "media_invalid", "media_empty") {
		return refs, err
	}
	t.deps.Log.Info("telegram refused a file as what it is, sending it as a document", "err", err)
	for _, f := range files {
		f.kind = "document"
	}
	return t.tryGroup(ctx, msg, files)
}

func (t *Telegram) tryGroup(ctx context.Context, msg chat.Outbound, files []*file) ([]chat.MessageRef, error) {
	refs, err := t.postFiles(ctx, msg, files, render.TelegramHTML(msg.Text), tgbotapi.ModeHTML)
	if badMarkup(err) {
		refs, err = t.postFiles(ctx, msg, files, render.Plain(msg.Text), "")
	}
	return refs, err
}

// item is an InputMedia of an album.
type item struct {
	Type    string `json:"type"`
	Media   string `json:"media"`
	Caption string `json:"caption,omitempty"`
	Mode    string `json:"parse_mode,omitempty"`
}

func (t *Telegram) postFiles(ctx context.Context, msg chat.Outbound, files []*file, caption, mode string) ([]chat.MessageRef, error) {
	method := methodOf[files[0].kind]
	p, err := envelope(msg.Addr, msg)
	if err != nil {
		return nil, t.api.Fail(method, channels.Rejected, err)
	}
	if caption == "" {
		mode = ""
	}
	if len(files) == 1 {
		files[0].field = files[0].kind
		p.AddNonEmpty("caption", caption)
		p.AddNonEmpty("parse_mode", mode)
	} else {
		method = "sendMediaGroup"
		var items []item
		for i, f := range files {
			f.field = fmt.Sprintf("file%d", i)
			items = append(items, item{Type: f.kind, Media: "attach://" + f.field})
		}
		items[0].Caption, items[0].Mode = caption, mode
		if err := p.AddInterface("media", items); err != nil {
			return nil, t.api.Fail(method, channels.Rejected, err)
		}
	}
	raw, err := t.post(ctx, method, p, files...)
	if err != nil {
		return nil, err
	}
	return t.refs(msg.Addr.Chat, method, raw)
}

// source hands a file to the SDK. It holds the call's context because the
// SDK's interface takes none.
type source struct {
	ctx  context.Context
	file *file

	mu   sync.Mutex
	r    io.ReadCloser
	over bool
}

var _ tgbotapi.RequestFileData = (*source)(nil)

var errOver = errors.New("the call is over")

// NeedsUpload implements tgbotapi.RequestFileData.
func (s *source) NeedsUpload() bool { return true }

// SendData implements tgbotapi.RequestFileData; it is not used for uploads.
func (s *source) SendData() string { return "" }

// UploadData implements tgbotapi.RequestFileData.
func (s *source) UploadData() (string, io.Reader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return "", nil, errOver
	}
	r, err := s.file.Open(s.ctx)
	if err != nil {
		return "", nil, err
	}
	s.r = r
	name := path.Base("/" + s.file.Name)
	if name == "/" {
		name = s.file.kind
	}
	return name, s, nil
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.r == nil {
		return 0, errOver
	}
	return s.r.Read(p)
}

// finish closes the file whatever became of the call.
func (s *source) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if s.r != nil {
		_ = s.r.Close() // it was only read
	}
}

// Fetch opens an inbound file. The context must last until the file is read.
func (t *Telegram) Fetch(ctx context.Context, a chat.Attachment) (io.ReadCloser, error) {
	raw, err := t.api.call(ctx, "getFile", tgbotapi.Params{"file_id": a.Source})
	if err != nil {
		return nil, err
	}
	var f struct {
		Path string `json:"file_path"`
	}
	if err := json.Unmarshal(raw, &f); err != nil || f.Path == "" {
		return nil, t.api.Fail("getFile", channels.Temporary, errors.New("answer without a path"))
	}
	if path.IsAbs(f.Path) || filepath.IsAbs(f.Path) {
		return t.openLocal(f.Path)
	}
	return t.api.download(ctx, f.Path)
}

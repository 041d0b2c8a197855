package qq

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/tencent-connect/botgo/dto"

	"magpie/channels"
	"magpie/channels/rest"
	"magpie/chat"
)

// Kinds of files (bot.q.qq.com/wiki/develop/api-v2/server-inter/message/send-receive/rich-media.html,
// and what the vendor's own connector sends as it is: sliverp/qqbot 1.7,
// src/utils/audio-convert.ts; read November 2026).
const (
	fileImage = 1 // png, jpg, gif, webp, bmp
	fileVideo = 2 // mp4
	fileVoice = 3 // silk, mp3, wav, ogg
	fileOther = 4
)

const (
	// maxImage, maxVoice and maxFile (also of videos) are the largest files in
	// bytes (the vendor's connector, src/utils/file-utils.ts, April 2026).
	maxImage = 30 << 20
	maxVoice = 20 << 20
	maxFile  = 100 << 20
	// maxWhole is the largest file that goes in one call: a request of 32 MB is
	// refused with 413, and base64 makes a third more of it.
	maxWhole = 20 << 20
	// partsFrom is from which size on a file goes in parts (the connector's
	// bound of what is large).
	partsFrom = 5 << 20
)

// fileType is as what a file is taken; what QQ would not show or play goes as
// a file.
func fileType(a chat.Attachment) int {
	kind, _, _ := strings.Cut(strings.ToLower(a.MIME), ";")
	as := func(kinds ...string) bool { return slices.Contains(kinds, strings.TrimSpace(kind)) }
	switch {
	case a.Kind == chat.Image && as("image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp"):
		return fileImage
	case a.Kind == chat.Video && as("video/mp4"):
		return fileVideo
	case a.Kind == chat.Voice && (as("audio/silk", "audio/x-silk", "audio/mpeg", "audio/mp3", "audio/wav", "audio/x-wav", "audio/wave", "audio/ogg", "audio/opus") ||
		strings.HasSuffix(strings.ToLower(a.Name), ".silk")):
		return fileVoice
	}
	return fileOther
}

// upload is the body of a call that brings a file.
type upload struct {
	Type int    `json:"file_type"`
	URL  string `json:"url,omitempty"`
	Data string `json:"file_data,omitempty"` // base64
	Name string `json:"file_name,omitempty"` // type 4 only
	Send bool   `json:"srv_send_msg"`        // true would cost an active message
}

// SendMedia sends one file. The upload shows nothing yet, so only the message
// after it is claimed in the ledger.
func (q *QQ) SendMedia(ctx context.Context, msg chat.Outbound, files []channels.Upload) ([]chat.MessageRef, error) {
	if len(files) != 1 {
		return nil, q.api.Fail("files", channels.Rejected, fmt.Errorf("%d files in one message, QQ takes one", len(files)))
	}
	if !known(msg.Addr.Chat) {
		return nil, q.api.Fail("files", channels.Rejected, fmt.Errorf("%q is no chat of QQ", msg.Addr.Chat))
	}
	f := files[0]
	kept := msg.Text + "\n📎 " + path.Base("/"+f.Name)
	if f.Text != "" { // such as the rest of a long answer
		kept = msg.Text + "\n\n" + f.Text
	}
	if g := q.streams.get(msg.Addr.Chat); g != nil && msg.Final {
		q.drop(ctx, msg.Addr.Chat, g) // the answer is no text
	}
	info := ""
	ref, err := q.placed(ctx, msg, strings.TrimSpace(kept), func(p place) (sent, error) {
		if info == "" { // not before there is a place for it
			var err error
			if info, err = q.upload(ctx, msg.Addr.Chat, f); err != nil {
				return sent{}, err
			}
		}
		l := &letter{}
		return q.post(ctx, msg.Addr.Chat, p, func() outgoing {
			text := cmp.Or(l.text(msg.Text), " ") // must not be empty
			return outgoing{Type: dto.RichMediaMsg, Content: text, Media: &media{Info: info}}
		}, l.plainer)
	})
	if err != nil {
		return nil, err
	}
	return []chat.MessageRef{ref}, nil
}

// upload brings a file to the platform. What it does not take as the kind that
// it is, it takes as a file.
func (q *QQ) upload(ctx context.Context, chatID string, f channels.Upload) (info string, err error) {
	kind := fileType(f.Attachment)
	info, err = q.uploadAs(ctx, chatID, kind, f)
	if kind != fileOther && refusedWith(err, mediaCodes()) {
		q.deps.Log.Info("qq does not take a file as what it is, sending it as a file", "chat", chatID, "name", f.Name, "err", err)
		return q.uploadAs(ctx, chatID, fileOther, f)
	}
	return info, err
}

// uploadAs brings it by a URL that the platform fetches where there is a public
// place, else in parts when it is large, else in the request.
func (q *QQ) uploadAs(ctx context.Context, chatID string, kind int, f channels.Upload) (info string, err error) {
	up := upload{Type: kind}
	name := path.Base("/" + f.Name)
	if name == "/" {
		name = "file"
	}
	if kind == fileOther {
		up.Name = name
	}
	if q.cfg.Upload != uploadBase64 && q.deps.Public != nil {
		info, err := q.uploadURL(ctx, chatID, up, f)
		if err == nil || channels.KindOf(err) != channels.Temporary && !refusedWith(err, mediaCodes()) {
			return info, err
		}
		q.deps.Log.Warn("qq could not take a file by its address, bringing it", "chat", chatID, "err", err)
	}
	if f.Size > partsFrom && q.learnt.works(asParts) {
		info, err := q.inParts(ctx, chatID, kind, name, f)
		unusable := refusedWith(err, mediaCodes()) && !refusedWith(err, partCodes())
		if err == nil || f.Size > maxWhole || unusable || channels.KindOf(err) != channels.Rejected {
			return info, q.passing(err)
		}
		q.deps.Log.Warn("qq does not take a file in parts, sending it whole", "chat", chatID, "err", err)
	}
	if up.Data, err = q.encode(ctx, f); err != nil {
		return "", err
	}
	info, err = q.bring(ctx, chatID, up)
	return info, q.passing(err)
}

// passing makes a refusal that the platform itself calls a passing one such an
// error, where there is no other way left to bring the file.
func (q *QQ) passing(err error) error {
	if refusedWith(err, passingCodes()) {
		return q.api.Fail("files", channels.Temporary, errors.Unwrap(err))
	}
	return err
}

func (q *QQ) uploadURL(ctx context.Context, chatID string, up upload, f channels.Upload) (string, error) {
	at, err := q.deps.Public(ctx, f)
	if err != nil {
		return "", q.api.Fail("files", channels.Temporary, fmt.Errorf("put the file where QQ can fetch it: %w", err))
	}
	up.URL = at
	return q.bring(ctx, chatID, up)
}

// bring asks the platform to take a file: an upload, or one whose parts it has.
func (q *QQ) bring(ctx context.Context, chatID string, up any) (string, error) {
	var got struct {
		Info string `json:"file_info"`
	}
	r := request{op: "files", method: http.MethodPost, path: route(chatID, "files"), body: up, patience: uploadPatience}
	err := q.api.call(ctx, r, &got)
	switch {
	case refusedWith(err, mediaCodes()):
		// By an address there are other ways; else the bytes are there and it
		// cannot use them, and no repeat will help.
		return "", q.api.Fail("files", channels.Rejected, errors.Unwrap(err))
	case err == nil && got.Info == "":
		return "", q.api.Fail("files", channels.Temporary, errors.New("answer without file_info"))
	}
	return got.Info, err
}

// encode reads a file as base64.
func (q *QQ) encode(ctx context.Context, f channels.Upload) (string, error) {
	fail := func(err error) (string, error) { return "", q.api.Unreadable("files", err) }
	r, err := f.Open(ctx)
	if err != nil {
		return fail(err)
	}
	defer r.Close()
	var b strings.Builder
	b.Grow(base64.StdEncoding.EncodedLen(int(min(f.Size, maxWhole))))
	enc := base64.NewEncoder(base64.StdEncoding, &b)
	n, err := io.Copy(enc, io.LimitReader(r, maxWhole+1))
	if err != nil {
		return fail(err)
	}
	if n > maxWhole {
		return "", q.api.Fail("files", channels.TooLong, fmt.Errorf("more than %d bytes", maxWhole))
	}
	if err := enc.Close(); err != nil {
		return fail(err)
	}
	return b.String(), nil
}

// hosts are where the platform keeps files of messages (seen in events and
// public bots, read November 2026).
func hosts() []string {
	return []string{"qq.com", "qq.com.cn", "qpic.cn", "qlogo.cn", "gtimg.cn", "gtimg.com", "myqcloud.com", "tencentcos.cn"}
}

// fetchable says why an address is not one of the platform's: whoever could
// put another into an event would make the bot look into its own network.
func (q *QQ) fetchable(at string) error {
	u, err := url.Parse(at)
	if err != nil || u.Host == "" || u.User != nil {
		return errors.New("not an address")
	}
	if base, err := url.Parse(q.cfg.APIBase); err == nil && u.Scheme == base.Scheme && u.Host == base.Host {
		return nil
	}
	if u.Scheme != "https" || u.Port() != "" && u.Port() != "443" {
		return errors.New("not an https address of QQ")
	}
	for _, h := range hosts() {
		if u.Hostname() == h || strings.HasSuffix(u.Hostname(), "."+h) {
			return nil
		}
	}
	return fmt.Errorf("host %q is not one of QQ's", u.Hostname())
}

// Fetch opens an inbound file by the address that came with the message; the
// platform lets it expire after some hours. The context must last until the
// file is read.
func (q *QQ) Fetch(ctx context.Context, a chat.Attachment) (io.ReadCloser, error) {
	const op = "download"
	if err := q.fetchable(a.Source); err != nil {
		return nil, q.api.Fail(op, channels.Rejected, err)
	}
	follow := func(next *http.Request) error { return q.fetchable(next.URL.String()) }
	return q.api.Open(ctx, rest.Download{Op: op, URL: a.Source, Bare: true, Follow: follow})
}

package dingtalk

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"path"
	"slices"
	"strings"
)

// File is a file with its bytes. Of what a person sends, Kind is picture,
// audio, video or file; of what the bot uploads, image, voice, video or file.
type File struct {
	Kind, Name, MIME string
	Data             []byte
	Transcript       string // what DingTalk understands of an audio
}

type mediaRule struct {
	most  int
	types []string
}

// mediaRules are sizes in bytes and types by kind
// (https://open.dingtalk.com/document/development/upload-media-files, page of 2026-06).
func mediaRules() map[string]mediaRule {
	const mb = 1 << 20
	return map[string]mediaRule{
		"image": {20 * mb, []string{"jpg", "jpeg", "gif", "png", "bmp"}},
		"voice": {2 * mb, []string{"amr", "mp3", "wav"}},
		"video": {20 * mb, []string{"mp4"}},
		"file":  {20 * mb, []string{"doc", "docx", "xls", "xlsx", "ppt", "pptx", "zip", "pdf", "rar"}},
	}
}

// shownAudio and shownFiles are the types that the messages sampleAudio and
// sampleFile are said to show, fewer than can be uploaded
// (https://help.dingtalk.io/open/development/robot-message-type, read November
// 2026); nobody says that others are refused, so only StrictFiles does.
func shownAudio() []string { return []string{"ogg", "amr"} }
func shownFiles() []string { return []string{"xlsx", "pdf", "zip", "rar", "doc", "docx"} }

func extension(name string) string {
	return strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))
}

// upload takes a file. type may stand in the query or in the form.
func (s *Server) upload(r *request) (any, *refusal) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		return nil, &refusal{Errcode: 43004, Message: "无效的HTTP HEADER Content-Type"}
	}
	form, err := multipart.NewReader(bytes.NewReader(r.raw), params["boundary"]).ReadForm(maxBody)
	if err != nil {
		return nil, &refusal{Errcode: 40035, Message: "不合法的参数"}
	}
	defer func() { _ = form.RemoveAll() }()
	as := r.URL.Query().Get("type")
	if v := form.Value["type"]; len(v) == 1 {
		as = v[0]
	}
	rule, ok := mediaRules()[as]
	if !ok || len(form.File["media"]) != 1 {
		return nil, &refusal{Errcode: 40004, Message: "不合法的媒体文件类型"}
	}
	head := form.File["media"][0]
	body, err := head.Open()
	if err != nil {
		return nil, &refusal{Errcode: 40035, Message: "不合法的参数"}
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	ext := extension(head.Filename)
	switch {
	case err != nil || len(data) == 0 || head.Filename == "":
		return nil, &refusal{Errcode: 40035, Message: "不合法的参数"}
	case len(data) > rule.most:
		return nil, &refusal{Errcode: 40009, Message: "不合法的媒体文件大小"}
	case !slices.Contains(rule.types, ext) && (as != "file" || s.opts.StrictFiles):
		return nil, &refusal{Errcode: 40004, Message: "不合法的媒体文件类型"}
	}
	id := s.next("@fakeMedia")
	if s.opts.Forget {
		data = nil
	}
	s.store.media[id] = File{Kind: as, Name: head.Filename, MIME: head.Header.Get("Content-Type"), Data: data}
	return map[string]any{"errcode": 0, "errmsg": "ok", "media_id": id, "created_at": s.opts.Now().UnixMilli(), "type": as}, nil
}

func (s *Server) fileLocation(r *request) (any, *refusal) {
	var in struct{ DownloadCode, RobotCode string }
	if e := r.into(&in); e != nil {
		return nil, e
	}
	if in.RobotCode != s.opts.ClientID {
		return nil, bad("invalidParameter.robotCode.auth", "此downloadCode和机器人robotCode不匹配，请使用接收此条消息机器人robotCode和对应的downloadCode")
	}
	if _, ok := s.access.downloads[in.DownloadCode]; !ok {
		return nil, bad("invalidParameter.robotCode.downloadCode", "下载码有误或者已经过期")
	}
	id := s.next("f")
	s.access.downloads[id] = s.access.downloads[in.DownloadCode]
	return map[string]any{"downloadUrl": r.base + "/files/" + id + "?Expires=1671377946&Signature=fake"}, nil
}

func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	f, ok := s.access.downloads[strings.TrimPrefix(r.URL.Path, "/files/")]
	s.mu.Unlock()
	if !ok || r.URL.Query().Get("Signature") == "" {
		http.Error(w, "<Error><Code>AccessDenied</Code></Error>", http.StatusForbidden)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(f.Data) // the client may be gone
}

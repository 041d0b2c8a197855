package qq

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// fetchPatience bounds the fetching of a file by its address.
const fetchPatience = 10 * time.Second

// fileKind is the type of what is only a file.
const fileKind = 4

// kinds are the file types of an upload.
func kinds() map[int]string {
	return map[int]string{1: "image", 2: "video", 3: "voice", fileKind: "file"}
}

func (s *Server) postFile(r *http.Request, body []byte) (any, *refusal) {
	var up struct {
		Type int    `json:"file_type"`
		URL  string `json:"url"`
		Data string `json:"file_data"`
		Name string `json:"file_name"`
		Send bool   `json:"srv_send_msg"`
		Text string `json:"content"`
		ID   string `json:"upload_id"` // of one that came in parts; nothing else then
		asPython
	}
	if err := strict(body, &up); err != nil {
		return nil, bad(12002, "RequestInvalid: %v", err)
	}
	var got upload
	var e *refusal
	switch {
	case up.ID != "" && (up.URL+up.Data+up.Name != "" || up.Type != 0):
		return nil, bad(12002, "RequestInvalid: upload_id and a file")
	case up.Send:
		return nil, bad(12002, "RequestInvalid: srv_send_msg is not offered")
	case up.ID == "":
		if got, e = s.whole(r.Context(), up.Type, up.URL, up.Data, up.Name); e != nil {
			return nil, e
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	room, e := s.target(r)
	if e == nil && up.ID != "" {
		got, e = s.assembled(up.ID)
	}
	if e != nil {
		return nil, e
	}
	if !plays(got.kind, got.file.Data) {
		return nil, bad(304083, "convert media info fail")
	}
	info := base64.StdEncoding.EncodeToString([]byte(fmt.Sprintf("FAKEFILEINFO%06d", s.store.number())))
	got.group = strings.HasPrefix(room.id, groups)
	s.store.uploads[info] = got
	return map[string]any{"file_uuid": "FAKEUUID", "file_info": info, "ttl": 259200}, nil
}

// whole is a file that comes in one call: by its address or in base64.
func (s *Server) whole(ctx context.Context, of int, at, data, name string) (upload, *refusal) {
	kind := kinds()[of]
	switch {
	case kind == "":
		return upload{}, bad(12002, "RequestInvalid: file_type")
	case (at == "") == (data == ""):
		return upload{}, bad(12002, "RequestInvalid: one of url and file_data")
	case (name != "") != (of == fileKind):
		return upload{}, bad(12002, "RequestInvalid: file_name")
	}
	raw, err := s.bytes(ctx, at, data)
	switch {
	case err != nil && at != "":
		// bot.q.qq.com/wiki/develop/api-v2/server-inter/message/send-receive/rich-media.html
		// and the issues of public bots, read November 2026.
		return upload{}, bad(850026, "拉取资源失败: %v", err)
	case err != nil:
		return upload{}, bad(304082, "upload media info fail: %v", err)
	case at == "" && len(raw) > maxWhole:
		return upload{}, bad(850012, "file size exceeds limit")
	}
	return upload{kind: of, file: File{Kind: kind, Name: name, Data: raw}}, nil
}

func (s *Server) bytes(ctx context.Context, at, data string) ([]byte, error) {
	if at == "" {
		return base64.StdEncoding.DecodeString(data)
	}
	ctx, cancel := context.WithTimeout(ctx, fetchPatience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	return io.ReadAll(io.LimitReader(resp.Body, maxBody))
}

// plays tells whether the platform could show or play a file as its type: png,
// jpg, gif, webp and bmp; mp4; silk, mp3, wav and ogg.
func plays(kind int, data []byte) bool {
	found := http.DetectContentType(data)
	switch kind {
	case 1:
		return strings.HasPrefix(found, "image/")
	case 2:
		return found == "video/mp4"
	case 3:
		silk := bytes.HasPrefix(bytes.TrimPrefix(data, []byte{2}), []byte("#!SILK"))
		mp3 := found == "audio/mpeg" || len(data) > 1 && data[0] == 0xff && data[1]&0xe0 == 0xe0
		return silk || mp3 || found == "audio/wave" || found == "application/ogg"
	}
	return len(data) > 0
}

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

// kinds are the file types of an upload.
func kinds() map[int]string {
	return map[int]string{1: "image", 2: "video", 3: "voice", 4: "file"}
}

func (s *Server) postFile(r *http.Request, body []byte) (any, *refusal) {
	var up struct {
		Type int    `json:"file_type"`
		URL  string `json:"url"`
		Data string `json:"file_data"`
		Name string `json:"file_name"`
		Send bool   `json:"srv_send_msg"`
		Text string `json:"content"`
	}
	if err := strict(body, &up); err != nil {
		return nil, bad(12002, "RequestInvalid: %v", err)
	}
	kind := kinds()[up.Type]
	switch {
	case kind == "":
		return nil, bad(12002, "RequestInvalid: file_type")
	case (up.URL == "") == (up.Data == ""):
		return nil, bad(12002, "RequestInvalid: one of url and file_data")
	case (up.Name != "") != (up.Type == 4):
		return nil, bad(12002, "RequestInvalid: file_name")
	case up.Send:
		return nil, bad(12002, "RequestInvalid: srv_send_msg is not offered")
	}
	data, err := s.bytes(r.Context(), up.URL, up.Data)
	if err != nil {
		return nil, bad(304082, "upload media info fail: %v", err)
	}
	if !plays(up.Type, data) {
		return nil, bad(304083, "convert media info fail")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	room, e := s.target(r)
	if e != nil {
		return nil, e
	}
	info := base64.StdEncoding.EncodeToString([]byte(fmt.Sprintf("FAKEFILEINFO%06d", s.store.number())))
	s.store.uploads[info] = upload{file: File{Kind: kind, Name: up.Name, Data: data}, group: strings.HasPrefix(room.id, groups)}
	return map[string]any{"file_uuid": "FAKEUUID", "file_info": info, "ttl": 259200}, nil
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

// plays tells whether the platform could show or play a file as its type.
func plays(kind int, data []byte) bool {
	found := http.DetectContentType(data)
	switch kind {
	case 1:
		return found == "image/png" || found == "image/jpeg"
	case 2:
		return found == "video/mp4"
	case 3:
		return bytes.HasPrefix(bytes.TrimPrefix(data, []byte{2}), []byte("#!SILK"))
	}
	return len(data) > 0
}

package qq

import (
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

const (
	// maxWhole is the largest file that comes whole, in base64. The platform
	// does not document it any more; the vendor's own client (sliverp/qqbot
	// 1.7, April 2026) brings everything that it has on its disk in parts.
	maxWhole = 10 << 20
	// partSize is how much one part holds.
	partSize = 4 << 20
	// headSize is how much of a file md5_10m covers
	// (github.com/sliverp/qqbot, src/api.ts, April 2026, read November 2026).
	headSize = 10002432
)

// parted is a file that comes in parts.
type parted struct {
	file      upload
	size      int64
	md5, sha1 string
	head      string // md5 of the first headSize bytes
	first     int    // the number of the first part
	parts     map[int][]byte
	finished  map[int]bool
}

// prepareUpload begins an upload in parts. Its shape and that of the calls
// below are those of the vendor's client (src/api.ts, src/utils/chunked-upload.ts).
func (s *Server) prepareUpload(r *http.Request, body []byte) (any, *refusal) {
	var ask struct {
		Type int    `json:"file_type"`
		Name string `json:"file_name"`
		Size int64  `json:"file_size"`
		MD5  string `json:"md5"`
		SHA1 string `json:"sha1"`
		Head string `json:"md5_10m"`
	}
	if err := strict(body, &ask); err != nil {
		return nil, bad(12002, "RequestInvalid: %v", err)
	}
	if kinds()[ask.Type] == "" || ask.Name == "" || ask.Size <= 0 || len(ask.MD5) != 32 || len(ask.SHA1) != 40 || len(ask.Head) != 32 {
		return nil, bad(12002, "RequestInvalid: upload_prepare")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	room, e := s.target(r)
	if e != nil {
		return nil, e
	}
	id := fmt.Sprintf("FAKEUPLOAD%06d", s.store.number())
	up := &parted{size: ask.Size, md5: ask.MD5, sha1: ask.SHA1, head: ask.Head, parts: map[int][]byte{}, finished: map[int]bool{}}
	up.file = upload{kind: ask.Type, group: strings.HasPrefix(room.id, groups), file: File{Kind: kinds()[ask.Type]}}
	if ask.Type == fileKind {
		up.file.file.Name = ask.Name
	}
	s.store.parted[id] = up
	up.first = 1
	if s.store.policy.FromZero {
		up.first = 0
	}
	var parts []any
	for n := int64(up.first); (n-int64(up.first))*partSize < ask.Size; n++ {
		parts = append(parts, map[string]any{"index": n, "presigned_url": fmt.Sprintf("%s/parts/%s/%d?sign=FAKE", s.base, id, n)})
	}
	// Numbers come as text here: the vendor's client converts them.
	return map[string]any{"upload_id": id, "block_size": strconv.Itoa(partSize), "parts": parts, "concurrency": 1, "retry_timeout": 120}, nil
}

// takePart is the store behind the signed addresses: whoever sends the bot's
// token there gives it away.
func (s *Server) takePart(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "" || r.URL.Query().Get("sign") != "FAKE" {
		http.Error(w, "SignatureDoesNotMatch", http.StatusForbidden)
		return
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, partSize))
	n, bad := strconv.Atoi(r.PathValue("part"))
	if f := s.fault("put part", 0); f != nil {
		s.misbehave(w, r, f)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	up := s.store.parted[r.PathValue("upload")]
	if err != nil || bad != nil || up == nil {
		http.Error(w, "NoSuchUpload", http.StatusNotFound)
		return
	}
	up.parts[n] = data
}

func (s *Server) finishPart(_ *http.Request, body []byte) (any, *refusal) {
	var ask struct {
		ID   string `json:"upload_id"`
		Part int    `json:"part_index"`
		Size int    `json:"block_size"`
		MD5  string `json:"md5"`
	}
	if err := strict(body, &ask); err != nil {
		return nil, bad(12002, "RequestInvalid: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	up := s.store.parted[ask.ID]
	if up == nil {
		return nil, bad(12002, "RequestInvalid: upload_id")
	}
	data, ok := up.parts[ask.Part]
	sum := md5.Sum(data)
	if !ok || len(data) != ask.Size || hex.EncodeToString(sum[:]) != ask.MD5 {
		return nil, bad(40093001, "分片未就绪")
	}
	up.finished[ask.Part] = true
	return map[string]any{}, nil
}

// assembled is the file of an upload whose parts are all there.
func (s *Server) assembled(id string) (upload, *refusal) {
	up := s.store.parted[id]
	if up == nil {
		return upload{}, bad(12002, "RequestInvalid: upload_id")
	}
	var whole bytes.Buffer
	for n := up.first; int64(whole.Len()) < up.size; n++ {
		if !up.finished[n] || len(up.parts[n]) == 0 {
			return upload{}, bad(40093001, "分片 %d 未完成", n)
		}
		whole.Write(up.parts[n])
	}
	all, one, head := md5.Sum(whole.Bytes()), sha1.Sum(whole.Bytes()), md5.Sum(whole.Bytes()[:min(whole.Len(), headSize)])
	if hex.EncodeToString(all[:]) != up.md5 || hex.EncodeToString(one[:]) != up.sha1 || hex.EncodeToString(head[:]) != up.head {
		return upload{}, bad(850027, "文件校验失败")
	}
	up.file.file.Data = whole.Bytes()
	delete(s.store.parted, id)
	return up.file, nil
}

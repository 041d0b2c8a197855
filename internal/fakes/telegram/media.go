package telegram

import (
	"bytes"
	"fmt"
	"image"
	_ "image/gif"  // photos are measured
	_ "image/jpeg" // photos are measured
	_ "image/png"  // photos are measured
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Limits of files (https://core.telegram.org/bots/api#sending-files and
// #getfile, read November 2026).
const (
	maxPhoto     = 10 << 20
	maxDownload  = 20 << 20
	maxPhotoSum  = 10000 // width + height
	maxPhotoSide = 20    // of one to the other
)

// mediaMethods are the methods that send one file, by lower-case name.
func mediaMethods() map[string]method {
	all := map[string]method{}
	for _, kind := range []string{"photo", "document", "voice", "audio", "video", "animation", "sticker", "video_note"} {
		run := func(s *Server, req *request) (any, *apiError) { return s.sendFile(req, kind) }
		all["send"+strings.ReplaceAll(kind, "_", "")] = method{mediaParams + kind, run}
	}
	return all
}

func (s *Server) sendFile(req *request, kind string) (any, *apiError) {
	r, m, e := s.frame(req)
	if e != nil {
		return nil, e
	}
	file, e := s.resolve(req, kind, req.params[kind], kind)
	if e != nil {
		return nil, e
	}
	m.Source = req.params["caption"]
	if m.Text, m.Entities, e = req.text("caption", maxCaption, "message caption is too long"); e != nil {
		return nil, e
	}
	if e := s.tooFast(r, 1); e != nil {
		return nil, e
	}
	r.last++
	m.ID, m.Kind, m.File = r.last, file.Kind, &file
	s.apply(r, m)
	return s.messageJSON(m), nil
}

// resolve finds the bytes of a file: a part of the form, by its own name or by
// "attach://name", or the id of a file that is there already.
func (s *Server) resolve(req *request, part, value, kind string) (File, *apiError) {
	if name, ok := strings.CutPrefix(value, "attach://"); ok {
		part = name
	} else if value != "" {
		file, ok := s.store.files[value]
		if !ok {
			return File{}, badRequest("wrong remote file identifier specified: Wrong string length")
		}
		file.Kind = kind
		return file, nil
	}
	file, ok := req.files[part]
	if !ok {
		return File{}, badRequest("there is no %s in the request", kind)
	}
	file.Kind = kind
	switch {
	case len(file.Data) == 0:
		return File{}, badRequest("file must be non-empty")
	case len(file.Data) > maxUpload:
		return File{}, &apiError{Code: http.StatusRequestEntityTooLarge, Text: "Request Entity Too Large"}
	case kind == "photo":
		return file, photo(file.Data)
	}
	return file, nil
}

func photo(data []byte) *apiError {
	if len(data) > maxPhoto {
		return badRequest("file of size %d bytes is too big for a photo; the maximum size is %d bytes", len(data), maxPhoto)
	}
	if bytes.HasPrefix(data, []byte("RIFF")) {
		return nil // WebP, which the standard library cannot measure
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return badRequest("IMAGE_PROCESS_FAILED")
	}
	if c.Width+c.Height > maxPhotoSum || c.Width > maxPhotoSide*c.Height || c.Height > maxPhotoSide*c.Width {
		return badRequest("PHOTO_INVALID_DIMENSIONS")
	}
	return nil
}

// albumItem is one InputMedia.
type albumItem struct {
	Type    string `json:"type"`
	Media   string `json:"media"`
	Caption string `json:"caption"`
	Mode    string `json:"parse_mode"`
}

func sendMediaGroup(s *Server, req *request) (any, *apiError) {
	if req.params["reply_markup"] != "" {
		return nil, badRequest("unknown parameter %q", "reply_markup")
	}
	r, frame, e := s.frame(req)
	if e != nil {
		return nil, e
	}
	var items []albumItem
	if e := req.object("media", &items); e != nil {
		return nil, e
	}
	if len(items) < 2 || len(items) > 10 {
		return nil, badRequest("there must be from 2 to 10 items to send as an album")
	}
	album := fmt.Sprintf("130000000%d", r.last)
	var ready []*Message
	for _, item := range items {
		if !mixes(item.Type, items[0].Type) {
			return nil, badRequest("%s can't be mixed with other media types", item.Type)
		}
		m := *frame
		file, e := s.resolve(req, "", item.Media, item.Type)
		if e != nil {
			return nil, e
		}
		caption := request{params: map[string]string{"caption": item.Caption, "parse_mode": item.Mode}}
		if m.Text, m.Entities, e = caption.text("caption", maxCaption, "message caption is too long"); e != nil {
			return nil, e
		}
		m.Kind, m.File, m.Album, m.Source = item.Type, &file, album, item.Caption
		ready = append(ready, &m)
	}
	if e := s.tooFast(r, len(items)); e != nil {
		return nil, e
	}
	var result []any
	for _, m := range ready {
		r.last++
		m.ID = r.last
		s.apply(r, m)
		result = append(result, s.messageJSON(m))
	}
	return result, nil
}

// mixes: documents and audio files only go with their own kind
// (https://core.telegram.org/bots/api#sendmediagroup).
func mixes(kind, first string) bool {
	switch kind {
	case "photo", "video":
		return first == "photo" || first == "video"
	case "document", "audio":
		return kind == first
	}
	return false
}

// incoming is the field of a message that describes a file, whose bytes can
// then be got by getFile.
func (s *Server) incoming(f File) map[string]any {
	if f.Kind == "" {
		f.Kind = "document"
	}
	id := ""
	if s.opts.Forget {
		id = "AgACforgotten"
	} else {
		id = s.store.keep(f)
	}
	desc := map[string]any{"file_id": id, "file_unique_id": "u" + id, "file_size": len(f.Data)}
	switch f.Kind {
	case "photo":
		small := map[string]any{"file_id": "small" + id, "file_unique_id": "s" + id, "file_size": 1, "width": 90, "height": 60}
		desc["width"], desc["height"] = 800, 600
		return map[string]any{"photo": []any{small, desc}}
	case "sticker":
		desc["width"], desc["height"], desc["emoji"], desc["is_animated"], desc["is_video"], desc["type"] = 512, 512, "😀", false, false, "regular"
		return map[string]any{"sticker": desc}
	case "voice":
		desc["mime_type"], desc["duration"] = "audio/ogg", 2
		return map[string]any{"voice": desc}
	case "video_note":
		desc["length"], desc["duration"] = 240, 2
		return map[string]any{"video_note": desc}
	}
	desc["file_name"], desc["mime_type"] = f.Name, f.MIME
	switch f.Kind {
	case "audio":
		desc["duration"], desc["title"] = 3, f.Name
	case "video", "animation":
		desc["duration"], desc["width"], desc["height"] = 3, 320, 200
	}
	return map[string]any{f.Kind: desc}
}

func getFile(s *Server, req *request) (any, *apiError) {
	id := req.params["file_id"]
	f, ok := s.store.files[id]
	if !ok {
		return nil, badRequest("invalid file_id")
	}
	place := "documents/" + id + path.Ext(f.Name)
	if s.opts.Ways.Local != "" {
		var e *apiError
		if place, e = s.putLocal(place, f.Data); e != nil {
			return nil, e
		}
	} else if len(f.Data) > maxDownload {
		return nil, badRequest("file is too big")
	}
	return map[string]any{"file_id": id, "file_unique_id": "u" + id, "file_size": len(f.Data), "file_path": place}, nil
}

// putLocal puts a file into the bot's folder, as a server with --local does, and
// returns the absolute path
// (https://core.telegram.org/bots/api#using-a-local-bot-api-server, read
// November 2026). Such a server hands no files out.
func (s *Server) putLocal(name string, data []byte) (string, *apiError) {
	at := filepath.Join(s.opts.Ways.Local, s.opts.Token, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(at), 0o750); err != nil {
		return "", &apiError{Code: http.StatusInternalServerError, Text: "Internal Server Error: " + err.Error()}
	}
	if err := os.WriteFile(at, data, 0o640); err != nil {
		return "", &apiError{Code: http.StatusInternalServerError, Text: "Internal Server Error: " + err.Error()}
	}
	return at, nil
}

func (s *Server) serveFile(w http.ResponseWriter, name string) {
	id := strings.TrimSuffix(path.Base(name), path.Ext(name))
	s.mu.Lock()
	f, ok := s.store.files[id]
	s.mu.Unlock()
	if !ok || len(f.Data) > maxDownload || s.opts.Ways.Local != "" {
		refuse(w, &apiError{Code: http.StatusNotFound, Text: "Not Found"})
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(f.Data) // the client may be gone
}

package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The largest request: a file of 50 MB and its form around it
// (https://core.telegram.org/bots/api#sending-files, read November 2026).
const (
	maxUpload = 50 << 20
	maxBody   = maxUpload + 1<<20
)

// request is one call of a method.
type request struct {
	ctx    context.Context
	method string
	params map[string]string
	files  map[string]File // by the name of the form's part
}

// parse reads the parameters from wherever the Bot API accepts them.
func parse(r *http.Request, name string) (*request, *apiError) {
	req := &request{ctx: r.Context(), method: name, params: map[string]string{}, files: map[string]File{}}
	if r.Method != http.MethodPost && r.Method != http.MethodGet {
		return nil, &apiError{Code: http.StatusMethodNotAllowed, Text: "Method Not Allowed"}
	}
	for k, v := range r.URL.Query() {
		req.params[k] = v[0]
	}
	r.Body = http.MaxBytesReader(nil, r.Body, maxBody)
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case r.ContentLength == 0:
	case err != nil:
		return nil, badRequest("unsupported content-type")
	case kind == "application/json":
		err = req.readJSON(r.Body)
	case kind == "application/x-www-form-urlencoded":
		err = r.ParseForm()
		for k, v := range r.PostForm {
			req.params[k] = v[0]
		}
	case kind == "multipart/form-data":
		err = req.readMultipart(r)
	default:
		return nil, badRequest("unsupported content-type")
	}
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return nil, &apiError{Code: http.StatusRequestEntityTooLarge, Text: "Request Entity Too Large"}
	}
	if err != nil {
		return nil, badRequest("can't parse the request body")
	}
	return req, nil
}

func (req *request) readJSON(body io.Reader) error {
	var values map[string]json.RawMessage
	if err := json.NewDecoder(body).Decode(&values); err != nil {
		return err
	}
	for k, raw := range values {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		req.params[k] = text
	}
	return nil
}

func (req *request) readMultipart(r *http.Request) error {
	parts, err := r.MultipartReader()
	if err != nil {
		return err
	}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return err
		}
		name, filename := disposition(part)
		if filename == "" {
			req.params[name] = string(data)
			continue
		}
		req.files[name] = File{Name: filename, MIME: part.Header.Get("Content-Type"), Data: data}
	}
}

var (
	dispositionName = regexp.MustCompile(`(?:^|;)\s*name="?([^";]*)"?`)
	dispositionFile = regexp.MustCompile(`(?:^|;)\s*filename="?([^"]*)"?`)
)

// disposition reads the names of a part. Telegram takes file names as clients
// write them, also without quotes or with letters that the standard forbids.
func disposition(part *multipart.Part) (name, filename string) {
	if part.FormName() != "" {
		return part.FormName(), part.FileName()
	}
	header := part.Header.Get("Content-Disposition")
	if m := dispositionName.FindStringSubmatch(header); m != nil {
		name = m[1]
	}
	if m := dispositionFile.FindStringSubmatch(header); m != nil {
		filename = m[1]
	}
	return name, filename
}

// onlyKnown refuses parameters that the method does not have. Parts of a form
// that another parameter attaches ("attach://name") may have any name.
func (req *request) onlyKnown(known string) *apiError {
	names := strings.Fields(known)
	for k := range req.params {
		if !slices.Contains(names, k) {
			return badRequest("unknown parameter %q", k)
		}
	}
	for k := range req.files {
		if !slices.Contains(names, k) && !req.attached(k) {
			return badRequest("unknown parameter %q", k)
		}
	}
	return nil
}

func (req *request) attached(name string) bool {
	for _, v := range req.params {
		if strings.Contains(v, "attach://"+name) {
			return true
		}
	}
	return false
}

func (req *request) int(name string) (n int64, ok bool) {
	n, err := strconv.ParseInt(req.params[name], 10, 64)
	return n, err == nil
}

// object decodes a parameter that is JSON; an absent one leaves into alone.
func (req *request) object(name string, into any) *apiError {
	text := req.params[name]
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return badRequest("can't parse %s JSON object", strings.ReplaceAll(name, "_", " "))
	}
	return nil
}

package modelserver

import (
	"errors"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"

	"magpie/internal/fakes/served"
)

// maxSpeech is the vendor's limit of one file
// (platform.openai.com/docs/guides/speech-to-text, read November 2026).
const maxSpeech = 25 << 20

// Recording is a legal request to write down what is said in a file.
type Recording struct {
	Model string
	Name  string // of the file
	MIME  string // as the request says
	Data  []byte
	Gone  <-chan struct{} // closed when nobody waits for the answer any more
}

// Hear sets the function that writes recordings down from now on: the Text of
// its Answer is the transcript. Only Text, Delay, Fault (None, Hang), Status,
// Body and Header count.
func (s *Server) Hear(f func(Recording) Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hear = f
}

// Recordings returns the legal requests for a transcript, oldest first.
func (s *Server) Recordings() []Recording {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.recordings)
}

// unheard answers as long as a test has said nothing else.
func unheard(r Recording) Answer { return Answer{Text: "the words of " + r.Name} }

// formats are the endings by which the vendor tells the format of a file.
var formats = []string{".flac", ".m4a", ".mp3", ".mp4", ".mpeg", ".mpga", ".oga", ".ogg", ".wav", ".webm"}

var speechFields = []string{"file", "model", "language", "prompt", "response_format", "temperature"}

func (s *Server) transcribe(rw http.ResponseWriter, hr *http.Request) {
	s.active.Add(1)
	defer s.active.Done()
	s.mu.Lock()
	key, hear := s.key, s.hear
	s.mu.Unlock()
	api := openAI{}
	if key != "" && api.key(hr.Header) != key {
		served.JSON(rw, http.StatusUnauthorized, api.fail(http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided."))
		return
	}
	hr.Body = http.MaxBytesReader(rw, hr.Body, maxBody)
	rec, format, err := recording(hr)
	if err != nil {
		s.refuse(rw, api, err)
		return
	}
	if status, why := unusable(rec); why != "" { // the file is to blame, not the client
		served.JSON(rw, status, api.fail(status, "", why))
		return
	}
	gone, stop := make(chan struct{}), make(chan struct{})
	defer close(stop)
	s.active.Go(func() {
		defer close(gone)
		select {
		case <-hr.Context().Done():
		case <-s.done:
		case <-stop:
		}
	})
	rec.Gone = gone
	s.mu.Lock()
	s.recordings = append(s.recordings, rec)
	s.mu.Unlock()
	s.written(rw, rec, format, hear(rec))
}

// recording reads the form.
func recording(hr *http.Request) (rec Recording, format string, err error) {
	if err := hr.ParseMultipartForm(maxBody); err != nil {
		return rec, "", refuse("Could not parse multipart form: %v", err)
	}
	defer func() { _ = hr.MultipartForm.RemoveAll() }() // nothing is kept in files
	for name, values := range hr.MultipartForm.Value {
		if !slices.Contains(speechFields, name) || len(values) != 1 {
			return rec, "", refuse("Unrecognized request argument supplied: %s", name)
		}
	}
	files := hr.MultipartForm.File["file"]
	rec.Model, format = hr.FormValue("model"), hr.FormValue("response_format")
	switch {
	case len(hr.MultipartForm.File) != 1 || len(files) != 1:
		return rec, "", refuse("you must provide exactly one file")
	case rec.Model == "":
		return rec, "", refuse("you must provide a model parameter")
	case format != "" && format != "json" && format != "text":
		return rec, "", refuse("response_format %q is not possible with this model", format)
	}
	f, err := files[0].Open()
	if err != nil {
		return rec, "", err
	}
	defer f.Close()
	rec.Name, rec.MIME = files[0].Filename, files[0].Header.Get("Content-Type")
	rec.Data, err = io.ReadAll(f)
	return rec, format, errors.Join(err)
}

func unusable(rec Recording) (status int, why string) {
	switch {
	case len(rec.Data) > maxSpeech:
		return http.StatusRequestEntityTooLarge, "Maximum content size limit (26214400) exceeded"
	case !slices.Contains(formats, strings.ToLower(path.Ext(rec.Name))):
		return http.StatusBadRequest, "Unrecognized file format. Supported formats: ['flac', 'm4a', 'mp3', 'mp4', 'mpeg', 'mpga', 'oga', 'ogg', 'wav', 'webm']"
	case len(rec.Data) == 0:
		return http.StatusBadRequest, "Audio file is too short. Minimum audio length is 0.1 seconds."
	}
	return 0, ""
}

// written answers with the transcript.
func (s *Server) written(rw http.ResponseWriter, rec Recording, format string, a Answer) {
	w := &writer{rw: rw, gone: rec.Gone}
	if !w.wait(a.Delay) {
		return
	}
	for k, v := range a.Header {
		rw.Header().Set(k, v)
	}
	switch {
	case a.Fault == Hang:
		<-rec.Gone
	case a.Body != "":
		if a.Status != 0 {
			rw.WriteHeader(a.Status)
		}
		_, _ = io.WriteString(rw, a.Body) // who asked is gone, else it arrives
	case a.Status >= http.StatusBadRequest:
		served.JSON(rw, a.Status, openAI{}.fail(a.Status, "", http.StatusText(a.Status)))
	case format == "text":
		_, _ = io.WriteString(rw, a.Text)
	default:
		served.JSON(rw, http.StatusOK, map[string]string{"text": a.Text})
	}
}

package simulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"time"

	"magpie/internal/fakes/driver"
)

const (
	// maxBody bounds what the page sends: one file and its text.
	maxBody = maxFile + 1<<20
	// lookEvery is how often a chat that is watched is looked at.
	lookEvery = 100 * time.Millisecond
	// beatEvery keeps an idle stream alive.
	beatEvery = 15 * time.Second
)

// api is what the page's script asks. Every path names the platform and the
// chat.
func (w *World) api(mux *http.ServeMux) {
	mux.HandleFunc("GET /api", func(rw http.ResponseWriter, _ *http.Request) {
		var names []string
		for _, s := range w.stands {
			names = append(names, s.name)
		}
		reply(rw, map[string]any{"platforms": names, "troubles": Troubles()})
	})
	for pattern, fn := range map[string]func(http.ResponseWriter, *http.Request, *stand, *talk){
		"GET /api/{platform}/{place}/events":            watch,
		"GET /api/{platform}/{place}/files/{key}/{n}":   sendFile,
		"POST /api/{platform}/{place}/messages":         act(hear),
		"POST /api/{platform}/{place}/presses/{key}":    act(pressed),
		"POST /api/{platform}/{place}/cut":              act(cutLine),
		"POST /api/{platform}/{place}/faults/{trouble}": act(arrange),
	} {
		mux.HandleFunc(pattern, func(rw http.ResponseWriter, r *http.Request) {
			s, place := w.stand(r.PathValue("platform")), Place(r.PathValue("place"))
			if s == nil || !slices.Contains(Places(), place) {
				http.NotFound(rw, r)
				return
			}
			fn(rw, r, s, s.talks[place])
		})
	}
}

// act answers with nothing, or with what was wrong.
func act(fn func(*http.Request, *stand, *talk) error) func(http.ResponseWriter, *http.Request, *stand, *talk) {
	return func(rw http.ResponseWriter, r *http.Request, s *stand, t *talk) {
		r.Body = http.MaxBytesReader(rw, r.Body, maxBody)
		if err := fn(r, s, t); err != nil {
			http.Error(rw, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		rw.WriteHeader(http.StatusNoContent)
	}
}

func reply(rw http.ResponseWriter, v any) {
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(v) // the page may be gone
}

// hear takes a form with text and files. What the platform loses stands in the
// chat with a note, so that it is no error here.
func hear(r *http.Request, _ *stand, t *talk) error {
	if err := r.ParseMultipartForm(maxBody); err != nil {
		if errors.As(err, new(*http.MaxBytesError)) {
			return fmt.Errorf("at most %d MiB can be sent", maxFile>>20)
		}
		return fmt.Errorf("read the form: %w", err)
	}
	defer func() { _ = r.MultipartForm.RemoveAll() }() // nothing was put on disk
	text := r.FormValue("text")
	var files []driver.File
	for _, header := range r.MultipartForm.File["file"] {
		f, err := readPart(header)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	if text == "" && len(files) == 0 {
		return errors.New("there is nothing to send")
	}
	_ = t.say(text, files) // see above
	return nil
}

func readPart(header *multipart.FileHeader) (driver.File, error) {
	f, err := header.Open()
	if err != nil {
		return driver.File{}, fmt.Errorf("read the file: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return driver.File{}, fmt.Errorf("read the file: %w", err)
	}
	return newFile(header.Filename, data), nil
}

func pressed(r *http.Request, _ *stand, t *talk) error {
	n, err := strconv.Atoi(r.URL.Query().Get("button"))
	if err != nil {
		return errors.New("want the number of a button")
	}
	return t.press(r.PathValue("key"), n)
}

func cutLine(r *http.Request, s *stand, _ *talk) error {
	seconds, err := strconv.Atoi(r.URL.Query().Get("seconds"))
	if err != nil || seconds < 0 {
		return errors.New("want a number of seconds")
	}
	return s.cut(r.Context(), time.Duration(seconds)*time.Second)
}

func arrange(r *http.Request, s *stand, _ *talk) error {
	return s.fail(driver.Trouble(r.PathValue("trouble")), 1)
}

// picture says which files the browser may show as pictures.
func picture(f driver.File) bool {
	return slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, f.MIME)
}

func sendFile(rw http.ResponseWriter, r *http.Request, _ *stand, t *talk) {
	n, err := strconv.Atoi(r.PathValue("n"))
	for _, e := range t.since(0) {
		if err != nil || e.Key != r.PathValue("key") || n < 0 || n >= len(e.Files) {
			continue
		}
		if picture(e.Files[n]) {
			rw.Header().Set("Content-Type", e.Files[n].MIME)
		} else {
			rw.Header().Set("Content-Type", "application/octet-stream")
			rw.Header().Set("Content-Disposition", "attachment")
		}
		_, _ = rw.Write(e.Files[n].Data) // the page may be gone
		return
	}
	http.NotFound(rw, r)
}

// shownFile is a file as the page gets it.
type shownFile struct {
	Name    string `json:"name"`
	Size    int    `json:"size"`
	Picture bool   `json:"picture"`
}

// shownEntry is an entry as the page gets it.
type shownEntry struct {
	Entry
	Files []shownFile `json:"files"`
}

// state is what a chat shows besides its entries.
type state struct {
	Connected bool `json:"connected"`
	Typing    bool `json:"typing"`
}

// watch streams the entries of a chat as they change, and its state.
func watch(rw http.ResponseWriter, r *http.Request, s *stand, t *talk) {
	rw.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(rw)
	seen, last, first := 0, state{}, true
	tick, beat := time.NewTicker(lookEvery), time.NewTicker(beatEvery)
	defer tick.Stop()
	defer beat.Stop()
	for {
		var err error
		news := t.since(seen)
		if now := (state{s.Connected(), t.isTyping()}); first || now != last {
			err = event(rw, "state", now)
			last = now
		}
		if first || len(news) > 0 {
			list := []shownEntry{}
			for _, e := range news {
				seen = max(seen, e.version)
				list = append(list, show(e))
			}
			err = errors.Join(err, event(rw, "entries", list))
		}
		first = false
		if err != nil || out.Flush() != nil {
			return // the page is gone
		}
		select {
		case <-r.Context().Done():
			return
		case <-beat.C:
			if _, err := io.WriteString(rw, ":\n\n"); err != nil {
				return
			}
		case <-tick.C:
		}
	}
}

func event(w io.Writer, name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, data)
	return err
}

func show(e Entry) shownEntry {
	out := shownEntry{Entry: e, Files: []shownFile{}}
	for _, f := range e.Files {
		out.Files = append(out.Files, shownFile{f.Name, len(f.Data), picture(f)})
	}
	return out
}

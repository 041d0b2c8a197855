package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed page
var pageFiles embed.FS

// pagePolicy lets the page use its own files and API and nothing else; blob:
// is for files that the page has fetched, or not uploaded yet.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"img-src 'self' blob:; media-src blob:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

// servePage mounts the embedded page. Browsers ask each time whether a file
// has changed, so that a new program never meets an old script.
func servePage(mux *http.ServeMux) {
	types := map[string]string{
		".html": "text/html; charset=utf-8",
		".css":  "text/css; charset=utf-8",
		".js":   "text/javascript; charset=utf-8",
		".svg":  "image/svg+xml",
	}
	names, err := fs.Glob(pageFiles, "page/*")
	if err != nil {
		panic(err) // the pattern above is well-formed
	}
	for _, name := range names {
		data, err := pageFiles.ReadFile(name)
		if err != nil {
			panic(err) // embedded: it is there
		}
		if name == "page/index.html" {
			mux.Handle("GET /{$}", page(types[".html"], data))
			continue
		}
		mux.Handle("GET /assets/"+strings.TrimPrefix(name, "page/"), asset(types[path.Ext(name)], data))
	}
}

// page names its files beside itself, or below the path under which the world
// sees the console, when whoever mounted it says which that is.
func page(typ string, data []byte) http.HandlerFunc {
	plain := asset(typ, data)
	return func(rw http.ResponseWriter, r *http.Request) {
		base := r.Header.Get("X-Forwarded-Prefix")
		if base == "" {
			plain(rw, r)
			return
		}
		asset(typ, bytes.ReplaceAll(data, []byte(`="assets/`), []byte(`="`+html.EscapeString(base)+`/assets/`)))(rw, r)
	}
}

func asset(typ string, data []byte) http.HandlerFunc {
	sum := sha256.Sum256(data)
	etag := `"` + hex.EncodeToString(sum[:8]) + `"`
	return func(rw http.ResponseWriter, r *http.Request) {
		h := rw.Header()
		h.Set("Content-Type", typ)
		h.Set("ETag", etag)
		h.Set("Cache-Control", "no-cache")
		h.Set("Content-Security-Policy", pagePolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		http.ServeContent(rw, r, "", time.Time{}, bytes.NewReader(data))
	}
}

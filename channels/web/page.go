package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed page
var pageFiles embed.FS

// pagePolicy lets the page use its own files and API and nothing else; blob:
// is for previews of files that are not uploaded yet.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"img-src 'self' blob:; media-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

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
		pattern := "GET /assets/" + strings.TrimPrefix(name, "page/")
		if name == "page/index.html" {
			pattern = "GET /{$}"
		}
		mux.Handle(pattern, asset(types[path.Ext(name)], data))
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

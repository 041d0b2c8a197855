package console

import (
	"encoding/json"
	"net/http"
)

const maxHook = 8 << 20 // bytes of a webhook call

func healthz(rw http.ResponseWriter, _ *http.Request) {
	answer(rw, http.StatusOK, map[string]bool{"alive": true})
}

func (s *Server) readyz(rw http.ResponseWriter, _ *http.Request) {
	missing := []Problem{}
	if s.cfg.Ready != nil {
		missing = append(missing, s.cfg.Ready()...)
	}
	status := http.StatusOK
	if len(missing) > 0 {
		status = http.StatusServiceUnavailable
	}
	said := map[string]any{"ready": len(missing) == 0, "missing": missing}
	if s.cfg.States != nil {
		said["channels"] = s.cfg.States()
	}
	if s.cfg.Loaded != nil {
		said["configuration"] = s.cfg.Loaded()
	}
	answer(rw, status, said)
}

func answer(rw http.ResponseWriter, status int, v any) {
	rw.Header().Set("Content-Type", "application/json; charset=utf-8")
	rw.Header().Set("Cache-Control", "no-store")
	rw.WriteHeader(status)
	_ = json.NewEncoder(rw).Encode(v) // the client is gone when this fails
}

func limitBody(limit int64, h http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(rw, r.Body, limit)
		h.ServeHTTP(rw, r)
	})
}

// safeHeaders sets what every answer carries; a handler may replace the policy
// by its own.
func safeHeaders(h http.Handler) http.Handler {
	const policy = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		set := rw.Header().Set
		set("Content-Security-Policy", policy)
		set("X-Content-Type-Options", "nosniff")
		set("X-Frame-Options", "DENY")
		set("Referrer-Policy", "no-referrer")
		set("Cross-Origin-Opener-Policy", "same-origin")
		set("Cross-Origin-Resource-Policy", "same-origin")
		h.ServeHTTP(rw, r)
	})
}

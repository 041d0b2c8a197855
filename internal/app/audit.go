package app

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"path/filepath"
	"time"

	"magpie/bus"
	"magpie/config"
	"magpie/internal/console"
	"magpie/tools"
)

// AuditPath is where a running bot verifies its audit log.
const AuditPath = "/api/audit/verify"

// auditWait bounds the check of a log: a year of a busy bot is read in seconds.
const auditWait = 5 * time.Minute

func auditDir(cfg *config.Config) string { return filepath.Join(cfg.DataDir, "audit_logs") }

// VerifyAudit checks the audit log of a bot that is not running, or of any bot
// on an external bus.
func VerifyAudit(ctx context.Context, cfg *config.Config) (report tools.AuditReport, err error) {
	b, err := bus.Open(ctx, busOptions(cfg, slog.New(slog.DiscardHandler)))
	if err != nil {
		return report, err
	}
	defer func() { _ = b.Close() }()
	return tools.VerifyAudit(ctx, auditDir(cfg), b.Table("audit"))
}

// auditRoute answers AuditPath.
func (p *program) auditRoute() console.Route {
	return console.Route{Pattern: "GET " + AuditPath, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), auditWait)
		defer cancel()
		report, err := tools.VerifyAudit(ctx, auditDir(p.cfg), p.bus.Table("audit"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(report) // who asked is gone, else it arrives
	})}
}

package app

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"magpie/config"
	"magpie/tools"
)

func auditDir(cfg *config.Config) string { return filepath.Join(cfg.DataDir, "audit_logs") }

func verifyAudit(ctx context.Context, s state, _ json.RawMessage) (any, error) {
	return tools.VerifyAudit(ctx, auditDir(s.cfg), s.bus.Table("audit"))
}

// MaxAuditTail bounds AuditTailInput.Calls: a record has at most some 20 KB,
// and the answer of an operation 16 MB.
const MaxAuditTail = 500

// AuditTailInput is the input of the operation audit.tail.
type AuditTailInput struct {
	Calls int `json:"calls"` // from 1 to MaxAuditTail
}

func tailAudit(ctx context.Context, s state, raw json.RawMessage) (any, error) {
	in, err := input[AuditTailInput](raw)
	if err != nil {
		return nil, err
	}
	if in.Calls < 1 || in.Calls > MaxAuditTail {
		return nil, fmt.Errorf("%d calls: want 1 to %d", in.Calls, MaxAuditTail)
	}
	return tools.TailAudit(ctx, auditDir(s.cfg), in.Calls)
}

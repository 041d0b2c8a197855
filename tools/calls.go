package tools

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// AuditedCalls returns the calls of the log in dir whose id begins with prefix,
// in the order of their end, as AuditTail shows them. Only the files of the UTC
// days from since to until are read. No log is no calls.
func AuditedCalls(ctx context.Context, dir, prefix string, since, until time.Time) ([]AuditRecord, error) {
	names, err := auditFiles(dir)
	if err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	first, last := since.UTC().Format(time.DateOnly), until.UTC().Format(time.DateOnly)
	var found []AuditRecord
	for _, name := range names {
		if day := strings.TrimSuffix(name, ".jsonl"); day < first || day > last {
			continue
		}
		more, err := auditedIn(ctx, filepath.Join(dir, name), prefix)
		if err != nil {
			return nil, fmt.Errorf("read audit log %s: %w", name, err)
		}
		found = append(found, more...)
	}
	return withoutStarts(found), nil
}

func auditedIn(ctx context.Context, path, prefix string) (found []AuditRecord, err error) {
	quoted, err := json.Marshal(prefix)
	if err != nil {
		return nil, err
	}
	quoted = append([]byte(`"call_id":`), quoted[:len(quoted)-1]...)
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, auditTail)
	lines.Split(wholeLines)
	for lines.Scan() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var r AuditRecord
		if bytes.Contains(lines.Bytes(), quoted) && json.Unmarshal(lines.Bytes(), &r) == nil && strings.HasPrefix(r.CallID, prefix) {
			found = append(found, r)
		}
	}
	return found, lines.Err()
}

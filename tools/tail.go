package tools

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// AuditTail is the end of an audit log.
type AuditTail struct {
	Records []AuditRecord // the oldest first
	// Damaged counts the lines at the end of the log that are not what was
	// written; they are left out.
	Damaged int
}

// TailAudit returns the last n calls of the log in dir: what each came to, or
// its start when its end is not there (it runs, or a crash ended it). It only
// reads and may run beside a bot that writes. No log is an empty tail.
func TailAudit(ctx context.Context, dir string, n int) (AuditTail, error) {
	var tail AuditTail
	names, err := auditFiles(dir)
	if err != nil {
		return tail, fmt.Errorf("read audit log: %w", err)
	}
	var lines []string
	for _, name := range slices.Backward(names) {
		if len(lines) >= 2*n { // a call has a start and an end
			break
		}
		older, err := lastLines(ctx, filepath.Join(dir, name), 2*n-len(lines))
		if err != nil {
			return tail, fmt.Errorf("read audit log %s: %w", name, err)
		}
		lines = append(older, lines...)
	}
	for _, line := range lines {
		var r AuditRecord
		if _, _, err := unseal([]byte(line)); err != nil || json.Unmarshal([]byte(line), &r) != nil {
			tail.Damaged++
			continue
		}
		tail.Records = append(tail.Records, r)
	}
	tail.Records = withoutStarts(tail.Records)
	tail.Records = tail.Records[max(0, len(tail.Records)-n):]
	return tail, nil
}

// lastLines returns up to n whole lines from the end of a file.
func lastLines(ctx context.Context, path string, n int) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, auditTail)
	lines.Split(wholeLines)
	ring, read := make([]string, n), 0
	for ; lines.Scan(); read++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		ring[read%n] = lines.Text()
	}
	if read < n {
		return ring[:read], lines.Err()
	}
	return append(ring[read%n:], ring[:read%n]...), lines.Err()
}

// withoutStarts leaves out the start of a call whose end follows.
func withoutStarts(records []AuditRecord) []AuditRecord {
	ends := map[string]int{} // of calls, from here to the end of the log
	var kept []AuditRecord
	for _, r := range slices.Backward(records) {
		switch {
		case r.Event == AuditEnd:
			ends[r.CallID]++
		case ends[r.CallID] > 0:
			ends[r.CallID]--
			continue
		}
		kept = append(kept, r)
	}
	slices.Reverse(kept)
	return kept
}

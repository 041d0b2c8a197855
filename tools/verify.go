package tools

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"magpie/internal/kv"
)

// AuditReport is what VerifyAudit found.
type AuditReport struct {
	Files, Records int
	// Problems are the places where the log is not what was written, for
	// people; none means that it is whole.
	Problems []string
	// Others are the chains that the table knows besides this one: those of
	// other machines on the same bus, or of a log that was taken away.
	Others []string
}

// VerifyAudit checks the log in dir: every record has its hash, follows the
// one before, and the last one that the table knows of is there. It only
// reads and may run beside a bot that writes. The error says that the check
// could not be made; what is wrong with the log stands in the report.
func VerifyAudit(ctx context.Context, dir string, table kv.Table) (AuditReport, error) {
	v := &verifier{}
	heads, err := kv.List(ctx, table, strings.TrimSuffix(auditPrefix, "."))
	if err != nil {
		return v.AuditReport, fmt.Errorf("verify audit log: %w", err)
	}
	chain, err := os.ReadFile(filepath.Join(dir, chainFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return v.AuditReport, fmt.Errorf("verify audit log: %w", err)
	}
	for _, h := range heads {
		name := strings.TrimPrefix(h.Key, auditPrefix)
		if name != string(chain) {
			v.Others = append(v.Others, name)
			continue
		}
		if err := json.Unmarshal(h.Value, &v.want); err != nil {
			return v.AuditReport, fmt.Errorf("verify audit log: the end kept in the store: %w", err)
		}
	}
	if len(chain) == 0 && len(v.Others) > 0 {
		v.problem("%s: there is no log here, but the store knows of one: %s", dir, strings.Join(v.Others, ", "))
	}
	names, err := auditFiles(dir)
	if err != nil {
		return v.AuditReport, fmt.Errorf("verify audit log: %w", err)
	}
	for _, name := range names {
		if err := v.file(ctx, dir, name); err != nil {
			return v.AuditReport, fmt.Errorf("verify audit log %s: %w", name, err)
		}
	}
	if v.want.Seq > v.last.Seq {
		v.problem("the log ends at record %d, but %d had been written: it was cut off", v.last.Seq, v.want.Seq)
	}
	return v.AuditReport, nil
}

type verifier struct {
	AuditReport
	last auditHead // of the records read so far
	want auditHead // of the table
}

func (v *verifier) problem(format string, args ...any) {
	v.Problems = append(v.Problems, fmt.Sprintf(format, args...))
}

func (v *verifier) file(ctx context.Context, dir, name string) error {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer f.Close()
	v.Files++
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, auditTail)
	lines.Split(wholeLines)
	for n := 1; lines.Scan(); n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		v.record(fmt.Sprintf("%s:%d", name, n), lines.Bytes())
	}
	return lines.Err()
}

// wholeLines leaves out a last line without its end: it is being written now,
// or a crash left it and the next start takes it away.
func wholeLines(data []byte, atEOF bool) (int, []byte, error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF {
		return len(data), nil, nil
	}
	return 0, nil, nil
}

func (v *verifier) record(place string, line []byte) {
	v.Records++
	link, hash, err := unseal(line)
	if err != nil {
		v.problem("%s: %v", place, err)
		v.last.Seq++ // go on as if it were this record's place
		v.last.Hash = ""
		return
	}
	switch {
	case link.Seq != v.last.Seq+1:
		v.problem("%s: record %d follows record %d: some are missing or in a wrong order", place, link.Seq, v.last.Seq)
	case v.last.Hash != "" && link.Prev != v.last.Hash, v.last.Seq == 0 && link.Prev != "":
		v.problem("%s: record %d was not written after the one before it", place, link.Seq)
	}
	v.last = auditHead{Seq: link.Seq, Hash: hash}
	if link.Seq == v.want.Seq && hash != v.want.Hash {
		v.problem("%s: record %d is not the one that had been written", place, link.Seq)
	}
}

var sealed = regexp.MustCompile(`,"hash":"([0-9a-f]{64})"\}$`)

// unseal checks the hash of a line.
func unseal(line []byte) (AuditLink, string, error) {
	m := sealed.FindSubmatchIndex(line)
	if m == nil {
		return AuditLink{}, "", errors.New("no audit record with a hash")
	}
	body := append(bytes.Clone(line[:m[0]]), '}')
	sum := sha256.Sum256(body)
	hash := string(line[m[2]:m[3]])
	if hex.EncodeToString(sum[:]) != hash {
		return AuditLink{}, "", errors.New("the record was changed")
	}
	var link AuditLink
	if err := json.Unmarshal(body, &link); err != nil {
		return AuditLink{}, "", fmt.Errorf("no audit record: %w", err)
	}
	return link, hash, nil
}

package pdftext

import (
	"bytes"
	"testing"
)

// Nothing a file holds may come out as a panic: the process that reads says
// what was wrong.
func FuzzWrite(f *testing.F) {
	f.Add([]byte("%PDF-1.7\n1 0 obj\n<</Type /Catalog /Pages 2 0 R>>\nendobj\ntrailer\n<</Root 1 0 R>>\nstartxref\n9\n%%EOF"))
	f.Add([]byte(""))
	f.Fuzz(func(_ *testing.T, file []byte) {
		var out bytes.Buffer
		_ = write(file, &out) // an error is an answer
	})
}

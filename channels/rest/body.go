package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/textproto"
	"sync"

	"magpie/channels"
)

// Body is what a request carries. It is opened anew for each try.
type Body struct {
	Type string // content type
	// Open gives the bytes and how many they are, -1 when nobody knows.
	Open func(context.Context) (io.ReadCloser, int64, error)
}

func (b *Body) open(ctx context.Context) (io.ReadCloser, int64, error) {
	if b == nil {
		return nil, 0, nil
	}
	return b.Open(ctx)
}

// Encode writes JSON as short as it gets: limits of platforms count bytes, and
// \u003c for < would be five too many.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// JSON is a body of JSON.
func JSON(v any) (*Body, error) {
	data, err := Encode(v)
	if err != nil {
		return nil, err
	}
	return &Body{Type: "application/json", Open: func(context.Context) (io.ReadCloser, int64, error) {
		return io.NopCloser(bytes.NewReader(data)), int64(len(data)), nil
	}}, nil
}

// Form is a multipart form around a file that is read while it is sent.
type Form struct {
	Values [][2]string
	Field  string // the part of the file
	Name   string // its file name
	Type   string // its content type; "" = application/octet-stream
	File   channels.Upload
}

// Body is the form as the body of a request.
func (f Form) Body() (*Body, error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, v := range f.Values {
		if err := w.WriteField(v[0], v[1]); err != nil {
			return nil, err
		}
	}
	part := textproto.MIMEHeader{}
	part.Set("Content-Disposition", multipart.FileContentDisposition(f.Field, f.Name))
	part.Set("Content-Type", "application/octet-stream")
	if f.Type != "" {
		part.Set("Content-Type", f.Type)
	}
	if _, err := w.CreatePart(part); err != nil {
		return nil, err
	}
	split := b.Len()
	if err := w.Close(); err != nil {
		return nil, err
	}
	head, tail := b.Bytes()[:split], b.Bytes()[split:]
	return &Body{Type: w.FormDataContentType(), Open: func(ctx context.Context) (io.ReadCloser, int64, error) {
		file, err := f.File.Open(ctx)
		if err != nil {
			return nil, 0, err
		}
		length := int64(-1)
		if f.File.Size > 0 {
			length = int64(b.Len()) + f.File.Size
		}
		return joined{io.MultiReader(bytes.NewReader(head), file, bytes.NewReader(tail)), file}, length, nil
	}}, nil
}

type joined struct {
	io.Reader
	io.Closer
}

// guarded is a body that the connection reads, which it may go on with for a
// moment after the call is over: from finish on it gives nothing.
type guarded struct {
	body io.ReadCloser

	mu     sync.Mutex // held while body is read
	over   bool
	unread error
}

var errOver = errors.New("the call is over")

func (g *guarded) Read(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over {
		return 0, errOver
	}
	n, err := g.body.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
		g.unread = err
	}
	return n, err
}

// Close leaves the closing to finish, which knows when nobody reads.
func (g *guarded) Close() error { return nil }

// finish closes the body, and returns what was wrong with reading it.
func (g *guarded) finish() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over = true
	_ = g.body.Close() // it was only read
	return g.unread
}

package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode"

	"magpie/chat"
	"magpie/internal/kv"
)

// file is an upload, or a file the bot sent: what the page shows of it.
type file struct {
	ID   string    `json:"id"`
	Kind chat.Kind `json:"kind"`
	Name string    `json:"name"`
	MIME string    `json:"mime"`
	Size int64     `json:"size"`
}

// files keeps the bytes in the table, in pieces: "f.<id>" describes the file
// and is written last, "f.<id>.<n>" is one piece. The page must be able to
// show a file again after a restart, and the table is all that a channel has.
type files struct {
	table kv.Table
	max   int64
	age   time.Duration
}

// pieceBytes is well below what a value of the table may hold (512 KiB).
const pieceBytes = 256 << 10

var errTooLarge = errors.New("the file is larger than allowed")

func pieceKey(id string, n int64) string { return "f." + id + "." + strconv.FormatInt(n, 10) }

// put stores what r gives under id, replacing what stood there, and fills in
// the size and the true type.
func (s *files) put(ctx context.Context, id, name string, r io.Reader) (file, error) {
	f := file{ID: id, Name: cleanName(name)}
	buf := make([]byte, pieceBytes)
	for n := int64(0); ; n++ {
		got, err := io.ReadFull(r, buf)
		done := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !done {
			return file{}, errors.Join(fmt.Errorf("read file %q: %w", f.Name, err), s.remove(ctx, f))
		}
		f.Size += int64(got)
		if f.Size > s.max {
			return file{}, errors.Join(errTooLarge, s.remove(ctx, f))
		}
		if n == 0 {
			f.Kind, f.MIME = sniff(buf[:got], f.Name)
		}
		if got > 0 {
			if _, err := s.table.Update(ctx, pieceKey(id, n), buf[:got], 0, s.age); err != nil {
				return file{}, errors.Join(fmt.Errorf("store file %q: %w", f.Name, err), s.remove(ctx, f))
			}
		}
		if done {
			break
		}
	}
	head, err := json.Marshal(f)
	if err != nil {
		return file{}, fmt.Errorf("store file %q: %w", f.Name, err)
	}
	if _, err := s.table.Update(ctx, "f."+id, head, 0, s.age); err != nil {
		return file{}, fmt.Errorf("store file %q: %w", f.Name, err)
	}
	return f, nil
}

// remove deletes a file, also one of which only the first f.Size bytes were
// written.
func (s *files) remove(ctx context.Context, f file) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWait)
	defer cancel()
	errs := []error{s.table.Delete(ctx, "f."+f.ID)}
	for n := int64(0); n*pieceBytes < f.Size; n++ {
		errs = append(errs, s.table.Delete(ctx, pieceKey(f.ID, n)))
	}
	return errors.Join(errs...)
}

// get describes a file; kv.ErrNotFound when there is none (any more).
func (s *files) get(ctx context.Context, id string) (file, error) {
	if !validID(id) {
		return file{}, fmt.Errorf("file %q: %w", id, kv.ErrNotFound)
	}
	e, err := s.table.Get(ctx, "f."+id)
	if err != nil {
		return file{}, fmt.Errorf("file %q: %w", id, err)
	}
	var f file
	if err := json.Unmarshal(e.Value, &f); err != nil {
		return file{}, fmt.Errorf("file %q: %w", id, err)
	}
	return f, nil
}

// open reads a file; ctx bounds every read.
func (s *files) open(ctx context.Context, f file) *fileReader {
	return &fileReader{size: f.Size, held: -1, piece: func(n int64) ([]byte, error) {
		e, err := s.table.Get(ctx, pieceKey(f.ID, n))
		if err != nil {
			return nil, fmt.Errorf("file %q, piece %d: %w", f.ID, n, err)
		}
		return e.Value, nil
	}}
}

// fileReader reads the pieces of a file as one. It can seek, which is what a
// browser that plays a video asks for.
type fileReader struct {
	piece func(n int64) ([]byte, error)
	size  int64
	at    int64
	held  int64 // number of the piece in buf, -1 for none
	buf   []byte
}

// Read implements io.Reader.
func (r *fileReader) Read(p []byte) (int, error) {
	if r.at >= r.size {
		return 0, io.EOF
	}
	if n := r.at / pieceBytes; n != r.held {
		buf, err := r.piece(n)
		if err != nil {
			return 0, err
		}
		r.held, r.buf = n, buf
	}
	off := r.at % pieceBytes
	if off >= int64(len(r.buf)) {
		return 0, io.ErrUnexpectedEOF
	}
	n := copy(p, r.buf[off:])
	r.at += int64(n)
	return n, nil
}

// Seek implements io.Seeker.
func (r *fileReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the start of the file")
	}
	r.at = offset
	return offset, nil
}

// Close implements io.Closer.
func (r *fileReader) Close() error { return nil }

// sniff tells kind and type from the first bytes. Only what the bytes prove to
// be picture, sound or film gets such a kind: those are shown inside the page.
// For everything else the name may say more than the bytes.
func sniff(head []byte, name string) (chat.Kind, string) {
	typ := http.DetectContentType(head)
	switch {
	case typ == "image/png", typ == "image/jpeg", typ == "image/gif", typ == "image/webp":
		return chat.Image, typ
	case strings.HasPrefix(typ, "audio/"):
		return chat.Audio, typ
	case typ == "application/ogg":
		return chat.Audio, "audio/ogg"
	case strings.HasPrefix(typ, "video/"):
		return chat.Video, typ
	}
	if byName := mime.TypeByExtension(path.Ext(name)); byName != "" {
		typ = byName
	}
	return chat.File, typ
}

const nameRunes = 120

// cleanName keeps the last element of a path and drops what a file name must
// not hold.
func cleanName(name string) string {
	name = strings.ToValidUTF8(name, "")
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || strings.ContainsRune(`"<>:|?*/`, r) {
			return -1
		}
		return r
	}, name)
	name = strings.TrimLeft(strings.TrimSpace(name), ".")
	if runes := []rune(name); len(runes) > nameRunes {
		ext := []rune(path.Ext(name))
		if len(ext) > 16 {
			ext = nil
		}
		name = string(runes[:nameRunes-len(ext)]) + string(ext)
	}
	if name == "" {
		return "file"
	}
	return name
}

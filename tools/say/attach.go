package say

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/gabriel-vasile/mimetype"

	"magpie/chat"
	"magpie/tools"
)

// Files opens a file that may be sent; tools/fs/fence is one. Its errors are
// written for the model.
type Files interface {
	Open(name string) (*os.File, error)
}

// Media stores the bytes of an attachment.
type Media interface {
	Put(ctx context.Context, name, mime string, r io.Reader) (ref string, size int64, err error)
}

const (
	defaultMaxBytes = 20 << 20
	sniffBytes      = 3072 // what the type is told from
)

// attach stores files. All are looked at before the first is stored, so that a
// wrong path leaves nothing behind.
func (m messenger) attach(ctx context.Context, names []string) (stored []chat.Attachment, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	if m.opt.Files == nil || m.opt.Media == nil {
		return nil, tools.Errorf(tools.Failed, "files cannot be sent here; say where the file is instead")
	}
	files := make([]*os.File, 0, len(names))
	defer func() {
		for _, f := range files {
			f.Close() // opened for reading
		}
	}()
	var errs []error
	for _, name := range names {
		f, err := m.open(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		files = append(files, f)
	}
	if len(errs) > 0 {
		return nil, all(errs)
	}
	for i, f := range files {
		a, err := m.store(ctx, names[i], f)
		if err != nil {
			return nil, err
		}
		stored = append(stored, a)
	}
	return stored, nil
}

// all joins errors for the model and keeps the kind of the first.
func all(errs []error) error {
	var first *tools.Error
	if len(errs) == 1 || !errors.As(errs[0], &first) {
		return errors.Join(errs...)
	}
	joined := errors.Join(errs...)
	return &tools.Error{Kind: first.Kind, Text: joined.Error(), Err: joined}
}

func (m messenger) open(name string) (*os.File, error) {
	f, err := m.opt.Files.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		err = fmt.Errorf("look at %q: %w", name, err)
	case info.IsDir():
		err = tools.Errorf(tools.InvalidArgs, "%q is a folder; want the path of a file", name)
	case info.Size() == 0:
		err = tools.Errorf(tools.InvalidArgs, "%q is empty; platforms refuse empty files", name)
	case info.Size() > m.opt.MaxBytes:
		err = tools.Errorf(tools.InvalidArgs, "%q has %d bytes, at most %d can be sent", name, info.Size(), m.opt.MaxBytes)
	default:
		return f, nil
	}
	return nil, errors.Join(err, f.Close())
}

func (m messenger) store(ctx context.Context, name string, f *os.File) (chat.Attachment, error) {
	head := make([]byte, sniffBytes)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return chat.Attachment{}, fmt.Errorf("read %q: %w", name, err)
	}
	mime := mimetype.Detect(head[:n]).String()
	// A file that grows meanwhile is cut at the limit that was checked.
	whole := io.LimitReader(io.MultiReader(bytes.NewReader(head[:n]), f), m.opt.MaxBytes)
	ref, size, err := m.opt.Media.Put(ctx, path.Base(name), mime, whole)
	if err != nil {
		return chat.Attachment{}, fmt.Errorf("store %q: %w", name, err)
	}
	return chat.Attachment{Kind: kindOf(mime), Name: path.Base(name), MIME: mime, Size: size, Ref: ref}, nil
}

func kindOf(mime string) chat.Kind {
	switch top, _, _ := strings.Cut(mime, "/"); {
	case mime == "image/svg+xml": // platforms show no SVG
		return chat.File
	case top == "image":
		return chat.Image
	case top == "audio":
		return chat.Audio
	case top == "video":
		return chat.Video
	}
	return chat.File
}

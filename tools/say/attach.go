package say

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/gabriel-vasile/mimetype"

	"magpie/chat"
	"magpie/media"
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

// parcel is a file that may be sent.
type parcel struct {
	name string
	mime string
	file *os.File
	from []chat.Source // of what others have written in it
}

// origins is what Files may know besides: where a file really stands, and who
// has written it.
type origins interface {
	OpenAs(name string) (file *os.File, real string, err error)
	Sources(name string, file *os.File) []chat.Source
}

// look opens the files that may be sent on a channel and says of each other one
// why not. The caller closes what was opened.
func (o *Options) look(ctx context.Context, channel string, names []string) (ready []parcel, wrong []error) {
	if o.Files == nil || o.Media == nil {
		return nil, []error{tools.Errorf(tools.Failed, "files cannot be sent here; say where the file is instead")}
	}
	for _, name := range names {
		p, err := o.open(ctx, channel, name)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		ready = append(ready, p)
	}
	return ready, wrong
}

func closeAll(parcels []parcel) {
	for _, p := range parcels {
		p.file.Close() // opened for reading
	}
}

// storeAll puts files into the media store.
func (o *Options) storeAll(ctx context.Context, parcels []parcel) (stored []chat.Attachment, err error) {
	for _, p := range parcels {
		a, err := o.store(ctx, p)
		if err != nil {
			return nil, err
		}
		stored = append(stored, a)
	}
	return stored, nil
}

// attach stores files. All are looked at before the first is stored, so that a
// wrong path leaves nothing behind.
func (o *Options) attach(ctx context.Context, channel string, names []string) ([]chat.Attachment, []chat.Source, error) {
	if len(names) == 0 {
		return nil, nil, nil
	}
	ready, wrong := o.look(ctx, channel, names)
	defer closeAll(ready)
	if len(wrong) > 0 {
		return nil, nil, all(wrong)
	}
	stored, err := o.storeAll(ctx, ready)
	return stored, written(ready), err
}

// written are the sources of what others have written in files.
func written(parcels []parcel) (from []chat.Source) {
	for _, p := range parcels {
		from = chat.JoinSources(from, p.from)
	}
	return from
}

// file opens a file by its name, if the policy does not mind where that leads.
func (o *Options) file(ctx context.Context, name string) (f *os.File, from []chat.Source, err error) {
	files, ok := o.Files.(origins)
	if !ok {
		f, err = o.Files.Open(name)
		return f, nil, err
	}
	f, real, err := files.OpenAs(name)
	if err != nil {
		return nil, nil, err
	}
	if err := tools.Visited(ctx, real); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, files.Sources(name, f), nil
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

func (o *Options) open(ctx context.Context, channel, name string) (parcel, error) {
	f, from, err := o.file(ctx, name)
	if err != nil {
		return parcel{}, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		err = fmt.Errorf("look at %q: %w", name, err)
	case info.IsDir():
		err = tools.Errorf(tools.InvalidArgs, "%q is a folder; want the path of a file", name)
	case info.Size() == 0:
		err = tools.Errorf(tools.InvalidArgs, "%q is empty; platforms refuse empty files", name)
	case info.Size() > o.MaxBytes:
		err = tools.Errorf(tools.InvalidArgs, "%q has %d bytes, at most %d can be sent", name, info.Size(), o.MaxBytes)
	default:
		var mime string
		if mime, err = sniff(f, name); err == nil {
			err = o.fits(channel, name, mime, info.Size())
		}
		if err == nil {
			return parcel{name, mime, f, from}, nil
		}
	}
	return parcel{}, errors.Join(err, f.Close())
}

// sniff tells the type of a file from its beginning.
func sniff(f *os.File, name string) (string, error) {
	head := make([]byte, sniffBytes)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read %q: %w", name, err)
	}
	return mimetype.Detect(head[:n]).String(), nil
}

// fits says why the channel does not take a file.
func (o *Options) fits(channel, name, mime string, size int64) error {
	if o.Largest == nil {
		return nil
	}
	most, known := o.Largest(channel, media.KindOf(mime))
	switch {
	case !known || size <= most:
		return nil
	case most == 0:
		return tools.Errorf(tools.Failed, "%q: %s takes no files; say where the file is instead", name, channel)
	}
	return tools.Errorf(tools.InvalidArgs, "%q has %d bytes, %s takes at most %d; send something smaller, or say where the file is", name, size, channel, most)
}

func (o *Options) store(ctx context.Context, p parcel) (chat.Attachment, error) {
	// A file that grows meanwhile is cut at the limit that was checked.
	ref, size, err := o.Media.Put(ctx, path.Base(p.name), p.mime, io.LimitReader(p.file, o.MaxBytes))
	if err != nil {
		return chat.Attachment{}, fmt.Errorf("store %q: %w", p.name, err)
	}
	return chat.Attachment{Kind: media.KindOf(p.mime), Name: path.Base(p.name), MIME: p.mime, Size: size, Ref: ref}, nil
}

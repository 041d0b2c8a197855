package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"magpie/chat"
)

// inbox is the folder of the workspace in which attachments stand for the
// tools: inbox/<date>/<name>.
type inbox struct {
	workspace string
	day       string
}

// copyWait bounds the copying of one attachment out of the media store.
const copyWait = 30 * time.Second

const (
	maxFileName = 150 // bytes, without the extension; file systems take 255
	maxExt      = 16
)

// mostNames bounds the search for a free name in one folder.
const mostNames = 1000

func (t *turn) inbox() inbox {
	return inbox{t.h.a.opt.Workspace, t.began.In(t.zone()).Format(time.DateOnly)}
}

// copyIn puts a copy of an attachment into the inbox and returns its path in
// the workspace, "" when it could not. again looks for the copy of an earlier
// attempt first.
func (t *turn) copyIn(ctx context.Context, a chat.Attachment, again bool) string {
	in := t.inbox()
	if t.h.a.ports.Media == nil || in.workspace == "" {
		return ""
	}
	name := fileName(a)
	if again {
		if p := path.Join("inbox", in.day, name); in.has(p, a.Size) {
			return p
		}
	}
	ctx, cancel := context.WithTimeout(ctx, copyWait)
	defer cancel()
	r, err := t.h.a.ports.Media.Open(ctx, a.Ref)
	if err != nil {
		t.h.a.opt.Log.Warn("attachment was not copied", "session", t.h.key, "trace", t.first().Trace, "err", err)
		return ""
	}
	defer r.Close()
	p, err := in.write(name, r)
	if err != nil {
		t.h.a.opt.Log.Warn("attachment was not copied", "session", t.h.key, "trace", t.first().Trace, "err", err)
	}
	return p
}

// keep writes r under name and returns its path, "" when it could not.
func (in inbox) keep(_ context.Context, name string, r io.Reader) string {
	if in.workspace == "" {
		return ""
	}
	p, err := in.write(name, r)
	if err != nil {
		return ""
	}
	return p
}

// has reports whether the workspace has a file of that size there.
func (in inbox) has(p string, size int64) bool {
	root, err := os.OpenRoot(in.workspace)
	if err != nil {
		return false
	}
	defer root.Close()
	info, err := root.Lstat(p)
	return err == nil && info.Mode().IsRegular() && info.Size() == size
}

// write stores r in a new file; a name that is taken gets a number.
func (in inbox) write(name string, r io.Reader) (string, error) {
	root, err := os.OpenRoot(in.workspace)
	if err != nil {
		return "", fmt.Errorf("open workspace: %w", err)
	}
	defer root.Close()
	folder := path.Join("inbox", in.day)
	if err := root.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("make %s: %w", folder, err)
	}
	base, ext := strings.TrimSuffix(name, path.Ext(name)), path.Ext(name)
	for n := 1; n <= mostNames; n++ {
		p := path.Join(folder, name)
		if n > 1 {
			p = path.Join(folder, fmt.Sprintf("%s-%d%s", base, n, ext))
		}
		f, err := root.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("create %s: %w", p, err)
		}
		_, err = io.Copy(f, r)
		if err = errors.Join(err, f.Close()); err != nil {
			return "", errors.Join(fmt.Errorf("write %s: %w", p, err), root.Remove(p))
		}
		return p, nil
	}
	return "", fmt.Errorf("create %s in %s: too many files of that name", name, folder)
}

// fileName is the attachment's own name as a plain file name, or one made of
// its kind and type.
func fileName(a chat.Attachment) string {
	name := path.Base("/" + strings.ReplaceAll(strings.ToValidUTF8(a.Name, ""), `\`, "/"))
	ext := path.Ext(name)
	if len(ext) > maxExt {
		ext = ""
	}
	name = cleanTo(strings.TrimSuffix(name, ext), maxFileName) + clean(ext)
	if name = strings.TrimLeft(name, "/. "); name != "" {
		return name
	}
	name = string(a.Kind)
	if name == "" {
		name = string(chat.File)
	}
	if _, sub, ok := strings.Cut(a.MIME, "/"); ok && sub != "" && strings.Trim(sub, "abcdefghijklmnopqrstuvwxyz0123456789") == "" {
		name += "." + sub
	}
	return name
}

package dispatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"magpie/channels"
	"magpie/chat"
	"magpie/media"
)

// files looks at the attachments before anything is sent: those that can go,
// and lines for the chat that name those that cannot.
func (j *job) files(ctx context.Context) (ready []channels.Upload, notes string, err error) {
	var lines []string
	for _, a := range j.out.Attachments {
		a, reason, err := j.check(ctx, a)
		switch {
		case err != nil:
			return nil, "", fmt.Errorf("open attachment %q: %w", a.Ref, err)
		case reason != "":
			lines = append(lines, j.note(a, reason))
		default:
			ref := a.Ref
			open := func(ctx context.Context) (io.ReadCloser, error) { return j.d.opt.Media.Open(ctx, ref) }
			ready = append(ready, channels.Upload{Attachment: a, Open: open})
		}
	}
	return ready, strings.Join(lines, "\n"), nil
}

// check decides as what a file goes, or why it does not.
func (j *job) check(ctx context.Context, a chat.Attachment) (_ chat.Attachment, reason string, err error) {
	lim := j.d.limits.Media
	if _, ok := j.d.ch.(channels.MediaSender); !ok || len(lim) == 0 {
		return a, j.say("this channel cannot send files", "这个平台不能发送文件"), nil
	}
	if j.d.opt.Media == nil || a.Ref == "" {
		return a, j.say("the file is missing", "文件不存在"), nil
	}
	size, err := j.measure(ctx, a.Ref)
	if errors.Is(err, media.ErrNotFound) {
		return a, j.say("the file is no longer there", "文件已不存在"), nil
	}
	if err != nil {
		return a, "", err
	}
	empty := size == 0
	size = max(size, a.Size) // counting stops early, and nobody minds a size that is said too large
	a.Size = size
	most, ok := lim[a.Kind]
	if !ok || size > most { // too large for a photo may still be a document
		a.Kind = chat.File
		most = lim[chat.File]
	}
	switch {
	case empty:
		return a, j.say("the file is empty", "文件是空的"), nil
	case size > most:
		return a, fmt.Sprintf(j.say("%s is more than the %s this channel takes", "%s 超过了平台允许的 %s"), megabytes(size), megabytes(most)), nil
	}
	return a, "", nil
}

// measure counts the bytes of a file, stopping where no channel goes.
func (j *job) measure(ctx context.Context, ref string) (int64, error) {
	r, err := j.d.opt.Media.Open(ctx, ref)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	most := int64(0)
	for _, n := range j.d.limits.Media {
		most = max(most, n)
	}
	return io.Copy(io.Discard, io.LimitReader(r, most+1))
}

// megabytes writes a size for people.
func megabytes(n int64) string {
	if n < 1<<20 {
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/(1<<10)), ".0") + " KiB"
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/(1<<20)), ".0") + " MiB"
}

// note is the line that stands for a file that cannot be sent.
func (j *job) note(a chat.Attachment, reason string) string {
	name := media.CleanName(a.Name)
	return fmt.Sprintf("📎 `%s`: %s", strings.ReplaceAll(name, "`", "'"), reason)
}

// say picks the language of the message.
func (j *job) say(english, chinese string) string {
	if chat.TextLanguage(j.out.Text) == chat.Chinese {
		return chinese
	}
	return english
}

// groups puts neighbouring pictures and videos into albums; every other file
// goes alone.
func (j *job) groups(files []channels.Upload) (groups [][]channels.Upload) {
	for _, f := range files {
		n := len(groups) - 1
		if n >= 0 && len(groups[n]) < j.d.limits.Album && albumKind(f) && albumKind(groups[n][0]) {
			groups[n] = append(groups[n], f)
			continue
		}
		groups = append(groups, []channels.Upload{f})
	}
	return groups
}

func albumKind(f channels.Upload) bool { return f.Kind == chat.Image || f.Kind == chat.Video }

// sendFiles uploads one group. What the platform refuses is tried once more
// file by file and as plain documents, then named in the chat, so that one bad
// file does not cost the others or the text.
func (j *job) sendFiles(ctx context.Context, msg chat.Outbound, files []channels.Upload) ([]chat.MessageRef, error) {
	refs, err := j.upload(ctx, msg, files)
	if err == nil || !refused(err) {
		return refs, err
	}
	j.d.opt.Log.WarnContext(ctx, "files refused", "trace", msg.Trace, "files", len(files), "err", err)
	var notes []string
	if msg.Text != "" {
		notes = append(notes, msg.Text)
	}
	for i, f := range files {
		alone := msg
		alone.ID, alone.Text = fmt.Sprintf("%s/%d", msg.ID, i+1), ""
		f.Kind = chat.File
		more, err := j.upload(ctx, alone, []channels.Upload{f})
		switch {
		case err == nil:
			for _, ref := range more {
				j.unplanned(ref, chat.Part{Files: []chat.Attachment{f.Attachment}})
			}
			refs = append(refs, more...)
		case refused(err):
			notes = append(notes, j.note(f.Attachment, j.say("the platform refused the file", "平台拒绝了这个文件")))
		default:
			return refs, err
		}
	}
	if len(notes) == 0 {
		return refs, nil
	}
	msg.ID, msg.Text = msg.ID+"/notes", paragraphs(notes...)
	ref, err := j.d.send(ctx, msg)
	if err != nil {
		return refs, verdict(err)
	}
	j.unplanned(ref, chat.Part{Text: msg.Text})
	return append(refs, ref), nil
}

// refused reports that the platform said no to this very request.
func refused(err error) bool {
	var dead *Undeliverable
	if errors.As(err, &dead) {
		return false
	}
	kind := channels.KindOf(err)
	return kind == channels.Rejected || kind == channels.TooLong
}

func (j *job) upload(ctx context.Context, msg chat.Outbound, files []channels.Upload) (refs []chat.MessageRef, err error) {
	sender := j.d.ch.(channels.MediaSender) // check and asFile have seen that it is one
	err = j.d.try(ctx, msg.Meta, fileTimeout, func(ctx context.Context) error {
		refs, err = sender.SendMedia(ctx, msg, files)
		return err
	})
	return refs, err
}

func upload(a chat.Attachment, text string) channels.Upload {
	return channels.Upload{Attachment: a, Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(text)), nil
	}}
}

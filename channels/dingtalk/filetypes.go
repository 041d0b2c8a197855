package dingtalk

import (
	"context"
	"slices"
	"strings"
	"sync"

	"magpie/channels"
)

// fileTypes remembers what DingTalk does not take as what. Its pages disagree:
// amr, mp3 and wav can be uploaded as voice, of which sampleAudio is said to
// show ogg and amr; sampleFile is said to show xlsx, pdf, zip, rar, doc and docx
// (https://help.dingtalk.io/open/development/robot-message-type and
// upload-media-files, read November 2026). So all are tried.
type fileTypes struct {
	mu      sync.Mutex
	refused map[string]bool // kind and type
}

// known makes a file what DingTalk has not refused yet.
func (r *fileTypes) known(f file) file {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.as != asFile && r.refused[f.as+"."+f.ext] {
		f.as = asFile
	}
	return f
}

// lesser makes a file something less, when it was refused as what it is: a
// file, and that in an archive.
func (r *fileTypes) lesser(ctx context.Context, f *file, err error) bool {
	switch {
	case !badFile(err) || f.as == asFile && f.ext == "zip":
		return false
	case f.as != asFile:
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.refused == nil {
			r.refused = map[string]bool{}
		}
		if len(f.ext) <= 8 && len(r.refused) < 256 {
			r.refused[f.as+"."+f.ext] = true
		}
		f.as = asFile
		return true
	}
	z, err := zipped(ctx, *f)
	if err != nil {
		return false
	}
	*f = z
	return true
}

// badFile reports that a file was refused for what it is.
func badFile(err error) bool {
	if channels.KindOf(err) != channels.Rejected {
		return false
	}
	code, errcode := codeOf(err)
	return errcode == 40004 || slices.ContainsFunc([]string{
		"miss.param.", "invalidParameter.msg", "invalidParameter.param", "sendMessage.model", "unsupport",
	}, func(begin string) bool { return strings.HasPrefix(code, begin) })
}

package telegram

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"magpie/channels"
)

// openLocal opens a file that a Bot API server with --local has put on this
// machine: it names the place instead of handing the file out
// (https://core.telegram.org/bots/api#using-a-local-bot-api-server, read
// November 2026). Only a server of one's own may name one, and only in the
// folder that it has for this bot.
func (t *Telegram) openLocal(name string) (io.ReadCloser, error) {
	const op = "getFile"
	shown := t.api.Redact(name)
	switch {
	case t.cfg.APIBase == publicAPI:
		return nil, t.api.Fail(op, channels.Rejected, fmt.Errorf("%s names a place on this machine (%s); only a server with --local does", t.cfg.APIBase, shown))
	case filepath.Clean(name) != name || !t.ownFolder(name):
		return nil, t.api.Fail(op, channels.Rejected, fmt.Errorf("the server names %s, which is not in its folder for this bot", shown))
	}
	f, err := os.Open(name)
	if err != nil {
		var pe *fs.PathError // its path holds the token
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, t.api.Fail(op, channels.Rejected, fmt.Errorf("the Bot API server runs with --local and has put the file at %s, where this program cannot read it (%w): "+
			"mount the server's folder here at the same path, readable for this program, or run the server without --local", shown, err))
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close() // it was not read
		return nil, t.api.Fail(op, channels.Rejected, fmt.Errorf("%s is no file", shown))
	}
	return f, nil
}

// ownFolder: the server keeps the files of a bot in a folder that is called by
// its token, or its id; not all systems have colons in names.
func (t *Telegram) ownFolder(name string) bool {
	token := string(t.cfg.Token)
	id, _, _ := strings.Cut(token, ":")
	own := []string{token, strings.ReplaceAll(token, ":", "~"), strings.ReplaceAll(token, ":", "_"), id}
	parts := strings.FieldsFunc(filepath.Dir(name), func(r rune) bool { return r == '/' || r == filepath.Separator })
	return slices.ContainsFunc(parts, func(part string) bool { return slices.Contains(own, part) })
}

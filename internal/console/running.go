package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"magpie/chat"
)

// RunningFile says where the program that works with a data folder listens, and
// with which token. Commands look there first: the configuration may have
// changed since that program was started. The program holds a lock on the file
// for as long as it lives, so nobody is led to one that is gone.
const RunningFile = "running.json"

// Running is a program that runs.
type Running struct {
	URL   string
	Token chat.Secret
}

// running is Running as it stands in the file.
type running struct {
	URL   string `json:"url"`
	Token string `json:"token"`
}

const (
	lockTries = 10
	lockPause = 20 * time.Millisecond
)

// Announce writes the RunningFile after Listen; end takes it back. Of several
// programs on one folder the first is found.
func (s *Server) Announce(dataDir string) (end func(), err error) {
	f, err := os.OpenFile(filepath.Join(dataDir, RunningFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("say where the bot listens: %w", err)
	}
	for range lockTries { // somebody who only looks holds it for a moment
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			break
		}
		time.Sleep(lockPause)
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return func() {}, f.Close()
	}
	data, jsonErr := json.Marshal(running{s.URL(), string(s.cfg.Token)})
	if err = errors.Join(err, jsonErr, f.Truncate(0)); err == nil {
		_, err = f.WriteAt(data, 0)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("say where the bot listens: %w", err)
	}
	return func() {
		_ = f.Truncate(0)
		_ = f.Close()
	}, nil
}

// FindRunning returns the program that works with a data folder; false when
// none does, or its file cannot be read by this user.
func FindRunning(dataDir string) (Running, bool) {
	f, err := os.Open(filepath.Join(dataDir, RunningFile))
	if err != nil {
		return Running{}, false
	}
	defer f.Close() // it was read only
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
		return Running{}, false // nobody holds it
	}
	var r running
	if err := json.NewDecoder(f).Decode(&r); err != nil || r.URL == "" {
		return Running{}, false
	}
	return Running{r.URL, chat.Secret(r.Token)}, true
}

package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"magpie/chat"
)

// RunningFile says on which ways the program that works with a data folder can
// be reached, and with which token. Commands look there first: the configuration
// may have changed since that program was started. The program holds a lock on
// the file for as long as it lives, so nobody is led to one that is gone.
const RunningFile = "running.json"

// running is Running as it stands in the file.
type running struct {
	URL       string   `json:"url"`
	Token     string   `json:"token"`
	Socket    string   `json:"socket,omitempty"` // in the same folder
	Addresses []string `json:"addresses"`
}

const (
	lockTries = 10
	lockPause = 20 * time.Millisecond
)

// Announce opens the SocketFile and writes the RunningFile after Listen; end
// takes both back. Of several programs on one folder the first is found.
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
	said := running{URL: s.URL(), Token: string(s.cfg.Token), Addresses: addresses(s.address())}
	if err == nil && s.openSocket(dataDir) {
		said.Socket = SocketFile
	}
	data, jsonErr := json.Marshal(said)
	if err = errors.Join(err, jsonErr, f.Truncate(0)); err == nil {
		_, err = f.WriteAt(data, 0)
	}
	end = func() {
		if said.Socket != "" {
			s.closeSocket(dataDir)
		}
		_ = f.Truncate(0)
		_ = f.Close()
	}
	if err != nil {
		end()
		return nil, fmt.Errorf("say where the bot listens: %w", err)
	}
	return end, nil
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
	var said running
	if err := json.NewDecoder(f).Decode(&said); err != nil || said.URL == "" {
		return Running{}, false
	}
	r := Running{URL: said.URL, Token: chat.Secret(said.Token)}
	if said.Socket != "" {
		r.ways = append(r.ways, way{"unix", filepath.Join(dataDir, filepath.Base(said.Socket))})
	}
	if len(said.Addresses) == 0 { // written by an earlier version
		said.Addresses = []string{strings.TrimPrefix(said.URL, "http://")}
	}
	for _, address := range said.Addresses {
		r.ways = append(r.ways, way{"tcp", address})
	}
	return r, true
}

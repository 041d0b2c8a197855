package bus

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

const (
	// requestTimeout bounds one request to the server; a publish is tried
	// again after it. A disk that needs longer than this to fsync is broken.
	requestTimeout = 5 * time.Second
	// startTimeout bounds the recovery of the embedded store: 100 000 chats
	// were measured at under two seconds.
	startTimeout = 60 * time.Second
	// maxPayload of the embedded server; a record of a long turn must fit.
	maxPayload = 8 << 20
	// headerRoom is kept free for headers in every message.
	headerRoom = 4 << 10
)

// embed starts a server without any listener on opts.Dir.
func (b *Bus) embed() error {
	if err := os.MkdirAll(b.opts.Dir, 0o700); err != nil {
		return fmt.Errorf("create store folder: %w", err)
	}
	unlock, crashed, err := lockDir(b.opts.Dir)
	if err != nil {
		return err
	}
	b.unlock = unlock
	if err := b.repair(crashed); err != nil {
		return fmt.Errorf("open the store in %s: %w", b.opts.Dir, err)
	}
	opts := &server.Options{
		ServerName:         "magpie",
		DontListen:         true,
		NoSigs:             true,
		NoLog:              true,
		MaxPayload:         maxPayload,
		MaxPending:         256 << 20,
		JetStream:          true,
		StoreDir:           b.opts.Dir,
		JetStreamMaxMemory: 256 << 20,
		JetStreamMaxStore:  b.opts.MaxStore,
		SyncAlways:         b.opts.SyncInterval == 0,
		SyncInterval:       b.opts.SyncInterval,
	}
	if opts.SyncAlways {
		opts.SyncInterval = 2 * time.Minute
	}
	srv, err := server.NewServer(opts)
	if err != nil {
		return fmt.Errorf("start embedded bus in %s: %w", b.opts.Dir, err)
	}
	b.srv = srv
	srv.SetLoggerV2(&serverLog{b.log}, false, false, false)
	srv.Start()
	if !srv.ReadyForConnections(startTimeout) || !srv.JetStreamEnabled() {
		return fmt.Errorf("start embedded bus in %s: the store did not open; is the folder writable, the disk full or a file damaged?", b.opts.Dir)
	}
	return nil
}

// lockDir makes sure that one process at a time opens a store. crashed: the
// last one did not close it.
func lockDir(dir string) (unlock func(), crashed bool, err error) {
	path := filepath.Join(dir, lockName)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, false, fmt.Errorf("lock store: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		pid, _ := os.ReadFile(path)
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, false, fmt.Errorf("the store in %s is in use by another process (pid %s): stop that one, or talk to it instead",
				dir, strings.TrimSpace(string(pid)))
		}
		return nil, false, fmt.Errorf("lock store %s: %w", dir, err)
	}
	info, err := f.Stat()
	if err == nil {
		crashed = info.Size() > 0
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = fmt.Fprintf(f, "%d\n", os.Getpid())
	}
	if err != nil {
		_ = f.Close()
		return nil, false, fmt.Errorf("lock store: %w", err)
	}
	return func() {
		_ = f.Truncate(0) // closed in an orderly way
		_ = f.Close()
	}, crashed, nil
}

// Lock makes sure that nobody works with the store in dir, also while the
// folder is moved. A folder without a store is nobody's.
func Lock(dir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lock store: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%w by another process: stop it first: lock %s: %w", ErrInUse, dir, err)
	}
	return func() { _ = f.Close() }, nil
}

// lockName is the file by which one process at a time has a store.
const lockName = "lock"

// credentials reads a JWT credentials file, or a bare nkey seed.
func credentials(file string) nats.Option {
	return func(o *nats.Options) error {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read bus credentials: %w", err)
		}
		if strings.Contains(string(text), "BEGIN NATS USER JWT") {
			return nats.UserCredentials(file)(o)
		}
		opt, err := nats.NkeyOptionFromSeed(file)
		if err != nil {
			return fmt.Errorf("bus credentials %s: neither a credentials file nor an nkey seed: %w", file, err)
		}
		return opt(o)
	}
}

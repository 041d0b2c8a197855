package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"magpie/bus"
	"magpie/config"
	"magpie/internal/backup"
	"magpie/internal/console"
)

// BackupPath is where a running bot is asked for a backup: POST, signed by
// console.SignOperator; the answer is the file, or a status from 400 on and a
// text.
const BackupPath = "/api/backup"

const (
	// holdWrites bounds how long people wait for a backup of a running bot.
	holdWrites = 30 * time.Second
	// holdAlone is the bound when no bot runs in this process.
	holdAlone = time.Hour
)

// Backup writes a backup of a bot that is not running here: of its embedded
// store, or of an external one, while others may work with it.
func Backup(ctx context.Context, cfg *config.Config, version string, w io.Writer) (err error) {
	giveBack, err := borrow(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, giveBack()) }()
	log := slog.New(slog.DiscardHandler)
	b, err := openBus(ctx, cfg, log, opener{version: version})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	k := &keeper{cfg: cfg, bus: b, version: version, hold: holdAlone}
	if cfg.Bus.URL != "" {
		k.hold = holdWrites
	}
	c, err := k.copy(ctx)
	if err != nil {
		return err
	}
	return errors.Join(c.write(w), c.drop())
}

// backupRoute makes backups of the running bot.
func (p *program) backupRoute() console.Route {
	return console.Route{Pattern: "POST " + BackupPath, Operator: true, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k := &keeper{cfg: p.cfg, bus: p.bus, version: p.opts.Version, hold: holdWrites}
		c, err := k.copy(r.Context())
		if err != nil {
			p.log.Error("backup failed", "err", err)
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		// A large backup may take longer than other answers.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
		w.Header().Set("Content-Type", "application/gzip")
		err = errors.Join(c.write(w), c.drop())
		if err != nil {
			p.log.Error("backup failed", "err", err)
			panic(http.ErrAbortHandler) // so that who asked learns of it
		}
		p.log.Info("backup made", "held", c.done.Held.Round(time.Millisecond), "processes", c.done.Others+1)
	})}
}

// keeper makes backups.
type keeper struct {
	cfg     *config.Config
	bus     *bus.Bus
	version string
	hold    time.Duration
}

// copied is a copy of the streams, in a folder of its own, from which the
// backup is written.
type copied struct {
	k      *keeper
	dir    string
	at     time.Time
	schema int
	done   bus.BackedUp
	places backup.Places
	audit  map[string]int64 // how long the audit logs were then
}

// copy copies the streams.
func (k *keeper) copy(ctx context.Context) (c *copied, err error) {
	c = &copied{k: k, schema: k.bus.Schema(), audit: map[string]int64{}}
	if c.places, err = backup.NewPlaces(k.cfg.DataDir, k.cfg.Workspace, k.cfg.File); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(k.cfg.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("prepare backup: %w", err)
	}
	if c.dir, err = os.MkdirTemp(k.cfg.DataDir, backup.SpoolPrefix); err != nil {
		return nil, fmt.Errorf("prepare backup: %w", err)
	}
	c.done, err = k.bus.Backup(ctx, bus.BackupOptions{
		Hold: k.hold,
		Open: func(name string) (io.WriteCloser, error) { return os.Create(filepath.Join(c.dir, name)) },
		Still: func() error {
			c.at = time.Now().UTC()
			return c.measureAudit()
		},
	})
	if err != nil {
		return nil, errors.Join(err, c.drop())
	}
	return c, nil
}

func (c *copied) drop() error { return os.RemoveAll(c.dir) }

// measureAudit notes how much of the audit logs belongs to the backup: their
// end is kept in the bus.
func (c *copied) measureAudit() error {
	dir := auditDir(c.k.cfg)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look into the audit logs: %w", err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			c.audit[filepath.Join(dir, e.Name())] = info.Size()
		}
	}
	return nil
}

// write writes the whole backup.
func (c *copied) write(w io.Writer) error {
	m := backup.Manifest{
		Schema: c.schema, Program: c.k.version, Created: c.at,
		Processes: c.done.Others + 1, HeldMS: c.done.Held.Milliseconds(),
	}
	for _, s := range c.done.Streams {
		m.Streams = append(m.Streams, backup.Stream{Name: s.Name, Last: s.Last, Messages: s.Msgs})
	}
	b, err := backup.NewWriter(w, m)
	if err != nil {
		return err
	}
	for _, s := range c.done.Streams {
		if err := b.File(backup.BusDir+s.Name, filepath.Join(c.dir, s.Name), -1); err != nil {
			return err
		}
	}
	for path, size := range c.audit {
		if err := b.File(backup.DataDir+filepath.Base(auditDir(c.k.cfg))+"/"+filepath.Base(path), path, size); err != nil {
			return err
		}
	}
	if err := b.Tree(backup.DataDir, c.places.Data, c.notData); err != nil {
		return err
	}
	if err := b.Tree(backup.WorkspaceDir, c.k.cfg.Workspace, c.notWork); err != nil {
		return err
	}
	return b.Close()
}

// notData leaves out what is no file of the data folder's own.
func (c *copied) notData(path string) bool {
	if filepath.Dir(path) == c.places.Data && c.places.Skips(c.places.Data, filepath.Base(path)) {
		return true
	}
	for _, name := range []string{console.RunningFile, console.SocketFile} {
		if samePath(path, filepath.Join(c.k.cfg.DataDir, name)) {
			return true
		}
	}
	return samePath(path, busDir(c.k.cfg)) || samePath(path, auditDir(c.k.cfg)) || samePath(path, c.k.cfg.Workspace)
}

// notWork leaves out what is no file of the workspace.
func (c *copied) notWork(path string) bool {
	dir, err := filepath.Abs(filepath.Dir(path))
	return err == nil && samePath(dir, c.k.cfg.Workspace) && c.places.Skips(dir, filepath.Base(path))
}

func samePath(a, b string) bool {
	a, err1 := filepath.Abs(a)
	b, err2 := filepath.Abs(b)
	return err1 == nil && err2 == nil && a == b
}

// beforeMigration keeps a backup of a store that is about to be changed.
func beforeMigration(cfg *config.Config, version string) func(context.Context, *bus.Bus, int) error {
	return func(ctx context.Context, b *bus.Bus, schema int) error {
		k := &keeper{cfg: cfg, bus: b, version: version, hold: holdAlone}
		c, err := k.copy(ctx)
		if err != nil {
			return err
		}
		c.schema = schema
		_, err = c.keep(fmt.Sprintf("schema-%d", schema))
		return errors.Join(err, c.drop())
	}
}

// keep writes the backup into the data folder's own place for backups.
func (c *copied) keep(name string) (path string, err error) {
	dir := filepath.Join(c.places.Data, backup.KeptDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("keep backup: %w", err)
	}
	path = filepath.Join(dir, name+"-"+c.at.Format("20060102T150405Z")+".tar.gz")
	return path, WriteFile(path, c.write)
}

// WriteFile makes a file, readable by its owner only, that is there as a whole
// or not at all.
func WriteFile(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path+".part", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write backup: %w", err)
	}
	if err = errors.Join(write(f), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

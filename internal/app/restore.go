package app

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"magpie/bus"
	"magpie/config"
	"magpie/internal/backup"
)

// Restored says what Restore has done.
type Restored struct {
	backup.Contents
	// Aside is where the files that were there before are kept, and Saved the
	// backup of an external store that was replaced; "" = there was nothing.
	Aside, Saved string
}

// BackupFile is a backup that can be read more than once. Its name stands in
// messages.
type BackupFile interface {
	io.ReadSeeker
	Name() string
}

// VerifyBackup reads a backup to its end and compares it with its checksums.
func VerifyBackup(f BackupFile) (backup.Contents, error) {
	c, err := backup.Verify(f)
	if err == nil && c.Schema > bus.SchemaVersion {
		err = fmt.Errorf("%w: its store has schema version %d, this program knows %d: use bot %s or a later one",
			backup.ErrNewer, c.Schema, bus.SchemaVersion, c.Program)
	}
	if err != nil {
		return c, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return c, nil
}

// SpoolBackup keeps a backup that can be read only once, because a restore
// reads it twice: in the data folder, since nothing else may be writable or
// large enough. The file has no name there any more, so nothing of it stays
// when the program is killed; it is gone when it is closed.
func SpoolBackup(cfg *config.Config, name string, r io.Reader) (f *Spooled, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("keep %s until it is checked: %w", name, err)
		}
	}()
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(cfg.DataDir, backup.SpoolPrefix)
	if err != nil {
		return nil, err
	}
	f = &Spooled{File: file, name: name}
	if err = os.Remove(file.Name()); err == nil {
		_, err = io.Copy(file, r)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	_, err = file.Seek(0, io.SeekStart)
	return f, err
}

// Spooled is a backup that SpoolBackup keeps.
type Spooled struct {
	*os.File
	name string
}

// Name is where the backup came from.
func (s *Spooled) Name() string { return s.name }

// Restore fills the bot's folders and its store from a backup. Nothing is
// touched before the whole file was checked and the new folders are complete.
// force replaces what is there, and keeps it beside. No bot may be running.
func Restore(ctx context.Context, cfg *config.Config, file BackupFile, version string, force bool) (done Restored, err error) {
	giveBack, err := borrow(cfg)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, giveBack()) }()
	if _, err := backup.Finish(cfg.DataDir); err != nil && !errors.Is(err, backup.ErrInterrupted) {
		return done, err
	}
	if done.Contents, err = VerifyBackup(file); err != nil {
		return done, err
	}
	r := &restorer{cfg: cfg, version: version, force: force}
	if r.places, err = backup.NewPlaces(cfg.DataDir, cfg.Workspace, cfg.File); err != nil {
		return done, err
	}
	unlock, err := bus.Lock(busDir(cfg))
	if err != nil {
		return done, err
	}
	defer unlock()
	if done.Saved, err = r.clear(ctx); err != nil {
		return done, err
	}
	stage, err := backup.NewStage(r.places)
	if err != nil {
		return done, err
	}
	if err := r.fill(ctx, stage, file, done.Schema); err != nil {
		return done, errors.Join(err, stage.Drop())
	}
	done.Aside, err = stage.Commit()
	return done, err
}

type restorer struct {
	cfg     *config.Config
	version string
	force   bool
	places  backup.Places
}

// clear looks whether anything would be replaced. An external store that will
// be is backed up.
func (r *restorer) clear(ctx context.Context) (saved string, err error) {
	if !r.force {
		found, err := r.places.Occupied()
		if err == nil && len(found) > 0 {
			err = fmt.Errorf("there is something already: %s; --force replaces it and keeps it in a folder beside", strings.Join(found, ", "))
		}
		return "", err
	}
	if r.cfg.Bus.URL == "" {
		return "", nil
	}
	b, err := bus.Open(ctx, busOptions(r.cfg, slog.New(slog.DiscardHandler)))
	if err != nil {
		return "", nil // a store that cannot be opened, perhaps half restored, is replaced all the same
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	c, err := (&keeper{cfg: r.cfg, bus: b, version: r.version, hold: holdWrites}).copy(ctx)
	if err != nil {
		return "", err
	}
	saved, err = c.keep("before-restore")
	return saved, errors.Join(err, c.drop())
}

// fill writes everything to where it does not disturb: a new folder, or an
// external store that is marked until it is complete.
func (r *restorer) fill(ctx context.Context, stage *backup.Stage, f BackupFile, schema int) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read %s again: %w", f.Name(), err)
	}
	opts := busOptions(r.cfg, slog.New(slog.DiscardHandler))
	opts.Dir, opts.SyncInterval = filepath.Join(stage.Dir(), filepath.Base(busDir(r.cfg))), time.Minute
	store, err := bus.OpenRestore(ctx, opts, r.force, r.cfg.Media.TTL)
	if err != nil {
		return err
	}
	_, err = backup.Read(f, func(_ backup.Manifest, h *tar.Header, content io.Reader) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if name, ok := strings.CutPrefix(h.Name, backup.BusDir); ok && h.Typeflag == tar.TypeReg {
			return store.Stream(ctx, name, content)
		}
		return stage.Put(h, content)
	})
	if err != nil {
		return errors.Join(err, store.Close())
	}
	return store.Done(ctx, schema)
}

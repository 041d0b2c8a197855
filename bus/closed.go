package bus

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// closedName lists the block files that an orderly stop has left, with their
// sizes. The server takes a file that is missing or shorter for the whole.
const closedName = "closed.json"

// watched are the streams whose files are listed: what waits, and the tables,
// which hold jobs and approvals.
var watched = []string{"IN", "OUT", "KV_state"}

// noteClosed lists the files of a store that was closed just now.
func (b *Bus) noteClosed() error {
	sizes := map[string]int64{}
	for _, stream := range watched {
		found, err := filepath.Glob(filepath.Join(b.opts.Dir, "jetstream", "*", "streams", stream, "msgs", "*.blk"))
		if err != nil {
			return err
		}
		for _, path := range found {
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(b.opts.Dir, path)
			if err != nil {
				return err
			}
			sizes[rel] = info.Size()
		}
	}
	data, err := json.Marshal(sizes)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.opts.Dir, closedName), data, 0o600)
}

// missing compares the files with the list of the last orderly stop, if that
// was the last thing that happened to the store, and removes the list.
func (b *Bus) missing(crashed bool) (damage error) {
	list := filepath.Join(b.opts.Dir, closedName)
	data, err := os.ReadFile(list)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = os.Remove(list)
	}
	if err != nil || crashed {
		return err
	}
	sizes := map[string]int64{}
	if err := json.Unmarshal(data, &sizes); err != nil {
		return nil // the list is no part of the store
	}
	for rel, size := range sizes {
		path := filepath.Join(b.opts.Dir, rel)
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			damage = errors.Join(damage, fmt.Errorf("%s is gone", path))
		case err != nil:
			return err
		case info.Size() < size:
			damage = errors.Join(damage, fmt.Errorf("%s has %d of %d bytes", path, info.Size(), size))
		default:
			continue
		}
		// The index would tell of what is not there any more.
		if err := os.Remove(filepath.Join(filepath.Dir(path), indexName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return damage
}

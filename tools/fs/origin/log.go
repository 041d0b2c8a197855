package origin

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// log is the file of an index: a line for each change, the last of which may be
// torn after a power cut.
type log struct {
	file *os.File
	all  func() []entry
	name string

	lines int // in the file
}

// slack is how many lines more than needed are left alone.
const slack = 2000

func openLog(name string, apply func(entry), all func() []entry) (*log, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, fmt.Errorf("create folder of the index of files: %w", err)
	}
	l := &log{all: all, name: name}
	raw, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read index of files: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, len(raw)+1)
	for lines.Scan() {
		var e entry
		l.lines++
		if json.Unmarshal(lines.Bytes(), &e) == nil {
			apply(e)
		}
	}
	return l, l.rewrite()
}

// rewrite brings the file down to what is needed.
func (l *log) rewrite() (err error) {
	temp, err := os.CreateTemp(filepath.Dir(l.name), ".origin-*")
	if err != nil {
		return fmt.Errorf("write index of files: %w", err)
	}
	all := l.all()
	_, err = temp.Write(encoded(all))
	if err = errors.Join(err, temp.Sync()); err == nil {
		err = os.Rename(temp.Name(), l.name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write index of files: %w", err), temp.Close(), os.Remove(temp.Name()))
	}
	if l.file != nil {
		_ = l.file.Close() // the new file has what it had
	}
	l.file, l.lines = temp, len(all)
	return nil
}

func encoded(lines []entry) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, e := range lines {
		_ = enc.Encode(e) // strings, numbers and times can be written
	}
	return b.Bytes()
}

// write adds lines; they are on the disk when it returns.
func (l *log) write(lines []entry) error {
	if len(lines) == 0 {
		return nil
	}
	if l.lines += len(lines); l.lines > slack && l.lines > 2*len(l.all()) {
		return l.rewrite()
	}
	_, err := l.file.Write(encoded(lines))
	if err = errors.Join(err, l.file.Sync()); err != nil {
		return fmt.Errorf("write index of files: %w", err)
	}
	return nil
}

func (l *log) close() error { return l.file.Close() }

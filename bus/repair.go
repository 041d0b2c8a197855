package bus

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/minio/highwayhash"
)

// The block files of the embedded store, as nats-server v2.15 writes them
// (filestore.go): records one after the other, each
//
//	length 4, sequence 8, time 8, length of the subject 2 | subject, [length of
//	the header 4, header], message | checksum 8
//
// little endian. The highest bit of the length says that there is a header.
const (
	recordHead   = 22
	recordSum    = 8
	recordHeader = 1 << 31
	recordMost   = 32 << 20
)

// indexName is the server's index of a stream's blocks. It describes them as
// they were; without it the server makes a new one.
const indexName = "index.db"

// ErrDamaged: what cannot be read was told once and put aside. Opening again
// goes on with what is left.
var ErrDamaged = errors.New("the store is damaged")

// repair takes damaged records out of the block files of a store that is not
// open. The server itself would cut a file off at the first of them, and lose
// the messages of other chats that stand after it. A file that is changed is
// kept beside the store, in damaged/. A message that is damaged costs itself;
// of tables, and of files that are gone, somebody must know before the program
// goes on, so then the error is ErrDamaged. After a crash all streams are
// looked at, else those of which nobody else would notice. Stored files are
// never looked at: they are large and have a digest of their own.
func (b *Bus) repair(crashed bool) error {
	damage := b.missing(crashed)
	found, err := filepath.Glob(filepath.Join(b.opts.Dir, "jetstream", "*", "streams", "*", "msgs", "*.blk"))
	if err != nil {
		return fmt.Errorf("look for the store's files: %w", err)
	}
	var tables []block
	for _, path := range found {
		stream := filepath.Base(filepath.Dir(filepath.Dir(path)))
		if strings.HasPrefix(stream, "OBJ_") || !crashed && !slices.Contains(watched, stream) {
			continue
		}
		blk, err := b.repairBlock(stream, path, crashed)
		if err != nil {
			return fmt.Errorf("check store file %s: %w", path, err)
		}
		if stream == "KV_state" {
			tables = append(tables, blk)
		}
	}
	damage = errors.Join(damage, lostTables(tables, crashed))
	if damage == nil {
		return nil
	}
	return fmt.Errorf("%w (jobs, approvals or messages are missing): %w; what was damaged is kept in %s: restore a backup (bot restore), or start again to go on with what is left",
		ErrDamaged, damage, filepath.Join(b.opts.Dir, DamagedDir))
}

// block is a file of the store after its repair.
type block struct {
	path       string
	good, lost int  // bytes
	again      bool // intact records came after damaged ones
	told       bool // the last start has ended with it
}

// lostTables says what is lost of the tables. The write that a crash cut off
// was never acknowledged.
func lostTables(blocks []block, crashed bool) (damage error) {
	good := 0
	for _, blk := range blocks {
		good += blk.good
	}
	for _, blk := range blocks {
		if blk.lost > 0 && !blk.told && (!crashed || blk.again || good == 0) {
			damage = errors.Join(damage, fmt.Errorf("%d bytes of %s cannot be read", blk.lost, blk.path))
		}
	}
	return damage
}

// DamagedDir is where damaged files are kept, below the store's folder.
const DamagedDir = "damaged"

func (b *Bus) repairBlock(stream, path string, crashed bool) (block, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return block{}, err
	}
	name := strings.TrimSuffix(filepath.Base(path), ".blk")
	sum, err := recordHash(stream + "-" + name)
	if err != nil {
		return block{}, err
	}
	good, again := salvage(data, sum)
	blk := block{path: path, good: len(good), lost: len(data) - len(good), again: again}
	if blk.lost == 0 {
		return blk, nil
	}
	b.log.Error("the store was damaged; what can be read is kept", "stream", stream, "file", path, "lost_bytes", blk.lost)
	if !again && crashed && blk.good > 0 {
		return blk, nil // the write that the crash has cut off
	}
	aside := filepath.Join(b.opts.Dir, DamagedDir)
	if err := os.MkdirAll(aside, 0o700); err != nil {
		return blk, err
	}
	copied := filepath.Join(aside, stream+"-"+filepath.Base(path))
	if before, err := os.ReadFile(copied); err == nil && bytes.Equal(before, data) {
		blk.told = true
	} else if err := os.WriteFile(copied, data, 0o600); err != nil {
		return blk, err
	}
	if err := os.Remove(filepath.Join(filepath.Dir(path), indexName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return blk, err
	}
	if !again {
		return blk, nil // the server cuts the end off
	}
	if err := os.WriteFile(path+".new", good, 0o600); err != nil {
		return blk, err
	}
	return blk, os.Rename(path+".new", path)
}

func recordHash(key string) (hash.Hash64, error) {
	sum := sha256.Sum256([]byte(key))
	return highwayhash.NewDigest64(sum[:])
}

// salvage returns the intact records of a block, in order; data itself when all
// are. again says that intact records come after damaged ones.
func salvage(data []byte, sum hash.Hash64) (good []byte, again bool) {
	at := 0
	for at < len(data) {
		n := record(data[at:], sum)
		if n == 0 {
			break
		}
		at += n
	}
	if at == len(data) {
		return data, false
	}
	good = bytes.Clone(data[:at])
	for at < len(data) {
		n := record(data[at:], sum)
		if n == 0 {
			at++ // no record begins here
			continue
		}
		again = true
		good = append(good, data[at:at+n]...)
		at += n
	}
	return good, again
}

// record is the length of the intact record that data begins with; 0 = none.
func record(data []byte, sum hash.Hash64) int {
	if len(data) < recordHead+recordSum {
		return 0
	}
	length := binary.LittleEndian.Uint32(data)
	headed := length&recordHeader != 0
	n := int(length &^ recordHeader)
	body := recordHead + int(binary.LittleEndian.Uint16(data[20:]))
	text := body
	if headed {
		text += 4
	}
	if n > len(data) || n > recordMost || text > n-recordSum {
		return 0
	}
	sum.Reset()
	_, _ = sum.Write(data[4:20]) // a hash never fails
	_, _ = sum.Write(data[recordHead:body])
	_, _ = sum.Write(data[text : n-recordSum])
	if !bytes.Equal(sum.Sum(nil), data[n-recordSum:n]) {
		return 0
	}
	return n
}

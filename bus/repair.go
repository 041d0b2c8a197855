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

// repair takes damaged records out of the block files of a store that is not
// open. The server itself would cut a file off at the first of them, and lose
// the messages of other chats that stand after it. A file that is changed is
// kept beside the store, in damaged/. all: every table and stream, else only
// the mailboxes and the outgoing queue. Stored files are never looked at: they
// are large and have a digest of their own.
func (b *Bus) repair(all bool) error {
	found, err := filepath.Glob(filepath.Join(b.opts.Dir, "jetstream", "*", "streams", "*", "msgs", "*.blk"))
	if err != nil {
		return fmt.Errorf("look for the store's files: %w", err)
	}
	for _, path := range found {
		stream := filepath.Base(filepath.Dir(filepath.Dir(path)))
		if strings.HasPrefix(stream, "OBJ_") || !all && stream != "IN" && stream != "OUT" {
			continue
		}
		if err := b.repairBlock(stream, path); err != nil {
			return fmt.Errorf("check store file %s: %w", path, err)
		}
	}
	return nil
}

func (b *Bus) repairBlock(stream, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(filepath.Base(path), ".blk")
	sum, err := recordHash(stream + "-" + name)
	if err != nil {
		return err
	}
	good, again := salvage(data, sum)
	if len(good) == len(data) {
		return nil
	}
	b.log.Error("the store was damaged; what can be read is kept", "stream", stream, "file", path, "lost_bytes", len(data)-len(good))
	if !again {
		return nil // the server cuts the end off
	}
	aside := filepath.Join(b.opts.Dir, "damaged")
	if err := os.MkdirAll(aside, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(aside, stream+"-"+filepath.Base(path)), data, 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", good, 0o600); err != nil {
		return err
	}
	// The index describes the old file; without it the server makes a new one.
	if err := os.Remove(filepath.Join(filepath.Dir(path), "index.db")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Rename(path+".new", path)
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
	n := int(binary.LittleEndian.Uint32(data))
	headed := n&recordHeader != 0
	n &^= recordHeader
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

package bus

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"magpie/chat"
)

// written makes a record as the server does.
func written(seq uint64, header, text string, sum hash.Hash64) []byte {
	const subject = "in.abc.person"
	rest := subject
	length := uint32(recordHead + len(subject) + len(header) + len(text) + recordSum)
	if header != "" {
		length = (length + 4) | recordHeader
		rest += string(binary.LittleEndian.AppendUint32(nil, uint32(len(header)))) + header
	}
	r := binary.LittleEndian.AppendUint32(nil, length)
	r = binary.LittleEndian.AppendUint64(r, seq)
	r = binary.LittleEndian.AppendUint64(r, 1_700_000_000)
	r = binary.LittleEndian.AppendUint16(r, uint16(len(subject)))
	sum.Reset()
	for _, part := range [][]byte{r[4:20], []byte(subject), []byte(header), []byte(text)} {
		_, _ = sum.Write(part)
	}
	return append(append(append(r, rest...), text...), sum.Sum(nil)...)
}

// Whatever happens to one record, the others are found, in order.
func TestSalvage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sum, err := recordHash("IN-1")
		if err != nil {
			t.Fatal(err)
		}
		var records [][]byte
		for i := range rapid.IntRange(1, 8).Draw(t, "records") {
			text := rapid.StringN(0, 60, -1).Draw(t, "text")
			header := rapid.SampledFrom([]string{"", "NATS/1.0\r\nNats-Msg-Id: x\r\n\r\n"}).Draw(t, "header")
			records = append(records, written(uint64(i+1), header, text, sum))
		}
		whole := bytes.Join(records, nil)
		if good, again := salvage(bytes.Clone(whole), sum); again || !bytes.Equal(good, whole) {
			t.Fatalf("an intact block of %d bytes was changed to %d", len(whole), len(good))
		}
		hit := rapid.IntRange(0, len(records)-1).Draw(t, "hit")
		broken := bytes.Clone(records[hit])
		broken[rapid.IntRange(0, len(broken)-1).Draw(t, "at")] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
		if rapid.Bool().Draw(t, "shorter") {
			broken = broken[:len(broken)-1]
		}
		parts := append(append(append([][]byte(nil), records[:hit]...), broken), records[hit+1:]...)
		want := append(append([][]byte(nil), records[:hit]...), records[hit+1:]...)
		before := bytes.Join(records[:hit], nil)
		unseen := record(bytes.Join(parts[hit:], nil), sum)
		damaged := bytes.Join(parts, nil)
		good, again := salvage(bytes.Clone(damaged), sum)
		if unseen > 0 {
			// A byte that no checksum covers; the one that is gone may be the same as
			// the next. Nobody can tell, so that it stays.
			if !bytes.HasPrefix(good, damaged[:len(before)+unseen]) {
				t.Fatalf("record %d of %d is good by its sum and is gone: %d bytes are left", hit, len(records), len(good))
			}
			return
		}
		if !bytes.Equal(good, bytes.Join(want, nil)) || again != (hit < len(records)-1) {
			t.Fatalf("record %d of %d damaged: %d bytes are left, want %d", hit, len(records), len(good), len(bytes.Join(want, nil)))
		}
	})
}

func FuzzSalvage(f *testing.F) {
	sum, err := recordHash("IN-1")
	if err != nil {
		f.Fatal(err)
	}
	one := written(1, "NATS/1.0\r\n\r\n", "text", sum)
	f.Add([]byte{})
	f.Add(one)
	f.Add(append([]byte{1, 2, 3}, one...))
	f.Add(append(bytes.Clone(one[:20]), one...))
	f.Fuzz(func(t *testing.T, data []byte) {
		good, _ := salvage(bytes.Clone(data), sum)
		if len(good) > len(data) {
			t.Fatalf("%d bytes became %d", len(data), len(good))
		}
		if again, _ := salvage(bytes.Clone(good), sum); !bytes.Equal(good, again) && len(good) < len(data) {
			t.Fatal("what was kept is not intact")
		}
	})
}

// Nothing that the server writes looks damaged: messages with headers and life
// times, tables with deleted keys, purged chats.
func TestRealStoreIsIntact(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	b, err := Open(ctx, Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	table := b.Table("turn")
	for i := range 50 {
		addr := chat.Address{Channel: "c", Chat: fmt.Sprint(i % 7)}
		in := chat.Inbound{Meta: chat.Meta{V: chat.Version, ID: fmt.Sprint(i), Addr: addr}, Origin: chat.FromPerson, Text: "你好"}
		if err := b.PublishInbound(ctx, in, i%5 == 0); err != nil {
			t.Fatal(err)
		}
		if _, err := table.Create(ctx, fmt.Sprint("k", i), []byte("v"), time.Hour); err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 {
			if err := table.Delete(ctx, fmt.Sprint("k", i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := b.streams.in.Purge(ctx); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "*", "msgs", "*.blk"))
	if err != nil || len(found) < 5 {
		t.Fatalf("%v, %v", found, err)
	}
	read := 0
	for _, path := range found {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := recordHash(filepath.Base(filepath.Dir(filepath.Dir(path))) + "-" + filepath.Base(path[:len(path)-len(".blk")]))
		if err != nil {
			t.Fatal(err)
		}
		read += len(data)
		if good, _ := salvage(data, sum); len(good) != len(data) {
			t.Errorf("%s: %d of %d bytes look intact", path, len(good), len(data))
		}
	}
	if read == 0 {
		t.Error("all files are empty")
	}
}

// A mailbox that goes bad while the program is stopped in an orderly way loses
// the damaged message only, and the old file is kept.
func TestDamageWhileClosed(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	b, err := Open(ctx, Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		addr := chat.Address{Channel: "c", Chat: fmt.Sprint(i)}
		in := chat.Inbound{Meta: chat.Meta{V: chat.Version, ID: fmt.Sprint(i), Addr: addr}, Origin: chat.FromPerson, Text: fmt.Sprintf("text %d", i)}
		if err := b.PublishInbound(ctx, in, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "IN", "msgs", "*.blk"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	data, err := os.ReadFile(found[0])
	if err == nil {
		err = os.WriteFile(found[0], bytes.Replace(data, []byte("text 1"), []byte("tent 1"), 1), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if b, err = Open(ctx, Options{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	n, err := b.Waiting(ctx, false)
	if n != 2 || err != nil {
		t.Errorf("%d messages wait, %v; want the 2 that are intact", n, err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if kept, err := os.ReadFile(filepath.Join(dir, "damaged", "IN-"+filepath.Base(found[0]))); err != nil || !bytes.Contains(kept, []byte("tent 1")) {
		t.Errorf("the damaged file was not kept: %v", err)
	}
}

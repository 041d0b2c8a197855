package app

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"magpie/bus"
	"magpie/bus/bustest"
	"magpie/channels/room"
	"magpie/chat"
)

// overheard is what the n-th message of a group says.
func overheard(group, n int) chat.Inbound {
	id := fmt.Sprintf("telegram:main:%d:%d", group, n)
	return chat.Inbound{
		Meta:      chat.Meta{ID: id, At: time.Now(), Addr: chat.Address{Channel: "main", Chat: fmt.Sprint(-group)}},
		MessageID: fmt.Sprint(n), From: chat.Sender{ID: "123456789", Name: "Ada Lovelace"},
		Text: "The bridge is closed until Friday, so I take the ferry at eight; who comes along?",
	}
}

// BenchmarkOverheard is one message of a group whose room is full, fsync
// included.
func BenchmarkOverheard(b *testing.B) {
	keeper := room.New(room.Options{Table: bustest.New(b).Table("pairs.room")})
	n := 0
	for b.Loop() {
		if err := keeper.Hear(b.Context(), overheard(1, n), true, 20); err != nil {
			b.Fatal(err)
		}
		n++
	}
}

// BenchmarkThousandGroups is what 1000 groups with 20 messages each take.
func BenchmarkThousandGroups(b *testing.B) {
	dir := b.TempDir()
	store := bustest.Open(b, bus.Options{Dir: dir, SyncInterval: time.Minute})
	keeper := room.New(room.Options{Table: store.Table("pairs.room")})
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapInuse) / (1 << 20)
	}
	before, most := heap(), 0.0
	for b.Loop() {
		for n := range 20 {
			for group := range 1000 {
				if err := keeper.Hear(b.Context(), overheard(group+1, n), true, 20); err != nil {
					b.Fatal(err)
				}
			}
		}
		most = max(most, heap())
	}
	var disk int64
	_ = filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			disk += info.Size()
		}
		return nil
	})
	b.ReportMetric(most-before, "heap-MB")
	b.ReportMetric(float64(disk)/(1<<20), "disk-MB")
}

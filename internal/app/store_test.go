package app_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"magpie/bus"
	"magpie/internal/fakes/modelserver"
	"magpie/internal/fakes/telegram"
)

// A store without room refuses new messages and says so; they stay with the
// platform and are answered once as soon as there is room.
func TestFullStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.extra = "bus: {max_store: 25165824}"
	path, listen := w.config("bot")
	replaceIn(t, path, fmt.Sprintf("bus: {url: \"\", sync: %s}\n", w.busSync), "")
	b, err := bus.Open(t.Context(), bus.Options{Dir: filepath.Join(filepath.Dir(path), "bus")})
	if err != nil {
		t.Fatal(err)
	}
	// Old files, whose time is over soon, fill the store; not before the program
	// has started and refused what comes, on a slow machine either.
	_, _, err = b.Media(30*time.Second).Put(t.Context(), "old.bin", "", bytes.NewReader(make([]byte, 23<<20)))
	if err := errors.Join(err, b.Close()); err != nil {
		t.Fatal(err)
	}
	p := w.startWith(path, listen)
	p.until("a full store is told", func() bool {
		status, body := p.get("/readyz")
		return status == http.StatusServiceUnavailable && strings.Contains(body, "full")
	}, func() string { _, body := p.get("/readyz"); return body })
	w.say("is there room?")
	page := p.page(filepath.Dir(path), "a")
	if status, body := page.say("and here?"); status != http.StatusServiceUnavailable {
		t.Errorf("the page is told %d %s, want 503", status, body)
	}
	if n := w.tg.Pending(); n != 1 {
		t.Errorf("%d updates are kept by the platform, want 1", n)
	}
	w.wait(owner, "answer", func(m []telegram.Message) bool { return len(m) == 1 })
	p.ready()
	w.say("end")
	msgs := w.wait(owner, "end", func(m []telegram.Message) bool { return count(m, "end") == 1 })
	if got := texts(msgs); got != "echo: is there room?|echo: end" {
		t.Errorf("the chat shows %q", got)
	}
	page.ask("now?", "echo: now?")
	clean(t, p.signal(syscall.SIGTERM))
}

// damage is a way in which a file of the store goes bad.
type damage struct {
	name string
	file string // below the streams' folder; the newest of these
	do   func(data []byte) []byte
	lost int  // how many chats at most lose their message
	said bool // the log names the file
}

func damages() []damage {
	garbage := func(percent, n int) func([]byte) []byte {
		return func(data []byte) []byte {
			at := percent * len(data) / 100
			copy(data[at:min(len(data), at+n)], bytes.Repeat([]byte{0xA5}, n))
			return data
		}
	}
	change := func(data []byte) []byte { return bytes.Replace(data, []byte("hello 3"), []byte("jello 3"), 1) }
	cut := func(data []byte) []byte { return data[:bytes.Index(data, []byte("hello 3"))] }
	none := func([]byte) []byte { return nil }
	return []damage{
		{"a changed byte in a message", "IN/msgs/*.blk", change, 1, true},
		{"garbage in the mailboxes", "IN/msgs/*.blk", garbage(50, 100), 2, true},
		{"mailboxes cut off", "IN/msgs/*.blk", cut, damageChats, true},
		{"no history", "HIST/msgs/*.blk", none, 0, false},
		{"garbage in the history", "HIST/msgs/*.blk", garbage(40, 60), 0, true},
		{"garbage in the answered ids", "IDS/msgs/*.blk", garbage(50, 20), 0, true},
		{"garbage in the description of a stream", "IN/meta.inf", garbage(10, 60), 0, false},
	}
}

const damageChats, damageFirst = 6, 4000

// A damaged file of the store costs what stood in the damaged place and
// nothing else, is named in the log, and never leads to a panic.
func TestDamagedStore(t *testing.T) {
	for _, d := range damages() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			w.extra = "agent: {busy: queue}" // else the second message may join the turn of the first
			d.apply(t, w)
			b := w.start("bot")
			b.ready()
			lost := 0
			for c := range damageChats {
				chat := int64(damageFirst + c)
				w.tg.Say(telegram.Said{From: chat, Text: "again"})
				msgs := w.wait(chat, "the chat works", func(m []telegram.Message) bool { return count(m, "again") == 1 })
				switch count(msgs, fmt.Sprintf("hello %d", c)) {
				case 0:
					lost++
				case 1:
				default:
					t.Errorf("chat %d was answered twice: %q", c, texts(msgs))
				}
			}
			if lost > d.lost {
				t.Errorf("%d chats have lost their message, want at most %d", lost, d.lost)
			}
			clean(t, b.signal(syscall.SIGTERM))
			if said := strings.Contains(b.log.String(), "the store was damaged"); said != d.said {
				t.Errorf("damage is told: %v, want %v", said, d.said)
			}
			b = w.start("bot")
			b.ready()
			if strings.Contains(b.log.String(), "the store was damaged") {
				t.Error("after the repair the store is still damaged")
			}
		})
	}
}

// apply fills a store with messages that were taken and not answered, kills the
// program and damages the file.
func (d damage) apply(t *testing.T, w *world) {
	t.Helper()
	for c := range damageChats {
		w.tg.AddPerson(telegram.Person{ID: int64(damageFirst + c), Name: fmt.Sprint("p", c)})
	}
	b := w.start("bot")
	b.ready()
	w.say("before")
	w.wait(owner, "an answer", func(m []telegram.Message) bool { return len(m) == 1 })
	w.model.Reply(func(modelserver.Request) modelserver.Answer { return modelserver.Answer{Fault: modelserver.Hang} })
	for c := range damageChats {
		w.tg.Say(telegram.Said{From: int64(damageFirst + c), Text: fmt.Sprintf("hello %d", c)})
	}
	w.stored(b)
	b.kill()
	w.model.Reply(nil)
	found, err := filepath.Glob(filepath.Join(w.dir, "bot", "bus", "jetstream", "*", "streams", filepath.FromSlash(d.file)))
	if err != nil || len(found) == 0 {
		t.Fatalf("%s: %v, %v", d.file, found, err)
	}
	newest := found[len(found)-1]
	data, err := os.ReadFile(newest)
	if err == nil && len(data) == 0 {
		err = errors.New("it is empty")
	}
	if err == nil {
		err = os.WriteFile(newest, d.do(data), 0o600)
	}
	if err != nil {
		t.Fatalf("damage %s: %v", newest, err)
	}
}

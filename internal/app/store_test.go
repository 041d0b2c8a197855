package app_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
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
	// Old files, whose time is over soon, fill the store.
	_, _, err = b.Media(7*time.Second).Put(t.Context(), "old.bin", "", bytes.NewReader(make([]byte, 23<<20)))
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
	w.waitFor(2*deadline, owner, "answer", func(m []telegram.Message) bool { return len(m) == 1 })
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
	file string // below the streams' folder
	do   func(data []byte) []byte
}

func damages() []damage {
	garbage := func(at, n int) func([]byte) []byte {
		return func(data []byte) []byte {
			at := at * len(data) / 100
			copy(data[at:min(len(data), at+n)], bytes.Repeat([]byte{0xA5}, n))
			return data
		}
	}
	word := func(data []byte) []byte { return bytes.Replace(data, []byte("hello 3"), []byte("jello 3"), 1) }
	half := func(data []byte) []byte { return data[:len(data)/2] }
	none := func([]byte) []byte { return nil }
	return []damage{
		{"a changed byte in a message", "IN/msgs/1.blk", word},
		{"garbage over the second half of the mailbox", "IN/msgs/1.blk", garbage(60, 100)},
		{"mailbox cut in half", "IN/msgs/1.blk", half},
		{"history empty", "HIST/msgs/1.blk", none},
		{"garbage in the history", "HIST/msgs/1.blk", garbage(40, 60)},
		{"garbage in the state", "KV_state/msgs/1.blk", garbage(10, 60)},
		{"garbage in the description of a stream", "IN/meta.inf", garbage(10, 60)},
	}
}

// A damaged file of the store: the program starts and answers every message
// that can still be read, or ends with a clear error. It never panics.
func TestDamagedStore(t *testing.T) {
	for _, d := range damages() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			const chats, first = 6, 4000
			for c := range chats {
				w.tg.AddPerson(telegram.Person{ID: int64(first + c), Name: fmt.Sprint("p", c)})
			}
			b := w.start("bot")
			b.ready()
			w.say("before")
			w.wait(owner, "an answer", func(m []telegram.Message) bool { return len(m) == 1 })
			w.model.Reply(func(r modelserver.Request) modelserver.Answer { return modelserver.Answer{Fault: modelserver.Hang} })
			for c := range chats {
				w.tg.Say(telegram.Said{From: int64(first + c), Text: fmt.Sprintf("hello %d", c)})
			}
			w.stored(b)
			b.kill()
			w.model.Reply(nil)
			found, err := filepath.Glob(filepath.Join(w.dir, "bot", "bus", "jetstream", "*", "streams", filepath.FromSlash(d.file)))
			if err != nil || len(found) != 1 {
				t.Fatalf("%s: %v, %v", d.file, found, err)
			}
			data, err := os.ReadFile(found[0])
			if err == nil {
				err = os.WriteFile(found[0], d.do(data), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			b = w.start("bot")
			b.await("an end or a start", func() bool {
				status, _ := b.get("/readyz")
				return b.gone() || status == http.StatusOK
			})
			if b.gone() {
				var exit *exec.ExitError
				if err := <-b.ended; !errors.As(err, &exit) || exit.ExitCode() != 1 {
					t.Errorf("ended with %v, want 1", err)
				}
				b.ended <- nil
				t.Logf("SAYS %s", b.log.String())
				return
			}
			w.say("after")
			w.wait(owner, "the program works", func(m []telegram.Message) bool { return count(m, "echo: after") == 1 })
			var lost []int
			for c := range chats {
				chat := int64(first + c)
				w.tg.Say(telegram.Said{From: chat, Text: "again"})
				msgs := w.wait(chat, "the chat works", func(m []telegram.Message) bool { return count(m, "again") == 1 })
				if count(msgs, fmt.Sprintf("hello %d", c)) == 0 {
					lost = append(lost, c)
				}
			}
			clean(t, b.signal(syscall.SIGTERM))
			t.Logf("LOST %v\n%s", lost, b.log.String())
		})
	}
}

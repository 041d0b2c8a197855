package app_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"magpie/internal/fakes/modelserver"
)

// clock is the platforms' clock, which a test moves.
type clock struct {
	mu  sync.Mutex
	off time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.off)
}

func (c *clock) set(off time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.off = off
}

// TestFiveWhatIsThis: a picture, a file and a voice message were sent in a group
// to nobody, hours before, and the program was killed since; whoever then replies
// to one and asks has the model see it, not only its name. What has come between
// does not matter, nor how little the platform tells of a quote.
func TestFiveWhatIsThis(t *testing.T) {
	t.Parallel()
	c := &clock{off: -6 * time.Hour}
	f := newFive(t, fiveOptions{now: c.now})
	f.models = ", vision: true"
	f.extra = fmt.Sprintf("media: {transcribe: {base_url: %s, api_key: sk-test, model: whisper-1}}", f.model.OpenAI())
	f.model.Hear(func(r modelserver.Recording) modelserver.Answer {
		if !bytes.Contains(r.Data, []byte("spoken")) {
			t.Errorf("a recording of %q was to be written down", r.Data)
		}
		return modelserver.Answer{Text: "the ferry is late"}
	})
	f.model.Reply(seen)
	b := f.start()
	groups, sent := map[side]string{}, map[side][3]string{}
	f.each(func(p side) {
		groups[p] = f.gather(p, 2)
		var ids [3]string
		for i, file := range f.things(t, p) {
			ids[i] = f.remark(p, remark{who: 1, file: &file})
		}
		sent[p] = ids
		if hears(p) {
			f.kept(p, groups[p], "报告.txt")
		}
		for i := range 40 {
			f.remark(p, remark{who: 1, text: fmt.Sprint("small talk ", i)})
		}
		if hears(p) {
			f.kept(p, groups[p], "small talk 39")
		}
	})
	f.whatIsThis(t, groups, sent, true)
	b.kill()
	c.set(0)
	f.dc.ExpireFiles()
	b = f.start()
	f.whatIsThis(t, groups, sent, false)
	clean(t, b.signal(syscall.SIGTERM))
}

// whatIsThis replies to each thing and asks. With bare the platform tells of the
// quote as little as it may.
func (f *five) whatIsThis(t *testing.T, groups map[side]string, sent map[side][3]string, bare bool) {
	f.each(func(p side) {
		if bare && !hears(p) {
			return // the bot was never told of it, and now is told only that there is something
		}
		ask := func(i int) (string, int) {
			return f.asked(p, groups[p], remark{text: fmt.Sprintf("what is this? %s %d %v", p.name(), i, bare), to: sent[p][i], bare: bare})
		}
		if said, pictures := ask(0); pictures != 1 {
			t.Errorf("%s, bare %v: %d pictures come with\n%s", p.name(), bare, pictures, said)
		}
		if said, _ := ask(1); !strings.Contains(said, "the ferry is late") || !strings.Contains(said, "<quoted") {
			t.Errorf("%s, bare %v: of a voice message the model reads\n%s", p.name(), bare, said)
		}
		said, _ := ask(2)
		if got := f.inbox("报告"); !strings.Contains(said, "saved as inbox/") || !got["document of "+p.name()] {
			t.Errorf("%s, bare %v: the inbox holds %v; the model reads\n%s", p.name(), bare, got, said)
		}
	})
}

// things are what is sent: a picture, a voice message and a file.
func (f *five) things(t *testing.T, p side) []sentFile {
	return []sentFile{
		{kind: "image", name: "a.png", mime: "image/png", data: photo(t).Data},
		{kind: "voice", name: "v.ogg", mime: "audio/ogg", data: []byte("OggS\x00\x02spoken"), words: "the ferry is late"},
		{kind: "file", name: "报告.txt", mime: "text/plain", data: []byte("document of " + p.name())},
	}
}

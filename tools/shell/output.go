package shell

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"

	"magpie/tools"
)

// kept is how much of each stream is kept at its beginning and at its end, in
// bytes. The executor cuts it further for the model and keeps it in a file.
const kept = 4 << 20

// stream keeps the beginning and the end of what is written to it. Safe for
// concurrent use; its zero value is empty.
type stream struct {
	mu    sync.Mutex
	head  []byte
	tail  []byte // at most twice kept
	total int64
}

// Write never fails: a command must not wait or break because it says much.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total += int64(len(p))
	n := len(p)
	room := min(kept-len(s.head), len(p))
	s.head = append(s.head, p[:room]...)
	s.tail = append(s.tail, p[room:]...)
	if len(s.tail) > 2*kept {
		s.tail = append(s.tail[:0], s.tail[len(s.tail)-kept:]...)
	}
	return n, nil
}

func (s *stream) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	tail := s.tail[max(0, len(s.tail)-kept):]
	missing := s.total - int64(len(s.head)) - int64(len(tail))
	if missing == 0 {
		return string(s.head) + string(tail)
	}
	return fmt.Sprintf("%s\n\n[… %d of %d bytes were not kept …]\n\n%s", s.head, missing, s.total, tail)
}

// lastLine is the last line with something in it, without control characters.
func (s *stream) lastLine() string {
	s.mu.Lock()
	text := s.tail
	if len(text) == 0 {
		text = s.head
	}
	const enough = 4 << 10
	text = bytes.Clone(text[max(0, len(text)-enough):])
	s.mu.Unlock()
	lines := bytes.FieldsFunc(bytes.ToValidUTF8(text, nil), func(r rune) bool { return r == '\n' || r == '\r' })
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.TrimSpace(strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return -1
			}
			return r
		}, string(lines[i])))
		if line != "" {
			return clip(line)
		}
	}
	return ""
}

func clip(s string) string {
	const most = 100
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// running is a command that runs.
type running struct {
	started        time.Time
	stdout, stderr stream
}

// text is what the model reads: how it ended first, errors last, so that both
// survive a cut in the middle.
func (r *running) text(how string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nduration: %s", how, time.Since(r.started).Round(10*time.Millisecond))
	empty := true
	for _, part := range []struct {
		name string
		of   *stream
	}{{"stdout", &r.stdout}, {"stderr", &r.stderr}} {
		if text := strings.TrimRight(part.of.String(), "\n"); text != "" {
			fmt.Fprintf(&b, "\n%s:\n%s", part.name, text)
			empty = false
		}
	}
	if empty {
		b.WriteString("\n(no output)")
	}
	return b.String()
}

// tell shows in the chat what a long command does, until stop is called.
func (s *Shell) tell(sc tools.Scope, run *running) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		every := time.NewTicker(s.deps.ProgressEvery)
		defer every.Stop()
		for {
			select {
			case <-done:
				return
			case <-every.C:
				s.deps.Progress(sc, progress(sc.Lang, time.Since(run.started), run))
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

func progress(lang string, since time.Duration, run *running) string {
	line := run.stdout.lastLine()
	if line == "" {
		line = run.stderr.lastLine()
	}
	text, colon := fmt.Sprintf("exec: running for %s", since.Round(time.Second)), ": "
	if lang == "zh" {
		text, colon = fmt.Sprintf("exec：已运行 %s", since.Round(time.Second)), "："
	}
	if line == "" {
		return text
	}
	return text + colon + line
}

package shell

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"magpie/tools"
	"magpie/tools/fs/charset"
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

// read is the output as text, and what it was taken for if it is not UTF-8.
func (s *stream) read() (text, as string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	head, tail := s.head, s.tail[max(0, len(s.tail)-kept):]
	missing := s.total - int64(len(head)) - int64(len(tail))
	if missing == 0 {
		return charset.Guess(slices.Concat(head, tail))
	}
	for i := 1; i <= min(utf8.UTFMax, len(head)); i++ { // nor half a character before the gap
		if last := head[len(head)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				head, missing = head[:len(head)-i], missing+int64(i)
			}
			break
		}
	}
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) && missing < s.total { // the rest of a character that was cut
		tail, missing = tail[1:], missing+1
	}
	gap := fmt.Sprintf("\n\n[… %d of %d bytes were not kept …]\n\n", missing, s.total)
	return charset.Guess(slices.Concat(head, []byte(gap), tail))
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
	decoded, _ := charset.Guess(text)
	lines := strings.FieldsFunc(decoded, func(r rune) bool { return r == '\n' || r == '\r' })
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.TrimSpace(strings.Map(func(r rune) rune {
			if unicode.IsControl(r) || r == utf8.RuneError {
				return -1
			}
			return r
		}, lines[i]))
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
		text, as := part.of.read()
		if as != "" {
			part.name += " (" + notUTF8(as) + ")"
		}
		if text = strings.TrimRight(text, "\n"); text != "" {
			fmt.Fprintf(&b, "\n%s:\n%s", part.name, text)
			empty = false
		}
	}
	if empty {
		b.WriteString("\n(no output)")
	}
	return b.String()
}

// notUTF8 says what was done about an output.
func notUTF8(as string) string {
	if as == "binary" {
		return "not UTF-8: bytes that are no text are shown as \uFFFD"
	}
	return "not UTF-8: read as " + as + ", a guess"
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

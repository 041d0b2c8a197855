package simulate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/internal/fakes/driver"
)

// script plays lines against a stub with two platforms and returns what was
// printed.
func script(t *testing.T, s *stub, lines string, o PromptOptions) (out string, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		o.Script = true
		err = s.world("telegram", "qq").Prompt(t.Context(), strings.NewReader(lines), &b, &o)
		synctest.Wait()
		out = b.String()
	})
	return out, err
}

func echo(s *stub) {
	n := 0
	s.answer = func(text string) []driver.Message {
		n++
		m := driver.Message{ID: fmt.Sprint(n), Text: "echo: " + text}
		if text == "ask" {
			m.Buttons = []driver.Button{yes(), {Label: "No", Data: "n"}}
		}
		return []driver.Message{m}
	}
}

func TestPrompt(t *testing.T) {
	s := newStub()
	echo(s)
	file := filepath.Join(t.TempDir(), "图.png")
	if err := os.WriteFile(file, []byte("\x89PNG\r\n\x1a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := script(t, s, "你好\n\n:qq\n:group\nhi\n:telegram\n::q\n:file "+file+" look here\n:fail 429\n:fail drop 2\nlast", PromptOptions{})
	if err != nil {
		t.Error(err)
	}
	want := `telegram> 你好
  telegram bot: echo: 你好
telegram> 
telegram> :qq
qq> :group
qq:group> hi
  qq:group bot: echo: hi
qq:group> :telegram
telegram> ::q
  telegram bot: echo: :q
`
	if !strings.HasPrefix(out, want) {
		t.Errorf("the transcript begins otherwise:\n%s", cmp.Diff(want, out))
	}
	if diff := cmp.Diff([]string{"private 你好", "private :q", "private look here", "private last"}, s.said); diff != "" {
		t.Errorf("said (-want +got):\n%s", diff)
	}
	if len(s.files) != 1 || s.files[0].Name != "图.png" || s.files[0].MIME != "image/png" || len(s.files[0].Data) != 8 {
		t.Errorf("files: %+v", s.files)
	}
	if diff := cmp.Diff([]driver.Trouble{driver.RateLimited, driver.Dropped, driver.Dropped}, s.troubles); diff != "" {
		t.Errorf("troubles (-want +got):\n%s", diff)
	}
}

func TestPromptPress(t *testing.T) {
	s := newStub()
	echo(s)
	s.note = "done"
	out, err := script(t, s, "ask\n:press no", PromptOptions{})
	if err != nil || !strings.Contains(out, "echo: ask\n    [1] Yes\n    [2] No\n") || !strings.Contains(out, "telegram note: done\n") {
		t.Errorf("%v\n%s", err, out)
	}
	if diff := cmp.Diff([]string{"1 n"}, s.presses); diff != "" {
		t.Errorf("presses (-want +got):\n%s", diff)
	}
}

// What is wrong is said, the script goes on, and its end is an error.
func TestPromptErrors(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, maxFile+1); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		":nonsense":       "there is no :nonsense here",
		":feishu":         "there is no :feishu here",
		":press 1":        "no message here shows buttons",
		":file":           "want the path of a file",
		":file " + dir:    "is none",
		":file /no/where": "no such file",
		":file " + large:  "at most 20971520 can be sent",
		":fail":           "want one of [429 502 drop lost]",
		":fail 500":       `trouble "500"`,
		":fail 429 many":  `got "many"`,
		":fail 429 0":     "want 1 to 100 times",
		":fail 429 101":   "want 1 to 100 times",
		":fail 429 1 2":   "want one of",
		":cut soon":       `got "soon"`,
		":cut -1":         `got "-1"`,
		":cut 601":        `got "601"`,
	} {
		s := newStub()
		echo(s)
		out, err := script(t, s, line+"\nstill there?", PromptOptions{})
		if err == nil || !strings.Contains(err.Error(), "these lines came to nothing: "+line) {
			t.Errorf("%s: %v", line, err)
		}
		if !strings.Contains(out, "  ! ") || !strings.Contains(out, want) || !strings.Contains(out, "echo: still there?") {
			t.Errorf("%s: want %q in\n%s", line, want, out)
		}
	}
}

func TestPromptLoses(t *testing.T) {
	s := newStub()
	s.lost = true
	out, err := script(t, s, "hello", PromptOptions{})
	if err == nil || strings.Count(out, errLost.Error()) != 1 {
		t.Errorf("%v\n%s", err, out)
	}
}

// A message without an answer ends the wait, at once neither nor never.
func TestPromptSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var b bytes.Buffer
		err := newStub().world("qq").Prompt(t.Context(), strings.NewReader("hello"), &b, &PromptOptions{Script: true})
		if err == nil || !strings.Contains(b.String(), "  ! no answer\n") {
			t.Errorf("%v\n%s", err, &b)
		}
		if took := time.Since(began); took < patience || took > patience+time.Second {
			t.Errorf("waited for %s", took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var b bytes.Buffer
		err := newStub().world("qq").Prompt(t.Context(), strings.NewReader("hello"), &b, &PromptOptions{Script: true, Busy: func() bool { return true }})
		if took := time.Since(began); err == nil || took < turnMost || took > turnMost+time.Second {
			t.Errorf("a turn without end was waited for %s: %v", took, err)
		}
	})
}

// An answer that grows, or a turn that still runs, is waited for.
func TestPromptSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStub()
		begun := time.Now()
		end := 5 * time.Second
		grown := func() bool { return time.Since(begun) > end }
		w := s.world("qq")
		grow := time.NewTicker(200 * time.Millisecond)
		defer grow.Stop()
		stop := make(chan struct{})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for n := 1; !grown(); n++ {
				select {
				case <-grow.C:
				case <-stop:
					return
				}
				s.mu.Lock()
				if len(s.said) > 0 {
					s.shown[Private] = []driver.Message{{ID: "a", Text: strings.Repeat("字", n)}}
				}
				s.mu.Unlock()
			}
			s.mu.Lock()
			s.shown[Private] = []driver.Message{{ID: "a", Text: "whole"}, {ID: "empty"}}
			s.mu.Unlock()
		}()
		var b bytes.Buffer
		err := w.Prompt(t.Context(), strings.NewReader("hello"), &b, &PromptOptions{Script: true, Busy: func() bool { return !grown() }})
		close(stop)
		<-ended
		if want := "qq> hello\n  qq bot: whole\n"; err != nil || b.String() != want {
			t.Errorf("%v\n%s", err, cmp.Diff(want, b.String()))
		}
	})
}

// A turn may say something, work on in silence and answer then; the next line
// waits for that.
func TestPromptWaitsForTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStub()
		var working atomic.Bool
		working.Store(true)
		s.answer = func(text string) []driver.Message {
			if text == "second" && working.Load() {
				t.Error("the second line came into the first turn")
			}
			return []driver.Message{{ID: text, Text: "about " + text}}
		}
		timer := time.AfterFunc(time.Minute, func() { working.Store(false) })
		defer timer.Stop()
		var b bytes.Buffer
		err := s.world("qq").Prompt(t.Context(), strings.NewReader("first\nsecond\n"), &b, &PromptOptions{Script: true, Busy: working.Load})
		if err != nil || !strings.Contains(b.String(), "about second") {
			t.Errorf("%v\n%s", err, &b)
		}
	})
}

// Whoever types sees what comes at any time, edits and deletions too.
func TestPromptLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStub()
		lines := make(chan string)
		var b bytes.Buffer
		ended := make(chan error, 1)
		go func() { ended <- s.world("qq").Prompt(t.Context(), &reader{lines: lines}, &b, nil) }()
		step := func(messages ...driver.Message) {
			s.mu.Lock()
			s.shown[Group] = messages
			s.mu.Unlock()
			<-time.After(time.Second)
		}
		step(driver.Message{ID: "a", Text: "a reminder\nof two lines", Files: []driver.File{{Name: "a.txt", MIME: "text/plain", Data: []byte("abc")}}})
		step(driver.Message{ID: "a", Text: "changed"})
		step()
		s.mu.Lock()
		s.shown[Group] = []driver.Message{{ID: "b", Text: "came and went"}}
		s.mu.Unlock()
		<-time.After(quiet / 2)
		step()
		lines <- ":help\n"
		lines <- ":quit\n"
		if err := <-ended; err != nil {
			t.Error(err)
		}
		close(lines)
		want := "qq> \n  qq:group bot: a reminder\n    of two lines\n    file: a.txt (text/plain, 3 bytes)\nqq> \n  qq:group bot (edited): changed\nqq> \n  qq:group bot took back: changed\nqq> " + help + "qq> "
		if diff := cmp.Diff(want, b.String()); diff != "" {
			t.Errorf("shown (-want +got):\n%s", diff)
		}
	})
}

// reader gives lines as a terminal does.
type reader struct {
	lines chan string
	rest  string
}

func (r *reader) Read(p []byte) (int, error) {
	if r.rest == "" {
		line, ok := <-r.lines
		if !ok {
			return 0, errors.New("closed")
		}
		r.rest = line
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func TestPromptEnds(t *testing.T) {
	broken := errors.New("broken")
	if err := newStub().world("qq").Prompt(t.Context(), iotest.ErrReader(broken), &bytes.Buffer{}, nil); !errors.Is(err, broken) {
		t.Errorf("a reader that fails: %v", err)
	}
	if err := newStub().world("qq").Prompt(t.Context(), strings.NewReader(strings.Repeat("x", maxLine+1)), &bytes.Buffer{}, nil); err == nil {
		t.Error("a line without end is taken")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newStub().world("qq").Prompt(ctx, strings.NewReader(""), &bytes.Buffer{}, nil); err != nil {
		t.Errorf("ended: %v", err)
	}
}

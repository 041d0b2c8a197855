package media

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"magpie/internal/fakes/modelserver"
)

const speechKey = "sk-speech-secret"

// ear is a Transcriber that asks s; a pause takes no time.
func ear(t *testing.T, s *modelserver.Server) *Transcriber {
	t.Helper()
	s.RequireKey(speechKey)
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	e := NewTranscriber(TranscriberOptions{BaseURL: s.OpenAI() + "/", APIKey: speechKey, Model: "whisper-1", Transport: tr})
	e.pause = time.Millisecond
	return e
}

func TestTranscribe(t *testing.T) {
	s := modelserver.New(t)
	e := ear(t, s)
	for _, c := range []struct{ name, mime, sent string }{
		{"voice.oga", "audio/ogg", "voice.ogg"},
		{"voice.opus", "audio/ogg", "voice.ogg"},
		{"voice.opus", "application/ogg", "voice.ogg"},
		{"", "audio/mpeg", "file.mp3"},
		{"语音 1", "audio/x-wav", "语音 1.wav"},
		{"note.m4a", "audio/x-m4a", "note.m4a"},
		{"note", "", "note.ogg"},
		{"clip.mp4", "video/mp4", "clip.mp4"},
		{`../a"b.amr`, "audio/amr", ""},
	} {
		got, err := e.Transcribe(t.Context(), c.name, c.mime, strings.NewReader("bytes of "+c.name))
		if c.sent == "" {
			if err == nil || !strings.Contains(err.Error(), "Unrecognized file format") {
				t.Errorf("%s: %q, %v", c.name, got, err)
			}
			continue
		}
		if err != nil || got != "the words of "+c.sent {
			t.Errorf("%s (%s): %q, %v; want %s", c.name, c.mime, got, err, c.sent)
		}
		all := s.Recordings()
		last := all[len(all)-1]
		if last.Model != "whisper-1" || string(last.Data) != "bytes of "+c.name {
			t.Errorf("%s: the server was asked %+v", c.name, last)
		}
	}
}

func TestTranscribeBounds(t *testing.T) {
	s := modelserver.New(t)
	e := ear(t, s)
	if _, err := e.Transcribe(t.Context(), "a.ogg", "audio/ogg", strings.NewReader(strings.Repeat("x", maxSpeech))); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	if _, err := e.Transcribe(t.Context(), "a.ogg", "audio/ogg", strings.NewReader(strings.Repeat("x", maxSpeech+1))); !errors.Is(err, ErrTooMuchSpeech) {
		t.Errorf("over the limit: %v", err)
	}
	broken := errors.New("broken")
	if _, err := e.Transcribe(t.Context(), "a.ogg", "audio/ogg", iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("err = %v", err)
	}
	s.Hear(func(modelserver.Recording) modelserver.Answer { return modelserver.Answer{Text: " \n"} })
	if _, err := e.Transcribe(t.Context(), "a.ogg", "audio/ogg", strings.NewReader("x")); !errors.Is(err, ErrNoSpeech) {
		t.Errorf("silence: %v", err)
	}
	long := strings.Repeat("很长", maxTranscript)
	s.Hear(func(modelserver.Recording) modelserver.Answer {
		return modelserver.Answer{Text: long[:4*maxTranscript]}
	})
	got, err := e.Transcribe(t.Context(), "a.ogg", "audio/ogg", strings.NewReader("x"))
	if err != nil || len(got) > maxTranscript || len(got) < maxTranscript-3 || !strings.HasPrefix(long, got) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// What may pass is asked again, what may not is not, and no error tells the
// key.
func TestTranscribeFailures(t *testing.T) {
	for _, c := range []struct {
		name  string
		a     modelserver.Answer
		calls int
	}{
		{"503", modelserver.Answer{Status: 503}, speechTries},
		{"429", modelserver.Answer{Status: 429, Header: map[string]string{"Retry-After": "0"}}, speechTries},
		{"401", modelserver.Answer{Status: 401, Body: `{"error": {"message": "Incorrect API key provided: ` + speechKey + `."}}`}, 1},
		{"400", modelserver.Answer{Status: 400, Body: "<html>" + strings.Repeat(speechKey+" ", 1000)}, 1},
		{"no JSON", modelserver.Answer{Body: "hello"}, 1},
	} {
		s := modelserver.New(t)
		s.Hear(func(modelserver.Recording) modelserver.Answer { return c.a })
		_, err := ear(t, s).Transcribe(t.Context(), "a.ogg", "audio/ogg", strings.NewReader("x"))
		if err == nil || strings.Contains(err.Error(), speechKey) || len(err.Error()) > 300 {
			t.Errorf("%s: %v", c.name, err)
		}
		if n := len(s.Recordings()); n != c.calls {
			t.Errorf("%s: asked %d times, want %d", c.name, n, c.calls)
		}
	}
	nobody := NewTranscriber(TranscriberOptions{BaseURL: "http://127.0.0.1:1/key/" + speechKey, Model: "m"})
	nobody.pause = time.Millisecond
	if _, err := nobody.Transcribe(t.Context(), "a.ogg", "audio/ogg", strings.NewReader("x")); err == nil || strings.Contains(err.Error(), speechKey) {
		t.Errorf("nobody there: %v", err)
	}
	s := modelserver.New(t)
	var mu sync.Mutex
	calls := 0
	s.Hear(func(modelserver.Recording) modelserver.Answer {
		mu.Lock()
		defer mu.Unlock()
		if calls++; calls < speechTries {
			return modelserver.Answer{Status: 500}
		}
		return modelserver.Answer{Text: "你好"}
	})
	if got, err := ear(t, s).Transcribe(t.Context(), "a.ogg", "audio/ogg", strings.NewReader("x")); err != nil || got != "你好" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestTranscribeCancelled(t *testing.T) {
	s := modelserver.New(t)
	reached := make(chan struct{}, 1)
	s.Hear(func(modelserver.Recording) modelserver.Answer {
		reached <- struct{}{}
		return modelserver.Answer{Fault: modelserver.Hang}
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := ear(t, s).Transcribe(ctx, "a.ogg", "audio/ogg", strings.NewReader("x"))
		done <- err
	}()
	<-reached
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("does not end")
	}
}

package media

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"magpie/chat"
	"magpie/internal/proxy"
)

const (
	// maxSpeech is what the interface takes of one file
	// (platform.openai.com/docs/guides/speech-to-text, read November 2026).
	maxSpeech      = 25 << 20
	maxTranscript  = 64 << 10 // bytes; an hour of speech
	speechTries    = 3
	speechPause    = time.Second      // before the second try; doubles
	speechPatience = 10 * time.Second // what a server may ask for at most
	speechTimeout  = 60 * time.Second // one try
)

// The errors of Transcribe that are not the server's.
var (
	ErrTooMuchSpeech = errors.New("the recording is larger than the speech-to-text server takes")
	ErrNoSpeech      = errors.New("no speech was heard in the recording")
)

// TranscriberOptions say which server is asked.
type TranscriberOptions struct {
	BaseURL string // of an OpenAI-compatible server, with /v1
	APIKey  chat.Secret
	Model   string
	// Transport carries the calls; nil = one of its own.
	Transport http.RoundTripper
}

// Transcriber writes down what is said in recordings, by an OpenAI-compatible
// speech-to-text server. Safe for concurrent use.
type Transcriber struct {
	opt   TranscriberOptions
	http  *http.Client
	pause time.Duration // before the second try
}

// NewTranscriber returns a Transcriber; it makes no call.
func NewTranscriber(o TranscriberOptions) *Transcriber {
	if o.Transport == nil {
		o.Transport = &http.Transport{Proxy: proxy.Environment, IdleConnTimeout: speechTimeout, MaxIdleConnsPerHost: 2}
	}
	return &Transcriber{opt: o, pause: speechPause, http: &http.Client{Transport: o.Transport, Timeout: speechTimeout}}
}

// Transcribe returns what is said in a recording, in the language spoken. A
// server that is busy or has a problem is asked three times. Errors hold no
// key.
func (t *Transcriber) Transcribe(ctx context.Context, name, mime string, recording io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(recording, maxSpeech+1))
	if err != nil {
		return "", fmt.Errorf("read recording %q: %w", name, err)
	}
	if len(data) > maxSpeech {
		return "", fmt.Errorf("recording %q: %w", name, ErrTooMuchSpeech)
	}
	body, contentType, err := t.form(speechName(name, mime), mime, data)
	if err != nil {
		return "", fmt.Errorf("recording %q: %w", name, err)
	}
	for try, pause := 1, t.pause; ; try, pause = try+1, 2*pause {
		text, again, err := t.once(ctx, body, contentType)
		if err == nil || again < 0 || try == speechTries || ctx.Err() != nil {
			return text, err
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("transcribe: %w", context.Cause(ctx))
		case <-time.After(min(max(pause, again), speechPatience)):
		}
	}
}

// speechName gives a recording an ending by which the servers tell its format.
func speechName(name, mime string) string {
	name = CleanName(name)
	ext := Extension(mime)
	switch ext {
	case "", ".oga", ".ogx":
		ext = ".ogg"
	}
	sound := strings.HasPrefix(mime, "audio/") || strings.HasPrefix(mime, "video/") || mime == "application/ogg" // Ogg with whatever in it
	if sound || filepath.Ext(name) == "" {
		name = strings.TrimSuffix(name, filepath.Ext(name)) + ext
	}
	return name
}

func (t *Transcriber) form(name, mime string, data []byte) (body []byte, contentType string, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	var errs []error
	for _, field := range [][2]string{{"model", t.opt.Model}, {"response_format", "json"}} {
		errs = append(errs, w.WriteField(field[0], field[1]))
	}
	if mime == "" {
		mime = "application/octet-stream"
	}
	part, err := w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {multipart.FileContentDisposition("file", name)}, "Content-Type": {mime},
	})
	if err == nil {
		_, err = part.Write(data)
	}
	err = errors.Join(append(errs, err, w.Close())...)
	return b.Bytes(), w.FormDataContentType(), err
}

// once asks the server. again says after how long it may be asked again at
// the soonest; < 0 = asking again is useless.
func (t *Transcriber) once(ctx context.Context, form []byte, contentType string) (text string, again time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(t.opt.BaseURL, "/")+"/audio/transcriptions", bytes.NewReader(form))
	if err != nil {
		return "", -1, fmt.Errorf("transcribe: %w", err)
	}
	req.Header.Set("Content-Type", contentType)
	if t.opt.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+string(t.opt.APIKey))
	}
	resp, err := t.http.Do(req)
	if err != nil {
		var at *url.Error
		if errors.As(err, &at) {
			err = at.Err // without the URL, in which a key may stand
		}
		return "", 0, fmt.Errorf("transcribe: %w", err)
	}
	defer resp.Body.Close()
	// Text is written with up to six bytes for one in JSON.
	body, err := io.ReadAll(io.LimitReader(resp.Body, 6*maxTranscript+1<<10))
	if err != nil {
		return "", 0, fmt.Errorf("transcribe: read the answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return "", retryable(resp), fmt.Errorf("transcribe: the server answers %d: %s", resp.StatusCode, t.excuse(body))
	}
	var answer struct{ Text string }
	if err := json.Unmarshal(body, &answer); err != nil {
		return "", -1, fmt.Errorf("transcribe: read the answer: %w", err)
	}
	text = strings.TrimSpace(strings.ToValidUTF8(answer.Text, ""))
	if text == "" {
		return "", -1, ErrNoSpeech
	}
	return cutBytes(text, maxTranscript), 0, nil
}

// retryable says after how long a refused call may be made again.
func retryable(resp *http.Response) time.Duration {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode < http.StatusInternalServerError {
		return -1
	}
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(min(seconds, 3600)) * time.Second
}

// excuse is what the server says about a refusal, short and without the key.
func (t *Transcriber) excuse(body []byte) string {
	const enough = 200
	var answer struct {
		Error struct{ Message string }
	}
	text := string(body)
	if json.Unmarshal(body, &answer) == nil && answer.Error.Message != "" {
		text = answer.Error.Message
	}
	if t.opt.APIKey != "" {
		text = strings.ReplaceAll(text, string(t.opt.APIKey), "***")
	}
	return cutBytes(strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " "), enough)
}

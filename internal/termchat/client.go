package termchat

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"magpie/chat"
)

const (
	callWait   = 15 * time.Second       // for one call, longer than the server's own bound
	sendTries  = time.Minute            // how long a message is offered again and again
	firstPause = 300 * time.Millisecond // between two attempts, doubled up to lastPause
	lastPause  = 5 * time.Second
	silence    = 45 * time.Second // without any event, three pings: the connection is dead
	maxEvent   = 8 << 20          // bytes of one event; the largest message is 256 KiB
)

// The events as channels/web sends them; only what a terminal shows.
type (
	event struct {
		kind    string
		message message
		live    live
	}
	message struct {
		ID      string          `json:"id"`
		Role    string          `json:"role"`
		Text    string          `json:"text"`
		Files   []file          `json:"files"`
		Buttons [][]chat.Button `json:"buttons"`
		Turn    string          `json:"turn"`
		Final   bool            `json:"final"`
	}
	file struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	live struct {
		Turn   string `json:"turn"`
		Busy   bool   `json:"busy"`
		Text   string `json:"text"`
		Line   string `json:"line"`
		Tool   *tool  `json:"tool"`
		Notice *struct {
			Press, Text string
		} `json:"notice"`
	}
	tool struct{ Name, State string }
)

// The kinds of events that are no message.
const (
	evMessage = "message"
	evLive    = "live"
	evSync    = "sync"
	evLost    = "lost" // made here: the connection is gone
)

type client struct {
	o    Options
	last string // id of the newest message seen
	// pressed is the press whose notice was not shown yet.
	pressed atomic.Value
}

func newClient(o Options) *client { return &client{o: o} }

// refused is an answer after which trying again is useless.
type refused struct {
	status int
	text   string
}

func (r *refused) Error() string { return r.text }

func (c *client) do(ctx context.Context, method, path string, body []byte, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.o.BaseURL+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask the bot: %w", err)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	req.Header.Set("Authorization", "Bearer "+string(c.o.Token))
	res, err := c.o.HTTP.Do(req)
	if err != nil {
		return nil, fmt.Errorf("the bot cannot be reached: %w", err)
	}
	if res.StatusCode < 300 {
		return res, nil
	}
	defer res.Body.Close()
	var problem struct{ Error string }
	data, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10)) // an answer cut short is no better
	if json.Unmarshal(data, &problem) != nil || problem.Error == "" {
		problem.Error = http.StatusText(res.StatusCode)
	}
	switch {
	case res.StatusCode == http.StatusUnauthorized:
		return nil, ErrUnauthorized
	case res.StatusCode >= 500:
		return nil, fmt.Errorf("the bot answered: %s", problem.Error)
	}
	return nil, &refused{res.StatusCode, problem.Error}
}

// reachable proves that the bot is there and the token is right.
func (c *client) reachable(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callWait)
	defer cancel()
	res, err := c.do(ctx, http.MethodGet, "/api/chat/chats", nil, nil)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

func (c *client) path(rest string) string {
	return "/api/chat/chats/" + url.PathEscape(c.o.Chat) + rest
}

// post offers a message or a press until the bot has stored it; the id stays
// the same, so it arrives once.
func (c *client) post(ctx context.Context, rest string, v map[string]string) error {
	v["id"] = cmp.Or(v["id"], rand.Text())
	v["lang"] = language()
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("send: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, sendTries)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := c.postOnce(ctx, rest, body)
		var r *refused
		if err == nil || errors.Is(err, ErrUnauthorized) || errors.As(err, &r) {
			return err
		}
		if wait(ctx, pause) != nil {
			return err
		}
	}
}

func (c *client) postOnce(ctx context.Context, rest string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, callWait)
	defer cancel()
	res, err := c.do(ctx, http.MethodPost, c.path(rest), body, http.Header{"Content-Type": {"application/json"}})
	if err != nil {
		return err
	}
	return res.Body.Close()
}

func (c *client) send(ctx context.Context, text string) error {
	return c.post(ctx, "/messages", map[string]string{"text": text})
}

func (c *client) press(ctx context.Context, m *message, b chat.Button) error {
	id := rand.Text()
	c.pressed.Store(id)
	return c.post(ctx, "/press", map[string]string{"id": id, "message": m.ID, "data": b.Data})
}

// notice is what the person is told whose press it answers, once; "" for none.
func (c *client) notice(l live) string {
	if l.Notice == nil || !c.pressed.CompareAndSwap(l.Notice.Press, "") {
		return ""
	}
	return l.Notice.Text
}

// language is the person's, from the environment: "zh_CN.UTF-8" is "zh-CN".
func language() string {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v, _, _ := strings.Cut(os.Getenv(name), "."); v != "" && v != "C" && v != "POSIX" {
			return strings.ReplaceAll(v, "_", "-")
		}
	}
	return ""
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// stream hands every event to fn, connecting again whenever it must, until ctx
// ends or fn fails.
func (c *client) stream(ctx context.Context, fn func(context.Context, event) error) error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		var seen bool
		var stop error
		err := c.streamOnce(ctx, func(e event) error {
			seen = true
			stop = fn(ctx, e)
			return stop
		})
		switch {
		case ctx.Err() != nil:
			return nil
		case stop != nil:
			return stop
		case errors.Is(err, ErrUnauthorized):
			return err
		}
		var r *refused
		if errors.As(err, &r) {
			return fmt.Errorf("follow the conversation: %w", err)
		}
		if err := fn(ctx, event{kind: evLost}); err != nil {
			return err
		}
		if seen {
			pause = firstPause
		}
		if wait(ctx, pause) != nil {
			return nil
		}
	}
}

func (c *client) streamOnce(ctx context.Context, fn func(event) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	header := http.Header{}
	if c.last != "" {
		header.Set("Last-Event-ID", c.last)
	}
	watchdog := time.AfterFunc(silence, cancel)
	defer watchdog.Stop()
	res, err := c.do(ctx, http.MethodGet, c.path("/events?format=text"), nil, header)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, maxEvent)
	var kind, id, data string
	for lines.Scan() {
		watchdog.Reset(silence)
		key, value, _ := strings.Cut(lines.Text(), ": ")
		switch key {
		case "event":
			kind = value
		case "id":
			id = value
		case "data":
			data = value
		case "":
			if err := c.dispatch(kind, data, fn); err != nil {
				return err
			}
			if id != "" {
				c.last = id
			}
			if kind == "reset" {
				c.last = ""
			}
			kind, id, data = "", "", ""
		}
	}
	return lines.Err()
}

func (c *client) dispatch(kind, data string, fn func(event) error) error {
	e := event{kind: kind}
	var err error
	switch kind {
	case evMessage:
		err = json.Unmarshal([]byte(data), &e.message)
	case evLive:
		err = json.Unmarshal([]byte(data), &e.live)
	case evSync:
	default:
		return nil
	}
	if err != nil {
		return fmt.Errorf("read event %s: %w", kind, err)
	}
	return fn(e)
}

// save puts the files of a message into the folder for them and returns their
// paths, or why there is none.
func (c *client) save(ctx context.Context, m message) []string {
	var paths []string
	for _, f := range m.Files {
		path, err := c.saveOne(ctx, f)
		if err != nil {
			path = "could not be saved: " + err.Error()
		}
		paths = append(paths, path)
	}
	return paths
}

func (c *client) saveOne(ctx context.Context, f file) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 4*callWait)
	defer cancel()
	res, err := c.do(ctx, http.MethodGet, "/api/chat/files/"+url.PathEscape(f.ID), nil, nil)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	if err := os.MkdirAll(c.o.SaveDir, 0o700); err != nil {
		return "", fmt.Errorf("make folder: %w", err)
	}
	root, err := os.OpenRoot(c.o.SaveDir)
	if err != nil {
		return "", fmt.Errorf("open folder: %w", err)
	}
	defer root.Close()
	name := fileName(f)
	w, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return "", fmt.Errorf("save: %w", err)
	}
	_, err = io.Copy(w, res.Body)
	if err := errors.Join(err, w.Close()); err != nil {
		return "", fmt.Errorf("save: %w", err)
	}
	return filepath.Join(c.o.SaveDir, name), nil
}

// fileName is the file's name with the end of its id before it: two files of
// one name do not overwrite each other, the same file twice does.
func fileName(f file) string {
	name := filepath.Base(strings.ReplaceAll(visible(f.Name), `\`, "/"))
	return f.ID[max(0, len(f.ID)-8):] + "-" + strings.TrimLeft(name, ".")
}

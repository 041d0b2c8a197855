package termchat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ergochat/readline"
	"golang.org/x/term"
)

// terminal talks to a person: the line being typed stays at the bottom while
// replies grow above it.
type terminal struct {
	o      Options
	client *client
	rl     *readline.Instance

	mu     sync.Mutex
	busy   bool
	last   *message // the newest message with buttons
	before []message
	synced bool
	lost   bool
	shown  map[string]string
	draft  draft
}

const (
	prompt  = "› "
	more    = "… "
	recall  = 4 // messages of before that are shown at the start
	dim     = "\x1b[2m"
	normal  = "\x1b[0m"
	welcome = "Type a message. A line that ends in \\ goes on. Ctrl-C stops the answer, then leaves; /quit leaves, /help helps."
)

func newTerminal(o Options, c *client, in, out *os.File) (*terminal, error) {
	if o.History != "" {
		if err := os.MkdirAll(filepath.Dir(o.History), 0o700); err != nil {
			return nil, fmt.Errorf("make the folder of the history: %w", err)
		}
	}
	size := func() (int, int) {
		w, h, err := term.GetSize(int(out.Fd()))
		if err != nil {
			return 80, 24 // what a terminal was before it had a size
		}
		return w, h
	}
	raw := rawMode{fd: int(in.Fd())}
	rl, err := readline.NewFromConfig(&readline.Config{
		Prompt: prompt, HistoryFile: o.History, HistorySearchFold: true, Undo: true,
		Stdin: in, Stdout: out, Stderr: out,
		FuncIsTerminal: func() bool { return true },
		FuncMakeRaw:    raw.enter, FuncExitRaw: raw.exit, FuncGetSize: size,
	})
	if err != nil {
		return nil, fmt.Errorf("open the terminal: %w", err)
	}
	t := &terminal{o: o, client: c, rl: rl, shown: map[string]string{}}
	t.draft.width = func() int {
		w, _ := size()
		return w
	}
	return t, nil
}

// rawMode switches the terminal of In; readline's own always takes the
// process's standard input.
type rawMode struct {
	fd  int
	mu  sync.Mutex
	old *term.State
}

func (r *rawMode) enter() (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.old, err = term.MakeRaw(r.fd)
	return err
}

func (r *rawMode) exit() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.old == nil {
		return nil
	}
	return term.Restore(r.fd, r.old)
}

func (t *terminal) talk(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { _ = t.rl.Close() })() // ends ReadLine
	defer t.rl.Close()
	t.print(dim + welcome + normal + "\n")
	for {
		line, err := t.readMessage()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, readline.ErrInterrupt):
			if t.working() {
				line = "/stop"
				break
			}
			if line == "" {
				return nil
			}
			continue // only what was typed goes
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read the terminal: %w", err)
		}
		switch strings.TrimSpace(line) {
		case "":
			continue
		case "/quit", "/exit":
			return nil
		}
		if err := t.deliver(ctx, line); err != nil {
			if errors.Is(err, ErrUnauthorized) {
				return err
			}
			t.print(fmt.Sprintf("%snot sent: %v%s\n", dim, err, normal))
		}
	}
}

// readMessage reads a line, and the next ones while they end in a backslash.
func (t *terminal) readMessage() (string, error) {
	defer t.rl.SetPrompt(prompt)
	var whole strings.Builder
	for {
		line, err := t.rl.ReadLine()
		if err != nil {
			return whole.String() + line, err
		}
		text, goesOn := strings.CutSuffix(line, `\`)
		whole.WriteString(text)
		if !goesOn {
			return whole.String(), nil
		}
		whole.WriteByte('\n')
		t.rl.SetPrompt(more)
	}
}

func (t *terminal) working() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.busy
}

func (t *terminal) deliver(ctx context.Context, line string) error {
	t.mu.Lock()
	last := t.last
	t.mu.Unlock()
	if b, ok := choice(last, strings.TrimSpace(line)); ok {
		return t.client.press(ctx, last, b)
	}
	return t.client.send(ctx, line)
}

func (t *terminal) print(text string) {
	if text != "" {
		_, _ = io.WriteString(t.rl, text) // a terminal that is gone ends ReadLine as well
	}
}

// event shows what happened above the line being typed. Called one at a time.
func (t *terminal) event(ctx context.Context, e event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.kind {
	case evLost:
		if !t.lost {
			t.print(dim + "(the connection is gone, trying again…)" + normal + "\n")
		}
		t.lost, t.busy = true, false
	case evSync:
		t.connected()
	case evLive:
		t.busy = e.live.Busy
		t.print(t.draft.live(e.live))
	case evMessage:
		t.message(ctx, e.message)
	}
	return nil
}

// connected shows the end of the conversation when it is opened, and the good
// news after a break.
func (t *terminal) connected() {
	if t.lost {
		t.print(dim + "(connected again)" + normal + "\n")
	}
	t.lost = false
	if t.synced {
		return
	}
	t.synced = true
	for _, m := range t.before[max(0, len(t.before)-recall):] {
		who := "  "
		if m.Role != "bot" {
			who = prompt
		}
		text := strings.ReplaceAll(strings.TrimRight(visible(m.Text), "\n"), "\n", "\n  ")
		t.print(dim + who + text + normal + "\n")
	}
	t.before = nil
}

func (t *terminal) message(ctx context.Context, m message) {
	if len(m.Buttons) > 0 {
		t.last = &m
	} else if t.last != nil && t.last.ID == m.ID {
		t.last = nil
	}
	old, known := t.shown[m.ID]
	t.shown[m.ID] = m.Text
	switch {
	case !t.synced:
		t.before = append(t.before, m)
	case m.Role != "bot", known && old == m.Text:
	default:
		rest := m
		rest.Text = t.draft.finish(m)
		t.print(say(rest, t.client.save(ctx, m)))
	}
}

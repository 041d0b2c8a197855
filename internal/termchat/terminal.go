package termchat

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"

	"magpie/internal/lineedit"
)

// terminal talks to a person: the line being typed stays at the bottom while
// replies grow above it.
type terminal struct {
	client *client
	screen *lineedit.Terminal

	mu     sync.Mutex
	work   work
	last   *message // the newest message with buttons
	before []message
	link
	shown map[string]string
	draft draft
	paint paint
}

// link is the connection to the bot.
type link struct {
	ready   chan struct{} // closed when the past has been shown
	synced  bool          // the same
	lost    bool          // and the person was told
	refused bool          // the first attempt failed
}

// work is what Ctrl-C can stop.
type work struct {
	awaited bool // something was sent, and nothing of the bot came since
	busy    bool
	stopped bool // it was asked to stop
}

const (
	recall = 4 // messages of before that are shown at the start
	unsent = 100
	dim    = "\x1b[2m"
	normal = "\x1b[0m"
)

func newTerminal(o Options, c *client, in, out *os.File) (*terminal, error) {
	screen, err := lineedit.Open(lineedit.Options{In: in, Out: out, History: o.History, Plain: os.Getenv("NO_COLOR") != ""})
	if err != nil {
		return nil, err
	}
	t := &terminal{client: c, screen: screen, shown: map[string]string{}, link: link{ready: make(chan struct{})}}
	t.draft.width = func() int {
		columns, _ := screen.Size()
		return columns
	}
	return t, nil
}

// talk reads what is typed while another goroutine sends it, in order.
func (t *terminal) talk(ctx context.Context) error {
	defer t.screen.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, t.screen.Close)() // ends Read
	t.note(words().welcome)
	lines := make(chan string, unsent)
	sent := make(chan error, 1)
	go func() {
		sent <- t.send(ctx, lines)
		cancel()
	}()
	err := t.read(ctx, lines)
	close(lines)
	if err != nil || ctx.Err() != nil {
		cancel()
		return errors.Join(<-sent, err)
	}
	var waiting sync.WaitGroup
	waiting.Go(func() { t.waits(cancel) })
	err = <-sent
	t.screen.Close()
	waiting.Wait()
	return err
}

// waits lets the person leave without what could not be sent yet.
func (t *terminal) waits(cancel func()) {
	for {
		if _, err := t.screen.Read(); err != nil {
			cancel()
			return
		}
	}
}

// read passes on what is typed until the person leaves.
func (t *terminal) read(ctx context.Context, lines chan<- string) error {
	for {
		line, err := t.screen.Read()
		switch {
		case errors.Is(err, lineedit.ErrInterrupt):
			if !t.stops() {
				return nil
			}
			line = "/stop"
		case errors.Is(err, io.EOF), errors.Is(err, lineedit.ErrClosed):
			return nil
		case err != nil:
			return err
		case leaves(strings.TrimSpace(line)):
			return nil
		default:
			t.begins()
		}
		select {
		case lines <- line:
		case <-ctx.Done():
			return nil
		}
	}
}

// stops reports whether there is something that Ctrl-C has not stopped yet.
func (t *terminal) stops() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	can := (t.work.busy || t.work.awaited) && !t.work.stopped
	t.work.stopped = can
	t.work.awaited = false
	return can
}

func (t *terminal) begins() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.work.awaited, t.work.stopped = true, false
}

// send brings the lines to the bot.
func (t *terminal) send(ctx context.Context, lines <-chan string) error {
	select {
	case <-t.ready: // else what is sent now would be shown as the past
	case <-ctx.Done():
	}
	for line := range lines {
		err := t.deliver(ctx, line)
		switch {
		case errors.Is(err, ErrUnauthorized):
			return err
		case ctx.Err() != nil:
			return nil
		case err != nil:
			t.note(words().notSent + err.Error())
		}
	}
	return nil
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

// note shows a remark of the program itself.
func (t *terminal) note(text string) { t.screen.Print(dim + visible(text) + normal) }

// event shows what happened above the line being typed. Called one at a time.
func (t *terminal) event(ctx context.Context, e event) error {
	defer func() {
		if why := recover(); why != nil {
			t.screen.Close() // a person is left with a terminal that works
			panic(why)
		}
	}()
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.kind {
	case evLost:
		t.gone()
	case evSync:
		t.connected()
	case evLive:
		if text := t.client.notice(e.live); text != "" {
			t.note(text)
		}
		t.live(e.live)
	case evMessage:
		t.message(ctx, e.message)
	}
	return nil
}

// gone says once that the connection is; a bot that is just starting refuses
// the first.
func (t *terminal) gone() {
	t.work, t.draft.rest = work{}, ""
	if (t.synced || t.refused) && !t.lost {
		t.screen.Show(dim+words().lost+normal, "")
		t.lost = true
	}
	t.refused = true
}

func (t *terminal) live(l live) {
	t.work.busy = l.Busy
	if l.Busy {
		t.work.awaited = false
	} else {
		t.work.stopped = false
	}
	if l.Turn != t.draft.turn {
		t.paint = paint{}
	}
	text := t.paint.lines(t.draft.live(l))
	t.screen.Show(text, t.draft.rest)
}

// connected shows the end of the conversation when it is opened, and the good
// news after a break.
func (t *terminal) connected() {
	if t.lost {
		t.note(words().again)
	}
	t.lost = false
	if t.synced {
		return
	}
	t.synced = true
	defer close(t.ready)
	for _, m := range t.before[max(0, len(t.before)-recall):] {
		who := "  "
		if m.Role != "bot" {
			who = lineedit.Prompt
		}
		text := strings.ReplaceAll(strings.TrimRight(visible(m.Text), "\n"), "\n", "\n  ")
		t.note(who + text)
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
		t.work.awaited = false
		t.work.busy = t.work.busy && !m.Final
		rest := m
		rest.Text = t.draft.finish(m)
		if rest.Text == visible(m.Text) { // all of it
			t.paint = paint{}
		}
		t.screen.Show(t.paint.lines(say(rest, t.client.save(ctx, m))), t.draft.rest)
	}
}

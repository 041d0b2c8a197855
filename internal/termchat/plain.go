package termchat

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// plain talks to pipes: a line in, its answer out, then the next line. Only a
// question about an approval reads the next line before.
type plain struct {
	o      Options
	client *client
	events chan event
	synced chan struct{}     // closed when the past has been passed over
	lines  chan string       // of the input
	ahead  *string           // a line that was read while a question stood
	last   *message          // the newest message with buttons
	told   bool              // a notice has answered a press
	asked  questions         // that wait for an answer
	shown  map[string]string // text by id: what changes only its buttons is not said again
	away   away
	draft  string // what is written of a message that has not come yet
}

func newPlain(o Options, c *client) *plain {
	return &plain{o: o, client: c, events: make(chan event), synced: make(chan struct{}), lines: make(chan string), shown: map[string]string{}, away: away{o: o, tooLong: make(chan struct{})}}
}

const (
	maxLine = 300 << 10 // bytes; a message may have 256 KiB
	// settle is how long it must be quiet after a message that is not the
	// answer of a turn, before it is taken for one (commands answer so).
	settle = 700 * time.Millisecond
	// settleTurn is the same after a turn that has ended without its message:
	// it may still be on its way.
	settleTurn = 5 * time.Second
)

// event implements half of Run's contract: what stood there before is not
// shown, everything after goes to talk.
func (p *plain) event(ctx context.Context, e event) error {
	p.away.note(e)
	select {
	case <-p.synced:
	default:
		if e.kind == evSync {
			close(p.synced)
		}
		return nil
	}
	if e.kind == evMessage && e.message.Role != "bot" {
		return nil
	}
	select {
	case p.events <- e:
	case <-ctx.Done():
	}
	return nil
}

func (p *plain) talk(ctx context.Context) error {
	select {
	case <-p.synced:
	case <-p.away.tooLong:
		return p.away.error("nothing was sent to it")
	case <-ctx.Done():
		return nil
	}
	failed := make(chan error, 1)
	// This goroutine may outlive talk: a read from a pipe cannot be broken
	// off. It ends with its input, or with the next line.
	go func() { failed <- readLines(ctx, p.o.In, p.lines) }()
	for {
		line, ok := "", true
		if p.ahead != nil {
			line, p.ahead = *p.ahead, nil
		} else {
			select {
			case <-ctx.Done():
				return nil
			case <-p.away.tooLong:
				return p.away.error("nothing is waited for from it")
			case e := <-p.events:
				if err := p.show(ctx, e); err != nil {
					return err
				}
				continue
			case line, ok = <-p.lines:
			}
		}
		if !ok {
			return <-failed
		}
		if leaves(line) {
			return nil
		}
		p.asked = nil // a line that answers one is sent like any other
		if err := p.ask(ctx, line); err != nil {
			return err
		}
	}
}

// readLines joins lines that end in a backslash with the next.
func readLines(ctx context.Context, in io.Reader, lines chan<- string) error {
	defer close(lines)
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, maxLine)
	var whole strings.Builder
	emit := func() bool {
		text := whole.String()
		whole.Reset()
		if strings.TrimSpace(text) == "" {
			return true
		}
		select {
		case lines <- text:
			return true
		case <-ctx.Done():
			return false
		}
	}
	for scanner.Scan() {
		text, more := strings.CutSuffix(scanner.Text(), `\`)
		whole.WriteString(text)
		if more {
			whole.WriteByte('\n')
		} else if !emit() {
			return nil
		}
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("read the input: %w", err)
	}
	emit()
	return nil
}

var errNoAnswer = errors.New("no answer came in time")

// ask sends a line and shows what comes until the answer is complete.
func (p *plain) ask(ctx context.Context, line string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.o.Wait, errNoAnswer)
	sent := make(chan error, 1)
	deliver := p.delivery(line)
	go func() { sent <- deliver(ctx) }()
	stored := false
	defer func() {
		cancel()
		if !stored {
			<-sent
		}
	}()
	a := reply{quiet: time.NewTimer(2 * p.o.Wait), wait: 2 * p.o.Wait} // ctx ends before
	defer a.quiet.Stop()
	for !a.over || !stored {
		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errNoAnswer) {
				return errNoAnswer
			}
			return nil
		case <-p.away.tooLong:
			return p.abandon(stored)
		case err := <-sent:
			stored, sent = true, nil
			if err != nil {
				return err
			}
		case e := <-p.events:
			if old, ok := p.shown[e.message.ID]; ok && e.kind == evMessage && old == e.message.Text {
				e.message.Final = false // its buttons have gone, and a notice may follow
			}
			if err := p.show(ctx, e); err != nil {
				return err
			}
			if a.begun = a.begun || p.told; p.told {
				a.quiet.Reset(settle)
			}
			a.note(e)
		case line, ok := <-p.wanted():
			if err := p.answer(ctx, line, ok); err != nil {
				return err
			}
			a.helped = true
		case <-a.quiet.C: // before anything came it means nothing: ctx ends the wait
			a.over = a.over || a.begun && !a.busy
		}
	}
	return nil
}

// reply finds out when an answer is complete: with the final message of a
// turn, or when it has become quiet after another message (commands answer
// so) or after a turn that said nothing.
type reply struct {
	quiet *time.Timer
	wait  time.Duration
	busy  bool
	begun bool // something has happened since the question
	over  bool
	// helped: other lines were sent meanwhile, and have answers of their own,
	// which belong to no turn.
	helped bool
}

func (a *reply) note(e event) {
	switch e.kind {
	case evMessage:
		a.begun = true
		a.over = a.over || e.message.Final && (e.message.Turn != "" || !a.helped)
	case evLive:
		a.busy = e.live.Busy
		a.begun = a.begun || a.busy
	}
	switch {
	case !a.begun || a.busy:
		a.quiet.Reset(a.wait)
	case e.kind == evMessage:
		a.quiet.Reset(settle)
	default:
		a.quiet.Reset(settleTurn)
	}
}

// delivery is what brings a line to the bot: a press when it is the number of
// a button.
func (p *plain) delivery(line string) func(ctx context.Context) error {
	last := p.last
	if b, ok := choice(last, strings.TrimSpace(line)); ok {
		return func(ctx context.Context) error { return p.client.press(ctx, last, b) }
	}
	return func(ctx context.Context) error { return p.client.send(ctx, line) }
}

// abandon ends the wait for an answer of a bot that is gone: what it has
// written of it is shown.
func (p *plain) abandon(stored bool) error {
	if text := visible(strings.TrimRight(p.draft, "\n")); text != "" {
		if _, err := io.WriteString(p.o.Out, text+"\n"); err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
	}
	if stored {
		return p.away.error("it has stored the message, and answers it after its next start")
	}
	return p.away.error("if it has taken the message, that is stored and answered after its next start, else send it again")
}

func (p *plain) show(ctx context.Context, e event) error {
	if e.kind == evLive && e.live.Text != "" {
		p.draft = e.live.Text
	}
	if e.kind == evLive {
		if text := p.client.notice(e.live); text != "" {
			p.told = true
			return p.write(visible(text) + "\n")
		}
	}
	if e.kind != evMessage {
		return nil
	}
	m := e.message
	p.draft = ""
	p.asked.note(m)
	if len(m.Buttons) > 0 {
		p.last = &m
	} else if p.last != nil && p.last.ID == m.ID {
		p.last = nil
	}
	if old, ok := p.shown[m.ID]; ok && old == m.Text {
		return nil
	}
	p.shown[m.ID] = m.Text
	return p.write(say(m, p.client.save(ctx, m)))
}

func (p *plain) write(text string) error {
	if _, err := io.WriteString(p.o.Out, text); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

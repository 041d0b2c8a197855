package simulate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"magpie/internal/fakes/driver"
)

const (
	// quiet is how long a chat must stay as it is before it is printed: a
	// streamed answer grows several times a second.
	quiet = 500 * time.Millisecond
	// patience bounds the wait for the first sign of an answer while no turn
	// runs, in a script.
	patience = 20 * time.Second
	// turnMost bounds the wait for one answer in a script.
	turnMost = 3 * time.Minute
	// backMost bounds the wait for the bot to connect again after :cut.
	backMost = 60 * time.Second
	// maxLine bounds a line in bytes.
	maxLine = 1 << 20
)

// PromptOptions adjust Prompt.
type PromptOptions struct {
	// Script: lines wait until the answers to those before have settled, they
	// are repeated in the output, and what gets no answer is an error at the
	// end. Otherwise a person types.
	Script bool
	// Busy says whether the bot works on an answer or still sends it; nil = not
	// known.
	Busy func() bool
}

// prompt is one conversation in lines.
type prompt struct {
	world   *World
	out     io.Writer
	opts    PromptOptions
	now     *stand
	place   Place
	shown   map[*talk]int      // the version up to which a talk was printed
	printed map[string]bool    // entries that were, by name and key
	waits   map[*talk]*waiting // for an answer
	failed  []string           // lines that came to nothing
}

// waiting is the wait for an answer in a talk.
type waiting struct {
	line  string
	since time.Time
	from  int // version before the line
}

// Prompt lets the lines of in talk to the platforms and prints what their
// chats show. It returns at the end of in, after :quit or when ctx ends; in
// goes on being read by one goroutine until its next line or its end.
func (w *World) Prompt(ctx context.Context, in io.Reader, out io.Writer, o *PromptOptions) error {
	p := &prompt{
		world: w, out: out, now: w.stands[0], place: Private,
		shown: map[*talk]int{}, printed: map[string]bool{}, waits: map[*talk]*waiting{},
	}
	if o != nil {
		p.opts = *o
	}
	if p.opts.Busy == nil {
		p.opts.Busy = func() bool { return false }
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := p.loop(ctx, readLines(ctx, in))
	if err == nil && len(p.failed) > 0 {
		err = fmt.Errorf("these lines came to nothing: %s", strings.Join(p.failed, "; "))
	}
	return err
}

// input is a line, or the end with its error.
type input struct {
	line string
	err  error
}

func readLines(ctx context.Context, in io.Reader) <-chan input {
	lines := make(chan input)
	send := func(i input) bool {
		select {
		case lines <- i:
			return true
		case <-ctx.Done():
			return false
		}
	}
	go func() {
		s := bufio.NewScanner(in)
		s.Buffer(nil, maxLine)
		for s.Scan() {
			if !send(input{line: s.Text()}) {
				return
			}
		}
		err := s.Err()
		if err == nil {
			err = io.EOF
		}
		send(input{err: err})
	}()
	return lines
}

func (p *prompt) loop(ctx context.Context, lines <-chan input) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	p.ask()
	for {
		next := lines
		if p.opts.Script && !p.settled() {
			next = nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			p.print()
		case in := <-next:
			switch {
			case errors.Is(in.err, io.EOF):
				return nil
			case in.err != nil:
				return fmt.Errorf("read the lines: %w", in.err)
			}
			if p.opts.Script {
				fmt.Fprintf(p.out, "%s> %s\n", nameOf(p.now.name, p.place), in.line)
			}
			err := p.do(ctx, strings.TrimSpace(in.line))
			if errors.Is(err, errQuit) {
				return nil
			}
			if err != nil {
				fmt.Fprintln(p.out, "  !", err)
				p.failed = append(p.failed, in.line)
			}
			p.ask()
		}
	}
}

// ask tells a person to which chat lines go.
func (p *prompt) ask() {
	if !p.opts.Script {
		fmt.Fprintf(p.out, "%s> ", nameOf(p.now.name, p.place))
	}
}

func nameOf(platform string, at Place) string {
	if at == Private {
		return platform
	}
	return platform + ":" + string(at)
}

// say writes to the present chat.
func (p *prompt) say(line, text string, files []driver.File) error {
	t := p.now.talks[p.place]
	from := t.last()
	if err := t.say(text, files); err != nil {
		p.shown[t] = t.last() // the error says it
		return err
	}
	p.waits[t] = &waiting{line, time.Now(), from}
	return nil
}

// settled says whether nothing is to be expected any more. What has waited in
// vain is noted and given up.
func (p *prompt) settled() bool {
	all := true
	for t, w := range p.waits {
		switch p.state(t, w) {
		case answered:
			delete(p.waits, t)
		case silent:
			fmt.Fprintln(p.out, "  ! no answer")
			p.failed = append(p.failed, w.line)
			delete(p.waits, t)
			p.ask()
		default:
			all = false
		}
	}
	return all
}

// What a wait has come to.
type outcome int

const (
	pending outcome = iota
	answered
	silent
)

func (p *prompt) state(t *talk, w *waiting) outcome {
	news := slices.DeleteFunc(t.since(w.from), func(e Entry) bool { return e.Who == fromPerson })
	waited := time.Since(w.since)
	if len(news) == 0 {
		if waited > turnMost || waited > patience && !p.opts.Busy() {
			return silent
		}
		return pending
	}
	last := slices.MaxFunc(news, func(a, b Entry) int { return a.version - b.version })
	asks := slices.ContainsFunc(news, func(e Entry) bool { return !e.Gone && len(e.Buttons) > 0 })
	switch {
	case p.shown[t] < last.version: // not printed yet
		return pending
	case asks, waited > turnMost: // a question keeps its turn waiting
		return answered
	case !p.opts.Busy() && p.shown[t] >= t.last(): // in this order: the end may have come meanwhile
		return answered
	}
	return pending
}

// print shows what has come to rest in any chat.
func (p *prompt) print() {
	for _, s := range p.world.stands {
		for _, place := range Places() {
			p.printTalk(s, s.talks[place])
		}
	}
}

func (p *prompt) printTalk(s *stand, t *talk) {
	news := t.since(p.shown[t])
	if slices.ContainsFunc(news, func(e Entry) bool { return time.Since(e.at) < quiet }) {
		return
	}
	some := false
	for _, e := range news {
		p.shown[t] = max(p.shown[t], e.version)
		where := nameOf(s.name, t.place)
		cameAndWent := e.Gone && !p.printed[where+" "+e.Key]
		if e.Who == fromPerson && len(e.Reactions) == 0 || e.empty() || cameAndWent {
			continue
		}
		if !some && !p.opts.Script {
			fmt.Fprintln(p.out)
		}
		some = true
		p.printEntry(where, e)
	}
	if some {
		p.ask()
	}
}

func (p *prompt) printEntry(where string, e Entry) {
	id := where + " " + e.Key
	head := where + " " + e.Who
	switch {
	case e.Who == fromPerson:
		fmt.Fprintf(p.out, "  %s reacts: %s\n", where+" "+fromBot, strings.Join(e.Reactions, " "))
		return
	case e.Gone:
		fmt.Fprintf(p.out, "  %s took back: %s\n", head, first(e.Text))
		return
	case p.printed[id]:
		head += " (edited)"
	}
	p.printed[id] = true
	fmt.Fprintf(p.out, "  %s: %s\n", head, strings.ReplaceAll(strings.TrimRight(e.Text, "\n"), "\n", "\n    "))
	for _, f := range e.Files {
		fmt.Fprintf(p.out, "    file: %s (%s, %d bytes)\n", f.Name, f.MIME, len(f.Data))
	}
	for i, b := range e.Buttons {
		fmt.Fprintf(p.out, "    [%d] %s\n", i+1, b.Label)
	}
}

// first is the beginning of a text.
func first(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	if runes := []rune(line); len(runes) > 40 {
		line = string(runes[:40]) + "…"
	}
	return line
}

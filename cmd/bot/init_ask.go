package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/term"

	"magpie/internal/lineedit"
	"magpie/internal/setup"
)

// words are the same text in both languages.
type words = setup.Words

// asker asks a person at a terminal, or takes the lines of a pipe for answers.
type asker struct {
	in      *os.File
	lines   *bufio.Reader
	out     io.Writer
	tty     bool
	chinese bool
	silent  bool // nobody is asked: what is missing is an error
	// offers are taken for an answer of the next question too.
	offers []setup.Action

	mu    sync.Mutex // held while files are written
	quiet *term.State
	wrote bool
	// broke ends the wait that Ctrl-C may end without ending the program.
	broke context.CancelFunc
}

func newAsker(p *program, silent bool) *asker {
	return &asker{
		in: p.in, lines: bufio.NewReader(p.in), out: p.out, silent: silent,
		tty: !silent && term.IsTerminal(int(p.in.Fd())), chinese: p.speaksChinese(),
	}
}

// speaksChinese says which language the person's system is set to.
func (p *program) speaksChinese() bool {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if value, _ := p.env(name); value != "" {
			return strings.HasPrefix(strings.ToLower(value), "zh")
		}
	}
	return false
}

// guarded makes Ctrl-C end the program with the terminal as it was, with both
// files written or none, and with a word about which.
func (a *asker) guarded() (end func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for {
			select {
			case got := <-signals:
				a.interrupted(got)
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}

// interrupted ends what may be broken off, else the program.
func (a *asker) interrupted(by os.Signal) {
	a.mu.Lock()
	if a.broke != nil && by == os.Interrupt {
		a.broke()
		a.broke = nil
		a.mu.Unlock()
		return
	}
	// a.mu stays locked for good
	if a.quiet != nil {
		_ = term.Restore(int(a.in.Fd()), a.quiet)
	}
	if a.wrote {
		a.say("\nStopped; everything was written.", "\n已中止；内容已写入。")
	} else {
		a.say("\nStopped; nothing was written.", "\n已中止；没有写入任何内容。")
	}
	os.Exit(exitFailed)
}

// breakable is a wait that Ctrl-C ends.
func (a *asker) breakable(ctx context.Context) (waiting context.Context, end func()) {
	waiting, cancel := context.WithCancel(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.broke = cancel
	return waiting, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.broke = nil
		cancel()
	}
}

// whole does not let Ctrl-C end the program half way.
func (a *asker) whole(write func() error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := write()
	a.wrote = err == nil
	return err
}

// errNoAnswer: the input has ended, or nobody may be asked.
var errNoAnswer = errors.New("there is no answer")

func (a *asker) tongue(w words) string {
	return w.In(a.chinese)
}

func (a *asker) say(english, chinese string, args ...any) {
	fmt.Fprintf(a.out, a.tongue(words{English: english, Chinese: chinese})+"\n", args...)
}

// answer returns the answer to a question of a draft.
func (a *asker) answer(q setup.Question) (string, error) {
	if q.Secret {
		return a.secret(q.Text, q.Usual)
	}
	return a.ask(q.Text, q.Usual)
}

// choose says what can be done and asks for one of it. Where new answers are the
// likeliest, and in a pipe, the first question is asked again and takes the
// words of the list too.
func (a *asker) choose(offers []setup.Action) (setup.Action, error) {
	a.say("      Now you can:", "      现在可以：")
	for i, offer := range offers {
		a.say("      %d %-7s %s", "      %d %-7s %s", i+1, offer, a.tongue(offer.Text()))
	}
	if !a.tty || offers[0] == setup.Change {
		a.say("      Type one of these, or the answer anew.", "      请输入其中之一，或重新回答。")
		a.offers = offers
		return setup.Change, nil
	}
	for {
		answer, err := a.ask(words{English: "What now?", Chinese: "怎么办？"}, string(offers[0]))
		if err != nil {
			return "", err
		}
		if action, ok := setup.Chosen(answer, offers); ok {
			return action, nil
		}
		a.say("Answer with a number or a word of the list.", "请输入序号或列表中的词。")
	}
}

// actionError is the action that was given for an answer.
type actionError setup.Action

func (e actionError) Error() string { return string(e) }

// chosen is the action that an error holds, else "".
func chosen(err error) setup.Action {
	action, _ := errors.AsType[actionError](err)
	return setup.Action(action)
}

// ask returns the answer to a question, usual when it is empty.
func (a *asker) ask(text words, usual string) (string, error) {
	if a.silent {
		return usual, nil
	}
	shown := a.tongue(text)
	if usual != "" {
		shown += " [" + usual + "]"
	}
	fmt.Fprint(a.out, shown+": ")
	line, err := a.lines.ReadString('\n')
	return a.given(line, usual, err)
}

// secret is ask without showing what is typed; usual is only mentioned.
func (a *asker) secret(text words, usual string) (string, error) {
	if a.silent {
		return usual, nil
	}
	shown := a.tongue(text)
	if usual != "" {
		shown += a.tongue(words{English: " [Enter: as before]", Chinese: " [回车：沿用]"})
	}
	if !a.tty {
		fmt.Fprint(a.out, shown+": ")
		line, err := a.lines.ReadString('\n')
		return a.given(line, usual, err)
	}
	line, err := a.hidden(shown + ": ")
	fmt.Fprintln(a.out)
	return a.given(line, usual, err)
}

// hidden reads a line that is not shown. The terminal is quiet before the
// question appears, since people paste fast, and is itself again after Ctrl-C.
func (a *asker) hidden(question string) (string, error) {
	fd := int(a.in.Fd())
	was, err := lineedit.Hush(a.in)
	if err != nil {
		return "", fmt.Errorf("hide the answer: %w", err)
	}
	a.hush(was)
	defer func() {
		a.hush(nil)
		_ = term.Restore(fd, was) // a terminal that is gone needs nothing
	}()
	fmt.Fprint(a.out, question)
	line, err := term.ReadPassword(fd)
	return string(line), err
}

// hush notes what the terminal was before it became quiet.
func (a *asker) hush(was *term.State) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.quiet = was
}

func (a *asker) given(line, usual string, err error) (string, error) {
	answer := strings.TrimSpace(line)
	if !a.tty { // what was not typed does not end the line
		fmt.Fprintln(a.out)
	}
	offers := a.offers
	a.offers = nil
	action, ok := setup.Chosen(answer, offers)
	switch {
	case ok && action != setup.Change:
		return "", actionError(action)
	case ok:
		return usual, nil
	case errors.Is(err, io.EOF) && answer == "":
		return "", errNoAnswer
	case err != nil && !errors.Is(err, io.EOF):
		return "", fmt.Errorf("read the answer: %w", err)
	case answer == "":
		return usual, nil
	}
	return answer, nil
}

// yes asks a person for consent; a pipe has given it by its answers.
func (a *asker) yes(text words) (bool, error) {
	if !a.tty {
		return true, nil
	}
	answer, err := a.ask(text, "Y")
	return strings.HasPrefix(strings.ToLower(answer), "y") || answer == "是", err
}

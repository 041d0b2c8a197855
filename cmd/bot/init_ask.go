package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"
)

// asker asks a person at a terminal, or takes the lines of a pipe for answers.
type asker struct {
	in      *os.File
	lines   *bufio.Reader
	out     io.Writer
	tty     bool
	chinese bool
	silent  bool // nobody is asked: what is missing is an error
}

func newAsker(p *program, silent bool) *asker {
	return &asker{
		in: p.in, lines: bufio.NewReader(p.in), out: p.out, silent: silent,
		tty: !silent && term.IsTerminal(int(p.in.Fd())), chinese: p.speaksChinese(),
	}
}

// errNoAnswer: the input has ended, or nobody may be asked.
var errNoAnswer = errors.New("there is no answer")

func (a *asker) tongue(w words) string {
	if a.chinese {
		return w.chinese
	}
	return w.english
}

func (a *asker) say(english, chinese string, args ...any) {
	fmt.Fprintf(a.out, a.tongue(words{english, chinese})+"\n", args...)
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
		shown += a.tongue(words{" [Enter: as before]", " [回车：沿用]"})
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
	was, err := term.MakeRaw(fd)
	if err != nil {
		return "", fmt.Errorf("hide the answer: %w", err)
	}
	defer func() { _ = term.Restore(fd, was) }() // a terminal that is gone needs nothing
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	defer close(done)
	go func() {
		select {
		case <-signals:
			_ = term.Restore(fd, was)
			os.Exit(exitFailed)
		case <-done:
		}
	}()
	fmt.Fprint(a.out, question)
	line, err := term.ReadPassword(fd)
	return string(line), err
}

func (a *asker) given(line, usual string, err error) (string, error) {
	answer := strings.TrimSpace(line)
	if !a.tty { // what was not typed does not end the line
		fmt.Fprintln(a.out)
	}
	switch {
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

// Package termchat is the chat in a terminal: a client of the web chat's HTTP
// API (see channels/web). On a terminal it edits lines, keeps a history and
// shows the reply while it is written; without one it reads lines, prints
// answers and ends when the input ends, which is what pipes and scripts want.
// Markdown is shown as it was written, on a terminal with colours.
package termchat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/term"

	"magpie/chat"
	"magpie/internal/lineedit"
)

// Options say where to chat. BaseURL and Token are required.
type Options struct {
	BaseURL string      // of the console, "http://127.0.0.1:18990"
	Token   chat.Secret // of the console
	In      io.Reader   // nil = os.Stdin
	Out     io.Writer   // nil = os.Stdout
	// Err is told when the connection is gone and when it is back, unless there
	// is a terminal, which shows it itself. nil = nobody.
	Err  io.Writer
	Chat string // conversation; "" = "terminal". 1 to 64 of A–Z a–z 0–9 _ -
	// History is the file that keeps what was typed; "" keeps nothing. Only
	// used on a terminal.
	History string
	// SaveDir is where files that the bot sends are put. "" = a folder
	// "magpie-files" among the system's temporary files.
	SaveDir string
	// Wait bounds how long an answer is waited for when there is no terminal.
	// 0 = 10 minutes.
	Wait time.Duration
	// Away is how long a bot that is gone is waited for when there is no
	// terminal. 0 = 1 minute.
	Away time.Duration
	HTTP *http.Client // nil = one of its own. Must not have a Timeout
}

// errQuit ends Run without being returned by it: the person left.
var errQuit = errors.New("quit")

// ErrUnauthorized: the console does not accept the token.
var ErrUnauthorized = errors.New("the bot does not accept this token: compare web.token of the configuration or the file web.token of the data folder")

// Run chats until the input ends, the person leaves or ctx is done; all of
// these are nil. It returns an error when the bot refuses the token or, before
// anything was said, cannot be reached; without a terminal also when it has been
// away for too long.
func Run(ctx context.Context, o Options) error {
	o = o.withDefaults()
	c := newClient(o)
	if err := c.reachable(ctx); err != nil {
		return err
	}
	in, inFile := o.In.(*os.File)
	out, outFile := o.Out.(*os.File)
	var talk interface {
		talk(ctx context.Context) error
		event(ctx context.Context, e event) error
	} = newPlain(o, c)
	if inFile && outFile && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd())) {
		t, err := newTerminal(o, c, in, out)
		if err != nil {
			return err
		}
		talk = t
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.stream(ctx, talk.event) })
	group.Go(func() error {
		if err := talk.talk(ctx); err != nil {
			return err
		}
		return errQuit
	})
	if err := group.Wait(); err != nil && !errors.Is(err, errQuit) && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func (o Options) withDefaults() Options {
	o.BaseURL = strings.TrimSuffix(o.BaseURL, "/")
	if o.In == nil {
		o.In = os.Stdin
	}
	if o.Out == nil {
		o.Out = os.Stdout
	}
	if o.Chat == "" {
		o.Chat = "terminal"
	}
	if o.SaveDir == "" {
		o.SaveDir = os.TempDir() + "/magpie-files"
	}
	if o.Wait == 0 {
		o.Wait = 10 * time.Minute
	}
	if o.Err == nil {
		o.Err = io.Discard
	}
	if o.Away == 0 {
		o.Away = time.Minute
	}
	if o.HTTP == nil {
		o.HTTP = &http.Client{}
	}
	return o
}

// Message is an input of one message, whatever lines it has.
func Message(text string) io.Reader {
	lines := strings.Split(strings.TrimRight(text, "\n\\"), "\n")
	return strings.NewReader(strings.Join(lines, "\\\n"))
}

// say writes what a message of the bot looks like in a terminal: its text, its
// files as paths, its buttons as numbers.
func say(m message, paths []string) string {
	var b strings.Builder
	if text := visible(strings.TrimRight(m.Text, "\n")); text != "" {
		b.WriteString(text + "\n")
	}
	for i, f := range m.Files {
		fmt.Fprintf(&b, "[%s: %s]\n", visible(f.Name), paths[i])
	}
	n := 0
	for _, row := range m.Buttons {
		for _, button := range row {
			n++
			fmt.Fprintf(&b, "  %d) %s\n", n, visible(button.Label))
		}
	}
	return b.String()
}

// visible is a text that cannot steer the terminal.
func visible(text string) string { return lineedit.Clean(text) }

// choice is the button with the number that line is, if m has it.
func choice(m *message, line string) (chat.Button, bool) {
	if m == nil {
		return chat.Button{}, false
	}
	n := 0
	for _, row := range m.Buttons {
		for _, b := range row {
			if n++; fmt.Sprint(n) == line {
				return b, true
			}
		}
	}
	return chat.Button{}, false
}

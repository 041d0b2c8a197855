// Command bot is Magpie: it reads flags and the configuration, sets up the log
// and signals, and hands over to internal/app. Exit codes: 0 done, 1 failed,
// 2 wrong usage or configuration.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	_ "time/tzdata" // zones of reminders on machines without a zone database

	"magpie/channels"
	"magpie/channels/all"
	"magpie/config"
	"magpie/internal/app"
	"magpie/tools/shell/sandbox"
	"magpie/tools/web/pdftext"
)

// program is what the commands work with.
type program struct {
	run      func(ctx context.Context, cfg *config.Config, o app.Options) error
	channels channels.Registry
	env      func(string) (string, bool)
	out, err io.Writer
	in       *os.File
	// path is the flag --config.
	path string
	// started is set once a command has understood its arguments: what fails
	// before is wrong usage.
	started bool
	// log says the last error of a command that logs in JSON; nil = it is said
	// in plain text.
	log *slog.Logger
}

// gcPercent keeps the heap at 1.6 times what is live: a bot idles most of its
// life, often on a small machine, and a busy one pays a few percent for it.
const gcPercent = 60

func main() {
	if sandbox.Helper() { // this process was started to run a command of the tool exec
		return
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if len(os.Args) == 2 && os.Args[1] == pdftext.Flag {
		readPDF()
		return
	}
	p := &program{
		run: app.Run, channels: all.Registry(),
		env: os.LookupEnv,
		out: os.Stdout, err: os.Stderr, in: os.Stdin,
	}
	os.Exit(p.main(context.Background(), os.Args[1:]))
}

// readPDF is the program's life as web_fetch's reader of PDF files.
func readPDF() {
	if err := pdftext.Serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

package main

import (
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/lmittmann/tint"
	"golang.org/x/term"

	"magpie/config"
)

// newLog returns the log in the configured format: JSON, or lines that are
// coloured only on a terminal and when NO_COLOR is not set.
func newLog(w io.Writer, c config.Log, env func(string) (string, bool)) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.Level)); err != nil {
		level = slog.LevelInfo // config checks the names
	}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
	}
	noColor, _ := env("NO_COLOR")
	tty := terminal(w)
	format := "2006-01-02T15:04:05.000Z07:00"
	if tty {
		format = time.TimeOnly
	}
	return slog.New(tint.NewTextHandler(w, &tint.Options{Level: level, NoColor: !tty || noColor != "", TimeFormat: format}))
}

func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

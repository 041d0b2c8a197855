// Package pdftext reads the text of PDF files. They come from strangers and the
// reader may panic, run for ever or use up memory on bad ones, so it works in a
// process of its own with bounded time and memory: pdftotext where it is
// installed, else the program itself, started with Flag. It starts no goroutine
// that outlives a call.
package pdftext

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/ledongthuc/pdf"

	"magpie/tools"
	"magpie/tools/shell/sandbox"
)

// Flag is the only argument of the program when it is to read a PDF: it calls
// Serve and does nothing else. It looks like a flag, so that a program which
// does not know of it ends.
const Flag = "--magpie-pdf-text"

const (
	maxTime    = 30 * time.Second
	maxText    = 4 << 20   // bytes that are read from the process
	maxMemory  = 512 << 20 // bytes of the process
	maxPages   = 500
	maxThreads = 64              // of a reader in the sandbox: Go's own
	exitDelay  = 2 * time.Second // for the pipes of a killed process
)

// Command is what reads PDFs on this machine.
func Command() []string {
	if path, err := exec.LookPath("pdftotext"); err == nil {
		return []string{path, "-q", "-enc", "UTF-8", "-l", fmt.Sprint(maxPages), "-", "-"}
	}
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, Flag}
}

// Extract is that of a Reader without a sandbox.
func Extract(ctx context.Context, command []string, file []byte) (string, error) {
	return Reader{Command: command}.Extract(ctx, file)
}

// Reader says how PDF files are read.
type Reader struct {
	Command []string         // see Command
	Wall    *sandbox.Sandbox // that it runs in; nil: with the rights of the bot's user
}

// Extract returns the text of a PDF. Errors are written for the model.
func (r Reader) Extract(ctx context.Context, file []byte) (string, error) {
	if len(r.Command) == 0 {
		return "", tools.Errorf(tools.Failed, "PDF files cannot be read here")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, errSlow)
	defer cancel()
	ctx, full := context.WithCancelCause(ctx)
	defer full(nil)
	out := &capped{full: full}
	err := r.run(ctx, bytes.NewReader(file), out)
	text := strings.TrimSpace(strings.ToValidUTF8(string(out.text), ""))
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errFull):
		return text, nil
	case errors.Is(cause, errSlow):
		return "", tools.Errorf(tools.Timeout, "the PDF took longer than %s to read; it cannot be read", maxTime)
	case cause != nil:
		return "", cause
	case err != nil && text == "":
		return "", tools.Errorf(tools.Failed, "the PDF cannot be read: it is damaged, encrypted or too large")
	case text == "":
		return "", tools.Errorf(tools.Failed, "the PDF holds no text, most likely it is scanned pictures")
	}
	return text, nil // also what was read before a damaged page
}

// run is the process.
func (r Reader) run(ctx context.Context, in io.Reader, out io.Writer) error {
	env := []string{"PATH=" + os.Getenv("PATH"), "GOMAXPROCS=1"} // none of the bot's keys
	if r.Wall == nil {
		cmd := exec.CommandContext(ctx, r.Command[0], r.Command[1:]...)
		cmd.Env, cmd.Dir = env, os.TempDir()
		cmd.Stdin, cmd.Stdout = in, out
		cmd.WaitDelay = exitDelay
		return cmd.Run()
	}
	end, err := r.Wall.Run(ctx, sandbox.Command{
		Args: r.Command, Env: env, Dir: "/", Stdin: in, Stdout: out,
		Places: &sandbox.Places{
			Read:   r.Command[:1],
			Limits: sandbox.Limits{CPU: maxTime, File: 1 << 20, Data: maxMemory, Files: 64, Procs: maxThreads},
		},
	})
	if err == nil && (end.Code != 0 || end.Signal != "") {
		err = fmt.Errorf("the reader ended with %d %s", end.Code, end.Signal)
	}
	return err
}

// Why a reader is ended.
var (
	errSlow = errors.New("the PDF's time is over")
	errFull = errors.New("the PDF's text is long enough")
)

// capped keeps the beginning of what is written to it and then ends the writer.
type capped struct {
	text []byte
	full context.CancelCauseFunc
}

func (c *capped) Write(p []byte) (int, error) {
	room := maxText - len(c.text)
	c.text = append(c.text, p[:min(room, len(p))]...)
	if room < len(p) {
		c.full(errFull)
	}
	return len(p), nil
}

// Serve is the process: it reads a PDF from in and writes its text to out. Its
// memory is limited for the rest of the process's life.
func Serve(in io.Reader, out io.Writer) error {
	// Time, too: nobody ends this process when the bot has been killed.
	for what, most := range map[int]uint64{syscall.RLIMIT_DATA: maxMemory, syscall.RLIMIT_CPU: uint64(maxTime / time.Second)} {
		var limit syscall.Rlimit
		if err := syscall.Getrlimit(what, &limit); err != nil {
			return fmt.Errorf("look at limits: %w", err)
		}
		limit.Cur = min(most, limit.Max)
		if err := syscall.Setrlimit(what, &limit); err != nil {
			return fmt.Errorf("limit memory and time: %w", err)
		}
	}
	file, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("read PDF: %w", err)
	}
	return write(file, out)
}

// write is what Serve does once it is bounded.
func write(file []byte, out io.Writer) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("read PDF: %v", p)
		}
	}()
	doc, err := pdf.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return fmt.Errorf("read PDF: %w", err)
	}
	if err := writePages(doc, out); err != nil {
		return fmt.Errorf("write text: %w", err)
	}
	return nil
}

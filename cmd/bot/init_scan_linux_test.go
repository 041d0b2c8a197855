package main

import (
	"os"
	"strings"
	"testing"
)

// TestInitByScanAtATerminal draws the code where the window holds it. Ctrl-C
// ends the wait alone: the keys are asked for then, and a second one at that
// question ends the program with nothing written. A dumb terminal gets the link.
func TestInitByScanAtATerminal(t *testing.T) {
	t.Parallel()
	for _, s := range scenes(t) {
		for _, kind := range []string{"xterm-256color", "dumb"} {
			b := newBeginner(t)
			screen := onScreen(t, bot(t, b.dir, []string{"TERM=" + kind}, append([]string{"init"}, s.keys...)...))
			screen.after("Platform to add", 1, s.platform)
			screen.after("[scan]: ", 1, "") // Enter
			screen.interrupts("Ctrl-C: type the keys instead", 1)
			screen.after("QR code: ", 1, s.id)
			screen.after(s.asksSecret, 1, s.secret)
			screen.after("Platform to add", 2, "")
			screen.after("Provider [", 1, "offline")
			screen.after("Time zone [", 1, "UTC")
			screen.after("Write it? [Y]", 1, "")
			if err := screen.cmd.Wait(); err != nil {
				t.Errorf("%s: %v:\n%s", s.platform, err, screen.Raw())
			}
			parts(t, ".env", b.read(".env"), []string{s.variable + "=" + s.secret})
			if drawn := strings.Contains(screen.Raw(), "▀"); drawn != (kind != "dumb") || strings.Contains(screen.Raw(), s.secret) {
				t.Errorf("%s, %s: drawn %v:\n%s", s.platform, kind, drawn, screen.Raw())
			}
		}
		b := newBeginner(t)
		screen := onScreen(t, bot(t, b.dir, []string{"TERM=xterm"}, append([]string{"init"}, s.keys...)...))
		screen.after("Platform to add", 1, s.platform)
		screen.after("[scan]: ", 1, "scan")
		screen.interrupts("Ctrl-C: type the keys instead", 1)
		screen.interrupts("QR code: ", 1)
		_ = screen.cmd.Wait()
		if files, _ := os.ReadDir(b.dir); screen.cmd.ProcessState.ExitCode() != exitFailed || len(files) > 0 {
			t.Errorf("%s: written %v:\n%s", s.platform, files, screen.Raw())
		}
		screen.Shows("nothing was written")
	}
}

// interrupts types Ctrl-C when a text has been written so many times.
func (s *screen) interrupts(text string, times int) {
	s.t.Helper()
	s.Until(text, func() bool { return strings.Count(s.Raw(), text) >= times })
	s.Type("\x03")
}

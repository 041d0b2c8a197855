package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"magpie/internal/fakes/telegram"
	"magpie/internal/screentest"
)

// screen is a terminal with a program in it.
type screen struct {
	*screentest.Screen
	t   *testing.T
	cmd *exec.Cmd
}

// onScreen starts a program in a terminal of its own.
func onScreen(t *testing.T, cmd *exec.Cmd) *screen {
	t.Helper()
	s := &screen{Screen: screentest.New(t, 200, 50), t: t, cmd: cmd}
	s.Start(cmd)
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return s
}

// after waits until a text has been written so many times and then types a line.
func (s *screen) after(text string, times int, line string) {
	s.t.Helper()
	s.Until(fmt.Sprintf("%q %d times", text, times), func() bool { return strings.Count(s.Raw(), text) >= times })
	s.Type(line + "\n")
}

// TestInitAtATerminal asks in Chinese, does not show the token while it is
// typed, asks again when it is wrong, and writes when the person agrees.
func TestInitAtATerminal(t *testing.T) {
	t.Parallel()
	tg := telegram.New(nil)
	url := serve(t, tg.Handler(), tg.Close)
	for _, agrees := range []bool{false, true} {
		b := newBeginner(t)
		s := onScreen(t, bot(t, b.dir, []string{"LANG=zh_CN.UTF-8"}, "init", "--key", "api_base="+url))
		s.after("要添加的平台", 1, "电报")
		s.after("要添加的平台", 2, "telegram")
		s.after("Token: ", 1, "1:wrong-token")
		s.after("[回车：沿用]: ", 1, tg.Token())
		s.after("要添加的平台", 3, "")
		s.after("提供方 [", 1, "offline")
		s.after("时区 [", 1, "")
		if agrees {
			s.after("写入？ [Y]", 1, "")
		} else {
			s.after("写入？ [Y]", 1, "n")
		}
		if err := s.cmd.Wait(); err != nil {
			t.Errorf("%v:\n%s", err, s.Raw())
		}
		if shown := s.Raw(); strings.Contains(shown, tg.Token()) || strings.Contains(shown, "wrong-token") || !strings.Contains(shown, "错误  channel telegram") || !strings.Contains(shown, "平台不接受这组密钥") {
			t.Errorf("the screen shows\n%s", shown)
		}
		if written := b.read("config.yaml") + b.read(".env"); agrees != strings.Contains(written, "TELEGRAM_BOT_TOKEN="+tg.Token()) || !agrees && written != "" {
			t.Errorf("agrees %v, written:\n%s", agrees, written)
		}
	}
}

// TestClosedTerminalEndsTheBot, although a hangup that somebody sends to it
// means that the configuration is to be read again.
func TestClosedTerminalEndsTheBot(t *testing.T) {
	t.Parallel()
	b := newBeginner(t)
	b.write("config.yaml", "web: {listen: '"+freeAddress(t)+"'}\n")
	s := onScreen(t, bot(t, b.dir, nil))
	s.after("Ctrl-C stops it", 1, "")
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.after("configuration read again", 1, "")
	s.HangUp()
	if err := ends(t, s.cmd); err != nil {
		t.Error(err)
	}
}

// TestInitAtATerminalWithoutNetwork: the list of what can be done is asked for
// on a line of its own, and what was kept is written.
func TestInitAtATerminalWithoutNetwork(t *testing.T) {
	t.Parallel()
	b := newBeginner(t)
	s := onScreen(t, bot(t, b.dir, nil, "init", "--key", "api_base=http://"+freeAddress(t)))
	s.after("Platform to add", 1, "telegram")
	s.after("Token: ", 1, "123456:secret-of-mine")
	s.after("What now? [retry]: ", 1, "") // again
	s.after("What now? [retry]: ", 2, "never")
	s.after("Answer with a number", 1, "")
	s.after("What now? [retry]: ", 4, "2") // other answers; Enter leaves them
	s.after("Token [Enter: as before]: ", 1, "")
	s.after("What now? [retry]: ", 5, "k")
	s.after("Platform to add", 2, "")
	s.after("Provider [", 1, "offline")
	s.after("Time zone [", 1, "Asia/Shangai")
	s.after("did you mean Asia/Shanghai?", 1, "")
	s.after("Write it? [Y]", 1, "")
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("%v:\n%s", err, s.Raw())
	}
	if strings.Contains(s.Raw(), "secret-of-mine") {
		t.Errorf("the token is shown:\n%s", s.Raw())
	}
	parts(t, "config.yaml", b.read("config.yaml"), []string{"telegram:", "timezone: Asia/Shanghai"})
	parts(t, ".env", b.read(".env"), []string{"TELEGRAM_BOT_TOKEN=123456:secret-of-mine"})
}

// TestInitInterrupted by Ctrl-C at a question, at a secret, and in a check that
// does not end: nothing is written, and the terminal is as it was.
func TestInitInterrupted(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 8)
	hang := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}), func() {})
	for name, until := range map[string]func(*screen){
		"question": func(s *screen) { s.after("Platform to add", 1, "") },
		"secret": func(s *screen) {
			s.after("Platform to add", 1, "telegram")
			s.after("Token: ", 1, "")
		},
		"check": func(s *screen) {
			s.after("Platform to add", 1, "telegram")
			s.after("Token: ", 1, "123456:abc")
			select {
			case <-asked:
			case <-time.After(time.Minute):
				t.Error("nothing was asked")
			}
		},
	} {
		b := newBeginner(t)
		s := onScreen(t, bot(t, b.dir, nil, "init", "--key", "api_base="+hang))
		until(s)
		if name != "check" { // the question that follows
			s.after(map[string]string{"question": "Provider [", "secret": "Token"}[name], 1, "\x03")
		} else {
			s.Type("\x03")
		}
		err := s.cmd.Wait()
		if files, _ := os.ReadDir(b.dir); s.cmd.ProcessState.ExitCode() != exitFailed || len(files) > 0 {
			t.Errorf("%s: %v, written %v:\n%s", name, err, files, s.Raw())
		}
		s.Shows("nothing was written")
	}
}

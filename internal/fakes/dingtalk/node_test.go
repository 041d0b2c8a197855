package dingtalk

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"magpie/internal/fakes/nodetest"
)

// nodeBot is a bot on the vendor's stream SDK for Node.
type nodeBot struct {
	t   *testing.T
	s   *Server
	cmd *exec.Cmd
	out bytes.Buffer
}

func startNode(t *testing.T, o *Options) *nodeBot {
	t.Helper()
	node, modules := nodetest.Find(t, "dingtalk-stream")
	s, url := serve(t, o)
	id, secret := s.Credentials()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	b := &nodeBot{t: t, s: s, cmd: exec.CommandContext(ctx, node, "testdata/stream.cjs", url, id, secret)}
	b.cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	b.cmd.Stdout, b.cmd.Stderr = &b.out, &b.out
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return b
}

// until waits, or fails with what the bot printed.
func (b *nodeBot) until(what string, is func() bool) {
	b.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(time.Minute)
	for !is() {
		select {
		case <-tick.C:
		case <-late:
			_ = b.cmd.Process.Kill() // it is waited for to read what it printed
			_ = b.cmd.Wait()
			b.t.Fatalf("never: %s\nthe bot said:\n%s", what, b.out.String())
		}
	}
}

// tell lets somebody write and waits for the answer.
func (b *nodeBot) tell(n int, said Said) (answer Message, frame string) {
	b.t.Helper()
	_, frame = b.s.Say(said)
	b.until("it answers "+said.Text, func() bool { return len(b.s.Messages(said.Chat)) >= n })
	return b.s.Messages(said.Chat)[n-1], frame
}

// The vendor's SDK for Node connects (asking for JSON), understands messages,
// quotes and presses, answers pings and the frames that it handles, gets a
// token, and comes back after a cut.
func TestNodeSDK(t *testing.T) {
	b := startNode(t, &Options{Ping: 10 * time.Millisecond})
	b.until("it connects", func() bool { return b.s.Connections() == 1 })
	m, frame := b.tell(1, Said{Chat: "user:0001", Text: "你好"})
	if m.Text != "echo: 你好" || m.Via != OpWebhook {
		t.Errorf("answered %+v", m)
	}
	b.until("it is acknowledged", func() bool { a, ok := b.s.Ack(frame); return ok && a.Code == 200 && a.Data == `{"response":"done"}` })
	own, _ := b.tell(1, Said{Chat: "group:cidGroup==", From: "user:0001", Text: "几点？", Mention: true})
	if own.Text != "echo: 几点？" {
		t.Errorf("answered %+v", own)
	}
	if q, _ := b.tell(2, Said{Chat: "user:0001", Text: "more", Quote: &Quote{ID: m.ID}}); q.Text != "quoted text: echo: 你好" {
		t.Errorf("answered %+v to a quote", q)
	}
	if got, _ := b.tell(4, Said{Chat: "user:0001", Text: "token"}); got.Text != "a token" {
		t.Errorf("answered %+v", got)
	}
	b.s.mu.Lock()
	b.s.show(&Message{ID: "card1", Chat: "user:0001", Kind: "card", State: Finished, Buttons: []Button{{Label: "Yes", Data: "y"}}})
	b.s.mu.Unlock()
	frame, err := b.s.Press("user:0001", "card1", "y")
	if err != nil {
		t.Fatal(err)
	}
	b.until("the press is acknowledged", func() bool { a, ok := b.s.Ack(frame); return ok && a.Code == 200 })
	b.until("pings are answered", func() bool { return len(b.s.Acked()) > 8 })
	b.s.Cut()
	b.until("it comes back", func() bool { return b.s.Calls(OpOpen) == 2 && b.s.Connections() == 1 })
	if got, _ := b.tell(6, Said{Chat: "user:0001", Text: "again"}); got.Text != "echo: again" {
		t.Errorf("answered %+v", got)
	}
	if err := b.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := b.cmd.Wait(); err != nil || !strings.Contains(b.out.String(), "pressed card1") {
		t.Errorf("it ended with %v and said:\n%s", err, b.out.String())
	}
}

// What no client acknowledges comes again, as the SDK says of its
// socketCallBackResponse: with another frame and the same message.
func TestNodeSDKUnacknowledged(t *testing.T) {
	b := startNode(t, nil)
	b.until("it connects", func() bool { return b.s.Connections() == 1 })
	_, frame := b.s.Say(Said{Chat: "user:0001", Text: "say nothing"})
	acked := func(frame string) func() bool {
		return func() bool { _, ok := b.s.Ack(frame); return ok }
	}
	_, heard := b.tell(1, Said{Chat: "user:0001", Text: "hello"})
	b.until("the other message is acknowledged", acked(heard))
	again := b.s.Redeliver()
	if len(again) != 1 || again[0] == frame {
		t.Fatalf("frames %q come again, want one in place of %s", again, frame)
	}
	_, heard = b.tell(2, Said{Chat: "user:0001", Text: "hello"})
	b.until("the third is acknowledged", acked(heard))
	if again := b.s.Redeliver(); len(again) != 1 {
		t.Errorf("frames %q come again", again)
	}
	_ = b.cmd.Process.Kill()
	_ = b.cmd.Wait()
}

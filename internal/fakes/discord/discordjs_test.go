package discord_test

import (
	"bytes"
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	fake "magpie/internal/fakes/discord"
	"magpie/internal/fakes/nodetest"
)

const (
	ann, annDM   = "101", "201"
	guild, crowd = "300", "301"
)

func serve(t *testing.T, o *fake.Options) (*fake.Server, string) {
	t.Helper()
	s := fake.New(o)
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		s.Close()
		web.Close()
	})
	s.AddPerson(fake.Person{ID: ann, Name: "Ann", DM: annDM})
	s.AddGuild(fake.Guild{ID: guild, Name: "Guild", BotRole: "390", Channels: []fake.Channel{{ID: crowd, Name: "crowd"}}})
	return s, web.URL
}

// client is a bot written with discord.js that talks with one person.
type client struct {
	t   *testing.T
	s   *fake.Server
	ctx context.Context // of the test; ends with the bot
	cmd *exec.Cmd
	end chan error
	out bytes.Buffer // complete when the bot has ended
}

func startClient(t *testing.T) *client {
	t.Helper()
	node, modules := nodetest.Find(t, "discord.js")
	s, url := serve(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	c := &client{t: t, s: s, ctx: ctx, end: make(chan error, 1), cmd: exec.CommandContext(ctx, node, "testdata/discordjs.cjs", url+"/api", s.Token())}
	c.cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.out
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		c.end <- c.cmd.Wait()
		cancel()
	}()
	t.Cleanup(func() {
		cancel()
		<-c.end
	})
	return c
}

// fail tells what the bot printed.
func (c *client) fail(what string, err error) {
	c.t.Helper()
	_ = c.cmd.Process.Kill()
	ended := <-c.end
	c.end <- ended
	c.t.Fatalf("%s: %v; the bot ended with %v and said:\n%s", what, err, ended, c.out.String())
}

// wait waits for what a channel shows, or fails with what the bot printed.
func (c *client) wait(channel string, ok func([]fake.Message) bool) []fake.Message {
	c.t.Helper()
	shown, err := c.s.Wait(c.ctx, channel, ok)
	if err != nil {
		c.fail("wait", err)
	}
	return shown
}

func count(n int) func([]fake.Message) bool {
	return func(shown []fake.Message) bool { return len(shown) >= n }
}

// Login, commands, receiving, replying, errors, edits, reactions, history,
// buttons, files, slash commands and resuming, all through discord.js.
func TestDiscordJS(t *testing.T) {
	c := startClient(t)
	if hello := c.wait(crowd, count(1))[0].Text; hello != "ready as magpie-test in Guild" {
		t.Errorf("ready: %q", hello)
	}
	if !strings.Contains(c.s.Commands(), `"zh-CN":"状态"`) {
		t.Errorf("commands: %s", c.s.Commands())
	}
	id := c.s.Say(fake.Said{From: ann, Channel: annDM, Text: "héllo 世界"})
	echo := c.wait(annDM, count(1))[0]
	if echo.Text != "echo: héllo 世界" || echo.Source != "**echo**: héllo 世界" || echo.ReplyTo != id || len(echo.Pings) != 0 || len(echo.Buttons) != 1 {
		t.Errorf("echo: %+v", echo)
	}
	if n := c.s.Calls("typing"); n != 1 {
		t.Errorf("%d calls of typing", n)
	}
	press, err := c.s.Press(ann, annDM, echo.ID, "no:1")
	if err != nil {
		t.Fatal(err)
	}
	c.wait(annDM, func(m []fake.Message) bool { return m[0].Text == "pressed no:1" && len(m[0].Buttons) == 0 })
	c.eventually("the follow-up", func() bool { return len(c.s.Interaction(press).Notices) == 1 })
	used := c.s.Use(ann, crowd, "status")
	c.eventually("the command's answer", func() bool { return c.s.Interaction(used).Shown == "used /status" })
	c.deferred()
	c.s.Say(fake.Said{From: ann, Channel: annDM, Text: "too long"})
	if got := c.wait(annDM, count(2))[1].Text; got != "400 50035 BASE_TYPE_MAX_LENGTH" {
		t.Errorf("too long: %q", got)
	}
	c.s.Say(fake.Said{From: ann, Channel: annDM, Text: "edit"})
	c.wait(annDM, func(m []fake.Message) bool {
		return len(m) == 3 && m[2].Text == "second 第二" && len(m[2].Reactions) == 1 && m[2].Reactions[0] == "👍"
	})
	c.s.Say(fake.Said{From: ann, Channel: annDM, Text: "history"})
	if got := c.wait(annDM, count(4))[3].Text; got != "7 messages, the newest history" {
		t.Errorf("history: %q", got)
	}
	data := bytes.Repeat([]byte("png"), 1000)
	c.s.Say(fake.Said{From: ann, Channel: annDM, Files: []fake.File{{Name: "dot.png", MIME: "image/png", Data: data}}})
	files := c.wait(annDM, count(5))[4]
	if files.Text != "3000 bytes" || len(files.Files) != 2 || !bytes.Equal(files.Files[0].Data, data) || string(files.Files[1].Data) != "words" {
		t.Errorf("files: %q, %d", files.Text, len(files.Files))
	}
	c.s.CloseWith(4000)
	c.s.Say(fake.Said{From: ann, Channel: annDM, Text: "after the break"})
	if got := c.wait(annDM, count(6))[5].Text; got != "echo: after the break" {
		t.Errorf("after the break: %q", got)
	}
	if c.s.Opened("resume") != 1 || c.s.Opened("identify") != 1 {
		t.Errorf("%d resumes, %d identifications", c.s.Opened("resume"), c.s.Opened("identify"))
	}
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err = <-c.end
	c.end <- err
	if err != nil {
		t.Fatalf("%v\n%s", err, c.out.String())
	}
}

// deferred uses a command whose answer takes its time.
func (c *client) deferred() {
	c.t.Helper()
	slow := c.s.Use(ann, crowd, "slow", "text")
	answered := c.wait(crowd, func(m []fake.Message) bool { return len(m) == 3 && len(m[1].Reactions) == 1 && m[2].Edits == 1 })
	if m := answered[1]; m.Text != "used /slow as text" || m.Interaction != slow || m.Previews || len(m.Buttons) != 1 || answered[2].Text != "more words" {
		c.t.Errorf("deferred: %+v", answered)
	}
}

func (c *client) eventually(what string, is func() bool) {
	c.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-c.ctx.Done():
			c.fail("never: "+what, context.Cause(c.ctx))
		}
	}
}

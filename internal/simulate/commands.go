package simulate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"magpie/internal/fakes/driver"
)

var errQuit = errors.New("quit")

const help = `  A line is written to the chat that stands before it. A line that begins with : is for the simulation:
    :telegram :feishu :discord :dingtalk :qq   go to a platform
    :private :group         its chats; what you write in a group mentions the bot
    :press 1                press a button by its number, or by its label
    :file PATH [TEXT]       send a file or picture
    :cut [SECONDS]          cut the bot's connection, and keep it cut for so long
    :fail 429|502|drop|lost [TIMES]   let the next messages of the bot fail: too fast, a proxy's error
                            page, a broken connection, or one that breaks after the message has arrived
    :help :quit             a line that begins with :: is written with one :
`

// maxFile bounds a file that is sent, in bytes.
const maxFile = 20 << 20

// do carries out one line.
func (p *prompt) do(ctx context.Context, line string) error {
	text, command := strings.CutPrefix(line, ":")
	if line == "" {
		return nil
	}
	if !command || strings.HasPrefix(text, ":") {
		return p.say(line, text, nil)
	}
	name, rest, _ := strings.Cut(text, " ")
	rest = strings.TrimSpace(rest)
	switch name {
	case "private", "group":
		p.place = Place(name)
	case "press":
		return p.press(line, rest)
	case "file":
		return p.file(line, rest)
	case "cut":
		return p.cut(ctx, rest)
	case "fail":
		return p.fail(rest)
	case "help":
		fmt.Fprint(p.out, help)
	case "quit":
		return errQuit
	default:
		s := p.world.stand(name)
		if s == nil {
			return fmt.Errorf("there is no :%s here; :help says what there is", name)
		}
		p.now, p.place = s, Private
	}
	return nil
}

func (p *prompt) press(line, which string) error {
	t := p.now.talks[p.place]
	key, n, err := t.find(which)
	if err != nil {
		return err
	}
	from := t.last()
	if err := t.press(key, n); err != nil {
		return err
	}
	p.waits[t] = &waiting{line, time.Now(), from}
	return nil
}

func (p *prompt) file(line, rest string) error {
	path, text, _ := strings.Cut(rest, " ")
	if path == "" {
		return errors.New("want the path of a file")
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("send a file: %w", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("send a file: %s is none", path)
	case info.Size() > maxFile:
		return fmt.Errorf("send a file: %s has %d bytes, at most %d can be sent", path, info.Size(), maxFile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("send a file: %w", err)
	}
	return p.say(line, strings.TrimSpace(text), []driver.File{newFile(path, data)})
}

// cut cuts the connection and waits until the bot is back, so that a script
// sees the same each time.
func (p *prompt) cut(ctx context.Context, rest string) error {
	seconds := 0
	if rest != "" {
		var err error
		if seconds, err = strconv.Atoi(rest); err != nil || seconds < 0 || seconds > int(cutMost.Seconds()) {
			return fmt.Errorf("want a number of seconds up to %d, got %q", int(cutMost.Seconds()), rest)
		}
	}
	if err := p.now.cut(ctx, time.Duration(seconds)*time.Second); err != nil {
		return fmt.Errorf("cut %s: %w", p.now.name, err)
	}
	fmt.Fprintln(p.out, "  the connection is cut")
	back, cancel := context.WithTimeout(ctx, backMost)
	defer cancel()
	if err := until(back, p.now.Connected); err != nil {
		return fmt.Errorf("the bot does not come back to %s: %w", p.now.name, err)
	}
	fmt.Fprintln(p.out, "  the bot is connected again")
	return nil
}

func (p *prompt) fail(rest string) error {
	fields := strings.Fields(rest)
	times := 1
	if len(fields) == 2 {
		n, err := strconv.Atoi(fields[1])
		if err != nil {
			return fmt.Errorf("want a number of times, got %q", fields[1])
		}
		times = n
	}
	if len(fields) == 0 || len(fields) > 2 {
		return fmt.Errorf("want one of %v and a number of times", Troubles())
	}
	return p.now.fail(driver.Trouble(fields[0]), times)
}

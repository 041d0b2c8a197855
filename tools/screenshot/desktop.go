package screenshot

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"magpie/tools"
)

// placeholder stands for the file in a desktop command.
const placeholder = "{file}"

// Desktop finds the system's tool that takes the desktop; nil when there is no
// desktop or no tool. env looks up variables, as os.LookupEnv.
func Desktop(env func(string) (string, bool)) []string {
	wayland := []string{"grim " + placeholder, "gnome-screenshot -f " + placeholder, "spectacle -b -n -f -o " + placeholder}
	x11 := []string{"gnome-screenshot -f " + placeholder, "scrot -o " + placeholder, "import -window root " + placeholder, "spectacle -b -n -f -o " + placeholder}
	var all []string
	switch {
	case runtime.GOOS == "darwin":
		all = []string{"screencapture -x " + placeholder}
	case has(env, "WAYLAND_DISPLAY"):
		all = append(wayland, x11...)
	case has(env, "DISPLAY"):
		all = x11
	}
	for _, command := range all {
		words := bytes.Fields([]byte(command))
		path, err := exec.LookPath(string(words[0]))
		if err != nil {
			continue
		}
		found := []string{path}
		for _, w := range words[1:] {
			found = append(found, string(w))
		}
		return found
	}
	return nil
}

func has(env func(string) (string, bool), name string) bool {
	v, ok := env(name)
	return ok && v != ""
}

// desktop takes the screen, or a part of it.
func (c camera) desktop(ctx context.Context, part image.Rectangle) (p picture, err error) {
	dir, err := temporary(os.TempDir(), "magpie-screen-")
	if err != nil {
		return p, err
	}
	defer os.RemoveAll(dir) // nothing of worth is left there
	file := filepath.Join(dir, "screen.png")
	command := slices.Clone(c.opt.Desktop)
	for i, word := range command {
		if word == placeholder {
			command[i] = file
		}
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = desktopEnvironment()
	cmd.Dir = dir
	cmd.WaitDelay = exitDelay
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	runErr := cmd.Run()
	if ctx.Err() != nil {
		return p, context.Cause(ctx)
	}
	tool := filepath.Base(command[0])
	raw, err := readPicture(file)
	if err != nil || runErr != nil {
		return p, tools.Errorf(tools.Failed, "the desktop cannot be taken: %s made no picture (is anybody logged in?)", tool)
	}
	p = picture{png: raw, name: "desktop", says: []string{"Desktop, taken by " + tool + "."}}
	if !part.Empty() {
		p.png, err = crop(raw, part)
	}
	return p, err
}

func desktopEnvironment() []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "LANG", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "XDG_SESSION_TYPE", "DBUS_SESSION_BUS_ADDRESS"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

func readPicture(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxPicture+1))
	if err == nil && len(raw) == 0 {
		err = errNoPicture
	}
	return raw, err
}

// crop cuts a part out of a picture.
func crop(raw []byte, part image.Rectangle) ([]byte, error) {
	config, err := png.DecodeConfig(bytes.NewReader(raw))
	if err != nil || config.Width*config.Height > maxPixels {
		return nil, tools.Errorf(tools.Failed, "the picture of the desktop cannot be cut; take it without region")
	}
	whole, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("read the picture: %w", err)
	}
	part = part.Add(whole.Bounds().Min).Intersect(whole.Bounds())
	if part.Empty() {
		return nil, tools.Errorf(tools.InvalidArgs, "the region lies outside the desktop, which has %d×%d pixels", config.Width, config.Height)
	}
	cut := image.NewRGBA(image.Rect(0, 0, part.Dx(), part.Dy()))
	draw.Draw(cut, cut.Bounds(), whole, part.Min, draw.Src)
	var out bytes.Buffer
	if err := png.Encode(&out, cut); err != nil {
		return nil, fmt.Errorf("write the picture: %w", err)
	}
	return out.Bytes(), nil
}

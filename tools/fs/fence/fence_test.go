package fence

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"magpie/internal/need"
	"magpie/tools"
)

const secret = "the bot's own secret"

// yard is a workspace with a secret outside of it.
type yard struct {
	t             *testing.T
	outside, work string
}

func newYard(t *testing.T) yard {
	t.Helper()
	base := t.TempDir()
	y := yard{t, filepath.Join(base, "outside"), filepath.Join(base, "outside", "work")}
	y.mkdir(y.work)
	y.write(filepath.Join(y.outside, "secret.txt"), secret)
	y.write(filepath.Join(y.work, "a", "b.txt"), "inside")
	return y
}

func (y yard) mkdir(dir string) {
	y.t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		y.t.Fatal(err)
	}
}

func (y yard) write(name, content string) {
	y.t.Helper()
	y.mkdir(filepath.Dir(name))
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		y.t.Fatal(err)
	}
}

func (y yard) link(target, name string) {
	y.t.Helper()
	if err := os.Symlink(target, filepath.Join(y.work, name)); err != nil {
		y.t.Fatal(err)
	}
}

func (y yard) fence(o *Options) *Fence {
	y.t.Helper()
	f, err := New(y.work, o)
	if err != nil {
		y.t.Fatal(err)
	}
	y.t.Cleanup(func() {
		if err := f.Close(); err != nil {
			y.t.Error(err)
		}
	})
	return f
}

func read(f *Fence, name string) (string, error) {
	file, err := f.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	raw, err := io.ReadAll(file)
	return string(raw), err
}

func put(f *Fence, name, content string) (bool, error) {
	return f.Write(name, func(w io.Writer) error {
		_, err := io.WriteString(w, content)
		return err
	})
}

// want checks the kind of an error, "" for none.
func want(t *testing.T, what string, err error, k tools.ErrorKind) {
	t.Helper()
	var said *tools.Error
	switch {
	case k == "" && err != nil:
		t.Errorf("%s: %v", what, err)
	case k != "" && (!errors.As(err, &said) || said.Kind != k):
		t.Errorf("%s: want kind %s, got %v", what, k, err)
	}
}

// SEC-1: "..", absolute paths, odd characters and /proc/self/root do not lead out.
func TestPathsThatLeadOut(t *testing.T) {
	y := newYard(t)
	strict, resolve := y.fence(nil), y.fence(&Options{ResolveDots: true, FollowLinks: true})
	for name, kinds := range map[string][2]tools.ErrorKind{
		"../secret.txt":                       {tools.Security, tools.Security},
		"a/../../secret.txt":                  {tools.Security, tools.Security},
		"a/../a/b.txt":                        {tools.Security, ""},
		`..\secret.txt`:                       {tools.Security, tools.NotFound}, // a name like any other here
		"..":                                  {tools.Security, tools.Security},
		"/etc/passwd":                         {tools.Security, tools.Security},
		"/proc/self/root/etc/passwd":          {tools.Security, tools.Security},
		"/":                                   {tools.Security, tools.Security},
		y.outside + "/secret.txt":             {tools.Security, tools.Security},
		y.work + "/../secret.txt":             {tools.Security, tools.Security},
		y.work + "2/x":                        {tools.Security, tools.Security},
		"a/b.txt\x00.png":                     {tools.Security, tools.Security},
		"\xff":                                {tools.Security, tools.Security},
		strings.Repeat("x/", 3000):            {tools.Security, tools.Security},
		"":                                    {tools.InvalidArgs, tools.InvalidArgs},
		"．．/secret.txt":                       {tools.NotFound, tools.NotFound},
		"%2e%2e/secret.txt":                   {tools.NotFound, tools.NotFound},
		"~/x":                                 {tools.NotFound, tools.NotFound},
		strings.Repeat("x", 300):              {tools.Failed, tools.Failed},
		"a/b.txt":                             {"", ""},
		"./a//b.txt":                          {"", ""},
		"a/./b.txt":                           {"", ""},
		y.work + "/a/b.txt":                   {"", ""},
		y.work + "//a/b.txt":                  {"", ""},
		filepath.Join(y.work, "...", "x.txt"): {tools.NotFound, tools.NotFound},
	} {
		for i, f := range []*Fence{strict, resolve} {
			text, err := read(f, name)
			want(t, name, err, kinds[i])
			if text == secret {
				t.Errorf("%q gave the secret away", name)
			}
			if k := kinds[i]; k == tools.Security {
				_, err = put(f, name, "x")
				want(t, "write "+name, err, k)
				want(t, "remove "+name, f.Remove(name), k)
			}
		}
	}
	if raw, err := os.ReadFile(filepath.Join(y.outside, "secret.txt")); err != nil || string(raw) != secret {
		t.Errorf("the file outside was touched: %q, %v", raw, err)
	}
}

// SEC-1: links, also in the middle of a path.
func TestLinks(t *testing.T) {
	y := newYard(t)
	y.link("../secret.txt", "out.txt")
	y.link(y.outside, "outdir")
	y.link("a", "in")
	y.link(filepath.Join(y.work, "a"), "absolute")
	y.link("in/b.txt", "twice")
	y.link("loop", "loop")
	y.link("nowhere", "dangling")
	y.link("../in/../../secret.txt", "a/dots")
	deny, inside := y.fence(nil), y.fence(&Options{FollowLinks: true})
	for name, kinds := range map[string][2]tools.ErrorKind{
		"out.txt":           {tools.Security, tools.Security},
		"outdir/secret.txt": {tools.Security, tools.Security},
		"outdir/work/a":     {tools.Security, ""}, // out and in again: it is inside
		"in/b.txt":          {tools.Security, ""},
		"absolute/b.txt":    {tools.Security, ""},
		"twice":             {tools.Security, ""},
		"loop":              {tools.Security, tools.Security},
		"dangling":          {tools.Security, tools.NotFound},
		"a/dots":            {tools.Security, tools.Security},
	} {
		for i, f := range []*Fence{deny, inside} {
			file, err := f.Open(name)
			want(t, name, err, kinds[i])
			if err == nil {
				file.Close()
			}
		}
	}
	_, err := put(deny, "in/new.txt", "x")
	want(t, "write over a link", err, tools.Security)
	_, err = put(deny, "out.txt", "x")
	want(t, "write to a link", err, tools.Security)
	created, err := put(inside, "in/new.txt", "x")
	want(t, "write over a link inside", err, "")
	if _, statErr := os.Stat(filepath.Join(y.work, "a", "new.txt")); statErr != nil || !created {
		t.Errorf("the file did not arrive: %v, created %v", statErr, created)
	}
}

func TestAllowedAndAnywhere(t *testing.T) {
	y := newYard(t)
	more := t.TempDir()
	y.write(filepath.Join(more, "m.txt"), "more")
	f := y.fence(&Options{Allowed: []string{more}})
	if text, err := read(f, filepath.Join(more, "m.txt")); text != "more" {
		t.Errorf("allowed folder: %q, %v", text, err)
	}
	if got := f.Name(more + "//m.txt"); got != filepath.Join(more, "m.txt") {
		t.Errorf("name: %q", got)
	}
	want(t, "remove the folder itself", f.Remove(more), tools.Security)
	_, err := read(f, "/etc/passwd")
	want(t, "elsewhere", err, tools.Security)

	all := y.fence(&Options{Anywhere: true})
	if text, err := read(all, filepath.Join(y.outside, "secret.txt")); text != secret {
		t.Errorf("anywhere: %q, %v", text, err)
	}
	if text, err := read(all, "a/b.txt"); text != "inside" {
		t.Errorf("relative: %q, %v", text, err)
	}
	if _, err := New(y.work, &Options{Allowed: []string{filepath.Join(more, "none")}}); err == nil {
		t.Error("a missing allowed folder was accepted")
	}
	if _, err := New(filepath.Join(y.work, "a", "b.txt"), nil); err == nil {
		t.Error("a file as workspace was accepted")
	}
}

func TestNameIsOneSpelling(t *testing.T) {
	y := newYard(t)
	f := y.fence(&Options{ResolveDots: true})
	for name, want := range map[string]string{
		"a/b.txt": "a/b.txt", "./a//b.txt": "a/b.txt", "a/x/../b.txt": "a/b.txt", y.work + "/a/b.txt": "a/b.txt",
		".": ".", y.work: ".", "../out": "../out",
	} {
		if got := f.Name(name); got != want {
			t.Errorf("Name(%q) = %q, want %q", name, got, want)
		}
	}
}

// A pipe would block a reader for ever.
func TestPipesAreRefused(t *testing.T) {
	y := newYard(t)
	if err := syscall.Mkfifo(filepath.Join(y.work, "pipe"), 0o644); err != nil {
		need.Unmet(t, "no pipes on this file system: %v", err)
	}
	f := y.fence(nil)
	_, err := f.Open("pipe")
	want(t, "open", err, tools.Security)
	_, err = put(f, "pipe", "x")
	want(t, "write", err, tools.Security)
	_, err = f.Open("pipe/x")
	want(t, "walk", err, tools.Security)
}

func TestWriteThatFailsChangesNothing(t *testing.T) {
	y := newYard(t)
	f := y.fence(nil)
	broken := errors.New("disk full")
	_, err := f.Write("a/b.txt", func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("want the cause, got %v", err)
	}
	names, err := os.ReadDir(filepath.Join(y.work, "a"))
	if text, readErr := read(f, "a/b.txt"); text != "inside" || readErr != nil || err != nil || len(names) != 1 {
		t.Errorf("got %q, %v, %v, %v", text, readErr, names, err)
	}
}

func TestErrorsHoldNoPathsOfTheHost(t *testing.T) {
	y := newYard(t)
	f := y.fence(nil)
	for _, name := range []string{"none", "a/none/x", "a/b.txt/x", strings.Repeat("x", 300)} {
		if _, err := f.Open(name); err == nil || strings.Contains(err.Error(), y.work) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func FuzzFence(f *testing.F) {
	for _, seed := range []string{"a/b.txt", "../secret.txt", "/etc/passwd", "./a//b.txt", "a/../..", "out", "outdir/secret.txt", "\x00", "．．/x", "/proc/self/cwd/../secret.txt"} {
		f.Add(seed)
	}
	base := f.TempDir()
	work := filepath.Join(base, "work")
	if err := os.MkdirAll(filepath.Join(work, "a"), 0o755); err != nil {
		f.Fatal(err)
	}
	for name, content := range map[string]string{filepath.Join(base, "secret.txt"): secret, filepath.Join(work, "a", "b.txt"): "inside"} {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			f.Fatal(err)
		}
	}
	for name, target := range map[string]string{"out": "../secret.txt", "outdir": "..", "in": "a"} {
		if err := os.Symlink(target, filepath.Join(work, name)); err != nil {
			f.Fatal(err)
		}
	}
	var fences []*Fence
	for _, o := range []*Options{nil, {ResolveDots: true, FollowLinks: true}} {
		fence, err := New(work, o)
		if err != nil {
			f.Fatal(err)
		}
		defer fence.Close()
		fences = append(fences, fence)
	}
	inside, err := os.Stat(filepath.Join(work, "a", "b.txt"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for _, fence := range fences {
			file, err := fence.Open(name)
			if err != nil {
				var said *tools.Error
				if !errors.As(err, &said) {
					t.Errorf("%q: %v is not written for the model", name, err)
				}
				continue
			}
			info, err := file.Stat()
			if err != nil || !info.IsDir() && !os.SameFile(info, inside) {
				t.Errorf("%q opened %v, %v", name, info, err)
			}
			file.Close()
		}
	})
}

package fence

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"magpie/tools"
)

func (y yard) folder(f *Fence, name string) *Folder {
	y.t.Helper()
	d, err := f.Folder(name)
	if err != nil {
		y.t.Fatal(err)
	}
	y.t.Cleanup(d.Close)
	return d
}

// readIn reads a file of a folder in it.
func readIn(d *Folder, folder, file string) (string, error) {
	below, err := d.Folder(folder)
	if err != nil {
		return "", err
	}
	defer below.Close()
	opened, err := below.Open(file)
	if err != nil {
		return "", err
	}
	defer opened.Close()
	raw, err := io.ReadAll(opened)
	return string(raw), err
}

// A folder's handle refuses what a path would be refused.
func TestFolder(t *testing.T) {
	y := newYard(t)
	y.link("../secret.txt", "out.txt")
	y.link(y.outside, "outdir")
	y.link("b.txt", "a/in.txt")
	for _, o := range []*Options{nil, {FollowLinks: true, ResolveDots: true}} {
		f := y.fence(o)
		d := y.folder(f, ".")
		if text, err := readIn(d, "a", "b.txt"); text != "inside" || err != nil {
			t.Errorf("got %q, %v", text, err)
		}
		_, err := readIn(d, "a", "in.txt")
		want(t, "a link to a file inside", err, tools.Security)
		_, err = readIn(d, "outdir", "secret.txt")
		want(t, "a link to a folder outside", err, tools.Security)
		_, err = readIn(d, "a", "none")
		want(t, "a missing file", err, tools.NotFound)
		_, err = readIn(d, "a/b.txt", "x")
		want(t, "a path for a folder", err, tools.Security)
		for _, name := range []string{"", ".", "..", "a/b.txt", "../secret.txt", "/etc/passwd", "out.txt"} {
			_, err = d.Open(name)
			want(t, name, err, tools.Security)
		}
		_, err = y.folder(f, "a").Folder("b.txt")
		want(t, "a file as a folder", err, tools.NotFound)
		_, err = f.Folder(y.outside)
		want(t, "a folder outside", err, tools.Security)
	}
}

func TestEntriesComeInParts(t *testing.T) {
	y := newYard(t)
	y.link(y.outside, "a/link")
	y.write(filepath.Join(y.work, "a", "喜鹊.txt"), "x")
	d := y.folder(y.fence(nil), "a")
	var names []string
	for {
		some, err := d.Entries(2)
		if err != nil {
			t.Fatal(err)
		}
		if len(some) == 0 {
			break
		}
		for _, info := range some {
			names = append(names, info.Name()+" "+info.Mode().Type().String())
		}
	}
	all := strings.Join(names, "\n")
	if len(names) != 3 || !strings.Contains(all, "link L") || !strings.Contains(all, "喜鹊.txt -") {
		t.Errorf("got %q", all)
	}
}

// What is below a handle may be swapped for a link at any moment.
func TestSwapBelowAFolder(t *testing.T) {
	y := newYard(t)
	y.write(filepath.Join(y.outside, "b.txt"), secret)
	d := y.folder(y.fence(nil), ".")
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	var swapping sync.WaitGroup
	swapping.Go(func() { swap(ctx, y, y.outside, "../../secret.txt") })
	inside := 0
	for i := 0; (i < 2000 || inside == 0) && ctx.Err() == nil; i++ {
		text, err := readIn(d, "a", "b.txt")
		if text == secret {
			t.Error("the secret was read")
			break
		}
		if err == nil {
			inside++
		}
	}
	stop()
	swapping.Wait()
	if inside == 0 {
		t.Error("nothing was read at all: the test tests nothing")
	}
}

package pdftext_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"magpie/internal/need"
	"magpie/tools"
	"magpie/tools/shell/sandbox"
	"magpie/tools/web/pdftext"
)

// TestMain is also the process that reads PDF files.
func TestMain(m *testing.M) {
	if sandbox.Helper() {
		os.Exit(1)
	}
	if len(os.Args) == 2 && os.Args[1] == pdftext.Flag {
		if err := pdftext.Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// wall is the sandbox of this machine; nil: there is none.
var wall = sync.OnceValue(func() *sandbox.Sandbox {
	s, err := sandbox.New(sandbox.Options{})
	if err != nil || s.Report().Kind == sandbox.Off {
		return nil
	}
	return s
})

// file builds a PDF of objects, the first of which is the catalogue.
func file(objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	var at []int
	for i, o := range objects {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	table := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, offset := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d /Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, table)
	return b.Bytes()
}

func stream(s string) string { return fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(s), s) }

// onePage is a file of one page with a font and its map.
func onePage(content, font, unicode string) []byte {
	return file(
		"<</Type /Catalog /Pages 2 0 R>>", "<</Type /Pages /Kids [3 0 R] /Count 1>>",
		"<</Type /Page /Parent 2 0 R /Contents 4 0 R /Resources <</Font <</F1 5 0 R>>>>>>",
		stream(content), font, stream(unicode),
	)
}

const latin = "<</Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding /FirstChar 32 /LastChar 34 /Widths [278 278 355]>>"

func cmap(size, entries string) string {
	return "/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n/CMapName /X def\n1 begincodespacerange\n" + size +
		"\nendcodespacerange\n" + entries + "\nendcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n"
}

func self(t *testing.T) []string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{exe, pdftext.Flag}
}

func TestText(t *testing.T) {
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"lines by moving":   {onePage("BT /F1 12 Tf 72 700 Td (First line) Tj 0 -14 Td (second line) Tj T* (third) Tj ET", latin, ""), "First line\nsecond line\nthird"},
		"spaces by kerning": {onePage("BT /F1 10 Tf [(Th) 20 (e) -300 (cat) -250.5 (sat)] TJ ET", latin, ""), "The cat sat"},
		"quotes":            {onePage(`BT /F1 10 Tf (a) Tj (b) ' 1 2 (c) " ET`, latin, ""), "a\nb\nc"},
		"Chinese": {onePage("BT /F1 12 Tf 1 0 0 1 72 700 Tm <00010002> Tj ET",
			"<</Type /Font /Subtype /Type0 /Encoding /Identity-H /ToUnicode 6 0 R>>", cmap("<0000> <FFFF>", "2 beginbfchar\n<0001> <559C>\n<0002> <9E4A>\nendbfchar")), "喜鹊"},
		"encoding and map": {onePage("BT /F1 12 Tf <010203> Tj ET", // as Chromium writes fonts that it draws itself
			"<</Type /Font /Subtype /Type3 /Encoding <</Type /Encoding /Differences [0 /g0 /g1]>> /ToUnicode 6 0 R>>",
			cmap("<00> <FF>", "1 beginbfchar\n<01> <62A5>\nendbfchar\n1 beginbfrange\n<02> <03> <0041>\nendbfrange")), "报AB"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, wall := range []*sandbox.Sandbox{nil, wall()} {
				got, err := pdftext.Reader{Command: self(t), Wall: wall}.Extract(t.Context(), c.file)
				if err != nil || got != c.want {
					t.Errorf("got %q, %v; want %q", got, err, c.want)
				}
			}
		})
	}
}

func TestBadFiles(t *testing.T) {
	good := onePage("BT /F1 12 Tf (text) Tj ET", latin, "")
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":     {nil, "damaged"},
		"no PDF":    {[]byte("%PDF-1.7 but not really"), "damaged"},
		"cut":       {good[:len(good)/2], "damaged"},
		"no text":   {onePage("0 0 10 10 re f", latin, ""), "no text"},
		"bad fonts": {onePage("BT /F1 12 Tf (x) Tj ET", "<</Type /Font /Subtype /Type3 /ToUnicode 5 0 R>>", ""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pdftext.Extract(t.Context(), self(t), c.file)
			var said *tools.Error
			if c.want != "" && (!errors.As(err, &said) || !strings.Contains(said.Text, c.want) && !strings.Contains(said.Text, "no text")) {
				t.Errorf("want an explanation with %q, got %v", c.want, err)
			}
		})
	}
}

// A tree of pages that leads in a circle keeps the library busy for ever.
func TestACircleIsEnded(t *testing.T) {
	circle := file("<</Type /Catalog /Pages 2 0 R>>", "<</Type /Pages /Kids [2 0 R] /Count 3>>")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if text, err := pdftext.Extract(ctx, self(t), circle); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("want the end of the time, got %q, %v", text, err)
	}
}

// A page of a quarter of a gigabyte, packed in a megabyte, ends the reader and
// not the bot.
func TestABombEndsItsProcessOnly(t *testing.T) {
	var packed bytes.Buffer
	z, _ := zlib.NewWriterLevel(&packed, zlib.BestSpeed)
	_, _ = io.WriteString(z, "BT /F1 12 Tf (")
	letters := bytes.Repeat([]byte("a"), 1<<20)
	for range 1 << 8 {
		if _, err := z.Write(letters); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = io.WriteString(z, ") Tj ET")
	z.Close()
	bomb := file("<</Type /Catalog /Pages 2 0 R>>", "<</Type /Pages /Kids [3 0 R] /Count 1>>", "<</Type /Page /Parent 2 0 R /Contents 4 0 R /Resources <</Font <</F1 5 0 R>>>>>>",
		fmt.Sprintf("<</Filter /FlateDecode /Length %d>>\nstream\n%s\nendstream", packed.Len(), packed.Bytes()), latin)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if text, err := pdftext.Extract(ctx, self(t), bomb); err == nil {
		t.Errorf("want a failure, got %d bytes", len(text))
	}
}

func script(t *testing.T, text string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "reader")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return []string{path}
}

func TestTheReaderIsBounded(t *testing.T) {
	t.Setenv("MAGPIE_SECRET", "hunter2")
	if got, err := pdftext.Extract(t.Context(), script(t, "cat; env"), []byte("in ")); err != nil || !strings.HasPrefix(got, "in") || strings.Contains(got, "hunter2") {
		t.Errorf("got %q, %v; want the input and no secret", got, err)
	}
	got, err := pdftext.Extract(t.Context(), script(t, "exec yes"), nil)
	if err != nil || len(got) == 0 || len(got) > 4<<20 {
		t.Errorf("endless output: %d bytes, %v", len(got), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := pdftext.Extract(ctx, script(t, "exec sleep 60"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := pdftext.Extract(t.Context(), nil, nil); err == nil {
		t.Error("no reader: want an error")
	}
}

// A reader that was taken over by a file reaches nothing but what it was given.
func TestWallOfTheReader(t *testing.T) {
	if wall() == nil {
		need.Unmet(t, "no sandbox works here")
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("hunter2"), 0o600); err != nil {
		t.Fatal(err)
	}
	command := script(t, "cat; cat "+secret+" && echo read; touch "+secret+".x && echo written; cat /proc/"+fmt.Sprint(os.Getpid())+"/environ && echo environ; kill -0 "+fmt.Sprint(os.Getpid())+" && echo signal; echo end")
	for _, c := range []struct {
		wall *sandbox.Sandbox
		good bool
	}{{wall(), true}, {nil, false}} { // without a wall the same reader does reach it
		got, err := pdftext.Reader{Command: command, Wall: c.wall}.Extract(t.Context(), []byte("in "))
		if err != nil || !strings.HasSuffix(got, "end") || (got == "in end") != c.good {
			t.Errorf("it says %q, %v", got, err)
		}
	}
	// It ends when its output is long enough, and with the call.
	got, err := pdftext.Reader{Command: script(t, "exec yes"), Wall: wall()}.Extract(t.Context(), nil)
	if err != nil || len(got) == 0 || len(got) > 4<<20 {
		t.Errorf("endless output: %d bytes, %v", len(got), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (pdftext.Reader{Command: script(t, "exec sleep 60"), Wall: wall()}).Extract(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

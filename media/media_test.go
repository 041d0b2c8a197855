package media

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"magpie/chat"
)

func TestMemory(t *testing.T) {
	var m Memory
	ref, n, err := m.Put(t.Context(), "a", "text/plain", strings.NewReader("hello"))
	if err != nil || n != 5 {
		t.Fatal(n, err)
	}
	again, _, err := m.Put(t.Context(), "a", "text/plain", strings.NewReader("other"))
	if err != nil || again == ref {
		t.Errorf("second file under %q, %v", again, err)
	}
	for range 2 {
		r, err := m.Open(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		if b, _ := io.ReadAll(r); string(b) != "hello" {
			t.Errorf("read %q", b)
		}
	}
	if _, err := m.Open(t.Context(), "x"); !errors.Is(err, ErrNotFound) {
		t.Errorf("err = %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := m.Put(ctx, "a", "", strings.NewReader("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}

func TestSniff(t *testing.T) {
	cases := []struct{ body, want string }{
		{"", ""},
		{"hello 你好", "text/plain"},
		{"%PDF-1.7\n", "application/pdf"},
		{"<!DOCTYPE html><html>", "text/html"},
		{"\x89PNG\r\n\x1a\n", "image/png"},
		{"GIF89a", "image/gif"},
		{strings.Repeat("\x00\x01", 5000), "application/octet-stream"},
	}
	for _, c := range cases {
		got, whole := Sniff(strings.NewReader(c.body))
		b, err := io.ReadAll(whole)
		if got != c.want || err != nil || string(b) != c.body {
			t.Errorf("Sniff(%.20q) = %q, %d bytes, %v; want %q", c.body, got, len(b), err, c.want)
		}
	}
	broken := errors.New("broken")
	_, whole := Sniff(io.MultiReader(strings.NewReader("x"), failing{broken}))
	if _, err := io.ReadAll(whole); !errors.Is(err, broken) {
		t.Errorf("err = %v", err)
	}
}

func TestKindOf(t *testing.T) {
	for mime, want := range map[string]chat.Kind{"image/png": chat.Image, "image/svg+xml": chat.File, "audio/ogg": chat.Audio, "video/mp4": chat.Video, "text/plain": chat.File, "": chat.File} {
		if got := KindOf(mime); got != want {
			t.Errorf("KindOf(%q) = %q, want %q", mime, got, want)
		}
	}
}

func TestCleanName(t *testing.T) {
	cases := map[string]string{
		"":                      "file",
		"..":                    "file",
		"a.txt":                 "a.txt",
		"../../etc/passwd":      "passwd",
		`C:\temp\报告.docx`:       "报告.docx",
		".ssh":                  "ssh",
		"a\x00b\nc.txt":         "abc.txt",
		"evil\u202etxt.exe":     "eviltxt.exe",
		`a<b>:"|?*.md`:          "a_b______.md",
		" spaced . ":            "spaced",
		"\xff\xfe.bin":          "bin",
		"dir/":                  "file",
		strings.Repeat("字", 90): strings.Repeat("字", 40),
		strings.Repeat("字", 39) + "  .x" + strings.Repeat("0", 40): strings.Repeat("字", 39),
	}
	for in, want := range cases {
		if got := CleanName(in); got != want {
			t.Errorf("CleanName(%q) = %q, want %q", in, got, want)
		}
	}
	if got := CleanName(strings.Repeat("a", 300) + ".tar.gz"); len(got) != maxName || !strings.HasSuffix(got, ".gz") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

func FuzzCleanName(f *testing.F) {
	for _, s := range []string{"", "..", "a/b", `\`, "\x00", "é.", strings.Repeat("字", 100) + ".pdf", "a. ", ". /"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := CleanName(s)
		if got == "" || got[0] == '.' || len(got) > maxName || !utf8.ValidString(got) || strings.ContainsAny(got, "/\\\x00\n") {
			t.Errorf("CleanName(%q) = %q", s, got)
		}
		if again := CleanName(got); again != got {
			t.Errorf("CleanName(%q) = %q, and then %q", s, got, again)
		}
	})
}

func picture(t *testing.T, w, h int) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for i := range img.Pix { // noise does not compress
		img.Pix[i] = byte(uint32(i) * 2654435761 >> 7)
	}
	img.Set(0, 0, color.Transparent)
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestShrink(t *testing.T) {
	img := picture(t, 400, 200)
	same, mime, err := Shrink(img, 400, len(img))
	if err != nil || mime != "image/png" || !bytes.Equal(same, img) {
		t.Errorf("a picture at its limits was changed: %s, %v", mime, err)
	}
	cases := []struct{ side, bytes, wantW, wantH int }{{399, 0, 399, 199}, {100, 0, 100, 50}, {0, len(img) - 1, 0, 0}, {50, 2000, 0, 0}}
	for _, c := range cases {
		got, mime, err := Shrink(img, c.side, c.bytes)
		if err != nil || mime != "image/jpeg" {
			t.Errorf("%+v: %s, %v", c, mime, err)
			continue
		}
		head, _, err := image.DecodeConfig(bytes.NewReader(got))
		if err != nil || c.wantW > 0 && (head.Width != c.wantW || head.Height != c.wantH) || c.bytes > 0 && len(got) > c.bytes {
			t.Errorf("%+v: %d×%d, %d bytes, %v", c, head.Width, head.Height, len(got), err)
		}
	}
	if _, _, err := Shrink(img, 0, 10); err == nil {
		t.Error("10 bytes are no picture")
	}
	if _, _, err := Shrink([]byte("no picture"), 10, 10); err == nil {
		t.Error("text was taken for a picture")
	}
	if _, _, err := Shrink(img[:len(img)/2], 100, 0); err == nil {
		t.Error("half a picture was taken")
	}
}

// Every format that platforms pass on comes out as one that models look at.
func TestShrinkFormats(t *testing.T) {
	webp, err := base64.StdEncoding.DecodeString("UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA")
	if err != nil {
		t.Fatal(err)
	}
	frame := image.NewPaletted(image.Rect(0, 0, 30, 20), color.Palette{color.Black, color.White})
	var moving bytes.Buffer
	if err := gif.EncodeAll(&moving, &gif.GIF{Image: []*image.Paletted{frame, frame}, Delay: []int{10, 10}}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		img  []byte
		want string // MIME type; "" = refused
	}{
		"webp":         {webp, "image/webp"},
		"moving gif":   {moving.Bytes(), "image/jpeg"},
		"half a gif":   {moving.Bytes()[:30], ""},
		"empty":        {nil, ""},
		"header alone": {[]byte("\x89PNG\r\n\x1a\n"), ""},
	} {
		got, mime, err := Shrink(c.img, 1568, 1<<20)
		if mime != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %s, %d bytes, %v", name, mime, len(got), err)
		}
		if _, _, err := image.DecodeConfig(bytes.NewReader(got)); c.want != "" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A small file may promise a picture that would fill the memory.
func TestShrinkBomb(t *testing.T) {
	for _, dim := range [][2]uint32{{1 << 30, 1}, {100_000, 100_000}, {6325, 6325}} {
		bomb := picture(t, 1, 1)
		binary.BigEndian.PutUint32(bomb[16:], dim[0])
		binary.BigEndian.PutUint32(bomb[20:], dim[1])
		binary.BigEndian.PutUint32(bomb[29:], crc32.ChecksumIEEE(bomb[12:29]))
		if _, _, err := Shrink(bomb, 100, 0); !errors.Is(err, ErrTooManyPixels) {
			t.Errorf("%v: err = %v", dim, err)
		}
	}
}

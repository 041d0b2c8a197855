package pagetest

import (
	"bytes"
	"cmp"
	"context"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// Screen is a window of that size in CSS pixels, drawn with so many real ones
// for each.
func Screen(width, height int64, scale float64) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: width, Height: height, DeviceScaleFactor: scale,
		})
		return err
	})
}

// Calm is Scheme for somebody who wants nothing to move by itself.
func Calm(scheme string) chromedp.Action[chromedp.Void] {
	return media(&emulation.MediaFeature{Name: "prefers-color-scheme", Value: scheme},
		&emulation.MediaFeature{Name: "prefers-reduced-motion", Value: "reduce"})
}

// Picture is what the tab shows now. It comes to the front: one behind draws
// nothing.
func (b *Browser) Picture() image.Image {
	b.T.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	b.Do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, page.BringToFront, cdp.Empty{})
		return err
	}))
	data, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.T.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		b.T.Fatal(err)
	}
	return img
}

// Film is a row of pictures of one size, each shown for a while. Pages have few
// colours, so that a small palette holds them all.
type Film struct {
	frames []image.Image
	holds  []time.Duration
}

// Add puts a picture at the end.
func (f *Film) Add(img image.Image, hold time.Duration) {
	f.frames = append(f.frames, img)
	f.holds = append(f.holds, hold)
}

// Frames is how many pictures there are.
func (f *Film) Frames() int { return len(f.frames) }

// GIF writes the film, over and over again from its beginning, each picture as
// what differs from the one before.
func (f *Film) GIF(w io.Writer, colours int) error {
	p := f.palette(colours)
	same := uint8(len(p)) // what is as before is not painted
	index := map[color.RGBA]uint8{}
	var out gif.GIF
	var before *image.Paletted
	for i, frame := range f.frames {
		now := paint(frame, p, index)
		part, cs := now, int(f.holds[i]/(10*time.Millisecond))
		if before != nil {
			part = difference(before, now, same)
		}
		before = now
		if part.Rect.Empty() {
			out.Delay[len(out.Delay)-1] += cs
			continue
		}
		part.Palette = append(slices.Clip(p), color.RGBA{})
		out.Image = append(out.Image, part)
		out.Delay = append(out.Delay, cs)
		out.Disposal = append(out.Disposal, gif.DisposalNone)
	}
	return gif.EncodeAll(w, &out)
}

// PNG writes the last picture.
func (f *Film) PNG(w io.Writer, colours int) error {
	last := Film{frames: f.frames[len(f.frames)-1:]}
	enc := png.Encoder{CompressionLevel: png.BestCompression}
	return enc.Encode(w, paint(last.frames[0], last.palette(colours), map[color.RGBA]uint8{}))
}

// palette is what most of the film is painted with, and what stands out of it:
// a small dot of another colour counts more than a shade between two.
func (f *Film) palette(n int) color.Palette {
	count := map[color.RGBA]int{}
	for _, frame := range f.frames {
		each(frame, func(_, _ int, c color.RGBA) { count[c]++ })
	}
	all := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int { return cmp.Compare(count[b], count[a]) })
	far := make([]float64, len(all)) // from what is chosen already, squared
	for i := range far {
		far[i] = 1 << 20
	}
	var p color.Palette
	for range min(n, len(all)) {
		best, most := 0, -1.0
		for i, c := range all {
			if score := float64(count[c]) * far[i]; score > most {
				best, most = i, score
			}
		}
		p = append(p, all[best])
		for i, c := range all {
			far[i] = min(far[i], apart(c, all[best]))
		}
	}
	return p
}

func apart(a, b color.RGBA) float64 {
	r, g, bl := float64(a.R)-float64(b.R), float64(a.G)-float64(b.G), float64(a.B)-float64(b.B)
	return r*r + g*g + bl*bl
}

func paint(img image.Image, p color.Palette, index map[color.RGBA]uint8) *image.Paletted {
	out := image.NewPaletted(img.Bounds(), p)
	each(img, func(x, y int, c color.RGBA) {
		i, ok := index[c]
		if !ok {
			i = uint8(p.Index(c))
			index[c] = i
		}
		out.SetColorIndex(x, y, i)
	})
	return out
}

func each(img image.Image, fn func(x, y int, c color.RGBA)) {
	r := img.Bounds()
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			c := color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)
			fn(x, y, c)
		}
	}
}

// difference is the smallest part of b outside of which both are the same; what
// is the same inside has that index.
func difference(a, b *image.Paletted, same uint8) *image.Paletted {
	var changed image.Rectangle
	all := image.NewPaletted(b.Rect, b.Palette)
	for i, c := range b.Pix {
		all.Pix[i] = same
		if a.Pix[i] != c {
			all.Pix[i] = c
			x, y := i%b.Stride, i/b.Stride
			changed = changed.Union(image.Rect(x, y, x+1, y+1))
		}
	}
	return all.SubImage(changed).(*image.Paletted)
}

package media

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // decoder
	"image/jpeg"
	_ "image/png" // decoder
	"sync"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // decoder
)

// maxPixels bounds what is decoded: 40 million pixels are 160 MB of memory,
// and more than any camera's picture that a chat platform passes on.
const maxPixels = 40_000_000

// decoding has one picture after the other decoded, so that many at once need no
// more memory.
var decoding sync.Mutex

// ErrTooManyPixels: the picture's header promises more pixels than are decoded.
var ErrTooManyPixels = errors.New("picture has too many pixels")

// Shrink makes a picture (JPEG, PNG, GIF, WebP) fit for a model: no side
// longer than maxSide pixels, no more than maxBytes bytes; 0 means no limit.
// A picture that fits already comes back unchanged with its MIME type; else,
// and of a GIF the first picture, it becomes a JPEG on white. The header is checked before anything is
// decoded.
func Shrink(img []byte, maxSide, maxBytes int) (small []byte, mime string, err error) {
	defer func() {
		if p := recover(); p != nil { // a decoder that a stranger's bytes have broken
			small, mime, err = nil, "", fmt.Errorf("decode the picture: %v", p)
		}
	}()
	head, format, err := image.DecodeConfig(bytes.NewReader(img))
	if err != nil {
		return nil, "", fmt.Errorf("read the picture's header: %w", err)
	}
	if head.Width <= 0 || head.Height <= 0 || head.Width > maxPixels/head.Height {
		return nil, "", fmt.Errorf("%d×%d: %w", head.Width, head.Height, ErrTooManyPixels)
	}
	long := max(head.Width, head.Height)
	if maxSide <= 0 {
		maxSide = long
	}
	if maxBytes <= 0 {
		maxBytes = int(^uint(0) >> 1)
	}
	moves := format == "gif" // may do so, and vendors refuse those that do
	if long <= maxSide && len(img) <= maxBytes && !moves {
		return img, "image/" + format, nil
	}
	decoding.Lock()
	defer decoding.Unlock()
	src, _, err := image.Decode(bytes.NewReader(img))
	if err != nil {
		return nil, "", fmt.Errorf("decode the picture: %w", err)
	}
	for side := min(long, maxSide); side >= 1; side = side * 3 / 4 {
		for _, quality := range []int{85, 60} {
			small, err = encode(scale(src, side), quality)
			if err != nil || len(small) <= maxBytes {
				return small, "image/jpeg", err
			}
		}
	}
	return nil, "", fmt.Errorf("the picture cannot be made smaller than %d bytes", maxBytes)
}

// scale draws src on white with its longer side at most side pixels.
func scale(src image.Image, side int) image.Image {
	b := src.Bounds()
	w, h := b.Dx(), b.Dy()
	if long := max(w, h); long > side {
		w, h = max(1, w*side/long), max(1, h*side/long)
	}
	dst := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.Draw(dst, dst.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.ApproxBiLinear.Scale(dst, dst.Bounds(), src, b, draw.Over, nil)
	return dst
}

func encode(img image.Image, quality int) ([]byte, error) {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: quality}); err != nil {
		return nil, fmt.Errorf("encode the picture: %w", err)
	}
	return b.Bytes(), nil
}

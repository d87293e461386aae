package screen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"time"
)

// Exit statuses of the helper process.
const (
	// ExitNoDisplay: there is no screen here.
	ExitNoDisplay = 3
	// ExitFailed: there is one, but no picture of it.
	ExitFailed = 4
)

// ErrNoDisplay means that there is no screen here.
var ErrNoDisplay = errors.New("no display")

// maxPNG leaves room for base64 and the frame around it.
const maxPNG = 5632 << 10

// takeWait bounds taking one picture; it is below the tool's own limit.
const takeWait = 20 * time.Second

// Write takes a picture and writes it as PNG.
func Write(ctx context.Context, w io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, takeWait)
	defer cancel()
	img, err := capture(ctx)
	if err != nil {
		return err
	}
	data, err := encode(img, maxPNG)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// encode halves a picture until its PNG fits.
func encode(img image.Image, limit int) ([]byte, error) {
	for {
		var buf bytes.Buffer
		if err := png.Encode(&buf, img); err != nil {
			return nil, fmt.Errorf("picture: %w", err)
		}
		b := img.Bounds()
		if buf.Len() <= limit || b.Dx() < 2 || b.Dy() < 2 {
			return buf.Bytes(), nil
		}
		img = halve(img)
	}
}

// halve averages four points into one.
func halve(img image.Image) image.Image {
	b := img.Bounds()
	out := image.NewRGBA(image.Rect(0, 0, b.Dx()/2, b.Dy()/2))
	for y := range b.Dy() / 2 {
		for x := range b.Dx() / 2 {
			var sum [4]uint32
			for _, d := range [4][2]int{{0, 0}, {1, 0}, {0, 1}, {1, 1}} {
				r, g, bl, a := img.At(b.Min.X+2*x+d[0], b.Min.Y+2*y+d[1]).RGBA()
				sum[0], sum[1], sum[2], sum[3] = sum[0]+r, sum[1]+g, sum[2]+bl, sum[3]+a
			}
			i := out.PixOffset(x, y)
			for c := range 4 {
				out.Pix[i+c] = uint8(sum[c] / 4 >> 8)
			}
		}
	}
	return out
}

package screen

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"testing"
)

// noise does not compress.
func noise(w, h int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range img.Pix {
		img.Pix[i] = uint8(r.Uint32())
	}
	return img
}

func TestAPictureIsHalvedUntilItFits(t *testing.T) {
	const limit = 20 << 10
	data, err := encode(noise(200, 120), limit)
	if err != nil || len(data) > limit {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	config, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil || config.Width != 50 && config.Width != 100 || config.Width*120 != config.Height*200 {
		t.Errorf("%dx%d %v", config.Width, config.Height, err)
	}
}

func TestASmallPictureStaysAsItIs(t *testing.T) {
	data, err := encode(image.NewRGBA(image.Rect(0, 0, 640, 480)), maxPNG)
	if err != nil {
		t.Fatal(err)
	}
	if config, err := png.DecodeConfig(bytes.NewReader(data)); err != nil || config.Width != 640 || config.Height != 480 {
		t.Errorf("%+v %v; want no error, config.Width to be 640, config.Height to be 480", config, err)
	}
}

func TestHalvingKeepsTheColour(t *testing.T) {
	img := image.NewRGBA(image.Rect(10, 10, 14, 14))
	for y := 10; y < 14; y++ {
		for x := 10; x < 14; x++ {
			img.Set(x, y, color.RGBA{200, 100, 50, 255})
		}
	}
	if got := halve(img).At(1, 1); got != (color.RGBA{200, 100, 50, 255}) {
		t.Errorf("%v", got)
	}
}

func TestWithoutADisplayThereIsNoPicture(t *testing.T) {
	t.Setenv("WAYLAND_DISPLAY", "")
	for _, display := range []string{"", ":987", ":987.0"} {
		t.Setenv("DISPLAY", display)
		if err := Write(t.Context(), &bytes.Buffer{}); !errors.Is(err, ErrNoDisplay) {
			t.Errorf("%q: %v; want ErrNoDisplay", display, err)
		}
	}
}

//go:build linux || windows

package screen

import (
	"fmt"
	"image"

	"github.com/kbinani/screenshot"
)

// grab uses the system's own interface: X11 or the portal, GDI on Windows.
func grab() (image.Image, error) {
	if screenshot.NumActiveDisplays() == 0 {
		return nil, ErrNoDisplay
	}
	img, err := screenshot.CaptureRect(screenshot.GetDisplayBounds(0))
	if err != nil {
		return nil, fmt.Errorf("the system refused the picture: %w", err)
	}
	return img, nil
}

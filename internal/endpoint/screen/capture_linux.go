package screen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"strings"

	"github.com/kbinani/screenshot"

	"parley.internal/internal/endpoint/command"
)

// capture prefers grim on Wayland, because it needs nobody to confirm; then the
// portal; then X11.
func capture(ctx context.Context) (image.Image, error) {
	wayland := os.Getenv("WAYLAND_DISPLAY") != ""
	if wayland && command.Have("grim") {
		res, err := command.Run(ctx, command.Spec{Path: "grim", Args: []string{"-t", "png", "-"}, Cap: 256 << 20})
		if err == nil && res.ExitCode == 0 && !res.Truncated {
			return png.Decode(bytes.NewReader(res.Stdout))
		}
	}
	if wayland && os.Getenv("DISPLAY") == "" {
		return portal()
	}
	if !serverThere(os.Getenv("DISPLAY")) {
		return nil, ErrNoDisplay
	}
	img, err := grab()
	if errors.Is(err, ErrNoDisplay) { // there is a server, so it did not let us in
		return nil, errors.New("the X server refused; the endpoint must run as the user of the desktop, or as root")
	}
	return img, err
}

// serverThere reports whether a display's name leads anywhere: a local one has
// a socket.
func serverThere(display string) bool {
	host, rest, ok := strings.Cut(display, ":")
	if !ok || host != "" && host != "unix" {
		return ok // another machine's
	}
	number, _, _ := strings.Cut(rest, ".")
	_, err := os.Stat("/tmp/.X11-unix/X" + number)
	return err == nil
}

// portal asks the desktop itself; it answers with the whole desktop, whatever
// size is asked for.
func portal() (image.Image, error) {
	if err := os.Setenv("XDG_SESSION_TYPE", "wayland"); err != nil {
		return nil, err
	}
	img, err := screenshot.Capture(0, 0, 1<<14, 1<<14)
	if err != nil {
		return nil, fmt.Errorf("the desktop's portal refused the picture; allow screenshots for this user, or install grim: %w", err)
	}
	return img, nil
}

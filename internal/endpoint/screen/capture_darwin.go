package screen

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"os"
	"path/filepath"

	"parley.internal/internal/endpoint/command"
)

// capture runs the system's own program for it.
func capture(ctx context.Context) (image.Image, error) {
	dir, err := os.MkdirTemp("", "endpoint-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "screen.png")
	if _, err := command.Output(ctx, "/usr/sbin/screencapture", "-x", "-m", "-t", "png", file); err != nil {
		return nil, errors.Join(errors.New("allow Screen Recording for the endpoint under Privacy & Security"), err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, ErrNoDisplay
	}
	return png.Decode(bytes.NewReader(data))
}

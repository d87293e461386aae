package tools

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"image/png"

	"parley.internal/internal/endpoint/command"
	"parley.internal/internal/endpoint/screen"
)

type screenResult struct {
	Image  string `json:"image_b64"`
	Format string `json:"format"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
}

// screen takes the picture in a child process: in the session of whoever is
// logged in, and apart from us, should a graphics library misbehave.
func (s *Set) screen(ctx context.Context, _ Call) (any, error) {
	var picture bytes.Buffer
	complaint, status, err := s.capture(ctx, &picture)
	switch {
	case err != nil:
		return nil, err
	case status == screen.ExitNoDisplay:
		return nil, unsupported("this machine has no display to take a picture of")
	case status != 0:
		return nil, failed("no picture could be taken: %s", complaint)
	}
	config, err := png.DecodeConfig(bytes.NewReader(picture.Bytes()))
	if err != nil {
		return nil, failed("the picture cannot be read: %v", err)
	}
	return screenResult{
		Image: base64.StdEncoding.EncodeToString(picture.Bytes()), Format: "png",
		Width: config.Width, Height: config.Height,
	}, nil
}

// maxComplaint is how much of the child's error output is passed on.
const maxComplaint = 300

func complaintOf(stderr []byte) string {
	text := command.Text(bytes.TrimSpace(stderr))
	if len(text) > maxComplaint {
		text = text[len(text)-maxComplaint:]
	}
	if text == "" {
		return "the helper ended without a word"
	}
	return text
}

var errNoHelper = errors.New("no helper program to take pictures with")

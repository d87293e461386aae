package screen

import (
	"context"
	"image"
)

func capture(context.Context) (image.Image, error) { return grab() }

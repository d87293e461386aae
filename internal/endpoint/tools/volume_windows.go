package tools

import (
	"path/filepath"
	"strings"

	"parley.internal/internal/endpoint/truepath"
)

// volumeOf names the file system something is on.
func volumeOf(f *truepath.File) string { return strings.ToLower(filepath.VolumeName(f.Final[0])) }

// Package ids makes names for new things.
package ids

import "github.com/google/uuid"

// New is a name nothing else has. Names made later sort behind, which keeps the newest rows of a
// table side by side on the disk.
func New() string { return uuid.Must(uuid.NewV7()).String() }

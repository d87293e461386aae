package lease

import (
	"errors"
	"fmt"
)

// ErrLost says that another hub owns the thing now, or that the lease was released.
var ErrLost = errors.New("lease lost")

// HeldError says which living hub owns the thing.
type HeldError struct {
	Name, Owner string
}

func (e *HeldError) Error() string { return fmt.Sprintf("%s is held by hub %s", e.Name, e.Owner) }

package kenny

import (
	"fmt"
	"regexp"
)

var machineID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckID holds a machine id to the protocol's rule.
func CheckID(id string) error {
	if !machineID.MatchString(id) {
		return fmt.Errorf("%w: %q needs a letter or digit, then up to 63 letters, digits, '.', '_' or '-'", ErrBadID, clip(id))
	}
	return nil
}

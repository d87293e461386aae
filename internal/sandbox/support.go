package sandbox

import "fmt"

// Support says what boxes this system can make. The zero value makes none.
type Support struct {
	// Version is Landlock's, as the kernel has it; 0 is none.
	Version int
	// Why there is none.
	Why string
}

// signalsScoped is the version of Landlock that keeps signals inside the box.
const signalsScoped = 6

// String is the support in words.
func (s Support) String() string {
	if s.Version == 0 {
		return "none: " + s.Why
	}
	return fmt.Sprintf("Landlock, version %d", s.Version)
}

// Complete tells that the kernel knows all rules that the package's promises need.
func (s Support) Complete() bool { return s.Version >= signalsScoped }

package identity

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// reserved are names that mean somebody or something else: the owner's sender,
// principals, roles, and words for everybody.
var reserved = []string{
	"user", "owner", "hub", "admin", "administrator", "root", "system", "operator", "node", "agent", "assistant", "parley", "local",
	"anonymous", "all", "everybody", "everyone", "nobody",
}

// CheckName says what is wrong with a name for a person, if anything. A name
// identifies: it looks like what it is, is no pattern, and is nobody else's word.
// It is in Unicode's composed form, so that equal looks are equal bytes. A colon
// is refused because senders with one are not people of this hub.
func CheckName(name string) error {
	if slices.ContainsFunc(reserved, func(word string) bool { return strings.EqualFold(word, name) }) {
		return fmt.Errorf("%w: %q has a meaning of its own here; choose another name", ErrInvalid, name)
	}
	return checkForm(name)
}

// checkForm is CheckName without the reserved words.
func checkForm(name string) error {
	switch {
	case name == "" || len(name) > 64:
		return fmt.Errorf("%w: a name has 1 to 64 bytes", ErrInvalid)
	case !norm.NFC.IsNormalString(name) || strings.ContainsFunc(name, unfit) || strings.TrimSpace(name) != name:
		return fmt.Errorf("%w: a name has letters, digits, single spaces and - _ . ' @ + inside, nothing invisible, and is in Unicode form NFC", ErrInvalid)
	case strings.Contains(name, "  "):
		return fmt.Errorf("%w: a name has no two spaces in a row", ErrInvalid)
	default:
		return nil
	}
}

// unfit is a character no name has: what is not seen, what steers the text
// around it, and what patterns, paths, lists and senders are written with.
func unfit(r rune) bool {
	switch {
	case unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
		return true
	case unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r):
		return false
	default:
		return !strings.ContainsRune(" -_.'’@+()", r)
	}
}

package identity

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Scopes is an explicit grant: every name is written out, implied ones too. It
// never changes; the zero value grants nothing.
type Scopes struct {
	sorted []string
}

// Expand writes out names: "*", families ("task:*", "task", "tasks"), the
// operator.… aliases and what each scope implies. Names nobody knows are left out.
func Expand(names ...string) Scopes {
	set := map[string]bool{}
	for _, name := range names {
		for _, scope := range meaning(name) {
			set[scope] = true
			for _, more := range implied[scope] {
				set[more] = true
			}
		}
	}
	return fromSet(set)
}

// UnknownScopes lists the names that Expand would leave out, so that whoever
// makes a token can be told of a typing error.
func UnknownScopes(names ...string) []string {
	var unknown []string
	for _, name := range names {
		if len(meaning(name)) == 0 {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

func fromSet(set map[string]bool) Scopes {
	sorted := slices.Collect(maps.Keys(set))
	slices.Sort(sorted)
	return Scopes{sorted: sorted}
}

// meaning is what one name stands for, without what that implies.
func meaning(name string) []string {
	if name == "*" {
		return everyday
	}
	if known[name] || isParametrised(name) {
		return []string{name}
	}
	if scopes, ok := aliases[name]; ok {
		return scopes
	}
	family := strings.TrimSuffix(name, ":*")
	if scopes, ok := families[family]; ok {
		return scopes
	}
	return families[strings.TrimSuffix(family, "s")]
}

func isParametrised(name string) bool {
	for _, prefix := range []string{senderPrefix, machinePrefix, tagPrefix} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return validParameter(rest)
		}
	}
	return false
}

// validParameter keeps out what would break a comma-joined list or a log line.
func validParameter(s string) bool {
	return s != "" && len(s) <= 257 && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return r == ',' || unicode.IsControl(r) || unicode.IsSpace(r)
	})
}

// Has reports whether the grant holds a scope of the vocabulary.
func (s Scopes) Has(scope string) bool {
	_, found := slices.BinarySearch(s.sorted, scope)
	return found
}

// Empty reports whether nothing is granted.
func (s Scopes) Empty() bool { return len(s.sorted) == 0 }

// Sorted lists the grant in byte order; never nil.
func (s Scopes) Sorted() []string { return append([]string{}, s.sorted...) }

// String joins the grant with commas.
func (s Scopes) String() string { return strings.Join(s.sorted, ",") }

// Equal reports whether both grant the same.
func (s Scopes) Equal(other Scopes) bool { return slices.Equal(s.sorted, other.sorted) }

// MarshalJSON writes a sorted array.
func (s Scopes) MarshalJSON() ([]byte, error) { return json.Marshal(s.Sorted()) }

// UnmarshalJSON reads an array of names and expands it.
func (s *Scopes) UnmarshalJSON(data []byte) error {
	var names []string
	if err := json.Unmarshal(data, &names); err != nil {
		return err
	}
	*s = Expand(names...)
	return nil
}

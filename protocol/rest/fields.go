package rest

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// field is one of a request that does not travel inside its body, or the body.
type field struct {
	index []int
	// where is path, query, header or body.
	where, name string
}

// fieldsOf lists them, those of embedded types too: also one that has the name of the
// type it stands in, which Go itself takes for hidden.
func fieldsOf(t reflect.Type) []field { return fieldsBelow(t, nil) }

func fieldsBelow(t reflect.Type, above []int) (out []field) {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for f := range t.Fields() {
		index := append(slices.Clone(above), f.Index...)
		if f.Anonymous {
			out = append(out, fieldsBelow(f.Type, index)...)
			continue
		}
		if f.Name == "Body" && len(above) == 0 {
			out = append(out, field{index, "body", ""})
			continue
		}
		for _, where := range []string{"path", "query", "header"} {
			if name := f.Tag.Get(where); name != "" {
				name, _, _ = strings.Cut(name, ",")
				out = append(out, field{index, where, name})
			}
		}
	}
	return out
}

// write is a value as it stands in an address, and whether there is none.
func (f field) write(v reflect.Value) (text string, empty bool) {
	if f.where == "body" {
		return "", true
	}
	switch v := v.Interface().(type) {
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano), v.IsZero()
	case []string:
		return strings.Join(v, ","), len(v) == 0
	}
	return fmt.Sprint(v.Interface()), v.IsZero()
}

// BadFieldError says that a field of an address is not what it should be.
type BadFieldError struct {
	Name string
	// Want is what it should be, such as "a whole number".
	Want string
}

func (e *BadFieldError) Error() string { return e.Name + " must be " + e.Want }

// Decode fills the fields of a request that stand in its address and headers; get finds
// them by where they are (path, query or header) and by name. Body gives where a body
// is to be read into; it is nil for a request without one.
func Decode(in any, get func(where, name string) string) (body any, err error) {
	v := reflect.ValueOf(in).Elem()
	for _, f := range fieldsOf(v.Type()) {
		to := v.FieldByIndex(f.index)
		if f.where == "body" {
			body = to.Addr().Interface()
			continue
		}
		if text := get(f.where, f.name); text != "" {
			if want := read(to, text); want != "" {
				return nil, &BadFieldError{f.name, want}
			}
		}
	}
	return body, nil
}

// read sets a value from its text, or says what the text should have been.
func read(to reflect.Value, text string) (want string) {
	switch to.Interface().(type) {
	case time.Time:
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return "an RFC 3339 time"
		}
		to.Set(reflect.ValueOf(at))
		return ""
	case []string:
		for part := range strings.SplitSeq(text, ",") {
			if part != "" {
				to.Set(reflect.Append(to, reflect.ValueOf(part)))
			}
		}
		return ""
	}
	switch to.Kind() {
	case reflect.String:
		to.SetString(text)
	case reflect.Bool:
		on, err := strconv.ParseBool(text)
		if err != nil {
			return "true or false"
		}
		to.SetBool(on)
	default:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || to.OverflowInt(n) {
			return "a whole number"
		}
		to.SetInt(n)
	}
	return ""
}

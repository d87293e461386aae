package mmp

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// The answers of the relay are asked for all the time: they write themselves, in
// the very bytes that Encode makes of all others.

// Appender is an answer that writes itself.
type Appender interface {
	AppendJSON(b []byte) []byte
}

// AppendText writes one member; ids and stamps need no escapes, and whatever does gets them.
func AppendText(b []byte, before, value string) []byte {
	b, _ = jsontext.AppendQuote(append(b, before...), value) // the error only repeats that something was replaced
	return b
}

// AppendTime writes a time as the protocol wants it, null when it is zero.
func AppendTime(b []byte, before string, t Time) []byte {
	b = append(b, before...)
	if t.IsZero() {
		return append(b, "null"...)
	}
	b = t.UTC().AppendFormat(append(b, '"'), stampLayout)
	return append(b, '"')
}

// AppendBool writes true or false.
func AppendBool(b []byte, before string, v bool) []byte {
	return strconv.AppendBool(append(b, before...), v)
}

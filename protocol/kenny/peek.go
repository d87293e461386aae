package kenny

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// PeekResponse looks at the head of a message that is too large to read. If
// it shows a response and its id, the call that waits for it can fail at once
// instead of timing out.
func PeekResponse(head []byte) (id string, ok bool) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(head))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return "", false
	}
	var typ string
	for typ == "" || id == "" {
		name, err := dec.ReadToken()
		if err != nil || name.Kind() != '"' {
			return "", false
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return "", false
		}
		switch key {
		case "type":
			typ, err = unquote(value)
		case "id":
			id, err = unquote(value)
		}
		if err != nil {
			return "", false
		}
	}
	return id, typ == string(TypeResponse) && between("id", id, 1, MaxRequestID) == nil
}

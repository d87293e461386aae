package fleet

import "github.com/go-json-experiment/json/jsontext"

// MaskArgs is the call log's view of arguments.
func MaskArgs(args []byte) string { return maskArgs(jsontext.Value(args)) }

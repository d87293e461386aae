package probe

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxPlistDepth bounds nesting: property lists are flat in practice.
const maxPlistDepth = 64

// parsePlist reads an XML property list: dict → map[string]any, array → []any,
// string, integer → int64, real → float64, bool, data → []byte, date → string.
func parsePlist(data []byte) (any, error) {
	dec := xml.NewDecoder(bytes.NewReader(data))
	for {
		tok, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("property list: %w", err)
		}
		if start, ok := tok.(xml.StartElement); ok && start.Name.Local != "plist" {
			return plistValue(dec, start, 0)
		}
	}
}

func plistValue(dec *xml.Decoder, start xml.StartElement, depth int) (any, error) {
	if depth > maxPlistDepth {
		return nil, errors.New("property list nests too deep")
	}
	switch start.Name.Local {
	case "dict":
		return plistDict(dec, depth)
	case "array":
		return plistArray(dec, depth)
	}
	var text string
	if err := dec.DecodeElement(&text, &start); err != nil {
		return nil, fmt.Errorf("property list: %w", err)
	}
	return plistScalar(start.Name.Local, text)
}

func plistScalar(kind, text string) (any, error) {
	trimmed := strings.TrimSpace(text)
	switch kind {
	case "true":
		return true, nil
	case "false":
		return false, nil
	case "integer":
		return strconv.ParseInt(trimmed, 0, 64)
	case "real":
		return strconv.ParseFloat(trimmed, 64)
	case "data":
		return base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	case "string", "date", "key":
		return text, nil
	}
	return nil, fmt.Errorf("property list: unknown element %q", kind)
}

func plistArray(dec *xml.Decoder, depth int) ([]any, error) {
	out := []any{}
	for {
		start, more, err := nextElement(dec)
		if err != nil || !more {
			return out, err
		}
		v, err := plistValue(dec, start, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
}

func plistDict(dec *xml.Decoder, depth int) (map[string]any, error) {
	out := map[string]any{}
	for {
		start, more, err := nextElement(dec)
		if err != nil || !more {
			return out, err
		}
		if start.Name.Local != "key" {
			return nil, errors.New("property list: a dict without keys")
		}
		key, err := plistValue(dec, start, depth+1)
		if err != nil {
			return nil, err
		}
		start, more, err = nextElement(dec)
		if err != nil || !more {
			return nil, errors.Join(errors.New("property list: a key without value"), err)
		}
		v, err := plistValue(dec, start, depth+1)
		if err != nil {
			return nil, err
		}
		name, _ := key.(string)
		out[name] = v
	}
}

// nextElement finds the next child; more is false at the parent's end.
func nextElement(dec *xml.Decoder) (start xml.StartElement, more bool, err error) {
	for {
		tok, err := dec.Token()
		if err != nil {
			return start, false, fmt.Errorf("property list: %w", err)
		}
		switch t := tok.(type) {
		case xml.StartElement:
			return t, true, nil
		case xml.EndElement:
			return start, false, nil
		}
	}
}

// Plist reads a property list whose top is a dict.
func Plist(data []byte) (map[string]any, error) {
	v, err := parsePlist(data)
	if err != nil {
		return nil, err
	}
	d, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("property list: no dict at the top")
	}
	return d, nil
}

// WholeDisks reads the names of disks out of `diskutil list -plist`.
func WholeDisks(data []byte) []string {
	p, err := Plist(data)
	if err != nil {
		return nil
	}
	names, _ := p["WholeDisks"].([]any)
	var out []string
	for _, n := range names {
		if s, ok := n.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

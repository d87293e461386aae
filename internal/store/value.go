package store

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// A value in a dump comes back with the type it had and bit for bit:
//
//	null         NULL
//	"text"       text; {"t":"base64"} if it is not UTF-8, which JSON cannot say
//	123          an integer of 64 bits
//	{"f":1.5}    a float; {"f":"NaN"}, {"f":"+Inf"} and {"f":"-Inf"}, which JSON cannot say
//	{"b":"…"}    bytes, in base64; {"b":""} if there are none
//
// Dumps of the first form wrote {"b":null} for no bytes.

func packRow(values []any) ([]any, error) {
	row := make([]any, len(values))
	for i, v := range values {
		var err error
		if row[i], err = packValue(v); err != nil {
			return nil, err
		}
	}
	return row, nil
}

func packValue(v any) (any, error) {
	switch v := v.(type) {
	case nil, int64:
		return v, nil
	case string:
		if utf8.ValidString(v) {
			return v, nil
		}
		return map[string]string{"t": base64.StdEncoding.EncodeToString([]byte(v))}, nil
	case []byte:
		return map[string]string{"b": base64.StdEncoding.EncodeToString(v)}, nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return map[string]string{"f": strconv.FormatFloat(v, 'g', -1, 64)}, nil
		}
		return map[string]float64{"f": v}, nil
	default:
		// Better no dump than one that cannot be loaded.
		return nil, fmt.Errorf("store: a dump cannot hold a %T", v)
	}
}

// unpackRow reads a line of a dump.
func unpackRow(line []byte) ([]any, error) {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	var row []any
	if err := dec.Decode(&row); err != nil {
		return nil, fmt.Errorf("%w: a broken row", ErrBadDump)
	}
	for i, v := range row {
		var err error
		if row[i], err = unpackValue(v); err != nil {
			return nil, err
		}
	}
	return row, nil
}

func unpackValue(v any) (any, error) {
	switch v := v.(type) {
	case nil, string:
		return v, nil
	case json.Number:
		n, err := strconv.ParseInt(v.String(), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%w: %.40q is not a whole number of 64 bits", ErrBadDump, v)
		}
		return n, nil
	case map[string]any:
		if len(v) == 1 {
			for kind, inner := range v {
				return unwrap(kind, inner)
			}
		}
	}
	return nil, fmt.Errorf("%w: an unknown kind of value", ErrBadDump)
}

func unwrap(kind string, v any) (any, error) {
	text, isText := v.(string)
	switch {
	case kind == "b" && v == nil:
		return []byte{}, nil
	case kind == "b" && isText, kind == "t" && isText:
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("%w: bytes that are not base64", ErrBadDump)
		}
		if kind == "t" {
			return string(data), nil
		}
		return data, nil
	case kind == "f":
		return unwrapFloat(v)
	}
	return nil, fmt.Errorf("%w: an unknown kind of value %.10q", ErrBadDump, kind)
}

func unwrapFloat(v any) (any, error) {
	text := fmt.Sprint(v)
	if _, isNumber := v.(json.Number); !isNumber && text != "NaN" && text != "+Inf" && text != "-Inf" {
		return nil, fmt.Errorf("%w: a float that is none", ErrBadDump)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, fmt.Errorf("%w: %.40q is not a float", ErrBadDump, text)
	}
	return f, nil
}

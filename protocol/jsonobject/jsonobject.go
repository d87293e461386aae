// Package jsonobject takes JSON texts apart without copying them, for the wires that
// look at a message's members before they know what it is.
//
//	members := map[string]jsontext.Value{}
//	err := jsonobject.Read(data, func(name string, value jsontext.Value) { members[name] = value })
//
// A name that is used twice, at any depth, is refused: two readers could see two
// different messages. So is anything but blanks behind the value.
package jsonobject

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Errors of texts that are something else. ErrNotObject is for well-formed JSON only.
var (
	ErrNotObject = errors.New("not a JSON object")
	errNotList   = errors.New("not a list")
	errMore      = errors.New("text after the JSON value")
)

// decoder reads one text after the other.
type decoder struct {
	text bytes.Buffer
	dec  *jsontext.Decoder
}

var (
	decoders = sync.Pool{New: func() any { return &decoder{dec: jsontext.NewDecoder(new(bytes.Buffer))} }}
	// noText is where a decoder reads that nobody uses.
	noText = strings.NewReader("")
)

// open takes a decoder from the pool and puts it before the text.
func open(data []byte, opts ...jsontext.Options) *decoder {
	d := decoders.Get().(*decoder)
	// A buffer of the text itself is read where it is, without a copy.
	d.text = *bytes.NewBuffer(data)
	d.dec.Reset(&d.text, opts...)
	return d
}

// free gives it back without the text.
func (d *decoder) free() {
	d.text = bytes.Buffer{}
	d.dec.Reset(noText)
	decoders.Put(d)
}

// Read calls member for each member of the object, in its order. The values are parts
// of data.
func Read(data []byte, member func(name string, value jsontext.Value), opts ...jsontext.Options) error {
	d := open(data, opts...)
	defer d.free()
	if d.dec.PeekKind() != '{' {
		return d.notObject()
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return err
	}
	for d.dec.PeekKind() != '}' {
		name, err := d.dec.ReadToken()
		if err != nil {
			return err
		}
		key := name.String()
		value, err := d.dec.ReadValue()
		if err != nil {
			return err
		}
		end := d.dec.InputOffset()
		member(key, data[end-int64(len(value)):end:end])
	}
	return d.end()
}

// List gives the values of a list of at most limit, each a copy.
func List(data []byte, limit int) ([]jsontext.Value, error) {
	d := open(data)
	defer d.free()
	if d.dec.PeekKind() != '[' {
		return nil, errNotList
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return nil, err
	}
	var items []jsontext.Value
	for d.dec.PeekKind() != ']' {
		if len(items) == limit {
			return nil, fmt.Errorf("more than %d entries", limit)
		}
		v, err := d.dec.ReadValue()
		if err != nil {
			return nil, err
		}
		items = append(items, v.Clone())
	}
	return items, d.end()
}

// notObject reads the whole text to tell other JSON from no JSON.
func (d *decoder) notObject() error {
	if _, err := d.dec.ReadValue(); err != nil {
		return err
	}
	if err := d.nothingMore(); err != nil {
		return err
	}
	return ErrNotObject
}

// end reads the closing bracket, which must be the last of the text.
func (d *decoder) end() error {
	if _, err := d.dec.ReadToken(); err != nil {
		return err
	}
	return d.nothingMore()
}

func (d *decoder) nothingMore() error {
	_, err := d.dec.ReadToken()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return errMore
	}
	return err
}

package mask

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// JSON is the same value with its strings masked: a number that happens to be a
// secret stays, so that what reads it still can. What is no JSON becomes text.
func (m *Mask) JSON(raw jsontext.Value) jsontext.Value {
	known := m.known()
	// A string may be spelled in a way that hides what it says.
	if !known.in(string(raw)) && !bytes.Contains(raw, []byte(`\u`)) {
		return raw
	}
	return eachString(raw, m.Text)
}

// GuessJSON is the same value with every string guessed about, as [Mask.Guess] does.
func (m *Mask) GuessJSON(raw jsontext.Value) jsontext.Value { return eachString(raw, m.Guess) }

// eachString is a value with every string changed, names of members included.
func eachString(raw jsontext.Value, change func(string) string) jsontext.Value {
	// Names may have become alike.
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var buf bytes.Buffer
	enc := jsontext.NewEncoder(&buf, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		tok, err := dec.ReadToken()
		if err != nil {
			break
		}
		if tok.Kind() == '"' {
			tok = jsontext.String(change(tok.String()))
		}
		if enc.WriteToken(tok) != nil {
			return jsontext.Value("{}") // a decoder's tokens always make a value
		}
	}
	return bytes.TrimSpace(buf.Bytes())
}

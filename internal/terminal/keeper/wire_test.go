package keeper

import (
	"bytes"
	"testing"
)

func FuzzMessage(f *testing.F) {
	var seed bytes.Buffer
	if err := write(&seed, message{Kind: ack, At: 7, Notes: []byte(`{"a":1}`), body: []byte("shown")}); err != nil {
		f.Fatal(err)
	}
	f.Add(seed.Bytes())
	f.Add([]byte("\x00\x00\x00\x02\xff\xff\xff\xff{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := read(bytes.NewReader(data), maxBody)
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := write(&again, m); err != nil {
			t.Skip("a head that grew by being written")
		}
		back, err := read(&again, maxBody)
		if err != nil || back.Kind != m.Kind || back.At != m.At || !bytes.Equal(back.body, m.body) {
			t.Errorf("%+v became %+v, %v", m, back, err)
		}
	})
}

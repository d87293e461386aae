package room_test

import (
	"strings"
	"testing"

	"parley.internal/internal/bus"
)

// Whatever a client sends, the room answers or ignores it, the others are
// unharmed, and nothing without the right gets out.
func FuzzWhateverAClientSends(f *testing.F) {
	for _, seed := range []string{
		`{"t":"send","n":1,"c":{"k":"chat","text":"x"}}`, `{"t":"voice","on":true,"meta":{"role":"agent"}}`, `{"t":"voice","on":false}`,
		`{"t":"resume","resume":"x","since":0}`, `{"t":"grant","id":"x","grant":null,"n":2}`, `{"t":"mod","op":"lock"}`, `{"t":"mod","token":"a.b"}`,
		`{"t":"sig","to":"x","d":{"link":"l","type":"offer","sdp":"v=0"}}`, `{"t":"media","audio":true}`, `{"t":"sync"}`, `{"t":"leave"}`,
		`{"t":"send","c":{"k":"schema","name":"s","version":"1","schema":1}}`, `{"t":"knock","jwt":"a.b.c","agentKey":{},"agentChain":["x"]}`, `{`, `[]`, `null`,
		"{\"t\":\"send\",\"to\":\"\",\"c\":{}}\n{\"t\":\"ping\",\"n\":9007199254740991}",
	} {
		f.Add([]byte(seed))
	}
	b := bus.NewLocal()
	f.Cleanup(func() { _ = b.Close() })
	h := newHub(f, sqlite(f), b)
	p := openTo()
	p["max"] = 10_000
	p["humans"].(obj)["guestGrant"] = obj{"perceive": []string{"read-roster"}}
	id := h.open("r", p)
	host := h.host(id)
	f.Cleanup(func() { h.t, host.t = f, f })
	f.Fuzz(func(t *testing.T, data []byte) {
		h.t, host.t = t, t // one input at a time
		c := h.dial(id, nil)
		for line := range strings.SplitSeq(string(data), "\n") {
			c.connection.Receive([]byte(line))
		}
		c.voice2()
		for line := range strings.SplitSeq(string(data), "\n") {
			c.connection.Receive([]byte(line))
		}
		c.gone()
		host.settled()
		if n := len(host.heard()); n > 0 {
			t.Fatalf("%d messages of somebody without the right", n)
		}
		if !host.open() {
			t.Fatal("the host was closed")
		}
	})
}

// voice2 announces if that is still possible.
func (c *client) voice2() {
	c.connection.Receive([]byte(`{"t":"voice","on":true,"name":"Fuzz"}`))
}
